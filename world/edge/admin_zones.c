/* world/edge/admin_zones.c: /zones: the cluster as this world sees it, answered as JSON.
 * Its own lease, the worlds that live, and each zone: whose it is, in which epoch, who is here of
 * it. Other worlds are asked nothing, so it is answered while NATS is away too.
 * May touch: what world_admin.h may. On trouble: 404 where the world is alone.
 */
#include "world/cluster/member.h"
#include "world/cluster/realm.h"
#include "world/edge/json_put.h"
#include "world/edge/world_admin_own.h"

#include <inttypes.h>
#include <stdlib.h>

/* By zone: those of this world that stand there, and those of others that are seen here. */
struct counts {
    uint32_t own, ghosts;
};

static struct counts *count_zones(const struct world *w)
{
    const struct realm *r = w->cluster;
    const struct entities *e = &w->entities;
    struct counts *c = calloc(r->n_zones, sizeof(*c));

    for (uint32_t i = 0; c && i < e->slots.fresh; i++) {
        uint32_t zone;

        if (e->id[i] == 0 || (e->flags[i] & (ENTITY_DYING | ENTITY_AWAY)) == ENTITY_DYING)
            continue;
        zone = realm_zone_at(r, e->scene[i], e->x[i], e->y[i]);
        c[zone].own += !entities_is_ghost(e, i);
        c[zone].ghosts += entities_is_ghost(e, i);
    }
    return c;
}

static void put_name(const char *key, const struct claim_name *name, FILE *to)
{
    fprintf(to, "\"%s\":", key);
    if (name)
        json_put_text(to, claim_name_span(name));
    else
        fputs("null", to);
}

static void put_lease(const struct cluster_part *p, const struct lease *l, struct mono now,
                      FILE *to)
{
    static const char *const states[] = {[LEASE_ASKING] = "asked for",
                                         [LEASE_HELD] = "held",
                                         [LEASE_REFUSED] = "refused",
                                         [LEASE_QUIT] = "given up"};
    int64_t left = l->epoch != 0 ? clock_since(l->until, now) / CLOCK_NS_PER_MS : 0;

    fprintf(to,
            "\"acts\":%s,\"leaves\":%s,\"lease\":{\"state\":\"%s\",\"epoch\":%" PRIu64
            ",\"ms\":%" PRId64 ",\"left_ms\":%" PRId64 "}",
            p->still ? "false" : "true", p->leaves ? "true" : "false", states[l->state], l->epoch,
            (int64_t)(l->lease_ns / CLOCK_NS_PER_MS), left > 0 ? left : 0);
}

static void put_worlds(const struct lease *l, FILE *to)
{
    const struct claim *v;
    bool first = true;

    fputs(",\"worlds\":[", to);
    for (uint32_t at = 0; (v = lease_living(l, &at));) {
        fputs(first ? "{" : ",{", to);
        first = false;
        put_name("id", &v->world, to);
        fputs(",\"address\":", to);
        json_put_text(to, claim_text(v));
        fprintf(to, ",\"entities\":%" PRIu64 ",\"drains\":%s}", v->load,
                v->draining ? "true" : "false");
    }
    fputs("]", to);
}

static void put_zone(const struct world *w, const struct member *m, uint32_t zone,
                     const struct counts *c, FILE *to)
{
    const struct realm *r = w->cluster;
    const struct holding *h = &m->holdings.zones[zone];
    const uint32_t scene = realm_scene_of(r, zone);
    double bounds[4];
    uint64_t epoch;

    fprintf(to, "{\"zone\":%" PRIu32 ",\"scene\":", zone);
    json_put_text(to, w->scenes.list[scene].name);
    fputs(",\"bounds\":[", to);
    zones_bounds(&r->cut[scene], zone - r->first[scene], bounds);
    for (int i = 0; i < 4; i++) {
        fputs(i > 0 ? "," : "", to);
        json_put_number(to, bounds[i]);
    }
    fputs("],", to);
    put_name("owner", holdings_owner(&m->holdings, &m->lease, zone, &epoch), to);
    fprintf(to, ",\"epoch\":%" PRIu64 ",", epoch);
    put_name("moves_to", h->cell.value.state == CLAIM_FREE ? &h->cell.value.to : NULL, to);
    fprintf(to, ",\"entities\":%" PRIu32 ",\"ghosts\":%" PRIu32 "}", c->own, c->ghosts);
}

int admin_read_zones(void *arg, const struct http_order *in, FILE *to)
{
    const struct world_admin *a = arg;
    const struct world *w = a->view.world;
    const struct cluster_part *p = a->view.cluster;
    const struct member *m;
    struct counts *counts;

    (void)in;
    if (!p || !p->nats)
        return world_admin_say_no(404, "this world is alone: it was started without -cluster", to);
    m = cluster_nats_member(p->nats);
    counts = count_zones(w);
    if (!counts)
        return world_admin_say_no(503, "there is no memory for it", to);
    fputs("{\"world\":", to);
    json_put_text(to, realm_world_id(w->cluster, REALM_SELF));
    fprintf(to, ",\"generation\":\"%016" PRIx64 "\",", m->tables);
    put_lease(p, &m->lease, loop_now(a->loop), to);
    put_worlds(&m->lease, to);
    fputs(",\"zones\":[", to);
    for (uint32_t i = 0; i < w->cluster->n_zones; i++) {
        fputs(i > 0 ? "," : "", to);
        put_zone(w, m, i, &counts[i], to);
    }
    fputs("]}\n", to);
    free(counts);
    return 200;
}

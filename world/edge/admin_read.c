/* world/edge/admin_read.c: what operators ask of the world, answered as JSON.
 * Reads the state between two ticks, whatever is asked bounded; names are written as JSON has them.
 * May touch: what world_admin.h may. On trouble: 400 or 404 with one sentence; nothing changes.
 */
#include "common/log.h"
#include "world/edge/json_put.h"
#include "world/edge/world_admin_own.h"
#include "world/interest/explain.h"
#include "world/interest/soft.h"
#include "world/state/map.h"

#include <inttypes.h>
#include <stdlib.h>

#define LIST_MAX 4096 /* ids of one list in an answer */

int world_admin_say_no(int status, const char *why, FILE *to)
{
    fprintf(to, "{\"error\":\"%s\"}\n", why);
    return status;
}

/* --- who -------------------------------------------------------------------------------------- */

static struct span name_of(const struct entities *e, uint32_t slot)
{
    return span_of(e->cold[slot].name, e->cold[slot].name_len);
}

/* In the world, or an NPC that sleeps. */
static bool is_there(const struct entities *e, uint32_t slot)
{
    return e->id[slot] != 0 && (e->flags[slot] & (ENTITY_DYING | ENTITY_AWAY)) != ENTITY_DYING;
}

/* By id, or of this name the one with the lowest id. */
static uint32_t find_slot(const struct entities *e, const struct admin_ask_who *who)
{
    uint32_t found = EXPLAIN_NOBODY;
    struct span name = span_text(who->name);

    for (uint32_t i = 0; i < e->slots.fresh; i++) {
        if (who->id != 0 ? e->id[i] != who->id : !span_equal(name_of(e, i), name))
            continue;
        if (is_there(e, i) && (found == EXPLAIN_NOBODY || e->id[i] < e->id[found]))
            found = i;
    }
    return found;
}

bool world_admin_find(const struct world *w, const struct admin_ask_who *who,
                      struct world_admin_who *out)
{
    struct session *s;
    uint32_t slot;

    *out = (struct world_admin_who){.entity = EXPLAIN_NOBODY};
    if (who->id == 0 && sessions_by_name(&w->sessions, span_text(who->name), &out->session)) {
        if (sessions_find(&w->sessions, out->session, &s) &&
            entities_find(&w->entities, s->entity, &slot))
            out->entity = slot;
        return true;
    }
    out->entity = find_slot(&w->entities, who);
    if (out->entity == EXPLAIN_NOBODY)
        return false;
    out->session = w->entities.cold[out->entity].session;
    if (!sessions_find(&w->sessions, out->session, &s))
        out->session = (struct session_ref){0};
    return true;
}

static const char *state_of(const struct world *w, uint32_t slot)
{
    struct session *s;

    if (entities_is_ghost(&w->entities, slot))
        return "another world's";
    if (w->entities.flags[slot] & ENTITY_AWAY)
        return "asleep";
    if (w->entities.cold[slot].kind != 0)
        return "awake";
    if (!sessions_find(&w->sessions, w->entities.cold[slot].session, &s))
        return "nobody's";
    return s->state == SESSION_WAITING ? "waiting" : "inside";
}

/* The fields of an entity, without braces. */
static void put_row(const struct world *w, uint32_t slot, FILE *to)
{
    const struct entities *e = &w->entities;

    fprintf(to, "\"id\":%" PRIu32 ",\"name\":", e->id[slot]);
    json_put_text(to, name_of(e, slot));
    fprintf(to,
            ",\"kind\":\"%s\",\"state\":\"%s\",\"scene\":", e->cold[slot].kind ? "npc" : "player",
            state_of(w, slot));
    json_put_text(to, w->scenes.list[e->scene[slot]].name);
    fputs(",\"x\":", to);
    json_put_number(to, e->x[slot]);
    fputs(",\"y\":", to);
    json_put_number(to, e->y[slot]);
}

/* --- the world -------------------------------------------------------------------------------- */

static void put_tiers(const struct world *w, FILE *to)
{
    const struct soft_rules plain = {.n_tiers = 1, .radius = {w->config.aoi_radius}, .every = {1}};
    const struct soft_rules *r = w->sight.soft ? &w->sight.soft->rules : &plain;

    fputs(",\"tiers\":[", to);
    for (uint32_t i = 0; i < r->n_tiers; i++) {
        fprintf(to, "%s{\"radius\":", i > 0 ? "," : "");
        json_put_number(to, r->radius[i]);
        fprintf(to, ",\"every\":%" PRIu32 "}", r->every[i]);
    }
    fputs("]", to);
}

static void put_scene(const struct world *w, uint32_t number, FILE *to)
{
    const struct scene *s = &w->scenes.list[number];
    const struct grid_area *a = &w->scenes.grid.areas[number];

    fputs("{\"name\":", to);
    json_put_text(to, s->name);
    fprintf(to, ",\"entities\":%" PRIu32 ",\"bounds\":[", w->entities.in_scene[number]);
    for (int i = 0; i < 4; i++) {
        fputs(i > 0 ? "," : "", to);
        json_put_number(to, s->bounds[i]);
    }
    fputs("],\"cells\":{\"x0\":", to);
    json_put_number(to, a->x0);
    fputs(",\"y0\":", to);
    json_put_number(to, a->y0);
    fputs(",\"side\":", to);
    json_put_number(to, a->side);
    fprintf(to, ",\"nx\":%" PRIu32 ",\"ny\":%" PRIu32 "},\"ground\":%s}", a->nx, a->ny,
            s->map ? "true" : "false");
}

int admin_read_world(void *arg, const struct http_order *in, FILE *to)
{
    const struct world_admin *a = arg;
    const struct world *w = a->view.world;
    const struct world_config *c = &w->config;

    (void)in;
    fprintf(to, "{\"version\":\"%s\",\"tick\":%" PRIu32 ",\"tick_ms\":", AEGIS_VERSION, w->tick);
    json_put_number(to, (double)c->tick_ns / (double)CLOCK_NS_PER_MS);
    fputs(",\"radius\":", to);
    json_put_number(to, c->aoi_radius);
    fputs(",\"hysteresis\":", to);
    json_put_number(to, c->aoi_hysteresis);
    put_tiers(w, to);
    fprintf(to, ",\"refresh\":%" PRIu64 ",\"max\":%" PRIu64 ",\"viewer_bytes\":%" PRIu64,
            c->aoi_refresh, c->aoi_max, c->viewer_bytes);
    fprintf(to, ",\"log_level\":\"%s\",\"acts\":%s,\"first\":", log_level_name(log_least()),
            a->view.token->n > 0 ? "true" : "false");
    json_put_text(to, w->scenes.list[w->scenes.first].name);
    fputs(",\"scenes\":[", to);
    for (uint32_t i = 0; i < w->scenes.n; i++) {
        fputs(i > 0 ? "," : "", to);
        put_scene(w, i, to);
    }
    fputs("]}\n", to);
    return 200;
}

int admin_read_stats(void *arg, const struct http_order *in, FILE *to)
{
    struct world_admin *a = arg;

    (void)in;
    watch_stats_write(&a->stats, a->view.world, to);
    fputs("\n", to);
    return 200;
}

int admin_read_ground(void *arg, const struct http_order *in, FILE *to)
{
    const struct world_admin *a = arg;
    const struct scenes *scenes = &a->view.world->scenes;
    struct admin_ask ask;
    const char *why;
    uint32_t number;

    if (admin_ask_read(in->query, ADMIN_ASK_SCENE, ADMIN_ASK_SCENE, &ask, &why) != 0)
        return world_admin_say_no(400, why, to);
    if (!scenes_find(scenes, span_text(ask.scene), &number))
        return world_admin_say_no(404, "there is no such scene", to);
    if (!scenes->list[number].map)
        return world_admin_say_no(404, "this scene is open ground", to);
    const struct ground *g = &scenes->list[number].map->ground;
    uint8_t row[GROUND_SIDE_MAX / 8];
    fprintf(to, "{\"nx\":%d,\"ny\":%d,\"size\":", g->nx, g->ny);
    json_put_number(to, g->size);
    fputs(",\"rows\":[", to);
    for (int32_t y = 0; y < g->ny; y++) { /* bit x % 8 of byte x / 8: blocked */
        size_t n = (size_t)(g->nx + 7) / 8;

        for (size_t i = 0; i < n; i++)
            row[i] = (uint8_t)(g->bits[(size_t)y * g->stride + i / 8] >> (i % 8 * 8));
        fputs(y > 0 ? "," : "", to);
        json_put_bytes(to, row, n);
    }
    fputs("]}\n", to);
    return 200;
}

/* --- many ------------------------------------------------------------------------------------- */

static bool wanted(const struct entities *e, const struct admin_ask *ask, uint32_t scene,
                   uint32_t slot)
{
    size_t prefix = strlen(ask->prefix);

    if (!is_there(e, slot) || e->id[slot] <= ask->after)
        return false;
    if ((ask->has & ADMIN_ASK_SCENE) && e->scene[slot] != scene)
        return false;
    if ((ask->has & ADMIN_ASK_BOX) && (e->x[slot] < ask->box[0] || e->x[slot] > ask->box[2] ||
                                       e->y[slot] < ask->box[1] || e->y[slot] > ask->box[3]))
        return false;
    if ((ask->has & ADMIN_ASK_KIND) && e->cold[slot].kind != ask->kind)
        return false;
    return e->cold[slot].name_len >= prefix && memcmp(e->cold[slot].name, ask->prefix, prefix) == 0;
}

/* The keys of those with the lowest ids, ascending; how many match. */
struct page {
    uint64_t keys[2 * ADMIN_ASK_LIMIT_MAX];
    uint32_t n, matched;
};

static void page_fill(struct page *p, const struct entities *e, const struct admin_ask *ask,
                      uint32_t scene)
{
    for (uint32_t i = 0; i < e->slots.fresh; i++) {
        if (!wanted(e, ask, scene, i))
            continue;
        p->matched++;
        if (p->n == 2 * ask->limit) {
            known_sort(p->keys, p->n);
            p->n = ask->limit;
        }
        p->keys[p->n++] = known_key(e->id[i], i);
    }
    known_sort(p->keys, p->n);
    p->n = p->n < ask->limit ? p->n : ask->limit;
}

int admin_read_entities(void *arg, const struct http_order *in, FILE *to)
{
    const struct world_admin *a = arg;
    const struct world *w = a->view.world;
    const unsigned may = ADMIN_ASK_SCENE | ADMIN_ASK_KIND | ADMIN_ASK_PREFIX | ADMIN_ASK_BOX |
                         ADMIN_ASK_AFTER | ADMIN_ASK_ROWS;
    struct admin_ask ask;
    struct page page = {.n = 0};
    uint32_t scene = 0;
    const char *why;

    if (admin_ask_read(in->query, may, 0, &ask, &why) != 0)
        return world_admin_say_no(400, why, to);
    if ((ask.has & ADMIN_ASK_SCENE) && !scenes_find(&w->scenes, span_text(ask.scene), &scene))
        return world_admin_say_no(404, "there is no such scene", to);
    page_fill(&page, &w->entities, &ask, scene);
    fprintf(to, "{\"matched\":%" PRIu32 ",\"next\":", page.matched);
    if (page.matched > page.n)
        fprintf(to, "%" PRIu32, known_id(page.keys[page.n - 1]));
    else
        fputs("null", to);
    fputs(",\"entities\":[", to);
    for (uint32_t i = 0; i < page.n; i++) {
        fputs(i > 0 ? ",{" : "{", to);
        put_row(w, known_slot(page.keys[i]), to);
        fputs("}", to);
    }
    fputs("]}\n", to);
    return 200;
}

/* --- one -------------------------------------------------------------------------------------- */

static void put_ids(const char *name, const uint32_t *ids, uint32_t n, uint32_t all, FILE *to)
{
    fprintf(to, ",\"%s\":{\"n\":%" PRIu32 ",\"ids\":[", name, all);
    for (uint32_t i = 0; i < n; i++)
        fprintf(to, "%s%" PRIu32, i > 0 ? "," : "", ids[i]);
    fputs("]}", to);
}

/* Whom it knows, and who knows it: at most LIST_MAX ids of each. */
static void put_sight(struct world *w, uint32_t slot, FILE *to)
{
    const struct entities *e = &w->entities;
    uint32_t ids[LIST_MAX], n = 0, all = 0;
    uint32_t *knowers = calloc(e->cap, sizeof(*knowers));
    const uint64_t *keys;

    if (sight_watches(&w->sight, slot))
        all = sight_list(&w->sight, e, slot, &keys);
    for (uint32_t i = 0; i < all && n < LIST_MAX; i++)
        ids[n++] = known_id(keys[i]);
    put_ids("sees", ids, n, all, to);
    all = knowers ? sight_knowers(&w->sight, e, slot, knowers) : 0;
    n = 0;
    for (uint32_t i = 0; i < all && n < LIST_MAX; i++)
        ids[n++] = e->id[knowers[i]];
    put_ids("seen_by", ids, n, all, to);
    free(knowers);
}

static void put_session(const struct world *w, const struct session *s, FILE *to)
{
    static const char *const states[] = {"not logged in", "logged in", "inside", "waiting"};
    const struct session_link *l = &w->sessions.links[s->link.slot];
    bool waits = s->state == SESSION_WAITING;

    fprintf(to, ",\"session\":{\"name\":");
    json_put_text(to, span_of(s->name, s->name_len));
    fprintf(to, ",\"number\":%" PRIu64 ",\"state\":\"%s\",\"peer\":", s->sid, states[s->state]);
    json_put_text(to, span_text(s->peer));
    fputs(",\"gateway\":", to);
    json_put_text(to, span_text(waits ? "" : l->id));
    fprintf(to,
            ",\"paused\":%s,\"slow_client\":%s,\"slow_link\":%s,\"bytes_per_s\":%" PRIu32
            ",\"held\":%s,\"waits_ms\":%" PRId64 "}",
            s->paused ? "true" : "false", s->congested ? "true" : "false",
            !waits && l->congested ? "true" : "false", s->drain,
            s->hold != SESSION_FREE ? "true" : "false",
            waits ? (int64_t)(clock_since(s->until, w->now) / CLOCK_NS_PER_MS) : 0);
}

static void put_entity(struct world *w, uint32_t slot, FILE *to)
{
    const struct entities *e = &w->entities;
    const struct walkers_walk *walk = walkers_find(&w->walkers, slot);

    put_row(w, slot, to);
    fputs(",\"dir\":", to);
    json_put_number(to, e->dir[slot]);
    fputs(",\"speed\":", to);
    json_put_number(to, e->speed[slot]);
    if (walk) {
        fputs(",\"walks_to\":[", to);
        json_put_number(to, walk->goal_x);
        fputs(",", to);
        json_put_number(to, walk->goal_y);
        fputs("]", to);
    }
    put_sight(w, slot, to);
}

int admin_read_entity(void *arg, const struct http_order *in, FILE *to)
{
    const struct world_admin *a = arg;
    struct world *w = a->view.world;
    struct admin_ask ask;
    struct world_admin_who who;
    struct session *s;
    const char *why;

    if (admin_ask_read(in->query, ADMIN_ASK_WHO, ADMIN_ASK_WHO, &ask, &why) != 0)
        return world_admin_say_no(400, why, to);
    if (!world_admin_find(w, &ask.who, &who))
        return world_admin_say_no(
            404,
            w->cluster ? "there is nobody of that id or name in this world of the cluster"
                       : "there is nobody of that id or name",
            to);
    fprintf(to, "{\"tick\":%" PRIu32 ",", w->tick);
    if (who.entity == EXPLAIN_NOBODY)
        fputs("\"id\":null", to);
    else
        put_entity(w, who.entity, to);
    if (sessions_find(&w->sessions, who.session, &s))
        put_session(w, s, to);
    fputs("}\n", to);
    return 200;
}

/* --- why -------------------------------------------------------------------------------------- */

static void put_explained(struct world *w, uint32_t viewer, uint32_t subject, FILE *to)
{
    struct explain x;
    char text[EXPLAIN_TEXT_MAX];

    explain_pair(w, viewer, subject, &x);
    explain_text(&x, text);
    fprintf(to, "{\"sees\":%s,\"why\":\"%s\",\"text\":", x.sees ? "true" : "false",
            explain_word(x.why));
    json_put_text(to, span_text(text));
    fprintf(to, ",\"same_scene\":%s,\"distance\":", x.same_scene ? "true" : "false");
    if (x.same_scene)
        json_put_number(to, x.distance);
    else
        fputs("null", to);
    fprintf(to, ",\"within\":%s,\"kept_within\":%s,\"radius\":", x.within ? "true" : "false",
            x.kept_within ? "true" : "false");
    json_put_number(to, x.radius);
    fputs(",\"hysteresis\":", to);
    json_put_number(to, x.hysteresis);
    fprintf(to,
            ",\"ring\":%" PRIu32 ",\"rings\":%" PRIu32 ",\"every\":%" PRIu32 ",\"due\":%" PRIu32
            ",\"refresh\":%" PRIu32 ",\"max\":%" PRIu32 ",\"in_sight\":%" PRIu32
            ",\"nearer\":%" PRIu32 ",\"bytes\":%" PRIu64 ",\"waited\":%" PRIu32
            ",\"slow_client\":%s,\"slow_link\":%s}",
            x.tier + 1, x.tiers, x.every, x.due, x.refresh, x.max, x.in_sight, x.nearer, x.bytes,
            x.waited, x.slow_client ? "true" : "false", x.slow_link ? "true" : "false");
}

int admin_read_explain(void *arg, const struct http_order *in, FILE *to)
{
    const struct world_admin *a = arg;
    const unsigned both = ADMIN_ASK_VIEWER | ADMIN_ASK_SUBJECT;
    struct world_admin_who viewer, subject;
    struct world *w = a->view.world;
    struct admin_ask ask;
    const char *why;

    if (admin_ask_read(in->query, both, both, &ask, &why) != 0)
        return world_admin_say_no(400, why, to);
    if (!world_admin_find(w, &ask.viewer, &viewer))
        return world_admin_say_no(404, "there is no such viewer", to);
    if (!world_admin_find(w, &ask.subject, &subject))
        return world_admin_say_no(404, "there is no such subject", to);
    fprintf(to, "{\"tick\":%" PRIu32 ",\"sight\":", w->tick);
    put_explained(w, viewer.entity, subject.entity, to);
    fputs(",\"back\":", to);
    put_explained(w, subject.entity, viewer.entity, to);
    fputs("}\n", to);
    return 200;
}

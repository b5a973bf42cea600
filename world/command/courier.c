/* world/command/courier.c: see the header. */
#include "world/command/courier.h"

#include "common/err.h"
#include "world/cluster/border.h"
#include "world/command/give.h"
#include "world/command/receive.h"
#include "world/command/inbox.h"
#include "world/command/naming.h"
#include "world/command/router.h"

int courier_message(struct world *w, struct span message, struct mono now)
{
    struct cluster_message m;
    int err = cluster_read(message, &m);

    w->now = now;
    if (err != 0) {
        w->metrics.messages_bad++;
        return err;
    }
    switch (m.kind) {
    case CLUSTER_BORDER:
        border_take(w, &m, now);
        break;
    case CLUSTER_ASK:
        border_asked(w, &m);
        break;
    case CLUSTER_BYE:
        border_bye(w, &m);
        break;
    case CLUSTER_ENDED:
        (void)id_pool_ended(&w->ids, m.id, now);
        break;
    case CLUSTER_PREPARE:
        receive_prepare(w, &m, now);
        break;
    case CLUSTER_ACCEPT:
        give_accepted(w, m.id, m.count, now);
        break;
    case CLUSTER_REFUSE:
        give_refused(w, &m, now);
        break;
    case CLUSTER_SWITCH:
        receive_switch(w, &m, now);
        break;
    case CLUSTER_CONFIRM:
        give_confirmed(w, m.id, m.count, now);
        break;
    case CLUSTER_LATE:
        receive_late(w, &m, now);
        break;
    case CLUSTER_LATE_END:
        receive_late_end(w, &m, now);
        break;
    case CLUSTER_LATE_TAKEN:
        give_late_taken(w, m.id, m.count, m.number, now);
        break;
    case CLUSTER_SEEK:
        naming_sought(w, &m, now);
        break;
    case CLUSTER_FOUND:
        naming_found(w, &m, now);
        break;
    case CLUSTER_KINDS:
        break;
    }
    return 0;
}

/* The zone was taken from us: whoever was ours in it is another's, who knows it from the store. */
static void evict(struct world *w, uint32_t zone, struct mono now)
{
    const struct entities *e = &w->entities;

    for (uint32_t i = e->alive_count; i-- > 0;) {
        uint32_t slot = e->alive[i];
        struct session_ref who = e->cold[slot].session;
        struct session *s;

        if (entities_is_ghost(e, slot) || realm_home(w->cluster, slot, e) != zone)
            continue;
        w->metrics.evicted++;
        cmd_enter_part(w, slot, w->tick + 1);
        courier_id_end(w, e->id[slot], now);
        entities_remove(&w->entities, entities_ref(e, slot));
        if (!sessions_find(&w->sessions, who, &s))
            continue;
        w->sessions.inside -= s->state == SESSION_INSIDE;
        s->entity = (struct entity_ref){0};
        if (s->state == SESSION_INSIDE)
            outbox_close(&w->outbox, s->link, s->sid, 0, "the zone is another world's");
        s->state = SESSION_LOGGED;
        inbox_session_end(w, who, now);
    }
}

void courier_zone(struct world *w, uint32_t zone, struct span world, uint64_t epoch,
                  struct mono now)
{
    struct realm *r = w->cluster;
    uint32_t owner = world.n > 0 ? realm_world(r, world) : REALM_NOBODY;

    w->now = now;
    ASSERT(zone < r->n_zones);
    if (realm_owns(r, zone) && (owner != REALM_SELF || r->zones[zone].epoch != epoch))
        evict(w, zone, now);
    border_owner(w, zone, owner, epoch);
    give_zone_lost(w, zone, epoch, now);
}

void courier_name(struct world *w, const struct courier_name *n, struct mono now)
{
    w->now = now;
    naming_heard(w, n, now);
}

void courier_keys(struct world *w, bool there)
{
    w->cluster->keyless = !there;
}

/* To whoever gave it. Where this is lost, the id is not given again in that world's life. */
static void tell_ended(struct world *w, uint32_t id)
{
    const struct cluster_door *door = &w->cluster->door;
    struct cluster_message m = {.kind = CLUSTER_ENDED, .id = id};
    uint8_t bytes[32];
    struct span_writer out = span_writer_of(bytes, sizeof(bytes));

    cluster_write(&out, &m);
    ASSERT(!out.full);
    door->ops->tell(door->arg, span_written(&out));
}

void courier_id_end(struct world *w, uint32_t id, struct mono now)
{
    if (id_pool_owns(&w->ids, id))
        id_pool_end(&w->ids, id, now);
    else
        tell_ended(w, id);
}

void courier_id_return(struct world *w, uint32_t id)
{
    if (id_pool_owns(&w->ids, id))
        id_pool_return(&w->ids, id);
    else
        tell_ended(w, id);
}

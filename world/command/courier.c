/* world/command/courier.c: see the header. */
#include "world/command/courier.h"

#include "common/err.h"
#include "world/cluster/border.h"
#include "world/cluster/ghosts.h"
#include "world/cluster/handover.h"
#include "world/command/crier.h"
#include "world/command/give.h"
#include "world/command/receive.h"
#include "world/command/inbox.h"
#include "world/command/keep.h"
#include "world/command/naming.h"
#include "world/command/npcs.h"
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
    case CLUSTER_ANNOUNCE:
        err = crier_heard(w, &m, now);
        w->metrics.messages_bad += err != 0;
        break;
    case CLUSTER_WATCH:
    case CLUSTER_SHOWN:
        if (w->ear.hear)
            w->ear.hear(w->ear.arg, &m, now);
        break;
    case CLUSTER_KINDS:
        break;
    }
    return err;
}

void courier_zone(struct world *w, uint32_t zone, struct span world, uint64_t epoch,
                  struct mono now)
{
    struct realm *r = w->cluster;
    uint32_t owner = world.n > 0 ? realm_world(r, world) : REALM_NOBODY;

    w->now = now;
    ASSERT(zone < r->n_zones);
    if (realm_owns(r, zone) && (owner != REALM_SELF || r->zones[zone].epoch != epoch))
        npcs_zone_go(w, zone, now);
    if (owner == REALM_NOBODY && realm_owns(r, zone)) {
        r->zones[zone].given = true; /* who has it soon does not yet: we go on for those in it */
        return;
    }
    border_owner(w, zone, owner, epoch);
    if (owner == REALM_SELF)
        npcs_zone_come(w);
    give_zone_lost(w, zone, epoch, now);
}

void courier_zone_dead(struct world *w, uint32_t zone)
{
    border_dead(w, zone);
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

/* --- the end of a term -------------------------------------------------------------------------
 */

static void remove_entity(struct world *w, uint32_t slot, struct mono now)
{
    cmd_enter_part(w, slot, w->tick + 1);
    courier_id_end(w, w->entities.id[slot], now);
    entities_remove(&w->entities, entities_ref(&w->entities, slot));
    w->metrics.evicted++;
}

/* Its client, if it is still ours to tell, is to be bound elsewhere. */
static void remove_session(struct world *w, struct session_ref who, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];
    bool waits = s->state == SESSION_WAITING, gone = false;
    uint32_t slot;

    if (s->hold == SESSION_HANDED)
        gone = w->cluster->handover->gifts[s->gift].state == GIFT_TAKEN;
    if (s->hold == SESSION_HANDED || s->hold == SESSION_MOVES)
        s->hold = SESSION_FREE; /* gifts go at once, all of them */
    if (entities_find(&w->entities, s->entity, &slot))
        remove_entity(w, slot, now);
    w->sessions.inside -= s->state == SESSION_INSIDE;
    s->entity = (struct entity_ref){0};
    s->state = SESSION_LOGGED;
    if (!waits && !gone)
        outbox_redirect(&w->outbox, s->link, s->sid, span_of(NULL, 0), 0, 0);
    inbox_session_end(w, who, now);
}

static void remove_sessions(struct world *w, bool ids, struct mono now)
{
    const struct slots *slots = &w->sessions.slots;

    for (uint32_t i = 0; i < slots->fresh; i++) {
        struct session_ref who = {i, slots->gen[i]};
        struct session *s = &w->sessions.list[i];

        if (!(who.gen & 1))
            continue;
        if (s->state != SESSION_NEW) {
            remove_session(w, who, now);
            continue;
        }
        if (ids)
            s->next_id = 0;
        if (s->hold == SESSION_ASKED) /* for its name, or the store */
            keep_refused(w, who, PE_UNAVAILABLE, "this world begins anew: try again", now);
    }
}

static void remove_handovers(struct world *w)
{
    struct handover *h = w->cluster->handover;
    struct gift *g;
    struct guest *u;

    for (uint32_t at = 0; (g = handover_gift_next(h, &at));) {
        backlog_clear(&w->backlog, h->chain + handover_gift_index(h, g));
        handover_gift_drop(h, g);
    }
    for (uint32_t at = 0; (u = handover_guest_next(h, &at));) {
        backlog_clear(&w->backlog, h->chain + handover_guest_index(h, u));
        handover_guest_drop(h, u);
    }
}

void courier_term_ended(struct world *w, bool ids, struct mono now)
{
    const struct entities *e = &w->entities;

    w->now = now;
    naming_lose(w);
    remove_sessions(w, ids, now);
    remove_handovers(w);
    npcs_zone_go(w, REALM_NONE, now);
    for (uint32_t i = e->alive_count; i-- > 0;) { /* who goes is replaced by one looked at */
        uint32_t slot = e->alive[i];

        if (entities_is_ghost(e, slot))
            ghosts_remove(w, slot, w->tick + 1);
        else
            remove_entity(w, slot, now);
    }
    realm_lose(w->cluster);
    if (ids)
        id_pool_void(&w->ids);
}

/* --- ids ---------------------------------------------------------------------------------------
 */

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

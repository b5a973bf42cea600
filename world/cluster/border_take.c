/* world/cluster/border_take.c: what zones are told by their neighbours; see border.h.
 * A frame is taken when it is the next one of its zone under the highest epoch that was seen; one
 * that was taken before is dropped, and past a gap everything, until a whole comes. What a word
 * says of an entity counts where its count is no lower than what is known, and where the zone is
 * the one that tells of it, or takes it over in full.
 * Where a zone has another owner its ghosts are those of its strays; where its owner is dead, they
 * stay as they are for as long as one waits for a word.
 */
#include "world/cluster/border.h"

#include "common/err.h"
#include "world/cluster/border_own.h"
#include "world/cluster/ghosts.h"
#include "world/interest/notice.h"

static bool is_sound(const struct world *w, uint32_t zone, const struct cluster_event *e)
{
    const struct scene *s = &w->scenes.list[realm_scene_of(w->cluster, zone)];

    return scene_inside(s, e->x, e->y) && e->dir >= 0 && e->dir < 6.283185307179587 &&
           e->speed >= 0 && e->speed <= w->config.max_speed;
}

/* The ghost of this id, if it is one. False: it is ours, or there is none. */
static bool ghost_of(const struct world *w, uint32_t id, uint32_t *slot)
{
    return entities_by_id(&w->entities, id, slot) && entities_is_ghost(&w->entities, *slot);
}

static void take_full(struct world *w, uint32_t zone, const struct cluster_event *e,
                      struct mono now)
{
    struct realm *r = w->cluster;
    uint32_t slot, scene = realm_scene_of(r, zone);

    if (!entities_by_id(&w->entities, e->id, &slot)) {
        if (!realm_is_gone(r, e->id, e->count, now) && ghosts_put(w, zone, e, now, &slot) == 0)
            r->mark[slot] = r->zones[zone].mark;
        else
            r->zones[zone].missing |= entities_full(&w->entities);
        return;
    }
    if (!entities_is_ghost(&w->entities, slot) || e->count < r->count[slot]) {
        w->metrics.border_old++; /* ours, or another's by now */
        return;
    }
    r->home[slot] = zone;
    r->count[slot] = e->count;
    r->pending[slot] = 0;
    r->mark[slot] = r->zones[zone].mark;
    ghosts_place(w, slot, scene, e->x, e->y, e->dir, e->speed);
}

static void take_handed(struct world *w, uint32_t zone, uint32_t slot,
                        const struct cluster_event *e)
{
    struct realm *r = w->cluster;

    if (e->zone >= 2 * r->n_zones) {
        w->metrics.border_bad++;
        return;
    }
    if (!realm_owns(r, e->zone) && !realm_listens(r, e->zone)) {
        ghosts_remove(w, slot, w->tick + 1); /* out of all hearing */
        return;
    }
    r->home[slot] = e->zone;
    r->count[slot] = e->count;
    r->pending[slot] = w->tick + 1;
    r->n_pending++;
    ghosts_place(w, slot, realm_scene_of(r, zone), e->x, e->y, e->dir, e->speed);
}

/* Moved, gone or handed: a word on a ghost that this zone tells of. */
static void take_word(struct world *w, uint32_t zone, const struct cluster_event *e,
                      struct mono now)
{
    struct realm *r = w->cluster;
    uint32_t slot;

    if (e->kind == CLUSTER_GONE && e->count > 0) /* it may come back under this one */
        realm_past_note(r, e->id, e->count - 1, now);
    if (!ghost_of(w, e->id, &slot) || r->home[slot] != zone || e->count < r->count[slot]) {
        w->metrics.border_old++;
        return;
    }
    if (e->kind == CLUSTER_MOVED) {
        r->pending[slot] = 0;
        ghosts_place(w, slot, realm_scene_of(r, zone), e->x, e->y, e->dir, e->speed);
    } else if (e->kind == CLUSTER_GONE) {
        ghosts_remove(w, slot, w->tick + 1);
    } else {
        take_handed(w, zone, slot, e);
    }
}

static void take_say(struct world *w, const struct cluster_event *e)
{
    uint8_t bytes[NOTICE_TEXT_MAX];
    uint32_t slot;

    if (!entities_by_id(&w->entities, e->id, &slot))
        return;
    w->metrics.say_notifies += notice_tell_knowing(w, slot, notice_text(bytes, e->id, e->text));
}

static void take_events(struct world *w, const struct cluster_message *m, struct mono now)
{
    struct span rest = m->events;
    struct cluster_event e;

    while (cluster_event_take(&rest, &e) == 0) {
        if (e.kind == CLUSTER_SAY)
            take_say(w, &e);
        else if (e.kind != CLUSTER_GONE && !is_sound(w, m->zone, &e))
            w->metrics.border_bad++;
        else if (e.kind == CLUSTER_FULL)
            take_full(w, m->zone, &e, now);
        else
            take_word(w, m->zone, &e, now);
    }
}

/* A whole is over: who was in none of its parts is gone. */
static void sweep(struct world *w, uint32_t zone)
{
    const struct entities *e = &w->entities;
    const struct realm *r = w->cluster;

    for (uint32_t i = e->alive_count; i-- > 0;) { /* who goes is replaced by one looked at */
        uint32_t slot = e->alive[i];

        if (entities_is_ghost(e, slot) && r->home[slot] == zone && r->pending[slot] == 0 &&
            r->mark[slot] != r->zones[zone].mark)
            ghosts_remove(w, slot, w->tick + 1);
    }
}

/* Whoever tells of it, which until another has it is who had it. */
static uint32_t teller(const struct realm_zone *z)
{
    return z->owner != REALM_NOBODY ? z->owner : z->last;
}

static void ask(struct world *w, uint32_t zone)
{
    struct realm *r = w->cluster;
    struct realm_zone *z = &r->zones[zone];
    uint8_t bytes[LINK_WORLD_MAX + 32];
    struct span_writer out = span_writer_of(bytes, sizeof(bytes));
    struct cluster_message m = {.kind = CLUSTER_ASK, .world = r->door.world, .zone = zone};
    uint32_t who = teller(z);

    if (who == REALM_NOBODY || who == REALM_SELF ||
        (z->asked != 0 && w->tick - z->asked < BORDER_ASK_TICKS))
        return;
    z->asked = w->tick;
    cluster_write(&out, &m);
    ASSERT(!out.full);
    r->door.ops->send(r->door.arg, realm_world_id(r, who), span_written(&out));
    w->metrics.border_asks++;
}

/* All that a zone tells of are told of by `to` now; or, where `since` is not 0, awaited there since
 * that tick. */
static void rehome(struct world *w, uint32_t zone, uint32_t to, uint32_t since)
{
    const struct entities *e = &w->entities;
    struct realm *r = w->cluster;

    for (uint32_t i = 0; e->ghost_count > 0 && i < e->alive_count; i++) {
        uint32_t slot = e->alive[i];

        if (!entities_is_ghost(e, slot) || r->home[slot] != zone || r->pending[slot] != 0)
            continue;
        r->home[slot] = to;
        r->pending[slot] = since;
        r->n_pending += since != 0;
    }
}

static void rename_one(struct realm *r, uint32_t slot, uint32_t zone, uint32_t to)
{
    if (r->told[slot] == zone)
        r->told[slot] = to;
    if (r->gave[slot] == zone)
        r->gave[slot] = to;
}

/* What a zone of ours told, and what it was to tell next, is its strays' to tell. */
static void go_on_as(struct world *w, uint32_t zone, uint32_t to)
{
    const struct entities *e = &w->entities;
    struct realm *r = w->cluster;
    struct border *b = r->border;
    struct border_say_head head;

    for (uint32_t i = 0; i < e->alive_count; i++) {
        rename_one(r, e->alive[i], zone, to);
        if (!entities_is_ghost(e, e->alive[i]) && r->home[e->alive[i]] == zone)
            r->home[e->alive[i]] = to;
    }
    for (uint32_t i = 0; i < e->dying_count; i++) {
        rename_one(r, e->dying[i], zone, to);
        r->home[e->dying[i]] = r->home[e->dying[i]] == zone ? to : r->home[e->dying[i]];
    }
    for (uint32_t i = 0; i < b->n_owed; i++)
        b->owed[i].zone = b->owed[i].zone == zone ? to : b->owed[i].zone;
    for (size_t at = 0; at < b->says_len; at += sizeof(head) + head.bytes) {
        memcpy(&head, b->says + at, sizeof(head));
        head.zone = head.zone == zone ? to : head.zone;
        memcpy(b->says + at, &head, sizeof(head));
    }
}

/* The tick of the last word of a zone. */
static uint32_t last_word(const struct world *w, uint32_t zone)
{
    uint32_t silent = w->cluster->zones[zone].silent;

    return silent != 0 ? silent : w->tick + 1;
}

/* A zone's strays are `world`'s, which tells of them under the epoch that the zone had. */
static void begin_strays(struct world *w, uint32_t zone, uint32_t world, uint64_t epoch)
{
    struct realm *r = w->cluster;
    uint32_t strays = realm_strays(r, zone);
    struct realm_zone *s = &r->zones[strays];

    if (realm_owns(r, strays) || s->epoch >= epoch) { /* ours are there; or it told of their end */
        rehome(w, zone, zone, last_word(w, zone));
        return;
    }
    rehome(w, strays, zone, last_word(w, strays)); /* of one before it: that is over */
    *s = (struct realm_zone){.owner = world,
                             .last = REALM_NOBODY,
                             .epoch = epoch,
                             .tick = r->zones[zone].tick,
                             .whole_wanted = true,
                             .silent = last_word(w, zone)};
    rehome(w, zone, strays, 0);
    if (world == REALM_SELF)
        go_on_as(w, zone, strays);
}

/* Somebody else tells of the zone, or is told of it, and begins with a whole. */
static void begin_anew(struct world *w, uint32_t zone, uint32_t world, uint64_t epoch)
{
    struct realm *r = w->cluster;
    struct realm_zone *z = &r->zones[zone];

    if (realm_is_strays(r, zone))
        rehome(w, zone, zone - r->n_zones, last_word(w, zone));
    else if (z->last != world && z->last != REALM_NOBODY)
        begin_strays(w, zone, z->last, z->epoch);
    z->epoch = epoch;
    z->synced = z->known = false;
    z->part = 0;
    z->seq = 0;
    z->asked = 0;
    z->whole_wanted = true;
}

/* Is this the frame that can be taken now? */
static bool is_next(struct world *w, struct realm_zone *z, const struct cluster_message *m)
{
    if (m->part == 1 && (!z->synced || m->seq > z->seq)) {
        z->mark = ++w->cluster->mark_now;
        z->part = 1;
        return true;
    }
    if (m->part > 1 && z->part > 0 && m->part == z->part + 1 && m->seq == z->seq + 1) {
        z->part++;
        return true;
    }
    if (m->part == 0 && z->part == 0 && z->synced && m->seq == z->seq + 1)
        return true;
    if (z->synced && m->seq <= z->seq) {
        w->metrics.border_doubled++;
        return false;
    }
    if (z->synced)
        w->metrics.border_gaps++;
    z->synced = false;
    z->part = 0;
    ask(w, m->zone);
    return false;
}

void border_take(struct world *w, const struct cluster_message *m, struct mono now)
{
    struct realm *r = w->cluster;
    struct realm_zone *z;

    if (m->zone >= 2 * r->n_zones || !realm_listens(r, m->zone))
        return;
    z = &r->zones[m->zone];
    if (m->epoch < z->epoch) {
        w->metrics.border_stale++; /* an owner of before, who does not know yet */
        return;
    }
    if (m->epoch > z->epoch)
        begin_anew(w, m->zone, REALM_NOBODY, m->epoch); /* of whom we have not heard yet */
    if (!is_next(w, z, m))
        return;
    if (z->silent != 0) /* given up for another, it is told of until that one has it */
        z->silent = w->tick + 1;
    z->seq = m->seq;
    take_events(w, m, now);
    if (m->part > 0 && !m->more) {
        sweep(w, m->zone);
        z->part = 0;
        z->synced = z->known = true;
    }
    if (!m->more)
        z->tick = m->tick;
}

void border_bye(struct world *w, const struct cluster_message *m)
{
    struct realm *r = w->cluster;
    struct realm_zone *z;

    if (m->zone >= 2 * r->n_zones || realm_owns(r, m->zone) || m->epoch < r->zones[m->zone].epoch)
        return;
    z = &r->zones[m->zone];
    z->synced = false;
    z->part = 0;
    if (!realm_is_strays(r, m->zone)) {
        ghosts_clear(w, m->zone, w->tick + 1);
        return;
    }
    z->epoch = m->epoch;
    z->owner = REALM_NOBODY;
    r->changed = true;
    /* Who is left was handed over unheard. */
    rehome(w, m->zone, m->zone - r->n_zones, last_word(w, m->zone));
}

void border_dead(struct world *w, uint32_t zone)
{
    struct realm *r = w->cluster;
    uint32_t strays = realm_strays(r, zone), owner = r->zones[zone].owner;

    ASSERT(owner != REALM_SELF);
    if (owner == REALM_NOBODY)
        return;
    ghosts_clear(w, zone, w->tick + 1);
    r->zones[zone].last = REALM_NOBODY;
    if (r->zones[strays].owner == owner) {
        ghosts_clear(w, strays, w->tick + 1);
        r->zones[strays].owner = REALM_NOBODY;
        r->changed = true;
    }
}

void border_owner(struct world *w, uint32_t zone, uint32_t world, uint64_t epoch)
{
    struct realm *r = w->cluster;
    struct realm_zone *z = &r->zones[zone];

    if (world == REALM_NOBODY || (world != REALM_SELF && epoch < z->epoch))
        epoch = z->epoch; /* it only rises: what was said under a lower one is old */
    if (z->owner == world && z->epoch == epoch)
        return;
    if (world == REALM_SELF)
        border_strays_end(w, realm_strays(r, zone)); /* they are in the right place again */
    if (z->epoch != epoch || world == REALM_SELF || z->owner == REALM_SELF)
        begin_anew(w, zone, world, epoch);
    if (world == REALM_SELF && z->owner != REALM_SELF)
        z->since = w->tick;
    z->given = false;
    z->owner = world;
    z->last = world != REALM_NOBODY ? world : z->last;
    r->changed = true;
}

bool border_ready(const struct world *w, uint32_t zone)
{
    const struct realm *r = w->cluster;
    uint32_t near[ZONES_NEAR_MAX], n = realm_around(r, zone, near);

    if (w->tick - r->zones[zone].since >= BORDER_READY_TICKS)
        return true;
    near[n++] = zone;
    for (uint32_t i = 0; i < 2 * n; i++) {
        uint32_t at = i < n ? near[i] : realm_strays(r, near[i - n]);

        if (!r->zones[at].known && !realm_owns(r, at) && r->zones[at].owner != REALM_NOBODY)
            return false;
    }
    return true;
}

/* Owners have changed: since when does nobody tell us of a zone? Of what we do not listen to any
 * more nobody here sees anything. */
static void keep_silences(struct world *w)
{
    const struct entities *e = &w->entities;
    struct realm *r = w->cluster;

    for (uint32_t zone = 0; zone < r->n_zones; zone++) {
        struct realm_zone *z = &r->zones[zone];

        if (z->owner != REALM_NOBODY)
            z->silent = 0;
        else if (z->silent == 0)
            z->silent = w->tick;
        if (!realm_listens(r, zone))
            z->known = r->zones[realm_strays(r, zone)].known = false;
    }
    for (uint32_t i = e->ghost_count > 0 ? e->alive_count : 0; i-- > 0;) { /* as in sweep */
        uint32_t slot = e->alive[i], zone = r->home[slot];

        if (!entities_is_ghost(e, slot) || realm_owns(r, zone) || realm_listens(r, zone))
            continue;
        r->zones[zone].synced = false;
        r->zones[zone].part = 0;
        ghosts_remove(w, slot, w->tick);
    }
}

static bool is_over(const struct world *w, const struct realm_zone *z)
{
    return z->silent != 0 && w->tick >= z->silent + BORDER_PENDING_TICKS;
}

/* Nobody will say more of those whose zones were silent for so long. */
static void forget_silent(struct world *w)
{
    const struct entities *e = &w->entities;
    struct realm *r = w->cluster;
    bool any = false;

    for (uint32_t zone = 0; zone < 2 * r->n_zones; zone++)
        any = any || is_over(w, &r->zones[zone]);
    for (uint32_t i = any ? e->alive_count : 0; i-- > 0;) { /* as in sweep */
        uint32_t slot = e->alive[i];

        if (entities_is_ghost(e, slot) && r->pending[slot] == 0 &&
            is_over(w, &r->zones[r->home[slot]]))
            ghosts_remove(w, slot, w->tick);
    }
    for (uint32_t zone = 0; any && zone < 2 * r->n_zones; zone++) {
        if (!is_over(w, &r->zones[zone]))
            continue;
        r->zones[zone].silent = w->tick;
        if (realm_is_strays(r, zone) && !realm_owns(r, zone))
            r->zones[zone].owner = REALM_NOBODY;
    }
}

/* Who waited in vain is gone. */
static void forget_pending(struct world *w)
{
    const struct entities *e = &w->entities;
    struct realm *r = w->cluster;
    uint32_t pending = 0;

    for (uint32_t i = r->n_pending > 0 ? e->alive_count : 0; i-- > 0;) { /* as in sweep */
        uint32_t slot = e->alive[i];

        if (!entities_is_ghost(e, slot) || r->pending[slot] == 0)
            continue;
        if (w->tick - r->pending[slot] < BORDER_PENDING_TICKS) {
            pending++;
            continue;
        }
        ghosts_remove(w, slot, w->tick);
        w->metrics.ghosts_lost++;
    }
    r->n_pending = pending;
}

void border_tick(struct world *w)
{
    const struct entities *e = &w->entities;
    struct realm *r = w->cluster;

    if (r->changed)
        keep_silences(w);
    for (uint32_t zone = 0; zone < 2 * r->n_zones; zone++) {
        struct realm_zone *z = &r->zones[zone];

        if (z->missing && w->tick % BORDER_MISSING_TICKS == 0 && !entities_full(e))
            z->synced = z->missing = false;
        if (!z->synced && teller(z) != REALM_NOBODY && realm_listens(r, zone))
            ask(w, zone);
    }
    forget_silent(w);
    forget_pending(w);
}

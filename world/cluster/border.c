/* world/cluster/border.c: what zones tell their neighbours; see border.h.
 * A tick's events are gathered once, by whoever changed; then each zone lays its own into frames of
 * one buffer. Everybody is looked at where the owners of zones changed, and in a whole.
 */
#include "world/cluster/border.h"

#include "common/err.h"
#include "world/cluster/border_own.h"

#include <stdlib.h>

/* One more frame of a zone is begun where an event might not fit. */
#define FRAME_ROOM (CLUSTER_MESSAGE_MAX - CLUSTER_EVENT_MAX)

struct change {
    uint32_t zone; /* of ours, that tells */
    uint32_t slot;
    enum cluster_event_kind kind;
};

int border_create(struct border **out)
{
    struct border *b = calloc(1, sizeof(*b));

    if (!b)
        return E_NOMEM;
    b->bytes = malloc(CLUSTER_MESSAGE_MAX);
    b->says = malloc(BORDER_SAY_BYTES);
    *out = b;
    return b->bytes && b->says ? 0 : E_NOMEM;
}

void border_destroy(struct border *b)
{
    if (!b)
        return;
    free(b->bytes);
    free(b->says);
    free(b);
}

/* --- what changed ------------------------------------------------------------------------------
 */

struct changes {
    struct change *list; /* [n] */
    uint32_t n;
};

/* In a whole it is said again for a while, for those who missed it. */
static void note_handed(struct world *w, uint32_t zone, uint32_t slot)
{
    w->cluster->gave[slot] = zone;
    w->cluster->gave_at[slot] = w->tick;
}

static void add(struct changes *c, uint32_t zone, uint32_t slot, enum cluster_event_kind kind)
{
    c->list[c->n++] = (struct change){zone, slot, kind};
}

/* The zone that has to say that it is not there any more; REALM_NONE: nobody was told. */
static uint32_t teller(const struct realm *r, uint32_t slot)
{
    return r->told[slot] == REALM_OWED ? r->home[slot] : r->told[slot];
}

/* One of ours: at most two words of it. */
static void look(struct world *w, uint32_t slot, struct changes *c)
{
    struct entities *e = &w->entities;
    struct realm *r = w->cluster;
    uint32_t before = r->told[slot], home = realm_home(r, slot, e);
    bool here = home != REALM_NONE && (realm_is_strays(r, home) ||
                                       realm_is_border(r, e->scene[slot], e->x[slot], e->y[slot]));

    if (here && before == home)
        add(c, home, slot, CLUSTER_MOVED);
    else if (here)
        add(c, home, slot, CLUSTER_FULL);
    if (before == REALM_OWED && !here && r->home[slot] != REALM_NONE)
        add(c, r->home[slot], slot, CLUSTER_GONE);
    else if (before < REALM_OWED && before != home)
        add(c, before, slot, here ? CLUSTER_HANDED : CLUSTER_GONE);
    else if (before < REALM_OWED && !here)
        add(c, before, slot, CLUSTER_GONE);
    if (before < REALM_OWED && before != home && here)
        note_handed(w, before, slot);
    r->home[slot] = home;
    r->told[slot] = here ? home : REALM_NONE;
}

static void look_any(struct world *w, uint32_t slot, struct changes *c)
{
    struct realm *r = w->cluster;

    if (!entities_is_ghost(&w->entities, slot)) {
        look(w, slot, c);
    } else if (r->told[slot] != REALM_NONE) { /* ours until now */
        if (r->told[slot] < REALM_OWED) {
            add(c, r->told[slot], slot, CLUSTER_HANDED);
            note_handed(w, r->told[slot], slot);
        }
        r->told[slot] = REALM_NONE;
    }
}

static struct changes gather(struct world *w)
{
    const struct entities *e = &w->entities;
    struct realm *r = w->cluster;
    uint32_t most = r->changed ? e->alive_count : e->dirty_count;
    struct changes c = {0};

    c.list = arena_take(&w->scratch, (2 * (size_t)most + e->dying_count + 1) * sizeof(*c.list));
    ASSERT(c.list); /* the arena is empty, and larger */
    for (uint32_t i = 0; i < most; i++) {
        uint32_t slot = r->changed ? e->alive[i] : e->dirty[i];

        if (r->changed || (e->flags[slot] & ENTITY_DIRTY))
            look_any(w, slot, &c);
    }
    for (uint32_t i = 0; i < e->dying_count; i++) {
        uint32_t slot = e->dying[i], zone = teller(r, slot);

        if (zone != REALM_NONE)
            add(&c, zone, slot, CLUSTER_GONE);
        r->told[slot] = REALM_NONE;
    }
    r->changed = false;
    return c;
}

/* --- telling -----------------------------------------------------------------------------------
 */

/* A zone's frames of this tick. */
struct telling {
    struct world *w;
    uint32_t zone;
    struct span_writer out;
    struct cluster_border frame;
    uint32_t part;
};

static void frame_begin(struct telling *t)
{
    struct realm_zone *z = &t->w->cluster->zones[t->zone];
    struct cluster_message m = {
        .kind = CLUSTER_BORDER,
        .zone = t->zone,
        .epoch = z->epoch,
        .seq = ++z->seq,
        .tick = world_told_tick(t->w),
        .part = t->part,
    };

    t->out = span_writer_of(t->w->cluster->border->bytes, CLUSTER_MESSAGE_MAX);
    t->frame = cluster_border_begin(&t->out, &m);
}

static void frame_end(struct telling *t, bool more)
{
    const struct cluster_door *door = &t->w->cluster->door;

    cluster_border_end(&t->frame, more);
    ASSERT(!t->out.full);
    door->ops->publish(door->arg, t->zone, span_written(&t->out));
    t->w->metrics.border_frames++;
    t->w->metrics.border_bytes += t->out.len;
}

static void put(struct telling *t, const struct cluster_event *e)
{
    if (t->out.len > FRAME_ROOM) {
        frame_end(t, true);
        t->part += t->part > 0;
        frame_begin(t);
    }
    cluster_border_put(&t->frame, e);
}

static void put_entity(struct telling *t, uint32_t slot, enum cluster_event_kind kind)
{
    const struct entities *e = &t->w->entities;
    const struct entity_cold *cold = &e->cold[slot];
    struct cluster_event ev = {
        .kind = kind,
        .id = e->id[slot],
        .count = t->w->cluster->count[slot],
        .zone = t->w->cluster->home[slot],
        .entity_kind = cold->kind,
        .name = span_of(cold->name, cold->name_len),
        .x = e->x[slot],
        .y = e->y[slot],
        .dir = e->dir[slot],
        .speed = e->speed[slot],
    };

    put(t, &ev);
}

static void put_gone(struct telling *t, uint32_t id, uint32_t count)
{
    put(t, &(struct cluster_event){.kind = CLUSTER_GONE, .id = id, .count = count});
}

static void put_owed(struct telling *t)
{
    const struct border *b = t->w->cluster->border;

    for (uint32_t i = 0; i < b->n_owed; i++) {
        if (b->owed[i].zone == t->zone)
            put_gone(t, b->owed[i].id, b->owed[i].count);
    }
}

static void put_says(struct telling *t)
{
    const struct border *b = t->w->cluster->border;

    for (size_t at = 0; at < b->says_len;) {
        struct border_say_head head;
        struct cluster_event ev = {.kind = CLUSTER_SAY};

        memcpy(&head, b->says + at, sizeof(head));
        at += sizeof(head);
        ev.id = head.id;
        ev.text = span_of(b->says + at, head.bytes);
        at += head.bytes;
        if (head.zone == t->zone)
            put(t, &ev);
    }
}

/* In a whole stands everybody, who was handed over of late, as who is not gone, and who is gone of
 * late, whom others may still await. */
static void put_whole(struct telling *t)
{
    const struct entities *e = &t->w->entities;
    const struct realm *r = t->w->cluster;
    uint32_t tick = t->w->tick;

    for (uint32_t i = 0; i < e->alive_count; i++) {
        uint32_t slot = e->alive[i];

        if (r->told[slot] == t->zone)
            put_entity(t, slot, CLUSTER_FULL);
        else if (r->gave[slot] == t->zone && r->home[slot] != REALM_NONE &&
                 tick - r->gave_at[slot] < BORDER_PENDING_TICKS)
            put_entity(t, slot, CLUSTER_HANDED);
        else if (r->told[slot] == REALM_NONE && !entities_is_ghost(e, slot) &&
                 r->came_at[slot] != 0 && tick - r->came_at[slot] < BORDER_PENDING_TICKS)
            put_entity(t, slot, CLUSTER_GONE);
    }
    for (uint32_t i = 0; i < REALM_PAST; i++) {
        const struct realm_past *p = &r->past[i];

        if (p->id != 0 && !p->refused && clock_since(t->w->now, p->until) < 0)
            put_gone(t, p->id, p->count);
    }
}

static void tell_zone(struct world *w, uint32_t zone, const struct changes *c)
{
    struct realm_zone *z = &w->cluster->zones[zone];
    struct telling t = {.w = w, .zone = zone, .part = z->whole_wanted ? 1 : 0};

    frame_begin(&t);
    if (z->whole_wanted)
        put_whole(&t);
    for (uint32_t i = 0; !z->whole_wanted && i < c->n; i++) {
        const struct change *x = &c->list[i];

        if (x->zone == zone)
            put_entity(&t, x->slot, x->kind);
    }
    put_owed(&t);
    put_says(&t);
    frame_end(&t, false);
    w->metrics.border_wholes += z->whole_wanted;
    z->whole_wanted = false;
}

/* Has anybody but us a zone beside it, or somebody in it? */
static bool is_heard(const struct realm *r, uint32_t zone)
{
    uint32_t near[ZONES_NEAR_MAX], n = realm_around(r, zone, near);

    near[n++] = zone % r->n_zones;
    for (uint32_t i = 0; i < n; i++) {
        if (!realm_owns(r, near[i]) || realm_has_others(r, near[i]))
            return true;
    }
    return false;
}

static void say_bye(struct world *w, uint32_t zone)
{
    const struct cluster_door *door = &w->cluster->door;
    struct cluster_message m = {
        .kind = CLUSTER_BYE, .zone = zone, .epoch = w->cluster->zones[zone].epoch};
    uint8_t bytes[32];
    struct span_writer out = span_writer_of(bytes, sizeof(bytes));

    cluster_write(&out, &m);
    ASSERT(!out.full);
    door->ops->publish(door->arg, zone, span_written(&out));
}

void border_strays_end(struct world *w, uint32_t zone)
{
    struct realm *r = w->cluster;

    ASSERT(realm_is_strays(r, zone));
    if (!realm_owns(r, zone))
        return;
    say_bye(w, zone);
    r->zones[zone].owner = REALM_NOBODY;
    r->changed = true;
}

/* Is anybody of ours in it? */
static bool has_any(const struct world *w, uint32_t zone)
{
    const struct entities *e = &w->entities;

    for (uint32_t i = 0; i < e->alive_count; i++) {
        if (!entities_is_ghost(e, e->alive[i]) && w->cluster->home[e->alive[i]] == zone)
            return true;
    }
    return false;
}

void border_tell(struct world *w)
{
    struct realm *r = w->cluster;
    size_t mark = w->scratch.used;
    struct changes c = gather(w);

    for (uint32_t zone = 0; zone < 2 * r->n_zones; zone++) {
        if (!realm_owns(r, zone))
            continue;
        if (is_heard(r, zone))
            tell_zone(w, zone, &c);
        else
            r->zones[zone].whole_wanted = true; /* by whoever will hear it */
        if (realm_is_strays(r, zone) && !has_any(w, zone))
            border_strays_end(w, zone);
    }
    r->border->says_len = 0;
    r->border->n_owed = 0;
    arena_rewind(&w->scratch, mark);
}

void border_say(struct world *w, uint32_t slot, struct span text)
{
    struct realm *r = w->cluster;
    struct border *b = r->border;
    struct border_say_head head = {r->told[slot], w->entities.id[slot], (uint32_t)text.n};

    ASSERT(text.n <= PROTO_SAY_MAX);
    if (head.zone >= REALM_OWED)
        return; /* nobody else sees it */
    if (b->says_len + sizeof(head) + text.n > BORDER_SAY_BYTES) {
        w->metrics.border_says_full++;
        return;
    }
    memcpy(b->says + b->says_len, &head, sizeof(head));
    memcpy(b->says + b->says_len + sizeof(head), text.p, text.n);
    b->says_len += sizeof(head) + text.n;
}

void border_end(struct world *w, uint32_t slot)
{
    struct realm *r = w->cluster;
    struct border *b = r->border;

    if (r->told[slot] != REALM_OWED || !(w->entities.flags[slot] & ENTITY_NEW) ||
        b->n_owed == BORDER_OWED)
        return; /* nobody waits, or it is told of with the dying */
    b->owed[b->n_owed++] =
        (struct border_owed){r->home[slot], w->entities.id[slot], r->count[slot]};
}

void border_asked(struct world *w, const struct cluster_message *m)
{
    struct realm *r = w->cluster;

    if (m->zone >= 2 * r->n_zones)
        return;
    w->metrics.border_asked++;
    if (realm_owns(r, m->zone))
        r->zones[m->zone].whole_wanted = true;
    else if (realm_is_strays(r, m->zone) && r->zones[m->zone].owner == REALM_NOBODY)
        say_bye(w, m->zone); /* who asks did not hear it */
}

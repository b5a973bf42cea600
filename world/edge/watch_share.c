/* world/edge/watch_share.c: see the header. */
#include "world/edge/watch_share.h"

#include "common/err.h"
#include "world/cluster/realm.h"

#include <math.h>
#include <stdlib.h>

#define MESSAGE_MAX (CLUSTER_SHOWN_MAX + LINK_WORLD_MAX + 64)
#define PLACES      (4u * WATCH_COPY_MAX) /* of the table from ids; a power of two */

_Static_assert(WATCH_COPY_BYTES <= CLUSTER_SHOWN_MAX, "a frame goes in one message");
_Static_assert((PLACES & (PLACES - 1)) == 0, "a place is found by its low bits");

/* Another world, of one scene. */
struct peer {
    char id[LINK_WORLD_MAX + 1];
    struct mono asked, shown; /* when it last said so; zero: never */
    uint8_t *frame;           /* [cap] what it showed, n bytes; owned */
    size_t n, cap;
};

struct room {
    struct peer *peers; /* [n], owned */
    uint32_t n;
    struct mono told; /* when others last were that somebody watches here; zero: never */
};

struct watch_share {
    struct world *world;
    struct room rooms[SCENES_MAX];
    uint8_t *bytes;   /* [WATCH_COPY_BYTES] */
    uint8_t *message; /* [MESSAGE_MAX] */
    uint32_t *places; /* [PLACES] 1 and the entity's place in the copy, by id; 0: none */
};

int watch_share_create(struct world *w, struct watch_share **out)
{
    struct watch_share *s = calloc(1, sizeof(*s));

    if (!s)
        return E_NOMEM;
    s->world = w;
    s->bytes = malloc(WATCH_COPY_BYTES);
    s->message = malloc(MESSAGE_MAX);
    s->places = malloc(PLACES * sizeof(*s->places));
    if (!s->bytes || !s->message || !s->places) {
        watch_share_destroy(s);
        return E_NOMEM;
    }
    *out = s;
    return 0;
}

void watch_share_destroy(struct watch_share *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < SCENES_MAX; i++) {
        for (uint32_t k = 0; k < s->rooms[i].n; k++)
            free(s->rooms[i].peers[k].frame);
        free(s->rooms[i].peers);
    }
    free(s->places);
    free(s->message);
    free(s->bytes);
    free(s);
}

static bool is_fresh(struct mono at, struct mono now)
{
    return at.ns != 0 && clock_since(now, at) < WATCH_SHARE_FRESH_NS;
}

/* --- what others say -------------------------------------------------------------------------- */

/* The world of this id, which may be a new one; NULL: no memory, or too many. */
static struct peer *peer_of(struct room *r, struct span id)
{
    struct peer *more;

    for (uint32_t i = 0; i < r->n; i++) {
        if (span_equal(span_text(r->peers[i].id), id))
            return &r->peers[i];
    }
    if (r->n == REALM_WORLDS_MAX)
        return NULL;
    more = realloc(r->peers, (r->n + 1) * sizeof(*more));
    if (!more)
        return NULL;
    r->peers = more;
    r->peers[r->n] = (struct peer){0};
    memcpy(r->peers[r->n].id, id.p, id.n);
    return &r->peers[r->n++];
}

static void keep_frame(struct peer *p, struct span frame, struct mono now)
{
    if (p->cap < frame.n) {
        uint8_t *more = realloc(p->frame, frame.n);

        if (!more)
            return;
        p->frame = more;
        p->cap = frame.n;
    }
    memcpy(p->frame, frame.p, frame.n);
    p->n = frame.n;
    p->shown = now;
}

void watch_share_hear(struct watch_share *s, const struct cluster_message *m, struct mono now)
{
    struct peer *p;

    ASSERT(m->scene < s->world->scenes.n);
    p = peer_of(&s->rooms[m->scene], m->world);
    if (!p)
        return;
    if (m->kind == CLUSTER_WATCH)
        p->asked = now;
    else if (m->body.n > 0)
        keep_frame(p, m->body, now);
}

/* --- what is said to them --------------------------------------------------------------------- */

static struct span message_of(struct watch_share *s, enum cluster_kind kind, uint32_t scene,
                              struct span body)
{
    struct cluster_message m = {
        .kind = kind, .world = s->world->cluster->door.world, .scene = scene, .body = body};
    struct span_writer out = span_writer_of(s->message, MESSAGE_MAX);

    cluster_write(&out, &m);
    ASSERT(!out.full);
    return span_written(&out);
}

void watch_share_ask(struct watch_share *s, uint32_t scene, struct mono now)
{
    const struct cluster_door *door = &s->world->cluster->door;
    struct room *r = &s->rooms[scene];

    if (r->told.ns != 0 && clock_since(now, r->told) < WATCH_SHARE_ASK_NS)
        return;
    r->told = now;
    door->ops->tell(door->arg, message_of(s, CLUSTER_WATCH, scene, (struct span){0}));
}

bool watch_share_is_asked(const struct watch_share *s, uint32_t scene, struct mono now)
{
    const struct room *r = &s->rooms[scene];

    for (uint32_t i = 0; i < r->n; i++) {
        if (is_fresh(r->peers[i].asked, now))
            return true;
    }
    return false;
}

void watch_share_show(struct watch_share *s, uint32_t scene, const struct watch_copy *c,
                      struct mono now)
{
    const struct cluster_door *door = &s->world->cluster->door;
    const struct room *r = &s->rooms[scene];
    size_t n = watch_copy_write_own(c, s->bytes);
    struct span message = message_of(s, CLUSTER_SHOWN, scene, span_of(s->bytes, n));

    for (uint32_t i = 0; i < r->n; i++) {
        if (is_fresh(r->peers[i].asked, now))
            door->ops->send(door->arg, span_text(r->peers[i].id), message);
    }
}

/* --- all of it in one frame ------------------------------------------------------------------- */

/* Where the entity of this id stands in the table, or would. */
static uint32_t *place_of(const struct watch_share *s, const struct watch_copy *c, uint32_t id)
{
    uint32_t at = id * 2654435761u;

    for (at ^= at >> 15;; at++) {
        uint32_t *p = &s->places[at & (PLACES - 1)];

        if (*p == 0 || c->id[*p - 1] == id)
            return p;
    }
}

static void add_one(const struct watch_share *s, struct watch_copy *c,
                    const struct watch_copy_one *one)
{
    uint32_t *place = place_of(s, c, one->id), at = *place > 0 ? *place - 1 : c->n;

    if (*place > 0) {
        c->total--; /* it is counted there and here */
        if (!(c->flags[at] & WATCH_COPY_GHOST) || at >= c->n_before)
            return; /* ours, or told of by another already: it was handed over just now */
    }
    if (at == WATCH_COPY_MAX)
        return;
    c->id[at] = one->id;
    c->x[at] = one->x;
    c->y[at] = one->y;
    c->dir[at] = one->dir;
    c->flags[at] = one->flags | WATCH_COPY_GHOST;
    c->n += at == c->n;
    *place = at + 1;
}

void watch_share_add(struct watch_share *s, uint32_t scene, struct watch_copy *c, struct mono now)
{
    const struct room *r = &s->rooms[scene];
    struct watch_copy_one one;
    uint32_t n, total;

    memset(s->places, 0, PLACES * sizeof(*s->places));
    for (uint32_t i = 0; i < c->n; i++)
        *place_of(s, c, c->id[i]) = i + 1;
    c->n_before = c->n;
    for (uint32_t i = 0; i < r->n; i++) {
        struct span frame = span_of(r->peers[i].frame, r->peers[i].n);

        if (!is_fresh(r->peers[i].shown, now) || watch_copy_read(frame, &n, &total) != 0)
            continue;
        c->total += total;
        for (uint32_t k = 0; k < n; k++) {
            watch_copy_one(frame, n, k, &one);
            if (isfinite(one.x) && isfinite(one.y))
                add_one(s, c, &one);
        }
    }
}

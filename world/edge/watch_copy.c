/* world/edge/watch_copy.c: see the header. */
#include "world/edge/watch_copy.h"

#include "common/err.h"
#include "world/interest/soft_list.h"
#include "world/world.h"

#include <stdlib.h>
#include <string.h>

#define TURN 6.28318530717958647693

int watch_copy_init(struct watch_copy *c)
{
    *c = (struct watch_copy){
        .id = malloc(WATCH_COPY_MAX * sizeof(*c->id)),
        .x = malloc(WATCH_COPY_MAX * sizeof(*c->x)),
        .y = malloc(WATCH_COPY_MAX * sizeof(*c->y)),
        .flags = malloc(WATCH_COPY_MAX),
        .dir = malloc(WATCH_COPY_MAX),
    };
    if (c->id && c->x && c->y && c->flags && c->dir)
        return 0;
    watch_copy_fini(c);
    return E_NOMEM;
}

void watch_copy_fini(struct watch_copy *c)
{
    free(c->id);
    free(c->x);
    free(c->y);
    free(c->flags);
    free(c->dir);
    *c = (struct watch_copy){0};
}

/* What it is, and how its sight is held. */
static uint8_t flags_of(const struct world *w, uint32_t slot)
{
    const struct entities *e = &w->entities;
    const struct sight *s = &w->sight;
    uint8_t ghost = entities_is_ghost(e, slot) ? WATCH_COPY_GHOST : 0;

    if (e->cold[slot].kind != 0)
        return ghost | WATCH_COPY_NPC;
    if (ghost != 0)
        return ghost;
    if (s->soft) {
        uint8_t flags = s->soft->viewers[slot].flags;

        return flags == 0 ? WATCH_COPY_WAITS : flags & SOFT_HELD ? WATCH_COPY_PAUSED : 0;
    }
    if (s->mode[slot] == SIGHT_BLIND)
        return WATCH_COPY_WAITS;
    return s->mode[slot] == SIGHT_HELD ? WATCH_COPY_PAUSED : 0;
}

static void take(struct watch_copy *c, const struct world *w, uint32_t slot, uint8_t flags)
{
    const struct entities *e = &w->entities;
    uint32_t n = c->n;

    c->total++;
    if (n == WATCH_COPY_MAX)
        return;
    c->id[n] = e->id[slot];
    c->x[n] = (float)e->x[slot];
    c->y[n] = (float)e->y[slot];
    c->dir[n] = (uint8_t)(uint32_t)(e->dir[slot] * (256 / TURN));
    c->flags[n] = flags | (w->walkers.at[slot] != 0 ? WATCH_COPY_WALKS : 0);
    c->n++;
}

/* Ghosts, or the others. */
static void take_alive(struct watch_copy *const copies[SCENES_MAX], const struct world *w,
                       bool ghosts)
{
    const struct entities *e = &w->entities;

    for (uint32_t i = 0; i < e->alive_count; i++) {
        uint32_t slot = e->alive[i];
        struct watch_copy *c = copies[e->scene[slot]];

        if (c && entities_is_ghost(e, slot) == ghosts)
            take(c, w, slot, flags_of(w, slot));
    }
}

void watch_copy_take(struct watch_copy *const copies[SCENES_MAX], const struct world *w)
{
    const struct entities *e = &w->entities;

    for (uint32_t i = 0; i < w->scenes.n; i++) {
        if (copies[i]) {
            copies[i]->tick = w->tick;
            copies[i]->n = copies[i]->total = 0;
        }
    }
    take_alive(copies, w, false);
    for (uint32_t i = 0; i < w->npcs.n; i++) {
        uint32_t slot = w->npcs.list[i].slot;
        struct watch_copy *c = slot == NPC_NONE ? NULL : copies[e->scene[slot]];

        if (c && w->npcs.list[i].awake_at == 0)
            take(c, w, slot, WATCH_COPY_NPC | WATCH_COPY_ASLEEP);
    }
    for (uint32_t i = 0; i < w->scenes.n; i++) {
        if (copies[i]) {
            copies[i]->own = copies[i]->n;
            copies[i]->own_total = copies[i]->total;
        }
    }
    if (e->ghost_count > 0)
        take_alive(copies, w, true);
}

static uint8_t *put_le32(uint8_t *at, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        *at++ = (uint8_t)(v >> (8 * i));
    return at;
}

static uint8_t *put_floats(uint8_t *at, const float *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t bits;

        memcpy(&bits, &list[i], sizeof(bits));
        at = put_le32(at, bits);
    }
    return at;
}

static size_t write_first(const struct watch_copy *c, uint32_t n, uint32_t total, uint8_t *out)
{
    uint8_t *at = put_le32(put_le32(put_le32(out, c->tick), n), total);

    for (uint32_t i = 0; i < n; i++)
        at = put_le32(at, c->id[i]);
    at = put_floats(put_floats(at, c->x, n), c->y, n);
    memcpy(at, c->flags, n);
    memcpy(at + n, c->dir, n);
    return (size_t)(at - out) + 2 * (size_t)n;
}

size_t watch_copy_write(const struct watch_copy *c, uint8_t *out)
{
    return write_first(c, c->n, c->total, out);
}

size_t watch_copy_write_own(const struct watch_copy *c, uint8_t *out)
{
    return write_first(c, c->own, c->own_total, out);
}

static uint32_t get_le32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static float get_float(const uint8_t *at)
{
    uint32_t bits = get_le32(at);
    float v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

int watch_copy_read(struct span frame, uint32_t *n, uint32_t *total)
{
    if (frame.n < WATCH_COPY_HEAD)
        return E_BAD;
    *n = get_le32(frame.p + 4);
    *total = get_le32(frame.p + 8);
    if (*n > WATCH_COPY_MAX || *total < *n ||
        frame.n != WATCH_COPY_HEAD + (size_t)WATCH_COPY_EACH * *n)
        return E_BAD;
    return 0;
}

void watch_copy_one(struct span frame, uint32_t n, uint32_t at, struct watch_copy_one *out)
{
    const uint8_t *ids = frame.p + WATCH_COPY_HEAD, *x = ids + 4 * (size_t)n,
                  *y = x + 4 * (size_t)n, *flags = y + 4 * (size_t)n, *dir = flags + n;

    ASSERT(at < n);
    *out = (struct watch_copy_one){.id = get_le32(ids + 4 * (size_t)at),
                                   .x = get_float(x + 4 * (size_t)at),
                                   .y = get_float(y + 4 * (size_t)at),
                                   .flags = flags[at],
                                   .dir = dir[at]};
}

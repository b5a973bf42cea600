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

void watch_copy_take(struct watch_copy *const copies[SCENES_MAX], const struct world *w)
{
    const struct entities *e = &w->entities;

    for (uint32_t i = 0; i < w->scenes.n; i++) {
        if (copies[i]) {
            copies[i]->tick = w->tick;
            copies[i]->n = copies[i]->total = 0;
        }
    }
    for (uint32_t i = 0; i < e->alive_count; i++) {
        uint32_t slot = e->alive[i];
        struct watch_copy *c = copies[e->scene[slot]];

        if (c)
            take(c, w, slot, flags_of(w, slot));
    }
    for (uint32_t i = 0; i < w->npcs.n; i++) {
        uint32_t slot = w->npcs.list[i].slot;
        struct watch_copy *c = copies[e->scene[slot]];

        if (c && w->npcs.list[i].awake_at == 0)
            take(c, w, slot, WATCH_COPY_NPC | WATCH_COPY_ASLEEP);
    }
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

size_t watch_copy_write(const struct watch_copy *c, uint8_t *out)
{
    uint8_t *at = put_le32(put_le32(put_le32(out, c->tick), c->n), c->total);

    for (uint32_t i = 0; i < c->n; i++)
        at = put_le32(at, c->id[i]);
    at = put_floats(put_floats(at, c->x, c->n), c->y, c->n);
    memcpy(at, c->flags, c->n);
    memcpy(at + c->n, c->dir, c->n);
    return (size_t)(at - out) + 2 * (size_t)c->n;
}

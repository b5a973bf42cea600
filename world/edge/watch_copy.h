/* world/edge/watch_copy.h: what a live map shows of one scene, copied at a tick's end.
 * Side by side by field, in memory that was taken before; nothing of it points into the world. The
 * first WATCH_COPY_MAX are kept, and how many there are. May touch: common, the core's state.
 * On trouble: E_NOMEM when the memory is taken; copying cannot fail.
 *
 *   frame   tick u32, n u32, total u32                             little-endian, as all of it
 *           id u32 [n], x f32 [n], y f32 [n], flags u8 [n], dir u8 [n]
 */
#pragma once

#include "common/base.h"
#include "common/span.h"
#include "world/ids.h"

#include <stdbool.h>

#define WATCH_COPY_MAX   16384 /* entities of a scene that are shown */
#define WATCH_COPY_HEAD  12    /* bytes */
#define WATCH_COPY_EACH  14
#define WATCH_COPY_BYTES (WATCH_COPY_HEAD + (size_t)WATCH_COPY_EACH * WATCH_COPY_MAX)

enum watch_copy_flag {
    WATCH_COPY_NPC = 1,
    WATCH_COPY_WAITS = 2,  /* a player whose connection was lost */
    WATCH_COPY_ASLEEP = 4, /* an NPC with no player near */
    WATCH_COPY_PAUSED = 8, /* a viewer whose batches wait */
    WATCH_COPY_WALKS = 16, /* the world walks it */
    WATCH_COPY_GHOST = 32  /* another world's */
};

struct world;

struct watch_copy {
    uint32_t tick, n, total;
    uint32_t own, own_total; /* those of them that are this world's, which come first */
    uint32_t n_before;       /* those that were there before other worlds' came in */
    uint32_t *id;            /* [WATCH_COPY_MAX] as the rest */
    float *x, *y;            /* units */
    uint8_t *flags;
    uint8_t *dir; /* 256 to a turn */
};

int watch_copy_init(struct watch_copy *c) MUST_CHECK;
void watch_copy_fini(struct watch_copy *c); /* a zeroed one is fine */

/* Copy the scenes that have a place in `copies` (by scene, NULL: none), as they are now.
 * Cost: one look at each entity. */
void watch_copy_take(struct watch_copy *const copies[SCENES_MAX], const struct world *w);
/* The frame: `out` has room for WATCH_COPY_BYTES. Returns its bytes. */
size_t watch_copy_write(const struct watch_copy *c, uint8_t *out);
/* The same of this world's own. */
size_t watch_copy_write_own(const struct watch_copy *c, uint8_t *out);

/* A frame that another world wrote: how many it has, and of how many. 0 or E_BAD. */
int watch_copy_read(struct span frame, uint32_t *n, uint32_t *total) MUST_CHECK;
/* One of its `n`; whether x and y are finite is not known. */
struct watch_copy_one {
    uint32_t id;
    float x, y;
    uint8_t flags, dir;
};
void watch_copy_one(struct span frame, uint32_t n, uint32_t at, struct watch_copy_one *out);

/* world/interest/mask.h: which of a list of candidates lie within the radius, as bits.
 * Whole numbers relative to a block of the map: sixteen bits a coordinate, so that one vector
 * instruction squares and adds a pair. What lies so near the edge that rounding could matter is
 * reported as doubtful, for the caller to decide on the exact places; so the bits do not depend on
 * the processor. One binary: AVX2 is chosen at run time where it is there.
 * Pure. May touch: libc, the compiler's vector intrinsics.
 */
#pragma once

#include "common/base.h"

#include <stdbool.h>

#define MASK_COORD_MAX  20000 /* of a candidate; further away is held to this */
#define MASK_VIEWER_MAX 5000  /* of a viewer */
#define MASK_BATCH      8     /* candidates a vector; lists are padded to a multiple of it */

/* A place in the block's whole numbers. */
struct mask_place {
    int16_t x, y;
};

/* A place that is within nobody's radius; lists are padded with it. */
#define MASK_AWAY ((struct mask_place){MASK_COORD_MAX, MASK_COORD_MAX})

struct mask_edge {
    int32_t inner;  /* squared distance below which a pair is within for sure */
    uint32_t doubt; /* from inner to inner + doubt: decide exactly; above: not within */
};

/* For each candidate j a bit j % 64 of word j / 64: is it within of the viewer's place?
 *   now, old       [batches * MASK_BATCH] candidates' places now and before; 32-byte aligned
 *   viewer         [2] the viewer's place now and before
 *   in_now, in_old [(batches + 7) / 8] words
 *   doubtful       [(batches + 7) / 8] bytes: 1 where a pair of that word is doubtful; bits of
 *                  doubtful pairs are 0 in the masks */
typedef void mask_fn(const struct mask_place *now, const struct mask_place *old, uint32_t batches,
                     const struct mask_place viewer[2], struct mask_edge edge, uint64_t *in_now,
                     uint64_t *in_old, uint8_t *doubtful);

/* The best one for this processor; its name for the log and -version in `name`. */
mask_fn *mask_choose(const char **name);
/* The portable one, for tests and for other processors. */
mask_fn mask_portable;

/* The squared distance in whole numbers, minus edge.inner: negative means within; as the vector
 * code computes it. */
static inline int32_t mask_beyond(struct mask_place a, struct mask_place b, struct mask_edge edge)
{
    int32_t dx = a.x - b.x, dy = a.y - b.y;

    return dx * dx + dy * dy - edge.inner;
}

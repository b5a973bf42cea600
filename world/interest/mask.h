/* world/interest/mask.h: which of a list of candidates lie within the radius, as bits.
 * Whole numbers relative to a block of the map: sixteen bits a coordinate, so that one vector
 * instruction squares and adds a pair. What lies so near the edge that rounding could matter is
 * reported as doubtful, for the caller to decide on the exact places; so the bits do not depend on
 * the processor. One binary: AVX-512 or AVX2 is chosen at run time where it is there.
 * Pure. May touch: libc, the compiler's vector intrinsics.
 */
#pragma once

#include "common/base.h"

#include <stdbool.h>

#define MASK_COORD_MAX  20000 /* of a candidate; further away is held to this */
#define MASK_VIEWER_MAX 12000 /* of a viewer */
#define MASK_BATCH      16    /* candidates a vector; lists are padded to a multiple of it */
#define MASK_ALIGN      64    /* bytes; where a list starts */

/* A place in the block's whole numbers. */
struct mask_place {
    int16_t x, y;
};

/* An entity's place now and at the last tick, in the scene's whole numbers. */
struct mask_fixed {
    int32_t x, y, old_x, old_y;
};

/* A place that is within nobody's radius; lists are padded with it. */
#define MASK_AWAY ((struct mask_place){MASK_COORD_MAX, MASK_COORD_MAX})

struct mask_edge {
    int32_t inner;  /* squared distance below which a pair is within for sure */
    uint32_t doubt; /* from inner to inner + doubt: decide exactly; above: not within */
};

/* For each candidate j a bit j % 64 of word j / 64: is it within of the viewer's place?
 *   now, old       [batches * MASK_BATCH] candidates' places now and before; at MASK_ALIGN
 *   viewer         [2] the viewer's place now and before
 *   in_now, in_old [MASK_WORDS(batches)] words
 *   doubtful       [MASK_WORDS(batches)] bytes: 1 where a pair of that word is doubtful; bits of
 *                  doubtful pairs are 0 in the masks
 * Returns whether any word is doubtful. */
typedef bool mask_fn(const struct mask_place *now, const struct mask_place *old, uint32_t batches,
                     const struct mask_place viewer[2], struct mask_edge edge, uint64_t *in_now,
                     uint64_t *in_old, uint8_t *doubtful);
#define MASK_WORDS(batches) (((batches)*MASK_BATCH + 63) / 64)

/* Lay candidates' places relative to a block's middle, held to MASK_COORD_MAX.
 *   fixed      by rank
 *   ranks      [n]
 *   now, old   [n], and padded with MASK_AWAY to a multiple of MASK_BATCH */
typedef void mask_lay_fn(const struct mask_fixed *fixed, const uint32_t *ranks, uint32_t n,
                         int32_t mid_x, int32_t mid_y, struct mask_place *now,
                         struct mask_place *old);

/* For each candidate of one word a bit: is it doubtful?
 *   at   [batches * MASK_BATCH], batches * MASK_BATCH <= 64; at MASK_ALIGN */
typedef uint64_t mask_doubt_fn(const struct mask_place *at, uint32_t batches,
                               struct mask_place viewer, struct mask_edge edge);

/* For each candidate a bit: does it stand in the block, which is 2^bits wide around the middle?
 *   now      as above
 *   inside   [MASK_WORDS(batches)] words */
typedef void mask_inside_fn(const struct mask_place *now, uint32_t batches, unsigned bits,
                            uint64_t *inside);

/* One kind of code. */
struct mask_code {
    const char *name;
    mask_fn *look;
    mask_lay_fn *lay;
    mask_inside_fn *inside;
    mask_doubt_fn *doubt;
};

/* The kinds that this processor runs, the best first, the portable one last. Returns how many. */
uint32_t mask_codes(const struct mask_code **out);

static inline int16_t mask_hold(int32_t v)
{
    return (int16_t)(v < -MASK_COORD_MAX  ? -MASK_COORD_MAX
                     : v > MASK_COORD_MAX ? MASK_COORD_MAX
                                          : v);
}

/* The squared distance in whole numbers, minus edge.inner: negative means within; as the vector
 * code computes it. */
static inline int32_t mask_beyond(struct mask_place a, struct mask_place b, struct mask_edge edge)
{
    int32_t dx = a.x - b.x, dy = a.y - b.y;

    return dx * dx + dy * dy - edge.inner;
}

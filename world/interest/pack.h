/* world/interest/pack.h: records of those who stay, laid one behind the other.
 * The hottest loop of a world: for each bit that is set in two masks an id's distance from the one
 * before as a varint, and the mover's tail. One binary: AVX-512 is chosen at run time where it is
 * there; every kind of code writes the same bytes.
 * Pure. May touch: common, proto/aoi_move, the compiler's vector intrinsics.
 */
#pragma once

#include "proto/aoi_move.h"

#define PACK_BATCH    16 /* candidates a vector; ids and tails are padded to a multiple of 64 */
#define PACK_OVERHANG 64 /* bytes behind the last record that may be overwritten */

/* Candidates of a block, and what is told of each. */
struct pack_list {
    uint32_t *ids;               /* [n] ascending */
    struct aoi_move_tail *tails; /* [n] len 0: nothing is told */
    uint64_t *told;              /* [(n + 63) / 64] bits: its tail is told */
    uint32_t *some_ids;          /* buffers of the code's own */
    struct aoi_move_tail *some_tails;
    uint32_t *positions;
};

/* Room for lists of `cap` candidates. E_NOMEM. */
int pack_list_init(struct pack_list *l, uint32_t cap) MUST_CHECK;
void pack_list_fini(struct pack_list *l);

/* Lay the records of all whose bits are set in `stay` and told.
 *   stay   [words]
 *   out    AOI_MOVE_RECORD_MAX bytes for each, and PACK_OVERHANG
 *   end    where the records end
 * Returns how many. */
typedef uint32_t pack_fn(const struct pack_list *l, const uint64_t *stay, uint32_t words,
                         uint8_t *out, uint8_t **end);

struct pack_code {
    const char *name;
    pack_fn *pack;
};

/* The kinds that this processor runs, the best first, the portable one last. Returns how many. */
uint32_t pack_codes(const struct pack_code **out);

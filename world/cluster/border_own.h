/* world/cluster/border_own.h: what both halves of border share.
 * May touch: what border.h may.
 */
#pragma once

#include "world/cluster/border.h"

/* Before each text in `says`. */
struct border_say_head {
    uint32_t zone; /* of ours, that tells of the speaker */
    uint32_t id;
    uint32_t bytes;
};

/* One who ended before a tick told of it, though others await a word. */
struct border_owed {
    uint32_t zone, id, count;
};
#define BORDER_OWED 256 /* in a tick; more are gone when nobody waits any more */

/* We tell of the strays there no more, if we did. */
void border_strays_end(struct world *w, uint32_t zone);

struct border {
    uint8_t *bytes; /* [CLUSTER_MESSAGE_MAX] the frame that is laid */
    uint8_t *says;  /* [BORDER_SAY_BYTES] */
    size_t says_len;
    struct border_owed owed[BORDER_OWED]; /* [n_owed] */
    uint32_t n_owed;
};

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

struct border {
    uint8_t *bytes; /* [CLUSTER_MESSAGE_MAX] the frame that is laid */
    uint8_t *says;  /* [BORDER_SAY_BYTES] */
    size_t says_len;
};

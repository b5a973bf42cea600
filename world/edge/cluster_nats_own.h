/* world/edge/cluster_nats_own.h: what cluster_nats and its door share.
 * May touch: what cluster_nats.h may.
 */
#pragma once

#include "common/io/nats_bus.h"
#include "common/nats_url.h"
#include "world/cluster/member.h"
#include "world/edge/cluster_nats.h"

#define CLUSTER_NATS_IDS 4096u /* of a block */

struct cluster_nats {
    struct cluster_nats_config config;
    struct loop *loop;
    struct loop_timer *timer;
    struct nats_bus *bus;
    struct member member;
    struct world *world;      /* NULL: not served yet */
    struct kv_command *asked; /* [NATS_BUS_KEYS_MAX] by ticket */
    uint32_t *free;           /* [n_free] tickets */
    uint32_t n_free;
    char id[LINK_WORLD_MAX + 1];
    char shown[NATS_URL_SHOWN]; /* the URL */
    loop_fn *quit_done;         /* NULL: nobody waits for the end of the lease */
    struct mono quit_by;        /* it is over by itself */
    void *quit_arg;

    uint32_t term;       /* of what is held: see world/cluster/member */
    uint64_t generation; /* of the subjects that are listened to; 0: none */
    bool *listens;       /* [2 * zones] those of strays behind the others */
    bool acts, leaves;
    uint64_t fed;    /* ids that came so far */
    uint64_t barred; /* messages */
};

/* "aegis.GENERATION.KIND", with ".LAST" where that is not empty; lies in `out`. */
struct span cluster_nats_subject(const struct cluster_nats *c, char out[NATS_BUS_SUBJECT_MAX + 1],
                                 const char *kind, struct span last);
/* A zone's number as text, in `out`. */
struct span cluster_nats_zone(char out[16], uint32_t zone);

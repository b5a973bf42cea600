/* tests/cluster_rig_names.h: the keys of names for tests/cluster_rig: a store of compare-and-set
 * for some worlds in one process. What a world asks lands later, and its answer comes later still;
 * nothing is lost, as world/cluster/names sees to that. May touch: the world's core.
 */
#pragma once

#include "common/rng.h"
#include "world/world.h"

#define CRIG_NAMES_MAX 1024

struct crig;

enum crig_name_op { CRIG_CLAIM, CRIG_TAKE, CRIG_TAKE_BACK, CRIG_RELEASE };

struct crig_name_ask {
    enum crig_name_op op;
    uint32_t world, place;
    char name[PROTO_NAME_MAX + 1];
    uint64_t token;
    uint64_t due; /* step in which it lands */
    /* When it has landed. */
    bool landed;
    bool held, elsewhere, gone; /* else free */
    uint32_t holder;
};

struct crig_name {
    char name[PROTO_NAME_MAX + 1];
    uint32_t holder; /* CRIG_NONE: nobody */
    uint64_t revision;
};

struct crig_names {
    struct crig_name list[CRIG_NAMES_MAX];
    uint32_t n;
    uint64_t revision;          /* of the whole store */
    struct crig_name_ask *asks; /* [n_asks] in the order of asking */
    uint32_t n_asks, cap;
    uint32_t delay;    /* steps at most, there and back */
    uint64_t *held[4]; /* [places] by world: the revision that it knows */
    bool buried[4];    /* its epoch is over: what it holds may be taken */
};

extern const struct cluster_door_ops CRIG_NAME_OPS; /* its names; the rest is the rig's */

void crig_names_init(struct crig *r);
void crig_names_fini(struct crig *r);
/* What is due lands, and is answered. Returns whether any did. */
bool crig_names_deliver(struct crig *r);
/* The world's term is over: what it holds is nobody's, what it asked is not answered, and its core
 * hears of that. */
void crig_names_end(struct crig *r, uint32_t world);
/* Who holds it; CRIG_NONE: nobody. */
uint32_t crig_name_holder(const struct crig *r, const char *name);

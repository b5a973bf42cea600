/* tests/cluster_rig_store.h: one store of characters for the worlds of tests/cluster_rig. What is
 * asked lands later, each world's in its order; a save below the fence of its row is refused, as in
 * a real one. May touch: the world's core.
 */
#pragma once

#include "world/world.h"

#define CRIG_ROWS_MAX 1024

struct crig;

enum crig_store_op { CRIG_LOAD, CRIG_SAVE, CRIG_SETTLE };

struct crig_store_ask {
    enum crig_store_op op;
    uint32_t world;
    uint64_t due;
    struct store_character c; /* of a load and a settle the name alone */
    struct store_ticket ticket;
    struct store_settle settle;
};

struct crig_store {
    bool on;
    struct store_character rows[CRIG_ROWS_MAX];
    uint32_t n;
    struct crig_store_ask *asks; /* [n_asks] in the order of asking */
    uint32_t n_asks, cap;
    uint32_t delay; /* steps at most */
    uint64_t saves, refused;
};

extern const struct store_ops CRIG_STORE_OPS; /* its arg is a struct crig_world */

void crig_store_fini(struct crig *r);
/* What is due lands, and is answered. Returns whether any did. */
bool crig_store_deliver(struct crig *r);
/* NULL: no such row. */
const struct store_character *crig_row(const struct crig *r, const char *name);

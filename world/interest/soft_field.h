/* world/interest/soft_field.h: who stands where, for those whose turn it is.
 * Cells about as wide as a tier's radius; made anew for a tick out of one phase of all entities,
 * side by side in the order of cells, so that who is near lies in three runs.
 * Pure. May touch: common, world/state, world/interest. On trouble: nothing can be full.
 */
#pragma once

#include "world/state/entity.h"
#include "world/state/scenes.h"

struct soft_cell {
    uint32_t tick; /* of which the rest is so */
    uint32_t first, n;
};

struct soft_field {
    struct grid grid; /* which cell is where */
    double radius;    /* units */
    uint32_t tick;    /* of which it is */
    struct soft_cell *cells;
    uint64_t *keys, *spare; /* [cap] cell << 32 | slot */
    double *x, *y;          /* [n] */
    uint32_t *slot;         /* [n] in the order of cells */
    uint32_t n;
};

/* E_NOMEM. */
int soft_field_create(const struct scenes *scenes, double radius, uint32_t cap,
                      struct soft_field **out) MUST_CHECK;
void soft_field_destroy(struct soft_field *f); /* NULL is fine */

/* All who are alive and whose slot modulo `every` is `phase`, as they stand now. */
void soft_field_fill(struct soft_field *f, const struct entities *e, uint32_t tick, uint32_t every,
                     uint32_t phase);
/* Those of them within the radius of the entity, itself apart: out [cap] slots, in an order that
 * depends on the inputs alone. Returns how many. Cost: those in at most nine cells. */
uint32_t soft_field_near(const struct soft_field *f, const struct entities *e, uint32_t viewer,
                         uint32_t *out);

/* world/cluster/blocks.h: ids of entities, a block at a time.
 * One key counts the blocks that were given; who raises it by compare-and-set has the next block
 * for good. Where it is not known whether a raise was done that block is nobody's: ids are many.
 * An id goes with its entity, and is given anew by the world where the entity ended.
 * Pure. May touch: common, world/cluster.
 */
#pragma once

#include "world/cluster/generation.h"
#include "world/cluster/lease.h"

struct blocks {
    struct kv_cell cell;
    uint32_t size;  /* ids of a block */
    uint32_t limit; /* blocks at most */
    bool wanted, ready;
    bool checking;     /* one was claimed, and counts when the generation was read again */
    struct mono since; /* CHECKING: when it was claimed */
    uint64_t block;    /* CHECKING, READY: its number */
};

void blocks_init(struct blocks *b, uint32_t size, uint32_t limit);
void blocks_generation(struct blocks *b, uint64_t number);
/* One more is needed; more than one at a time are not asked for. */
void blocks_want(struct blocks *b);
void blocks_turn(struct blocks *b, const struct lease *l, struct generation *g, struct kv_queue *q,
                 struct mono now);
void blocks_result(struct blocks *b, const struct kv_result *r, struct mono now);
/* The block that came: ids `first` to `first` + `size` - 1; once. */
bool blocks_next(struct blocks *b, uint32_t *first);

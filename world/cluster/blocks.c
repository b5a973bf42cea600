/* world/cluster/blocks.c: see the header. */
#include "world/cluster/blocks.h"

void blocks_init(struct blocks *b, uint32_t size, uint32_t limit)
{
    *b = (struct blocks){.size = size, .limit = limit};
}

void blocks_generation(struct blocks *b, uint64_t number)
{
    b->cell = (struct kv_cell){.key = {.room = KV_IDS, .generation = number}};
    b->ready = b->checking = false;
}

void blocks_want(struct blocks *b)
{
    b->wanted = true;
}

void blocks_turn(struct blocks *b, const struct lease *l, struct generation *g, struct kv_queue *q,
                 struct mono now)
{
    struct claim v = b->cell.value;

    if (b->checking && generation_checked(g, b->since)) {
        b->checking = b->wanted = false;
        b->ready = true;
    }
    if (!b->wanted || b->checking || b->ready || !lease_may_act(l, now) ||
        !kv_cell_idle(&b->cell, now))
        return;
    if (!b->cell.known) {
        kv_cell_ask(&b->cell, q, KV_GET, NULL, now);
        return;
    }
    if (v.state != CLAIM_NONE && v.load >= b->limit)
        return;
    v.load = v.state == CLAIM_NONE ? 1 : v.load + 1;
    v.state = CLAIM_HELD;
    v.world = l->self;
    v.epoch = l->epoch;
    kv_cell_ask(&b->cell, q, b->cell.value.state == CLAIM_NONE ? KV_CREATE : KV_UPDATE, &v, now);
}

void blocks_result(struct blocks *b, const struct kv_result *r, struct mono now)
{
    if (r->command.key.generation != b->cell.key.generation || !kv_cell_answer(&b->cell, r, now))
        return;
    if (r->outcome == KV_LOST || r->outcome == KV_UNKNOWN) {
        b->cell.known = false;
    } else if (r->outcome == KV_DONE && r->command.op != KV_GET) {
        b->checking = true;
        b->since = now;
        b->block = r->command.value.load - 1;
    }
}

bool blocks_next(struct blocks *b, uint32_t *first)
{
    if (!b->ready)
        return false;
    b->ready = false;
    *first = (uint32_t)(1 + b->block * b->size);
    return true;
}

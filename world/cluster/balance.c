/* world/cluster/balance.c: see the header. */
#include "world/cluster/balance.h"

#include <string.h>

/* How many each has; returns how many of all are nobody's or on their way. */
static uint32_t count(const struct balance *b)
{
    uint32_t open = 0;

    memset(b->count, 0, b->n_worlds * sizeof(*b->count));
    for (uint32_t i = 0; i < b->n_zones; i++) {
        if (b->owner[i] < b->n_worlds)
            b->count[b->owner[i]]++;
        else
            open++;
    }
    return open;
}

/* The share of the next world in turn that stays, of `n` zones for `takers` worlds. */
static uint32_t share(uint32_t n, uint32_t takers, uint32_t turn)
{
    return n / takers + (turn < n % takers ? 1 : 0);
}

void balance_fill(const struct balance *b, uint32_t *to)
{
    uint32_t takers = 0, turn = 0, zone = 0;

    for (uint32_t i = 0; i < b->n_zones; i++)
        to[i] = BALANCE_NOBODY;
    if (count(b) == 0)
        return;
    for (uint32_t i = 0; i < b->n_worlds; i++)
        takers += !b->drains[i];
    for (uint32_t i = 0; i < b->n_worlds; i++) {
        uint32_t due;

        if (b->drains[i])
            continue;
        due = share(b->n_zones, takers, turn++);
        for (; zone < b->n_zones && b->count[i] < due; zone++) {
            if (b->owner[zone] != BALANCE_NOBODY)
                continue;
            to[zone] = i;
            b->count[i]++;
        }
    }
}

bool balance_next(const struct balance *b, struct balance_move *out)
{
    uint32_t from = BALANCE_NOBODY, to = BALANCE_NOBODY;
    bool drains;

    if (count(b) > 0)
        return false;
    for (uint32_t i = 0; i < b->n_worlds; i++) {
        if (!b->drains[i] && (to == BALANCE_NOBODY || b->count[i] < b->count[to]))
            to = i;
        if (b->count[i] == 0)
            continue;
        if (from == BALANCE_NOBODY || (b->drains[i] && !b->drains[from]) ||
            (b->drains[i] == b->drains[from] && b->count[i] > b->count[from]))
            from = i;
    }
    if (from == BALANCE_NOBODY || to == BALANCE_NOBODY || from == to)
        return false;
    drains = b->drains[from];
    if (!drains && b->count[from] < b->count[to] + 2)
        return false;
    *out = (struct balance_move){0, from, to};
    for (uint32_t i = 0; i < b->n_zones; i++) {
        /* Runs of neighbours stay together: the end that is nearer to the other's. */
        out->zone = to > from ? b->n_zones - 1 - i : i;
        if (b->owner[out->zone] == from)
            return true;
    }
    return false;
}

/* tests/world/test_balance.c: zones spread evenly, one move at a time. May touch: world/cluster.
 */
#include "world/cluster/balance.h"

#include "common/rng.h"
#include "tests/leak.h"

#define NOBODY BALANCE_NOBODY
#define BUSY   BALANCE_BUSY

static uint32_t scratch[64];

static struct balance of(uint32_t worlds, const bool *drains, uint32_t zones, const uint32_t *owner)
{
    return (struct balance){worlds, zones, drains, owner, scratch};
}

static const bool none[8] = {false};

Test(balance, zones_of_nobody_are_dealt_out_in_even_runs)
{
    uint32_t owner[8] = {NOBODY, NOBODY, NOBODY, NOBODY, NOBODY, NOBODY, NOBODY, NOBODY}, to[8];
    static const uint32_t want[8] = {0, 0, 0, 1, 1, 1, 2, 2};
    struct balance b = of(3, none, 8, owner);

    balance_fill(&b, to);
    for (int i = 0; i < 8; i++)
        cr_assert_eq(to[i], want[i]);
}

Test(balance, who_has_its_share_gets_no_more)
{
    uint32_t owner[8] = {0, 0, 0, 0, NOBODY, NOBODY, BUSY, NOBODY}, to[8];
    struct balance b = of(2, none, 8, owner);

    balance_fill(&b, to);
    for (int i = 0; i < 8; i++)
        cr_assert_eq(to[i], owner[i] == NOBODY ? 1 : NOBODY);
}

Test(balance, who_drains_gets_none_and_gives_all)
{
    static const bool drains[2] = {true, false};
    uint32_t owner[4] = {0, 1, 1, NOBODY}, to[4];
    struct balance b = of(2, drains, 4, owner);
    struct balance_move move;

    balance_fill(&b, to);
    cr_assert_eq(to[3], 1);
    cr_assert(!balance_next(&b, &move), "one is still nobody's");
    owner[3] = 1;
    cr_assert(balance_next(&b, &move));
    cr_assert_eq(move.zone, 0);
    cr_assert_eq(move.from, 0);
    cr_assert_eq(move.to, 1);
    owner[0] = 1;
    cr_assert(!balance_next(&b, &move));
}

Test(balance, where_all_drain_nothing_moves)
{
    static const bool drains[2] = {true, true};
    uint32_t owner[4] = {0, 0, 0, NOBODY}, to[4];
    struct balance b = of(2, drains, 4, owner);
    struct balance_move move;

    balance_fill(&b, to);
    cr_assert_eq(to[3], NOBODY);
    owner[3] = 0;
    cr_assert(!balance_next(&b, &move));
}

Test(balance, a_difference_of_one_is_even)
{
    uint32_t owner[5] = {0, 0, 0, 1, 1};
    struct balance b = of(2, none, 5, owner);
    struct balance_move move;

    cr_assert(!balance_next(&b, &move));
    owner[3] = 0;
    cr_assert(balance_next(&b, &move));
    cr_assert_eq(move.zone, 3); /* the end that is nearer to the other's */
}

/* Whatever it begins with, it comes to an end, and there all have as many as each other. */
Test(balance, moves_come_to_an_even_end)
{
    struct rng rng;

    rng_init(&rng, 5);
    for (int round = 0; round < 500; round++) {
        uint32_t worlds = 1 + (uint32_t)rng_below(&rng, 8),
                 zones = 1 + (uint32_t)rng_below(&rng, 64);
        uint32_t owner[64], to[64], count[8] = {0}, most = 0, least = 64, moves = 0;
        bool drains[8];
        struct balance b = of(worlds, drains, zones, owner);
        struct balance_move move;

        for (uint32_t i = 0; i < worlds; i++)
            drains[i] = i > 0 && rng_below(&rng, 4) == 0;
        for (uint32_t i = 0; i < zones; i++)
            owner[i] = rng_below(&rng, 3) == 0 ? NOBODY : (uint32_t)rng_below(&rng, worlds);
        balance_fill(&b, to);
        for (uint32_t i = 0; i < zones; i++)
            owner[i] = owner[i] == NOBODY ? to[i] : owner[i];
        while (balance_next(&b, &move)) {
            cr_assert_eq(owner[move.zone], move.from);
            owner[move.zone] = move.to;
            cr_assert_leq(++moves, zones);
        }
        for (uint32_t i = 0; i < zones; i++)
            count[owner[i]]++;
        for (uint32_t i = 0; i < worlds; i++) {
            cr_assert(!drains[i] || count[i] == 0);
            most = !drains[i] && count[i] > most ? count[i] : most;
            least = !drains[i] && count[i] < least ? count[i] : least;
        }
        cr_assert_leq(most, least + 1);
    }
}

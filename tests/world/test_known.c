/* tests/world/test_known.c: the known lists. May touch: world/interest/known, common. */
#include "world/interest/known.h"

#include "common/err.h"
#include "common/rng.h"
#include "tests/leak.h"

#include <stdlib.h>
#include <string.h>

Test(known, a_key_sorts_by_id_and_gives_back_both)
{
    uint64_t k = known_key(0xdeadbeef, 0x1234);
    cr_assert_eq(known_id(k), 0xdeadbeef);
    cr_assert_eq(known_slot(k), 0x1234);
    cr_assert_lt(known_key(1, UINT32_MAX), known_key(2, 0));
}

Test(known, lists_start_empty_and_clear_to_empty)
{
    struct known k;
    cr_assert_eq(known_init(&k, 3, 1000), 0);
    cr_assert_eq(known_count(&k, 2), 0);
    cr_assert_not(known_has(&k, 2, known_key(1, 1)));
    cr_assert_eq(known_clear(&k, 2), 0);
    known_merge(&k, 1, 0, NULL, 0);
    cr_assert_eq(known_count(&k, 1), 0);
    uint64_t keys[] = {known_key(3, 1), known_key(5, 0), known_key(9, 7)};
    cr_assert_eq(known_reserve(&k, 1, 3), 0);
    known_merge(&k, 1, 0, keys, 3);
    cr_assert_eq(k.pairs, 3);
    cr_assert(known_has(&k, 1, known_key(5, 0)));
    cr_assert_not(known_has(&k, 1, known_key(5, 1)), "another slot is another entity");
    cr_assert_not(known_has(&k, 0, known_key(5, 0)));
    cr_assert_eq(known_clear(&k, 1), 3);
    cr_assert_eq(k.pairs, 0);
    cr_assert_not(known_has(&k, 1, known_key(5, 0)));
    known_fini(&k);
    TEST_NO_LEAKS();
}

Test(known, the_end_of_the_block_is_told_and_changes_nothing)
{
    struct known k;
    cr_assert_eq(known_init(&k, 3, 40), 0);
    uint64_t keys[40];
    for (uint32_t i = 0; i < 40; i++)
        keys[i] = known_key(i + 1, i);
    cr_assert_eq(known_reserve(&k, 0, 16), 0);
    known_merge(&k, 0, 0, keys, 16);
    cr_assert_eq(known_reserve(&k, 1, 17), E_FULL);
    cr_assert_eq(known_reserve(&k, 0, 41), E_FULL);
    cr_assert_eq(known_count(&k, 0), 16);
    cr_assert_eq(known_count(&k, 1), 0);
    cr_assert_eq(memcmp(known_keys(&k, 0), keys, 16 * sizeof *keys), 0);
    cr_assert_eq(known_reserve(&k, 1, 8), 0, "a smaller one fits");
    known_fini(&k);
    TEST_NO_LEAKS();
}

Test(known, a_list_keeps_its_keys_while_it_grows)
{
    struct known k;
    cr_assert_eq(known_init(&k, 2, 100000), 0);
    for (uint32_t n = 1; n <= 2000; n++) {
        uint64_t key = known_key(n, n % 7);
        cr_assert_eq(known_reserve(&k, 1, n), 0);
        known_merge(&k, 1, n - 1, &key, 1);
    }
    for (uint32_t n = 1; n <= 2000; n++)
        cr_assert_eq(known_keys(&k, 1)[n - 1], known_key(n, n % 7));
    known_fini(&k);
}

Test(known, cleared_chunks_are_used_again)
{
    struct known k;
    uint64_t key = known_key(1, 1);
    cr_assert_eq(known_init(&k, 4, 64), 0);
    for (int i = 0; i < 1000; i++) {
        uint32_t v = (uint32_t)(i % 4);
        cr_assert_eq(known_reserve(&k, v, 16), 0, "round %d", i);
        known_merge(&k, v, 0, &key, 1);
        if (i % 4 == 3)
            for (uint32_t j = 0; j < 4; j++)
                cr_assert_eq(known_clear(&k, j), 1);
    }
    known_fini(&k);
}

#define VIEWERS 12
#define IDS     300

/* One change of a viewer's list, as sight does it: some go, some come. */
static void change(struct known *k, bool (*model)[IDS + 1], uint32_t v, struct rng *rng)
{
    uint64_t added[IDS];
    uint32_t n_added = 0, kept = 0, n = known_count(k, v);
    uint32_t p = (uint32_t)rng_below(rng, 100);
    for (uint32_t id = 1; id <= IDS; id++)
        if (!model[v][id] && rng_below(rng, 400) < p)
            added[n_added++] = known_key(id, id * 3 % 97);
    cr_assert_eq(known_reserve(k, v, n + n_added), 0);
    uint64_t *keys = k->keys + k->lists[v].at;
    for (uint32_t i = 0; i < n; i++) {
        if (rng_below(rng, 200) < p)
            model[v][known_id(keys[i])] = false;
        else
            keys[kept++] = keys[i];
    }
    for (uint32_t i = 0; i < n_added; i++)
        model[v][known_id(added[i])] = true;
    known_merge(k, v, kept, added, n_added);
}

Test(known, lists_agree_with_plain_sets_over_many_changes)
{
    struct known k;
    struct rng rng;
    static bool model[VIEWERS][IDS + 1];
    rng_init(&rng, 21);
    cr_assert_eq(known_init(&k, VIEWERS, VIEWERS * 2048), 0);
    for (int step = 0; step < 4000; step++) {
        uint32_t v = (uint32_t)rng_below(&rng, VIEWERS);
        if (rng_below(&rng, 20) == 0) {
            uint32_t n = known_count(&k, v);
            cr_assert_eq(known_clear(&k, v), n);
            memset(model[v], 0, sizeof model[v]);
        } else {
            change(&k, model, v, &rng);
        }
        uint32_t n = 0;
        for (uint32_t id = 1; id <= IDS; id++)
            if (model[v][id] && known_keys(&k, v)[n++] != known_key(id, id * 3 % 97))
                cr_assert_fail("step %d: viewer %u, id %u is not where it should be", step, v, id);
        cr_assert_eq(known_count(&k, v), n);
        uint64_t all = 0;
        for (uint32_t i = 0; i < VIEWERS; i++)
            all += known_count(&k, i);
        cr_assert_eq(k.pairs, all);
    }
    known_fini(&k);
    TEST_NO_LEAKS();
}

/* tests/world/test_soft_list.c: lists of pairs with holes, against a plain array.
 * May touch: world/interest/soft_list.
 */
#include "world/interest/soft_list.h"

#include "common/rng.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 512
#define PAIRS 4096

static struct soft *soft_of(uint32_t cap, uint64_t pairs)
{
    struct soft *s = calloc(1, sizeof *s);
    s->rules = (struct soft_rules){.n_tiers = 2, .radius = {10, 20}, .every = {1, 3}};
    s->cap = cap;
    for (uint32_t t = 0; t < 2; t++) {
        s->base[t] = s->n_parts;
        for (uint32_t i = 0; i < s->rules.every[t]; i++)
            s->tier_of[s->n_parts++] = (uint8_t)t;
    }
    cr_assert_eq(soft_list_init(s, pairs), 0);
    return s;
}

static void soft_end(struct soft *s)
{
    soft_list_fini(s);
    free(s);
}

/* What one viewer knows, by slot; ids are slots turned round, so that keys come in any order. */
struct model {
    bool knows[SLOTS];
    uint32_t tier[SLOTS];
    uint32_t n;
};

static uint64_t key_of(uint32_t slot)
{
    return known_key(1 + (slot * 7919) % 100003, slot);
}

static void compare(const struct soft *s, uint32_t viewer, const struct model *m)
{
    const struct soft_viewer *v = &s->viewers[viewer];
    uint64_t last = 0;
    uint32_t n = 0, load = 0;
    cr_assert_eq(v->n, m->n);
    for (uint32_t i = 0; i < v->span; i++) {
        uint64_t key = s->keys[v->at + i];
        if (s->part[v->at + i] == SOFT_HOLE)
            continue;
        cr_assert_gt(key, last);
        cr_assert(m->knows[known_slot(key)]);
        cr_assert_eq(s->told[v->at + i].since, known_slot(key), "it moved with its pair");
        last = key;
        n++;
    }
    cr_assert_eq(n, m->n);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        cr_assert_eq(soft_list_find(s, v, key_of(slot)) != SOFT_NONE, m->knows[slot]);
        for (uint32_t t = 0; t < 2; t++)
            cr_assert_eq(soft_list_bit(s, viewer, slot, t), m->knows[slot] && m->tier[slot] <= t);
    }
    for (uint32_t p = 0; p < s->n_parts; p++)
        load += s->load[(size_t)viewer * s->n_parts + p];
    cr_assert_eq(load, m->n);
}

static bool add(struct soft *s, uint32_t viewer, struct model *m, uint32_t slot, uint32_t tier)
{
    uint32_t place = soft_list_insert(s, viewer, key_of(slot));
    if (place == SOFT_NONE)
        return false;
    s->told[s->viewers[viewer].at + place] = (struct soft_told){.since = slot};
    soft_list_turn(s, viewer, place, tier);
    m->knows[slot] = true;
    m->tier[slot] = tier;
    m->n++;
    return true;
}

static void drop(struct soft *s, uint32_t viewer, struct model *m, uint32_t slot)
{
    soft_list_erase(s, viewer, soft_list_find(s, &s->viewers[viewer], key_of(slot)));
    m->knows[slot] = false;
    m->n--;
}

Test(soft_list, many_that_come_and_go_are_what_a_plain_array_has)
{
    struct soft *s = soft_of(SLOTS, PAIRS);
    static struct model models[3];
    struct rng rng;
    rng_init(&rng, 5);
    for (int i = 0; i < 30000; i++) {
        uint32_t viewer = (uint32_t)rng_below(&rng, 3), slot = (uint32_t)rng_below(&rng, SLOTS);
        struct model *m = &models[viewer];
        uint32_t tier = (uint32_t)rng_below(&rng, 2);
        if (i / 2000 % 2 == 0 ? !m->knows[slot] : rng_below(&rng, 8) == 0 && !m->knows[slot]) {
            cr_assert(add(s, viewer, m, slot, tier));
        } else if (m->knows[slot] && rng_below(&rng, 3) > 0) {
            drop(s, viewer, m, slot);
        } else if (m->knows[slot]) {
            uint32_t place = soft_list_find(s, &s->viewers[viewer], key_of(slot));
            soft_list_turn(s, viewer, place, tier);
            m->tier[slot] = tier;
        }
        if (i % 100 == 0)
            compare(s, viewer, m);
    }
    cr_assert_eq(s->pairs, models[0].n + models[1].n + models[2].n);
    for (uint32_t v = 0; v < 3; v++)
        cr_assert_eq(soft_list_clear(s, v), models[v].n);
    cr_assert_eq(s->pairs, 0);
    soft_end(s);
    TEST_NO_LEAKS();
}

Test(soft_list, a_full_block_takes_nobody_more_and_loses_nobody)
{
    struct soft *s = soft_of(SLOTS, 64);
    static struct model m;
    uint32_t refused = 0;
    for (uint32_t slot = 0; slot < 200; slot++)
        refused += !add(s, 0, &m, slot, 0);
    cr_assert_gt(refused, 0);
    cr_assert_geq(m.n, 16);
    compare(s, 0, &m);
    for (uint32_t slot = 0; m.n > 0; slot++)
        if (m.knows[slot])
            drop(s, 0, &m, slot);
    cr_assert(add(s, 0, &m, 300, 1), "there is room again");
    compare(s, 0, &m);
    soft_end(s);
    TEST_NO_LEAKS();
}

Test(soft_list, a_pair_gets_the_part_of_which_there_are_fewest)
{
    struct soft *s = soft_of(SLOTS, PAIRS);
    static struct model m;
    for (uint32_t slot = 0; slot < 31; slot++) {
        cr_assert(add(s, 0, &m, slot, 1));
        uint32_t least = UINT32_MAX, most = 0;
        for (uint32_t p = s->base[1]; p < s->n_parts; p++) {
            least = s->load[p] < least ? s->load[p] : least;
            most = s->load[p] > most ? s->load[p] : most;
        }
        cr_assert_leq(most - least, 1);
    }
    soft_end(s);
    TEST_NO_LEAKS();
}

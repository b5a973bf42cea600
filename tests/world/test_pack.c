/* tests/world/test_pack.c: records laid by every kind of code: the bytes that one by one gives.
 * May touch: world/interest/pack, proto/aoi_move, common.
 */
#include "world/interest/pack.h"

#include "common/rng.h"
#include "tests/leak.h"

#include <criterion/criterion.h>

#include <string.h>

#define MOST  700
#define WORDS ((MOST + 63) / 64)

/* Distances that take a varint of every length, mixed or mostly short. */
static uint32_t distance(struct rng *rng, uint32_t kind)
{
    static const uint32_t most[] = {4, 31, 4095, 524287, 3000000};
    return 1 + (uint32_t)rng_below(rng, most[kind < 5 ? kind : rng_below(rng, 5)]);
}

static uint32_t fill(struct pack_list *l, uint64_t *stay, struct rng *rng)
{
    uint32_t n = (uint32_t)rng_below(rng, MOST + 1), kind = (uint32_t)rng_below(rng, 6), id = 0;
    uint64_t share = rng_below(rng, 101), told = rng_below(rng, 4) ? 100 : rng_below(rng, 101);
    memset(stay, 0, WORDS * sizeof *stay);
    memset(l->told, 0, WORDS * sizeof *l->told);
    for (uint32_t j = 0; j < n; j++) {
        bool dir = rng_below(rng, 4) == 0, speed = rng_below(rng, 4) == 0;
        uint64_t r = rng_next(rng);
        id += distance(rng, kind);
        l->ids[j] = id;
        l->tails[j] = aoi_move_tail((int64_t)(r & 0xffffff), (int64_t)(r >> 30), dir,
                                    (uint8_t)(r >> 8), speed, (uint8_t)(r >> 16));
        stay[j / 64] |= (uint64_t)(rng_below(rng, 100) < share) << (j % 64);
        l->told[j / 64] |= (uint64_t)(rng_below(rng, 100) < told) << (j % 64);
    }
    return n;
}

static size_t one_by_one(const struct pack_list *l, const uint64_t *stay, uint32_t n, uint8_t *out,
                         uint32_t *records)
{
    uint32_t previous = 0;
    size_t at = 0;
    *records = 0;
    for (uint32_t j = 0; j < n; j++) {
        if (!((stay[j / 64] & l->told[j / 64]) >> (j % 64) & 1))
            continue;
        at += aoi_move_put(out + at, l->ids[j], previous, &l->tails[j]);
        previous = l->ids[j];
        ++*records;
    }
    return at;
}

Test(pack, every_kind_of_code_writes_what_one_by_one_gives)
{
    static uint8_t want[MOST * AOI_MOVE_RECORD_MAX], got[sizeof want + PACK_OVERHANG];
    uint64_t stay[WORDS];
    const struct pack_code *codes;
    uint32_t n_codes = pack_codes(&codes);
    struct pack_list l;
    struct rng rng;
    rng_init(&rng, 91);
    cr_assert_eq(pack_list_init(&l, MOST), 0);
    cr_assert_str_eq(codes[n_codes - 1].name, "portable");
    for (int i = 0; i < 4000; i++) {
        uint32_t n = fill(&l, stay, &rng), records;
        size_t bytes = one_by_one(&l, stay, n, want, &records);
        for (uint32_t k = 0; k < n_codes; k++) {
            uint8_t *end = NULL;
            memset(got, 0xee, bytes + PACK_OVERHANG);
            cr_assert_eq(codes[k].pack(&l, stay, (n + 63) / 64, got, &end), records, "%s",
                         codes[k].name);
            cr_assert_eq((size_t)(end - got), bytes, "%s", codes[k].name);
            cr_assert_eq(memcmp(got, want, bytes), 0, "%s", codes[k].name);
        }
    }
    pack_list_fini(&l);
    TEST_NO_LEAKS();
}

Test(pack, nobody_is_no_byte)
{
    const struct pack_code *codes;
    uint32_t n_codes = pack_codes(&codes);
    struct pack_list l;
    uint64_t stay[2] = {0, 0};
    uint8_t out[PACK_OVERHANG];
    cr_assert_eq(pack_list_init(&l, 100), 0);
    memset(l.told, 0xff, 2 * sizeof *l.told);
    for (uint32_t k = 0; k < n_codes; k++) {
        uint8_t *end = NULL;
        cr_assert_eq(codes[k].pack(&l, stay, 2, out, &end), 0);
        cr_assert_eq(end, out);
        cr_assert_eq(codes[k].pack(&l, stay, 0, out, &end), 0);
        cr_assert_eq(end, out);
    }
    pack_list_fini(&l);
    pack_list_fini(&l); /* twice is fine */
    TEST_NO_LEAKS();
}

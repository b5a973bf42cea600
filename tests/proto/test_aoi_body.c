/* tests/proto/test_aoi_body.c: AoiAdd and AoiRemove laid in place are what message_write writes.
 * May touch: proto, common.
 */
#include "proto/aoi_body.h"

#include "common/rng.h"
#include "proto/protocol.h"

#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#define MOST 300

/* A number of any length on the wire. */
static uint32_t number(struct rng *rng)
{
    static const uint32_t most[] = {130, 260, 70000, UINT32_MAX};
    return (uint32_t)rng_below(rng, (uint64_t)most[rng_below(rng, 4)] + 1);
}

static double any_double(struct rng *rng)
{
    static const double some[] = {0, -0.0, 1, -1, 1e300, 5e-324, INFINITY};
    double d;
    uint64_t bits = rng_next(rng);
    if (rng_below(rng, 3) == 0)
        return some[rng_below(rng, ARRAY_LEN(some))];
    memcpy(&d, &bits, sizeof d);
    return d;
}

static uint8_t want[MOST * PROTO_ENTITY_BYTES_MAX + 64], got[sizeof want + PROTO_NAME_MAX];

static void check(const struct message *m, size_t n)
{
    struct span_writer w = span_writer_of(want, sizeof want);
    message_write(&w, m);
    cr_assert(!w.full);
    cr_assert_eq(w.len, n);
    cr_assert_eq(memcmp(want, got, n), 0);
}

Test(aoi_body, removes_are_what_message_write_writes)
{
    static uint32_t ids[MOST];
    static const uint32_t counts[] = {0, 1, 2, 15, 16, 17, MOST};
    struct rng rng;
    rng_init(&rng, 3);
    for (int i = 0; i < 2000; i++) {
        struct message m = {.cmd = CMD_AOI_REMOVE};
        m.aoi_remove.tick = number(&rng);
        m.aoi_remove.count = counts[rng_below(&rng, ARRAY_LEN(counts))];
        m.aoi_remove.ids = ids;
        size_t n = aoi_body_remove_head(got, m.aoi_remove.tick, m.aoi_remove.count);
        cr_assert_leq(n, AOI_BODY_HEAD_MAX);
        for (uint32_t k = 0; k < m.aoi_remove.count; k++) {
            ids[k] = number(&rng);
            size_t id = aoi_body_id(got + n, ids[k]);
            cr_assert_leq(id, AOI_BODY_ID_MAX);
            n += id;
        }
        check(&m, n);
    }
}

Test(aoi_body, adds_are_what_message_write_writes)
{
    static struct message_entity list[MOST];
    static char names[MOST][PROTO_NAME_MAX];
    static const uint32_t counts[] = {0, 1, 2, 15, 16, 17, MOST};
    struct rng rng;
    rng_init(&rng, 4);
    for (int i = 0; i < 500; i++) {
        struct message m = {.cmd = CMD_AOI_ADD};
        m.aoi_add.tick = number(&rng);
        m.aoi_add.count = counts[rng_below(&rng, ARRAY_LEN(counts))];
        m.aoi_add.entities = list;
        m.aoi_add.has_hidden = rng_below(&rng, 2) == 0;
        m.aoi_add.hidden = number(&rng);
        size_t n = aoi_body_add_head(got, m.aoi_add.tick, m.aoi_add.count, m.aoi_add.has_hidden);
        cr_assert_leq(n, AOI_BODY_HEAD_MAX);
        for (uint32_t k = 0; k < m.aoi_add.count; k++) {
            memset(names[k], 'a' + (int)(k % 26), PROTO_NAME_MAX);
            list[k] = (struct message_entity){
                .id = number(&rng),
                .kind = (uint32_t)rng_below(&rng, 2),
                .name = span_of(names[k], rng_below(&rng, PROTO_NAME_MAX + 1)),
                .x = any_double(&rng),
                .y = any_double(&rng),
                .dir = any_double(&rng),
                .speed = any_double(&rng),
            };
            size_t one = aoi_body_entity(got + n, &list[k]);
            cr_assert_leq(one, PROTO_ENTITY_BYTES_MAX);
            n += one;
        }
        if (m.aoi_add.has_hidden) {
            size_t hidden = aoi_body_hidden(got + n, m.aoi_add.hidden);
            cr_assert_leq(hidden, AOI_BODY_HIDDEN_MAX);
            n += hidden;
        }
        check(&m, n);
    }
}

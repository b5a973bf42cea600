/* tests/proto/test_cluster.c: what worlds of a cluster say to each other; proto/cluster.h. */
#include "proto/cluster.h"

#include "tests/leak.h"
#include "tests/mutate.h"
#include "tests/proto/vectors.h"
#include "tests/round_trip_cluster.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define MESSAGE 8192 /* bytes of a vector at most */

/* Real numbers are written as JSON's, so a vector's value packs to what its hex says; but for the
 * list of events, whose head is of the long form always. */
static size_t packed(const json_t *v, uint8_t out[MESSAGE])
{
    struct span_writer w = span_writer_of(out, MESSAGE);
    vectors_pack(&w, json_object_get(v, "value"));
    cr_assert_not(w.full);
    return w.len;
}

Test(cluster, golden_vectors_both_ways)
{
    json_t *doc = vectors_load("cluster.json");
    size_t i;
    const json_t *v;
    json_array_foreach(vectors_list(doc, "vectors"), i, v)
    {
        uint8_t out[MESSAGE];
        struct cluster_message m, n;
        struct span bytes = vectors_hex(v);
        cr_assert_eq(cluster_read(bytes, &m), 0, "%s", vectors_name(v));
        struct span_writer w = span_writer_of(out, sizeof out);
        round_trip_cluster_write(&w, &m);
        cr_assert(span_equal(span_written(&w), bytes), "%s is written otherwise", vectors_name(v));
        struct span value = span_of(out, packed(v, out));
        cr_assert_eq(cluster_read(value, &n), 0, "%s by its value", vectors_name(v));
        cr_assert_eq(n.kind, m.kind);
        if (m.kind != CLUSTER_BORDER)
            cr_assert(span_equal(value, bytes), "%s is not its value", vectors_name(v));
        free((void *)bytes.p);
    }
    json_decref(doc);
    TEST_NO_LEAKS();
}

Test(cluster, what_is_no_message_is_refused)
{
    json_t *doc = vectors_load("cluster.json");
    size_t i;
    const json_t *v;
    struct cluster_message m;
    json_array_foreach(vectors_list(doc, "bad"), i, v)
    {
        struct span bytes = vectors_hex(v);
        cr_assert_eq(cluster_read(bytes, &m), E_BAD, "%s", vectors_name(v));
        free((void *)bytes.p);
    }
    json_decref(doc);
    TEST_NO_LEAKS();
}

Test(cluster, every_cut_and_every_byte_behind_is_refused)
{
    json_t *doc = vectors_load("cluster.json");
    size_t i;
    const json_t *v;
    struct cluster_message m;
    json_array_foreach(vectors_list(doc, "vectors"), i, v)
    {
        struct span bytes = vectors_hex(v);
        for (size_t n = 0; n < bytes.n; n++) {
            struct span cut = vectors_copy(span_of(bytes.p, n));
            cr_assert_eq(cluster_read(cut, &m), E_BAD, "%s, %zu bytes", vectors_name(v), n);
            free((void *)cut.p);
        }
        uint8_t more[MESSAGE];
        memcpy(more, bytes.p, bytes.n);
        more[bytes.n] = 0;
        cr_assert_eq(cluster_read(span_of(more, bytes.n + 1), &m), E_BAD, "%s", vectors_name(v));
        free((void *)bytes.p);
    }
    json_decref(doc);
    TEST_NO_LEAKS();
}

Test(cluster, a_message_that_does_not_fit_makes_the_writer_full)
{
    json_t *doc = vectors_load("cluster.json");
    size_t i;
    const json_t *v;
    struct cluster_message m;
    json_array_foreach(vectors_list(doc, "vectors"), i, v)
    {
        struct span bytes = vectors_hex(v);
        cr_assert_eq(cluster_read(bytes, &m), 0);
        for (size_t cap = 0; cap <= bytes.n; cap++) {
            uint8_t *out = malloc(cap);
            struct span_writer w = span_writer_of(out, cap);
            round_trip_cluster_write(&w, &m);
            cr_assert_eq(w.full, cap < bytes.n, "%s in %zu bytes", vectors_name(v), cap);
            free(out);
        }
        free((void *)bytes.p);
    }
    json_decref(doc);
    TEST_NO_LEAKS();
}

Test(cluster, a_soul_is_read_field_by_field)
{
    uint8_t out[512], told[2 * CLUSTER_TOLD], key[CLUSTER_KEY] = {1, 2};
    struct cluster_told a = {7, -3, INT32_MAX, 200, 9}, b = {8, INT32_MIN, 0, 0, 255}, c;
    struct cluster_message m = {
        .kind = CLUSTER_SWITCH,
        .world = span_text("w1"),
        .id = 9,
        .count = 4,
        .soul = {.zone_from = 1,
                 .zone = 2,
                 .epoch_from = 3,
                 .epoch = 4,
                 .tick = 5,
                 .bits = CLUSTER_INSIDE | CLUSTER_HAS_KEY,
                 .kind = 1,
                 .name = span_text("bob"),
                 .x = 1,
                 .y = 2,
                 .dir = 3,
                 .speed = 4,
                 .credit = 0.25,
                 .walk_x = 5,
                 .walk_y = 6,
                 .walk_speed = 7,
                 .key = span_of(key, sizeof key),
                 .told = span_of(told, sizeof told),
                 .token = 1ULL << 40},
    };
    struct cluster_message n;
    struct span_writer w = span_writer_of(out, sizeof out);
    cluster_told_put(told, &a);
    cluster_told_put(told + CLUSTER_TOLD, &b);
    cluster_write(&w, &m);
    cr_assert_eq(cluster_read(span_written(&w), &n), 0);
    cr_assert(n.id == 9 && n.count == 4 && n.soul.zone_from == 1 && n.soul.zone == 2);
    cr_assert(n.soul.epoch_from == 3 && n.soul.epoch == 4 && n.soul.tick == 5);
    cr_assert(n.soul.bits == (CLUSTER_INSIDE | CLUSTER_HAS_KEY) && n.soul.kind == 1);
    cr_assert(span_equal(n.soul.name, span_text("bob")) && span_equal(n.world, span_text("w1")));
    cr_assert(n.soul.x == 1 && n.soul.y == 2 && n.soul.dir == 3 && n.soul.speed == 4);
    cr_assert(n.soul.credit == 0.25 && n.soul.walk_x == 5 && n.soul.walk_y == 6);
    cr_assert(n.soul.walk_speed == 7 && span_equal(n.soul.key, m.soul.key));
    cr_assert(n.soul.token == 1ULL << 40);
    c = cluster_told_get(n.soul.told.p + CLUSTER_TOLD);
    cr_assert(c.id == 8 && c.qx == INT32_MIN && c.qy == 0 && c.dir == 0 && c.speed == 255);
    c = cluster_told_get(n.soul.told.p);
    cr_assert(c.id == 7 && c.qx == -3 && c.qy == INT32_MAX && c.dir == 200 && c.speed == 9);
}

Test(cluster, damaged_messages_keep_the_rules)
{
    struct rng r;
    rng_init(&r, 6);
    json_t *doc = vectors_load("cluster.json");
    const json_t *list = vectors_list(doc, "vectors");
    size_t taken = 0;
    for (int i = 0; i < 100000; i++) {
        static uint8_t bytes[MESSAGE];
        struct cluster_message m;
        struct span seed = vectors_hex(json_array_get(list, rng_below(&r, json_array_size(list))));
        memcpy(bytes, seed.p, seed.n);
        size_t n = mutate(&r, bytes, seed.n, sizeof bytes);
        free((void *)seed.p);
        struct span copy = vectors_copy(span_of(bytes, n));
        const char *broken = round_trip_cluster(copy);
        cr_assert(broken == NULL, "round %d: %s", i, broken);
        taken += cluster_read(copy, &m) == 0;
        free((void *)copy.p);
    }
    cr_assert(taken > 5000, "%zu were taken: too few to show anything", taken);
    json_decref(doc);
    TEST_NO_LEAKS();
}

/* tests/proto/test_aoi_move.c: packed moves. PROTOCOL.md, "AoiMove's packed records". */
#include "proto/aoi_move.h"

#include "common/err.h"
#include "proto/limits.h"
#include "tests/leak.h"
#include "tests/mutate.h"
#include "tests/proto/vectors.h"
#include "tests/round_trip.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>

#define TURN 6.283185307179586

static double real(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    cr_assert(json_is_real(v), "%s", key);
    return json_real_value(v);
}

static double coordinate(const json_t *o, const char *key, size_t axis)
{
    const json_t *v = json_array_get(json_object_get(o, key), axis);
    cr_assert(json_is_real(v), "%s", key);
    return json_real_value(v);
}

static uint64_t number(const json_t *o, const char *key)
{
    return vectors_uint(json_object_get(o, key));
}

/* The bytes that a sender makes of a vector's exact places. */
static size_t pack(const json_t *meaning, uint8_t *out)
{
    double quantum = real(meaning, "quantum"), max_speed = real(meaning, "max_speed");
    size_t i, n = 0;
    json_t *rec;
    uint32_t previous = 0;
    json_array_foreach(json_object_get(meaning, "records"), i, rec)
    {
        bool has_dir = json_object_get(rec, "dir") != NULL;
        bool has_speed = json_object_get(rec, "speed") != NULL;
        uint8_t dir = has_dir ? aoi_move_dir(real(rec, "exact_dir")) : 99;
        uint8_t speed = has_speed ? aoi_move_speed(real(rec, "exact_speed"), max_speed) : 99;
        struct aoi_move_tail t =
            aoi_move_tail(aoi_move_quantise(coordinate(rec, "exact", 0), quantum),
                          aoi_move_quantise(coordinate(rec, "exact", 1), quantum), has_dir, dir,
                          has_speed, speed);
        cr_assert_eq(t.len, 4 + has_dir + has_speed);
        uint32_t id = (uint32_t)number(rec, "id");
        n += aoi_move_put(out + n, id, previous, &t);
        previous = id;
    }
    return n;
}

/* What a receiver makes of the bytes. */
static void check_taken(const json_t *vector, struct span rest)
{
    const json_t *meaning = json_object_get(vector, "meaning");
    double quantum = real(meaning, "quantum");
    size_t i;
    json_t *rec;
    uint32_t previous = 0;
    struct aoi_move_record r;
    json_array_foreach(json_object_get(meaning, "records"), i, rec)
    {
        const char *name = vectors_name(vector);
        cr_assert_eq(aoi_move_take(&rest, &previous, &r), 0, "%s, record %zu", name, i);
        cr_assert_eq(r.id, number(rec, "id"), "%s", name);
        cr_assert_eq(previous, r.id);
        cr_assert_eq(r.x, number(rec, "x"), "%s", name);
        cr_assert_eq(r.y, number(rec, "y"), "%s", name);
        cr_assert_eq(r.has_dir, json_object_get(rec, "dir") != NULL, "%s", name);
        cr_assert_eq(r.has_speed, json_object_get(rec, "speed") != NULL, "%s", name);
        if (r.has_dir)
            cr_assert_eq(r.dir, number(rec, "dir"), "%s, record %zu", name, i);
        if (r.has_speed)
            cr_assert_eq(r.speed, number(rec, "speed"), "%s, record %zu", name, i);
        double x = aoi_move_place(coordinate(rec, "last", 0), r.x, quantum);
        double y = aoi_move_place(coordinate(rec, "last", 1), r.y, quantum);
        cr_assert(x == coordinate(rec, "place", 0), "%s: x %.17g", name, x);
        cr_assert(y == coordinate(rec, "place", 1), "%s: y %.17g", name, y);
    }
    cr_assert_eq(aoi_move_take(&rest, &previous, &r), E_SHORT);
}

Test(aoi_move, golden_vectors_both_ways)
{
    json_t *doc = vectors_load("aoi_move.json");
    size_t i;
    const json_t *v;
    json_array_foreach(vectors_list(doc, "vectors"), i, v)
    {
        static uint8_t out[8192];
        struct span want = vectors_hex(v);
        size_t n = pack(json_object_get(v, "meaning"), out);
        cr_assert(span_equal(span_of(out, n), want), "%s", vectors_name(v));
        check_taken(v, want);
        free((void *)want.p);
    }
    json_decref(doc);
    TEST_NO_LEAKS();
}

/* Take all; what the last take said. */
static int take_all(struct span rest)
{
    struct aoi_move_record r;
    uint32_t previous = 0;
    int err;
    while ((err = aoi_move_take(&rest, &previous, &r)) == 0)
        continue;
    return err;
}

Test(aoi_move, bad_records_are_refused)
{
    json_t *doc = vectors_load("aoi_move.json");
    size_t i;
    const json_t *v;
    json_array_foreach(vectors_list(doc, "bad"), i, v)
    {
        struct span bytes = vectors_hex(v);
        cr_assert_eq(take_all(bytes), E_BAD, "%s", vectors_name(v));
        free((void *)bytes.p);
    }
    json_decref(doc);
    TEST_NO_LEAKS();
}

Test(aoi_move, every_cut_is_refused_but_between_records)
{
    json_t *doc = vectors_load("aoi_move.json");
    size_t i;
    const json_t *v;
    json_array_foreach(vectors_list(doc, "vectors"), i, v)
    {
        struct span whole = vectors_hex(v);
        size_t ends = 0;
        for (size_t n = 0; n < whole.n; n++) {
            struct span cut = vectors_copy(span_of(whole.p, n));
            int err = take_all(cut);
            cr_assert(err == E_SHORT || err == E_BAD);
            ends += err == E_SHORT;
            free((void *)cut.p);
        }
        const json_t *records = json_object_get(json_object_get(v, "meaning"), "records");
        cr_assert_eq(ends, json_array_size(records), "%s", vectors_name(v));
        free((void *)whole.p);
    }
    json_decref(doc);
    TEST_NO_LEAKS();
}

Test(aoi_move, what_is_refused_changes_nothing)
{
    struct span rest = span_of("\x07\x01\x00\x01\x00\x05", 6), before = rest;
    uint32_t previous = 7;
    struct aoi_move_record r;
    cr_assert_eq(aoi_move_take(&rest, &previous, &r), E_BAD);
    cr_assert_eq(rest.p, before.p);
    cr_assert_eq(rest.n, before.n);
    cr_assert_eq(previous, 7);
}

Test(aoi_move, places_round_half_up_on_both_sides_of_zero)
{
    const double q = 1.0 / 64;
    cr_assert_eq(aoi_move_quantise(0.5 * q, q), 1);
    cr_assert_eq(aoi_move_quantise(-0.5 * q, q), 0);
    cr_assert_eq(aoi_move_quantise(-0.51 * q, q), -1);
    cr_assert_eq(aoi_move_quantise(-1.5 * q, q), -1);
    cr_assert_eq(aoi_move_quantise(16384, q), 1048576);
    cr_assert_eq(aoi_move_quantise(-16384, q), -1048576);
}

Test(aoi_move, dir_wraps_at_a_full_turn)
{
    cr_assert_eq(aoi_move_dir(0.0), 0);
    cr_assert_eq(aoi_move_dir(nextafter(TURN, 0.0)), 0);
    cr_assert_eq(aoi_move_dir(TURN / 2), 128);
    for (unsigned d = 0; d < 256; d++) {
        double v = aoi_move_dir_value((uint8_t)d);
        cr_assert(v >= 0.0 && v < TURN);
        cr_assert_eq(aoi_move_dir(v), d);
    }
}

Test(aoi_move, speed_is_cut_at_its_highest)
{
    cr_assert_eq(aoi_move_speed(0.0, 12.0), 0);
    cr_assert_eq(aoi_move_speed(12.0, 12.0), 255);
    cr_assert_eq(aoi_move_speed(1e300, 12.0), 255);
    for (unsigned s = 0; s < 256; s++)
        cr_assert_eq(aoi_move_speed(aoi_move_speed_value((uint8_t)s, 12.0), 12.0), s);
}

Test(aoi_move, a_receiver_takes_the_nearest_value)
{
    struct rng r;
    rng_init(&r, 11);
    const double q = 1.0 / 64;
    for (int i = 0; i < 100000; i++) {
        int64_t last = (int64_t)rng_below(&r, 1u << 22) - (1 << 21);
        int64_t step = (int64_t)rng_below(&r, 2 * PROTO_WRAP_QUANTA - 1) - (PROTO_WRAP_QUANTA - 1);
        struct aoi_move_tail t = aoi_move_tail(last + step, 0, false, 0, false, 0);
        uint16_t wrapped = (uint16_t)(t.bytes[0] | t.bytes[1] << 8);
        double between = (rng_unit(&r) - 0.5) * q; /* last known need not lie on a quantum */
        double got = aoi_move_place((double)last * q + between, wrapped, q);
        cr_assert(got == (double)(last + step) * q, "%ld %ld", last, step);
    }
}

Test(aoi_move, of_two_equally_near_values_the_greater_is_taken)
{
    cr_assert(aoi_move_place(0.0, 32768, 1.0) == 32768.0);
    cr_assert(aoi_move_place(-65536.0, 32768, 1.0) == -32768.0);
    cr_assert(aoi_move_place(-1.0, 32768, 1.0) == -32768.0);
}

Test(aoi_move, wire_bytes_are_absent_where_their_flag_is_not_set)
{
    struct aoi_move_tail t = aoi_move_tail(1, -1, false, 7, false, 9);
    cr_assert_eq(t.len, 4);
    cr_assert_arr_eq(t.bytes, ((uint8_t[]){1, 0, 255, 255}), 4);
    t = aoi_move_tail(1, -1, false, 7, true, 9);
    cr_assert_eq(t.len, 5);
    cr_assert_eq(t.bytes[4], 9);
    t = aoi_move_tail(1, -1, true, 7, true, 9);
    cr_assert_eq(t.len, 6);
    cr_assert_eq(t.bytes[4], 7);
    cr_assert_eq(t.bytes[5], 9);
}

Test(aoi_move, longest_record_has_its_named_size)
{
    uint8_t out[AOI_MOVE_RECORD_MAX];
    struct aoi_move_tail t = aoi_move_tail(1, 2, true, 3, true, 4);
    cr_assert_eq(aoi_move_put(out, UINT32_MAX, 0, &t), AOI_MOVE_RECORD_MAX);
}

Test(aoi_move, an_id_that_does_not_ascend_is_our_bug, .signal = SIGABRT)
{
    uint8_t out[AOI_MOVE_RECORD_MAX];
    struct aoi_move_tail t = aoi_move_tail(1, 2, false, 0, false, 0);
    (void)aoi_move_put(out, 5, 5, &t);
}

Test(aoi_move, random_runs_come_back_as_they_were)
{
    struct rng r;
    rng_init(&r, 3);
    for (int round = 0; round < 2000; round++) {
        struct aoi_move_record sent[50], got;
        uint8_t out[50 * AOI_MOVE_RECORD_MAX];
        size_t n = 0;
        uint32_t previous = 0, count = 0;
        for (; count < 50; count++) {
            uint64_t step = 1 + rng_below(&r, (uint64_t)1 << rng_below(&r, 33));
            if (step > UINT32_MAX - previous)
                break;
            struct aoi_move_record *s = &sent[count];
            *s = (struct aoi_move_record){
                .id = previous + (uint32_t)step,
                .x = (uint16_t)rng_next(&r),
                .y = (uint16_t)rng_next(&r),
                .has_dir = rng_below(&r, 2) == 1,
                .has_speed = rng_below(&r, 2) == 1,
            };
            s->dir = s->has_dir ? (uint8_t)rng_next(&r) : 0;
            s->speed = s->has_speed ? (uint8_t)rng_next(&r) : 0;
            struct aoi_move_tail t =
                aoi_move_tail(s->x, s->y, s->has_dir, s->dir, s->has_speed, s->speed);
            n += aoi_move_put(out + n, s->id, previous, &t);
            previous = s->id;
        }
        struct span rest = span_of(out, n);
        previous = 0;
        for (uint32_t i = 0; i < count; i++) {
            cr_assert_eq(aoi_move_take(&rest, &previous, &got), 0);
            cr_assert(got.id == sent[i].id && got.x == sent[i].x && got.y == sent[i].y);
            cr_assert(got.has_dir == sent[i].has_dir && got.dir == sent[i].dir);
            cr_assert(got.has_speed == sent[i].has_speed && got.speed == sent[i].speed);
        }
        cr_assert_eq(rest.n, 0);
    }
}

Test(aoi_move, damaged_runs_keep_the_rules)
{
    struct rng r;
    rng_init(&r, 4);
    json_t *doc = vectors_load("aoi_move.json");
    const json_t *list = vectors_list(doc, "vectors");
    for (int i = 0; i < 100000; i++) {
        uint8_t bytes[1024];
        struct span seed = vectors_hex(json_array_get(list, rng_below(&r, json_array_size(list))));
        if (seed.n > 0)
            memcpy(bytes, seed.p, seed.n);
        size_t n = mutate(&r, bytes, seed.n, sizeof bytes);
        free((void *)seed.p);
        struct span copy = vectors_copy(span_of(bytes, n));
        const char *broken = round_trip_aoi_move(copy);
        cr_assert(broken == NULL, "round %d: %s", i, broken);
        free((void *)copy.p);
    }
    json_decref(doc);
    TEST_NO_LEAKS();
}

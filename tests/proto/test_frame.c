/* tests/proto/test_frame.c: length framing. PROTOCOL.md, Framing. */
#include "proto/frame.h"

#include "common/err.h"
#include "proto/limits.h"
#include "tests/leak.h"
#include "tests/mutate.h"
#include "tests/proto/vectors.h"
#include "tests/round_trip.h"

#include <criterion/criterion.h>
#include <stdlib.h>

Test(frame, is_taken_whole)
{
    const uint8_t in[] = {0, 0, 0, 3, 'a', 'b', 'c'};
    struct span body;
    size_t used;
    cr_assert_eq(frame_split(span_of(in, sizeof in), 16, &body, &used), 0);
    cr_assert_eq(used, sizeof in);
    cr_assert_eq(body.p, in + 4);
    cr_assert_eq(body.n, 3);
}

Test(frame, that_is_cut_anywhere_needs_more_bytes)
{
    const uint8_t in[] = {0, 0, 0, 3, 'a', 'b', 'c'};
    for (size_t n = 0; n < sizeof in; n++) {
        struct span body, cut = vectors_copy(span_of(in, n));
        size_t used;
        cr_assert_eq(frame_split(cut, 16, &body, &used), E_SHORT, "%zu bytes", n);
        free((void *)cut.p);
    }
    struct span body;
    size_t used;
    cr_assert_eq(frame_split(span_of(NULL, 0), 16, &body, &used), E_SHORT);
    TEST_NO_LEAKS();
}

Test(frame, leaves_what_comes_behind_it)
{
    const uint8_t in[] = {0, 0, 0, 1, 'a', 0, 0, 0, 2, 'b', 'c', 0, 0};
    struct span rest = span_of(in, sizeof in), body;
    size_t used;
    cr_assert_eq(frame_split(rest, 16, &body, &used), 0);
    cr_assert_eq(used, 5);
    rest = span_of(rest.p + used, rest.n - used);
    cr_assert_eq(frame_split(rest, 16, &body, &used), 0);
    cr_assert_eq(used, 6);
    cr_assert(span_equal(body, span_text("bc")));
    rest = span_of(rest.p + used, rest.n - used);
    cr_assert_eq(frame_split(rest, 16, &body, &used), E_SHORT);
}

Test(frame, c07_lengths_that_are_not_allowed_are_told_by_the_four_bytes)
{
    json_t *doc = vectors_load("bad_frames.json");
    size_t i;
    const json_t *v;
    json_array_foreach(vectors_list(doc, "heads"), i, v)
    {
        struct span whole = vectors_hex(v), body;
        size_t used;
        for (size_t n = 0; n <= whole.n; n++) {
            struct span cut = vectors_copy(span_of(whole.p, n));
            int want = n < FRAME_HEAD ? E_SHORT : E_BAD;
            cr_assert_eq(frame_split(cut, PROTO_FRAME_MAX, &body, &used), want, "%s, %zu bytes",
                         vectors_name(v), n);
            free((void *)cut.p);
        }
        free((void *)whole.p);
    }
    json_decref(doc);
    TEST_NO_LEAKS();
}

Test(frame, c07_the_limit_itself_is_allowed)
{
    static uint8_t in[FRAME_HEAD + PROTO_FRAME_MAX + 1];
    struct span body;
    size_t used;
    frame_head(in, PROTO_FRAME_MAX);
    cr_assert_eq(frame_split(span_of(in, 4), PROTO_FRAME_MAX, &body, &used), E_SHORT);
    cr_assert_eq(frame_split(span_of(in, sizeof in), PROTO_FRAME_MAX, &body, &used), 0);
    cr_assert_eq(body.n, PROTO_FRAME_MAX);
    cr_assert_eq(used, sizeof in - 1);
    frame_head(in, PROTO_FRAME_MAX + 1);
    cr_assert_eq(frame_split(span_of(in, sizeof in), PROTO_FRAME_MAX, &body, &used), E_BAD);
}

Test(frame, head_is_big_endian)
{
    uint8_t head[FRAME_HEAD];
    frame_head(head, 0x01020304);
    cr_assert_arr_eq(head, ((uint8_t[]){1, 2, 3, 4}), 4);
    frame_head(head, UINT32_MAX);
    cr_assert_arr_eq(head, ((uint8_t[]){255, 255, 255, 255}), 4);
}

Test(frame, random_streams_keep_the_rules)
{
    struct rng r;
    rng_init(&r, 1);
    for (int i = 0; i < 200000; i++) {
        uint8_t stream[64] = {0, 0, 0, (uint8_t)rng_below(&r, 40)};
        size_t n = mutate(&r, stream, rng_below(&r, 48), sizeof stream);
        const char *broken = round_trip_frame(span_of(stream, n), 32);
        cr_assert(broken == NULL, "round %d: %s", i, broken);
    }
}

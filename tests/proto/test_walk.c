/* tests/proto/test_walk.c: the walk over a body before anything decodes it. PROTOCOL.md, Framing.
 */
#include "proto/walk.h"

#include "common/err.h"
#include "proto/limits.h"
#include "tests/leak.h"
#include "tests/mutate.h"
#include "tests/proto/vectors.h"
#include "tests/round_trip.h"

#include <criterion/criterion.h>
#include <msgpack.h>
#include <stdlib.h>

#define BODY_MAX 16384

/* --- an oracle of another make -----------------------------------------------------------------
 */

/* Decode by arithmetic on code points and compare with what the code point would be encoded as. */
static bool oracle_utf8(const uint8_t *p, size_t n)
{
    size_t i = 0;
    while (i < n) {
        int more = p[i] < 0x80 ? 0 : p[i] < 0xc0 ? -1 : p[i] < 0xe0 ? 1 : p[i] < 0xf0 ? 2 : 3;
        if (more < 0 || p[i] > 0xf7 || n - i <= (size_t)more)
            return false;
        uint32_t c = more == 0 ? p[i] : p[i] & (0x3fu >> more);
        for (int k = 1; k <= more; k++) {
            if (p[i + (size_t)k] < 0x80 || p[i + (size_t)k] > 0xbf)
                return false;
            c = c * 64 + (p[i + (size_t)k] - 0x80u);
        }
        int least = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        if (least != more || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
            return false;
        i += (size_t)more + 1;
    }
    return true;
}

/* Bytes of the value at `p`, or -1. By recursion, one case a family. */
static int64_t oracle_value(const uint8_t *p, int64_t n, int level)
{
    if (n < 1)
        return -1;
    int head = p[0], len_bytes = 0;
    int64_t fixed = -1, count = -1, per = 0;
    bool str = false;
    if (head < 0x80 || head >= 0xe0 || head == 0xc0 || head == 0xc2 || head == 0xc3)
        fixed = 0;
    else if (head < 0xa0)
        count = head % 16, per = head < 0x90 ? 2 : 1;
    else if (head < 0xc0)
        fixed = head - 0xa0, str = true;
    else if (head == 0xc1)
        return -1;
    else if (head <= 0xc6 || (head >= 0xd9 && head <= 0xdb))
        len_bytes = 1 << (head <= 0xc6 ? head - 0xc4 : head - 0xd9), str = head >= 0xd9;
    else if (head <= 0xc9)
        len_bytes = 1 << (head - 0xc7);
    else if (head <= 0xcb)
        fixed = head == 0xca ? 4 : 8;
    else if (head <= 0xd3)
        fixed = 1 << (head - (head < 0xd0 ? 0xcc : 0xd0));
    else if (head <= 0xd8)
        fixed = 1 + (1 << (head - 0xd4));
    else
        len_bytes = head % 2 == 0 ? 2 : 4, per = head < 0xde ? 1 : 2;

    int64_t at = 1 + len_bytes;
    if (n < at)
        return -1;
    if (len_bytes > 0) {
        int64_t v = 0;
        for (int i = 1; i <= len_bytes; i++)
            v = v * 256 + p[i];
        if (per > 0)
            count = v;
        else
            fixed = v + (head >= 0xc7 && head <= 0xc9);
    }
    if (count < 0) {
        if (n - at < fixed || (str && !oracle_utf8(p + at, (size_t)fixed)))
            return -1;
        return at + fixed;
    }
    if (level >= 8)
        return -1;
    for (int64_t i = 0; i < count * per; i++) {
        int64_t used = oracle_value(p + at, n - at, level + 1);
        if (used < 0)
            return -1;
        at += used;
    }
    return at;
}

/* msgpack-c has to take whatever was walked, and as long. */
static void assert_decoder_agrees(struct span in, size_t used)
{
    msgpack_zone zone;
    msgpack_object o;
    size_t off = 0;
    cr_assert(msgpack_zone_init(&zone, 1024));
    msgpack_unpack_return got = msgpack_unpack((const char *)in.p, in.n, &off, &zone, &o);
    cr_assert(got == MSGPACK_UNPACK_SUCCESS || got == MSGPACK_UNPACK_EXTRA_BYTES);
    cr_assert_eq(off, used);
    msgpack_zone_destroy(&zone);
}

static void assert_like_oracle(struct span in, const char *what)
{
    size_t used = 0;
    int64_t want = oracle_value(in.p, (int64_t)in.n, 0);
    int got = walk_value(in, 0, &used);
    cr_assert_eq(got, want < 0 ? E_BAD : 0, "%s", what);
    if (got != 0)
        return;
    cr_assert_eq((int64_t)used, want, "%s", what);
    assert_decoder_agrees(in, used);
}

/* --- bodies ------------------------------------------------------------------------------------
 */

static int body_of(const char *bytes, size_t n, struct walk_head *head)
{
    struct span copy = vectors_copy(span_of(bytes, n));
    int err = walk_body(copy, head);
    free((void *)copy.p);
    return err;
}

#define BODY(text, head) body_of(text, sizeof text - 1, head)

Test(walk, every_golden_body_is_taken_and_no_part_of_one_is)
{
    json_t *doc = vectors_load("messages.json");
    size_t i;
    const json_t *v;
    json_array_foreach(vectors_list(doc, "vectors"), i, v)
    {
        struct span frame = vectors_hex(v), body = {0};
        size_t used;
        struct walk_head head;
        cr_assert_eq(frame_split(frame, PROTO_BATCH_MAX, &body, &used), 0);
        cr_assert_eq(used, frame.n, "%s", vectors_name(v));
        cr_assert_eq(walk_body(body, &head), 0, "%s", vectors_name(v));
        const json_t *meaning = json_object_get(v, "meaning");
        cr_assert_eq(head.cmd, vectors_uint(json_object_get(meaning, "cmd")));
        cr_assert_eq(head.seq, vectors_uint(json_object_get(meaning, "seq")));
        assert_like_oracle(body, vectors_name(v));
        for (size_t n = 0; n < body.n; n++) {
            struct span cut = vectors_copy(span_of(body.p, n));
            cr_assert_eq(walk_body(cut, &head), E_BAD, "%s, %zu bytes", vectors_name(v), n);
            cr_assert_eq(walk_value(cut, 0, &used), E_BAD, "%s, %zu bytes", vectors_name(v), n);
            free((void *)cut.p);
        }
        free((void *)frame.p);
    }
    json_decref(doc);
    TEST_NO_LEAKS();
}

Test(walk, every_bad_body_is_refused)
{
    json_t *doc = vectors_load("bad_frames.json");
    size_t i;
    const json_t *v;
    json_array_foreach(vectors_list(doc, "vectors"), i, v)
    {
        struct span body = vectors_hex(v);
        struct walk_head head;
        cr_assert_eq(walk_body(body, &head), E_BAD, "%s", vectors_name(v));
        assert_like_oracle(body, vectors_name(v));
        free((void *)body.p);
    }
    json_decref(doc);
    TEST_NO_LEAKS();
}

Test(walk, of_nothing_is_refused)
{
    struct walk_head head;
    size_t used;
    cr_assert_eq(walk_body(span_of(NULL, 0), &head), E_BAD);
    cr_assert_eq(walk_value(span_of(NULL, 0), 0, &used), E_BAD);
}

Test(walk, payload_is_the_raw_value)
{
    const char body[] = "\x93\x0b\xcd\x01\x00\x82\xa1x\xc0\xa1y\x92\x01\x02";
    struct walk_head head;
    cr_assert_eq(walk_body(span_of(body, sizeof body - 1), &head), 0);
    cr_assert_eq(head.cmd, 11);
    cr_assert_eq(head.seq, 256);
    cr_assert_eq(head.payload.p, (const uint8_t *)body + 5);
    cr_assert_eq(head.payload.n, sizeof body - 1 - 5);
}

Test(walk, c05_five_bytes_that_ask_for_gigabytes_are_refused_wherever_they_stand)
{
    static const char *const giants[] = {"\xdd\xff\x00\x00\x00", "\xdf\xff\xff\xff\xff",
                                         "\xdb\x7f\xff\xff\xff", "\xc6\xff\xff\xff\xff",
                                         "\xc9\xff\xff\xff\xff"};
    static const char *const before[] = {
        "", "\x93", "\x93\x07", "\x93\x07\x01", "\x93\x07\x01\x81\xa1x", "\x93\x07\x01\x81"};
    struct walk_head head;
    for (size_t b = 0; b < ARRAY_LEN(before); b++) {
        for (size_t g = 0; g < ARRAY_LEN(giants); g++) {
            char body[32] = {0};
            size_t n = strlen(before[b]);
            memcpy(body, before[b], n);
            memcpy(body + n, giants[g], 5);
            cr_assert_eq(body_of(body, n + 5, &head), E_BAD, "%zu %zu", b, g);
            cr_assert_eq(body_of(body, n + 6, &head), E_BAD, "%zu %zu and a byte", b, g);
        }
    }
    TEST_NO_LEAKS();
}

Test(walk, c05_a_count_is_held_against_the_bytes_that_are_there)
{
    size_t used;
    struct span in = span_of("\x93\x01\x02\x03", 4);
    cr_assert_eq(walk_value(in, 0, &used), 0);
    in = span_of("\x94\x01\x02\x03", 4);
    cr_assert_eq(walk_value(in, 0, &used), E_BAD);
    in = span_of("\xdf\x80\x00\x00\x02\x01\x02\x03\x04", 9); /* twice that is 4 in 32 bits */
    cr_assert_eq(walk_value(in, 0, &used), E_BAD);
    in = span_of("\xc9\xff\xff\xff\xff\x00\x01", 7); /* and one more is 0 in 32 bits */
    cr_assert_eq(walk_value(in, 0, &used), E_BAD);
}

/* [cmd, 1, payload] whose payload opens `levels` containers, `open` before each, nil inside. */
static size_t nested(uint8_t *out, uint8_t cmd, const char *open, size_t levels)
{
    size_t n = 0;
    out[n++] = 0x93;
    out[n++] = cmd;
    out[n++] = 1;
    for (size_t i = 0; i < levels; i++) {
        memcpy(out + n, open, strlen(open));
        n += strlen(open);
    }
    out[n++] = 0xc0;
    return n;
}

Test(walk, c06_eight_levels_are_taken_and_nine_are_not)
{
    static const char *const opens[] = {"\x91", "\x92\x05", "\x81\xa1k"};
    static const uint8_t cmds[] = {CMD_MOVE_REQ, CMD_PING_REQ};
    uint8_t body[256];
    struct walk_head head;
    for (size_t i = 0; i < ARRAY_LEN(opens); i++) {
        for (size_t c = 0; c < ARRAY_LEN(cmds); c++) {
            size_t n = nested(body, cmds[c], opens[i], 7);
            cr_assert_eq(walk_body(span_of(body, n), &head), 0, "%zu", i);
            n = nested(body, cmds[c], opens[i], 8);
            cr_assert_eq(walk_body(span_of(body, n), &head), E_BAD, "%zu", i);
        }
    }
    /* Below an unknown key of a MoveReq: the payload's map is the second level. */
    cr_assert_eq(BODY("\x93\x07\x01\x81\xa1z\x91\x91\x91\x91\x91\x90", &head), 0);
    cr_assert_eq(BODY("\x93\x07\x01\x81\xa1z\x91\x91\x91\x91\x91\x91\x90", &head), E_BAD);
    cr_assert_eq(BODY("\x93\x07\x01\x81\xa1z\x91\x91\x91\x91\x91\x91\xdc\x00\x00", &head), E_BAD);
}

Test(walk, c06_sixteen_thousand_levels_are_refused)
{
    static uint8_t body[BODY_MAX];
    struct walk_head head;
    size_t n = nested(body, CMD_MOVE_REQ, "\x91", 16000);
    cr_assert_eq(walk_body(span_of(body, n), &head), E_BAD);
    n = nested(body, CMD_PING_REQ, "\x81", 16000);
    cr_assert_eq(walk_body(span_of(body, n), &head), E_BAD);
}

Test(walk, c06_levels_close_again)
{
    struct walk_head head;
    cr_assert_eq(
        BODY("\x93\x0b\x01\x93\x91\x91\x91\x91\x91\x90\x91\x91\x91\x91\x91\x90\x80", &head), 0);
    cr_assert_eq(
        BODY("\x93\x0b\x01\x93\x91\x91\x91\x91\x91\x90\x91\x91\x91\x91\x91\x91\x90\x80", &head),
        E_BAD);
}

Test(walk, depth_counts_what_is_open_around)
{
    size_t used;
    for (unsigned depth = 0; depth <= PROTO_DEPTH_MAX; depth++) {
        int want = depth < PROTO_DEPTH_MAX ? 0 : E_BAD;
        cr_assert_eq(walk_value(span_of("\x90", 1), depth, &used), want);
        cr_assert_eq(walk_value(span_of("\x80", 1), depth, &used), want);
        cr_assert_eq(walk_value(span_of("\x05", 1), depth, &used), 0);
        cr_assert_eq(walk_value(span_of("\x91\x90", 2), depth, &used), depth < 7 ? 0 : E_BAD);
    }
}

Test(walk, c07_bodies_of_another_shape_are_refused)
{
    struct walk_head head;
    cr_assert_eq(BODY("\x93\x05\x01\xc0", &head), 0);
    cr_assert_eq(BODY("\x05", &head), E_BAD);
    cr_assert_eq(BODY("\x80", &head), E_BAD);
    cr_assert_eq(BODY("\x92\x05\x01", &head), E_BAD);
    cr_assert_eq(BODY("\x94\x05\x01\xc0\xc0", &head), E_BAD);
    cr_assert_eq(BODY("\xc1", &head), E_BAD);
    cr_assert_eq(BODY("\x93\x05\x01\xc0\xc0", &head), E_BAD);
    cr_assert_eq(BODY("\x93\xff\x01\xc0", &head), E_BAD);                                 /* -1 */
    cr_assert_eq(BODY("\x93\xcf\x00\x00\x00\x01\x00\x00\x00\x00\x01\xc0", &head), E_BAD); /* 2^32 */
    cr_assert_eq(BODY("\x93\xce\xff\xff\xff\xff\x01\xc0", &head), 0);
    cr_assert_eq(head.cmd, UINT32_MAX);
    TEST_NO_LEAKS();
}

/* `v` in one of the integer forms cc..cf, d0..d3. */
static size_t put_int(uint8_t *out, uint8_t form, uint64_t v)
{
    size_t bytes = (size_t)1 << (form & 3);
    out[0] = form;
    for (size_t i = 0; i < bytes; i++)
        out[1 + i] = (uint8_t)(v >> (8 * (bytes - 1 - i)));
    return 1 + bytes;
}

Test(walk, c08_cmd_and_seq_may_be_any_form_of_integer)
{
    const uint64_t values[] = {
        0,     1,     127,        128,        255,        256,         32767,     32768,
        65535, 65536, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, INT64_MAX, UINT64_MAX};
    for (unsigned form = 0xcc; form <= 0xd3; form++) {
        unsigned bits = (8u << (form & 3)) - (form >= 0xd0);
        for (size_t i = 0; i < ARRAY_LEN(values); i++) {
            uint64_t v = values[i];
            bool fits = bits >= 64 || v < (uint64_t)1 << bits;
            if (!fits)
                continue;
            uint8_t body[32] = {0x93};
            size_t n = 1;
            n += put_int(body + n, (uint8_t)form, v);
            n += put_int(body + n, (uint8_t)form, v);
            body[n++] = 0xc0;
            struct walk_head head = {0};
            int want = v <= UINT32_MAX ? 0 : E_BAD;
            cr_assert_eq(walk_body(span_of(body, n), &head), want, "%02x %lu", form, v);
            cr_assert(want != 0 || (head.cmd == v && head.seq == v));
        }
    }
}

Test(walk, an_integer_is_taken_up_to_its_limit_or_left_where_it_is)
{
    uint64_t v = 0;
    struct span rest = span_of("\xcc\x80\x05", 3), before = rest;
    cr_assert_eq(walk_uint(&rest, 127, &v), E_BAD);
    cr_assert_eq(rest.p, before.p);
    cr_assert_eq(walk_uint(&rest, 128, &v), 0);
    cr_assert_eq(v, 128);
    cr_assert_eq(walk_uint(&rest, 128, &v), 0);
    cr_assert_eq(v, 5);
    cr_assert_eq(rest.n, 0);
    cr_assert_eq(walk_uint(&rest, 128, &v), E_BAD);
    rest = span_of("\xcf\xff\xff\xff\xff\xff\xff\xff\xff", 9);
    cr_assert_eq(walk_uint(&rest, UINT64_MAX, &v), 0);
    cr_assert_eq(v, UINT64_MAX);
}

Test(walk, every_first_byte_is_known_for_what_it_is)
{
    uint8_t in[64];
    for (unsigned head = 0; head < 256; head++) {
        for (size_t n = 1; n <= sizeof in; n++) {
            memset(in, 0, sizeof in);
            in[0] = (uint8_t)head;
            in[1] = (uint8_t)(n / 2);
            struct span copy = vectors_copy(span_of(in, n));
            assert_like_oracle(copy, "a first byte");
            free((void *)copy.p);
        }
    }
    TEST_NO_LEAKS();
}

/* --- text --------------------------------------------------------------------------------------
 */

static size_t encode(uint8_t *out, uint32_t c, size_t n)
{
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    if (n == 1)
        out[0] = (uint8_t)c;
    for (size_t i = n; n > 1 && i-- > 1; c >>= 6)
        out[i] = (uint8_t)(0x80 | (c & 0x3f));
    if (n > 1)
        out[0] = (uint8_t)(lead[n] | c);
    return n;
}

Test(walk, text_of_every_character_is_taken_in_its_shortest_form_only)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000, 0x110000};
    uint8_t s[4];
    for (uint32_t c = 0; c < 0x1fffff; c++) {
        for (size_t n = 1; n <= 4; n++) {
            static const uint32_t most[] = {0, 0x7f, 0x7ff, 0xffff, 0x1fffff};
            if (c > most[n])
                continue;
            bool good = c >= least[n] && c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);
            cr_assert_eq(walk_utf8(span_of(s, encode(s, c, n))), good, "U+%04X in %zu", c, n);
        }
    }
}

Test(walk, text_of_any_three_bytes_is_judged_like_the_oracle_does)
{
    uint8_t s[3];
    for (uint32_t v = 0; v < 1u << 24; v++) {
        s[0] = (uint8_t)(v >> 16);
        s[1] = (uint8_t)(v >> 8);
        s[2] = (uint8_t)v;
        if (walk_utf8(span_of(s, 3)) != oracle_utf8(s, 3))
            cr_assert_fail("%02x %02x %02x", s[0], s[1], s[2]);
    }
}

Test(walk, text_may_be_empty)
{
    cr_assert(walk_utf8(span_of(NULL, 0)));
}

/* --- at random ---------------------------------------------------------------------------------
 */

Test(walk, damaged_bodies_are_judged_like_the_oracle_does)
{
    static uint8_t seeds[512][2048];
    static size_t lengths[512];
    size_t n_seeds = 0;
    static const char *const files[] = {"messages.json", "bad_frames.json", "link.json"};
    for (size_t f = 0; f < ARRAY_LEN(files); f++) {
        json_t *doc = vectors_load(files[f]);
        size_t i;
        const json_t *v;
        json_array_foreach(vectors_list(doc, "vectors"), i, v)
        {
            struct span bytes = vectors_hex(v);
            size_t skip = f == 1 ? 0 : FRAME_HEAD;
            if (n_seeds < 512 && bytes.n - skip <= 1024) {
                lengths[n_seeds] = bytes.n - skip;
                memcpy(seeds[n_seeds++], bytes.p + skip, bytes.n - skip);
            }
            free((void *)bytes.p);
        }
        json_decref(doc);
    }
    struct rng r;
    rng_init(&r, 5);
    size_t taken = 0;
    for (int i = 0; i < 200000; i++) {
        uint8_t body[2048];
        size_t s = rng_below(&r, n_seeds), used;
        memcpy(body, seeds[s], lengths[s]);
        size_t n = mutate(&r, body, lengths[s], sizeof body);
        struct span copy = vectors_copy(span_of(body, n));
        assert_like_oracle(copy, "damaged");
        const char *broken = round_trip_walk(copy);
        cr_assert(broken == NULL, "round %d: %s", i, broken);
        taken += walk_value(copy, 0, &used) == 0;
        free((void *)copy.p);
    }
    cr_assert(taken > 10000, "%zu were taken: too few to show anything", taken);
    TEST_NO_LEAKS();
}

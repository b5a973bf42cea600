/* tests/proto/test_ws_frame.c: WebSocket frames in and heads out. RFC 6455, 5; PROTOCOL.md,
 * Framing. */
#include "proto/ws_frame.h"

#ifdef PARTS_WEBSOCKET

#include "common/err.h"
#include "tests/leak.h"
#include "tests/ws_bytes.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define ROOM 16384

static struct ws_reader *reader;

static void setup(void)
{
    cr_assert_eq(ws_reader_create(4 * 65536, &reader), 0);
}

static void teardown(void)
{
    ws_reader_destroy(reader);
}

TestSuite(ws_frame, .init = setup, .fini = teardown);

static int next(struct span in, bool inside, struct ws_frame *f, enum ws_fault *fault)
{
    const int r = ws_reader_next(reader, in, inside, ROOM, f, fault);
    cr_assert_eq(ws_reader_settle(reader), 0);
    return r;
}

Test(ws_frame, the_standards_own_example_reads)
{
    const uint8_t hello[] = {0x82, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58};
    enum ws_fault fault;
    struct ws_frame f;

    cr_assert_eq(ws_reader_next(reader, span_of(hello, 11), false, ROOM, &f, &fault), 0);
    cr_assert(f.fin);
    cr_assert_eq(f.opcode, WS_BINARY);
    cr_assert_eq(f.used, 11);
    cr_assert(span_equal(f.payload, span_text("Hello")));
    teardown();
    TEST_NO_LEAKS();
    setup();
}

Test(ws_frame, a_frame_of_any_length_is_whole_at_its_last_byte_and_not_before)
{
    static const size_t lengths[] = {0, 1, 2, 125, 126, 127, 128, 4095, 4096, 4097, ROOM};
    uint8_t *bytes = malloc(ROOM + WS_BYTES_HEAD), *payload = malloc(ROOM);

    for (size_t i = 0; i < ROOM; i++)
        payload[i] = (uint8_t)(i * 7 + i / 256);
    for (size_t l = 0; l < ARRAY_LEN(lengths); l++) {
        struct span_writer w = span_writer_of(bytes, ROOM + WS_BYTES_HEAD);
        ws_bytes_frame(&w, 0x82, payload, lengths[l]);
        for (size_t n = 0; n <= w.len; n += n < 20 || n + 5000 > w.len ? 1 : 97) {
            enum ws_fault fault;
            struct ws_frame f;
            const int r = ws_reader_next(reader, span_of(bytes, n), false, ROOM, &f, &fault);
            cr_assert_eq(r, n < w.len ? E_SHORT : 0, "%zu of %zu bytes: %d", n, w.len, r);
            if (r == 0) {
                cr_assert_eq(f.used, w.len);
                cr_assert(span_equal(f.payload, span_of(payload, lengths[l])));
            }
            cr_assert_eq(ws_reader_settle(reader), 0);
        }
    }
    free(bytes);
    free(payload);
}

Test(ws_frame, frames_of_one_read_come_one_after_the_other)
{
    uint8_t bytes[20000], payload[300] = {1, 2, 3};
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    size_t at = 0;
    enum ws_fault fault;
    struct ws_frame f;

    for (size_t n = 0; n < 60; n++)
        ws_bytes_frame(&w, 0x82, payload, n * 5);
    ws_bytes_frame(&w, 0x89, "?", 1);
    cr_assert(!w.full);
    for (size_t n = 0; n < 61; n++) {
        cr_assert_eq(
            ws_reader_next(reader, span_of(bytes + at, w.len - 3 - at), false, ROOM, &f, &fault),
            n < 60 ? 0 : E_SHORT);
        if (n == 60)
            break;
        cr_assert(span_equal(f.payload, span_of(payload, n * 5)));
        (void)ws_reader_hold(reader, f.payload);
        at += f.used;
    }
    cr_assert_eq(ws_reader_settle(reader), 0);
    cr_assert_eq(next(span_of(bytes + at, w.len - at), false, &f, &fault), 0);
    cr_assert_eq(f.opcode, WS_PING);
}

/* A head and its mask, without a byte of payload: what it says is known. */
Test(ws_frame, what_no_client_may_send_is_told_by_its_head)
{
    static const struct {
        const char *what;
        uint8_t bytes[14];
        size_t n;
        bool inside;
        enum ws_fault fault;
    } heads[] = {
        {"reserved bit 1", {0xc2, 0x81, 1, 2, 3, 4}, 6, false, WS_FAULT_PROTOCOL},
        {"reserved bit 2", {0xa2, 0x81, 1, 2, 3, 4}, 6, false, WS_FAULT_PROTOCOL},
        {"reserved bit 3", {0x92, 0x81, 1, 2, 3, 4}, 6, false, WS_FAULT_PROTOCOL},
        {"reserved bits of a ping", {0xf9, 0x80, 1, 2, 3, 4}, 6, false, WS_FAULT_PROTOCOL},
        {"opcode 3", {0x83, 0x81, 1, 2, 3, 4}, 6, false, WS_FAULT_PROTOCOL},
        {"opcode 7", {0x87, 0x80, 1, 2, 3, 4}, 6, false, WS_FAULT_PROTOCOL},
        {"opcode 11", {0x8b, 0x80, 1, 2, 3, 4}, 6, false, WS_FAULT_PROTOCOL},
        {"opcode 15", {0x8f, 0x81, 1, 2, 3, 4}, 6, false, WS_FAULT_PROTOCOL},
        {"no mask", {0x82, 0x01}, 2, false, WS_FAULT_PROTOCOL},
        {"no mask, longer", {0x82, 0x7e, 0x01, 0x00}, 4, false, WS_FAULT_PROTOCOL},
        {"a ping without mask", {0x89, 0x00}, 2, false, WS_FAULT_PROTOCOL},
        {"a ping of 126", {0x89, 0xfe}, 2, false, WS_FAULT_PROTOCOL},
        {"a close of 65536", {0x88, 0xff}, 2, false, WS_FAULT_PROTOCOL},
        {"a ping in fragments", {0x09, 0x80}, 2, false, WS_FAULT_PROTOCOL},
        {"a close in fragments", {0x08, 0x82}, 2, false, WS_FAULT_PROTOCOL},
        {"125 in two bytes", {0x82, 0xfe, 0x00, 0x7d}, 4, false, WS_FAULT_PROTOCOL},
        {"65535 in eight",
         {0x82, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff},
         10,
         false,
         WS_FAULT_PROTOCOL},
        {"2^63", {0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0}, 10, false, WS_FAULT_PROTOCOL},
        {"a rest of nothing", {0x80, 0x81, 1, 2, 3, 4}, 6, false, WS_FAULT_PROTOCOL},
        {"a rest of nothing, open", {0x00, 0x81, 1, 2, 3, 4}, 6, false, WS_FAULT_PROTOCOL},
        {"a message inside another", {0x82, 0x81, 1, 2, 3, 4}, 6, true, WS_FAULT_PROTOCOL},
        {"a text inside another", {0x81, 0x81, 1, 2, 3, 4}, 6, true, WS_FAULT_PROTOCOL},
        {"a text", {0x81, 0x85, 1, 2, 3, 4}, 6, false, WS_FAULT_TEXT},
        {"the start of a text", {0x01, 0x80, 1, 2, 3, 4}, 6, false, WS_FAULT_TEXT},
        {"one byte too many", {0x82, 0xfe, 0x40, 0x01, 1, 2, 3, 4}, 8, false, WS_FAULT_LENGTH},
        {"2^16", {0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4}, 14, false, WS_FAULT_LENGTH},
        {"2^63 - 1",
         {0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4},
         14,
         false,
         WS_FAULT_LENGTH},
    };

    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        struct ws_frame f;
        for (size_t n = 0; n <= heads[i].n; n++) {
            enum ws_fault fault = WS_FAULT_NONE;
            const int r = next(span_of(heads[i].bytes, n), heads[i].inside, &f, &fault);
            cr_assert_eq(r, n < heads[i].n ? E_SHORT : E_BAD, "%s: %zu bytes: %d", heads[i].what, n,
                         r);
            cr_assert(r == E_SHORT || fault == heads[i].fault, "%s: %d", heads[i].what, fault);
        }
    }
}

Test(ws_frame, no_head_is_judged_by_bytes_that_are_not_there)
{
    /* Each is the start of a good frame, and would be none with zeroes behind it. */
    static const uint8_t starts[][10] = {{0x82, 0xfe, 0x00}, {0x82, 0xff, 0, 0, 0, 0, 0, 1, 0}};
    static const size_t n[] = {3, 9};
    enum ws_fault fault;
    struct ws_frame f;

    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(next(span_of(starts[i], n[i]), false, &f, &fault), E_SHORT);
}

Test(ws_frame, what_is_held_has_a_bound)
{
    uint8_t bytes[256], payload[100] = {0};
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    struct ws_reader *small;
    enum ws_fault fault;
    struct ws_frame f;

    ws_bytes_frame(&w, 0x82, payload, sizeof(payload));
    cr_assert_eq(ws_reader_create(300, &small), 0);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(ws_reader_next(small, span_written(&w), false, 100, &f, &fault), 0);
        (void)ws_reader_hold(small, f.payload);
    }
    cr_assert_eq(ws_reader_next(small, span_written(&w), false, 100, &f, &fault), E_FULL);
    cr_assert_eq(ws_reader_settle(small), 0);
    cr_assert_eq(ws_reader_next(small, span_written(&w), false, 100, &f, &fault), 0);
    ws_reader_destroy(small);
}

Test(ws_frame, a_close_has_a_code_that_may_be_sent_and_a_reason_in_utf8)
{
    static const uint32_t good[] = {1000, 1001, 1002, 1003, 1007, 1008, 1009,
                                    1010, 1011, 3000, 3999, 4000, 4999};
    static const uint32_t bad[] = {0,    999,  1004, 1005, 1006, 1015,
                                   1016, 1100, 2000, 2999, 5000, 65535};
    uint8_t payload[8] = {0x03, 0xe8, 'o', 'k', 0xc3};

    for (size_t i = 0; i < ARRAY_LEN(good) + ARRAY_LEN(bad); i++) {
        const bool fine = i < ARRAY_LEN(good);
        const uint32_t code = fine ? good[i] : bad[i - ARRAY_LEN(good)];
        const uint8_t bytes[2] = {(uint8_t)(code >> 8), (uint8_t)code};
        cr_assert_eq(ws_close_check(span_of(bytes, 2)), fine ? WS_FAULT_NONE : WS_FAULT_PROTOCOL,
                     "%u", code);
    }
    cr_assert_eq(ws_close_check(span_of(payload, 0)), WS_FAULT_NONE);
    cr_assert_eq(ws_close_check(span_of(payload, 1)), WS_FAULT_PROTOCOL);
    cr_assert_eq(ws_close_check(span_of(payload, 4)), WS_FAULT_NONE);
    cr_assert_eq(ws_close_check(span_of(payload, 5)), WS_FAULT_DATA);
}

Test(ws_frame, a_head_that_goes_out_is_the_shortest)
{
    static const size_t lengths[] = {0, 1, 125, 126, 65535, 65536, 1048576};
    static const size_t heads[] = {2, 2, 2, 4, 4, 10, 10};
    uint8_t *bytes = calloc(1, 1048576 + WS_HEAD_MAX);

    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        struct span in, payload;
        uint8_t first;
        cr_assert_eq(ws_head(bytes, WS_BINARY, lengths[i]), heads[i]);
        in = span_of(bytes, heads[i] + lengths[i]);
        cr_assert(ws_bytes_take(&in, &first, &payload));
        cr_assert_eq(first, 0x82);
        cr_assert_eq(payload.n, lengths[i]);
        cr_assert_eq(in.n, 0);
    }
    cr_assert_eq(ws_close(bytes, 4001), 4);
    cr_assert_eq(memcmp(bytes, "\x88\x02\x0f\xa1", 4), 0);
    cr_assert_eq(ws_control(bytes, WS_PONG, span_text("abc")), 5);
    cr_assert_eq(memcmp(bytes,
                        "\x8a\x03"
                        "abc",
                        5),
                 0);
    free(bytes);
}

#endif

/* tests/proto/test_message_write.c: messages into bytes. PROTOCOL.md, Commands. */
#include "proto/message.h"

#include "proto/frame.h"
#include "tests/leak.h"
#include "tests/proto/vectors.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>

Test(message_write, makes_exactly_the_golden_bytes)
{
    static struct vectors_room room;
    json_t *doc = vectors_load("messages.json");
    bool seen[64] = {false};
    size_t i;
    const json_t *v;
    json_array_foreach(vectors_list(doc, "vectors"), i, v)
    {
        struct message m;
        uint8_t out[8192];
        struct span want = vectors_hex(v);
        vectors_message(json_object_get(v, "meaning"), &room, &m);
        struct span_writer w = span_writer_of(out + FRAME_HEAD, sizeof out - FRAME_HEAD);
        message_write(&w, &m);
        cr_assert_not(w.full);
        frame_head(out, (uint32_t)w.len);
        bool same = span_equal(span_of(out, FRAME_HEAD + w.len), want);
        cr_assert_eq(same, vectors_canonical(v), "%s", vectors_name(v));
        seen[m.cmd] = true;
        free((void *)want.p);
    }
    for (uint32_t cmd = 0; cmd < ARRAY_LEN(seen); cmd++)
        cr_assert_eq(seen[cmd], protocol_cmd_name(cmd) != NULL, "no vector for %u", cmd);
    json_decref(doc);
    TEST_NO_LEAKS();
}

Test(message_write, without_room_is_full_and_stays_inside)
{
    static struct vectors_room room;
    json_t *doc = vectors_load("messages.json");
    size_t i;
    const json_t *v;
    json_array_foreach(vectors_list(doc, "vectors"), i, v)
    {
        struct message m;
        if (!vectors_canonical(v))
            continue;
        size_t need = json_string_length(json_object_get(v, "hex")) / 2 - FRAME_HEAD;
        vectors_message(json_object_get(v, "meaning"), &room, &m);
        for (size_t cap = 0; cap <= need; cap++) {
            uint8_t *out = malloc(cap);
            struct span_writer w = span_writer_of(out, cap);
            message_write(&w, &m);
            cr_assert_eq(w.full, cap < need, "%s in %zu bytes", vectors_name(v), cap);
            free(out);
        }
    }
    json_decref(doc);
    TEST_NO_LEAKS();
}

Test(message_write, appends_to_what_is_there)
{
    uint8_t out[64] = {1, 2};
    struct span_writer w = {.p = out, .cap = sizeof out, .len = 2};
    struct message m = {.cmd = CMD_LEAVE_REQ, .seq = 9};
    message_write(&w, &m);
    cr_assert_eq(w.len, 6);
    cr_assert_arr_eq(out, ((uint8_t[]){1, 2, 0x93, 5, 9, 0xc0}), 6);
}

Test(message_write, an_entity_takes_no_more_than_its_named_size)
{
    static uint8_t out[4096];
    struct message_entity e = {
        .id = UINT32_MAX,
        .kind = UINT32_MAX,
        .name = span_text("0123456789abcdef0123456789abcdef"),
    };
    struct message m = {.cmd = CMD_AOI_ADD, .aoi_add = {.entities = &e, .count = 0}};
    struct span_writer none = span_writer_of(out, sizeof out);
    message_write(&none, &m);
    m.aoi_add.count = 1;
    struct span_writer one = span_writer_of(out, sizeof out);
    message_write(&one, &m);
    cr_assert_leq(one.len - none.len, PROTO_ENTITY_BYTES_MAX);
}

Test(message_write, of_an_unknown_command_is_our_bug, .signal = SIGABRT)
{
    uint8_t out[64];
    struct span_writer w = span_writer_of(out, sizeof out);
    message_write(&w, &(struct message){.cmd = 15});
}

Test(message_write, of_a_command_beyond_the_table_is_our_bug, .signal = SIGABRT)
{
    uint8_t out[64];
    struct span_writer w = span_writer_of(out, sizeof out);
    message_write(&w, &(struct message){.cmd = UINT32_MAX});
}

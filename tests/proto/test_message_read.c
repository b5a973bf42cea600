/* tests/proto/test_message_read.c: bytes into messages. PROTOCOL.md, Framing, Commands. */
#include "proto/message.h"

#include "common/err.h"
#include "proto/frame.h"
#include "proto/walk.h"
#include "tests/leak.h"
#include "tests/mutate.h"
#include "tests/proto/vectors.h"
#include "tests/round_trip.h"

#include <criterion/criterion.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef TEST_LEAKS
size_t __sanitizer_get_current_allocated_bytes(void); /* no header of gcc's has it */
#endif

static struct message_reader *reader(void)
{
    struct message_reader *r;
    cr_assert_eq(message_reader_create(PROTO_FRAME_MAX, &r), 0);
    return r;
}

static struct span body_in(struct span frame)
{
    return span_of(frame.p + FRAME_HEAD, frame.n - FRAME_HEAD);
}

/* Both written and compared: the writer is held to the vectors by tests of its own. */
static void assert_same(const struct message *a, const struct message *b, const char *what)
{
    static uint8_t x[65536], y[65536];
    struct span_writer wx = span_writer_of(x, sizeof x), wy = span_writer_of(y, sizeof y);
    message_write(&wx, a);
    message_write(&wy, b);
    cr_assert(!wx.full && !wy.full);
    cr_assert(span_equal(span_written(&wx), span_written(&wy)), "%s", what);
}

Test(message_read, gets_the_meaning_of_every_golden_frame)
{
    static struct vectors_room room;
    struct message_reader *r = reader();
    json_t *doc = vectors_load("messages.json");
    size_t i;
    const json_t *v;
    json_array_foreach(vectors_list(doc, "vectors"), i, v)
    {
        struct span frame = vectors_hex(v);
        struct message want, got;
        vectors_message(json_object_get(v, "meaning"), &room, &want);
        cr_assert_eq(message_read(r, body_in(frame), &got), 0, "%s", vectors_name(v));
        assert_same(&want, &got, vectors_name(v));
        free((void *)frame.p);
    }
    json_decref(doc);
    message_reader_destroy(r);
    TEST_NO_LEAKS();
}

Test(message_read, refuses_every_part_of_a_golden_body)
{
    struct message_reader *r = reader();
    json_t *doc = vectors_load("messages.json");
    size_t i;
    const json_t *v;
    json_array_foreach(vectors_list(doc, "vectors"), i, v)
    {
        struct span frame = vectors_hex(v), body = body_in(frame);
        struct message m;
        for (size_t n = 0; n < body.n; n++) {
            struct span cut = vectors_copy(span_of(body.p, n));
            cr_assert_eq(message_read(r, cut, &m), E_BAD, "%s, %zu bytes", vectors_name(v), n);
            free((void *)cut.p);
        }
        free((void *)frame.p);
    }
    json_decref(doc);
    message_reader_destroy(r);
    TEST_NO_LEAKS();
}

Test(message_read, c05_c06_c07_a_bad_frame_is_never_decoded)
{
    struct message_reader *r = reader();
    json_t *doc = vectors_load("bad_frames.json");
    size_t i;
    const json_t *v;
    json_array_foreach(vectors_list(doc, "vectors"), i, v)
    {
        struct span body = vectors_hex(v);
        struct message m;
        cr_assert_eq(message_read(r, body, &m), E_BAD, "%s", vectors_name(v));
        free((void *)body.p);
    }
    json_decref(doc);
    message_reader_destroy(r);
    TEST_NO_LEAKS();
}

/* What a server says of a request by its bytes alone. */
static int judge(struct message_reader *r, struct span body, struct message *m)
{
    struct walk_head head;
    if (walk_body(body, &head) != 0)
        return PE_BAD_FRAME;
    *m = (struct message){.cmd = head.cmd, .seq = head.seq};
    if (!protocol_is_request(head.cmd))
        return PE_UNKNOWN_CMD;
    return message_read_payload(r, head.payload, m);
}

Test(message_read, c07_c09_a16_bad_requests_get_their_code_and_change_nothing)
{
    struct message_reader *r = reader();
    json_t *doc = vectors_load("bad_payloads.json");
    size_t i;
    const json_t *v;
    json_array_foreach(vectors_list(doc, "vectors"), i, v)
    {
        struct span frame = vectors_hex(v);
        const json_t *meaning = json_object_get(v, "meaning");
        struct message m;
        int want = (int)vectors_uint(json_object_get(meaning, "code"));
        cr_assert_eq(judge(r, body_in(frame), &m), want, "%s", vectors_name(v));
        cr_assert_eq(m.cmd, vectors_uint(json_object_get(meaning, "cmd")), "%s", vectors_name(v));
        cr_assert_eq(m.seq, vectors_uint(json_object_get(meaning, "seq")), "%s", vectors_name(v));
        if (want == PE_BAD_PAYLOAD)
            cr_assert_eq(message_read(r, body_in(frame), &m), want, "%s", vectors_name(v));

        struct span good = span_of("\x93\x07\x05\x82\xa1x\x08\xa1y\x09", 10);
        cr_assert_eq(judge(r, good, &m), 0, "after %s", vectors_name(v));
        cr_assert(m.move_req.x == 8.0 && m.move_req.y == 9.0);
        free((void *)frame.p);
    }
    json_decref(doc);
    message_reader_destroy(r);
    TEST_NO_LEAKS();
}

Test(message_read, an_unknown_command_says_so_whatever_its_payload)
{
    struct message_reader *r = reader();
    struct message m;
    cr_assert_eq(message_read(r, span_of("\x93\x0f\x05\x01", 4), &m), PE_UNKNOWN_CMD);
    cr_assert_eq(m.cmd, 15);
    cr_assert_eq(m.seq, 5);
    cr_assert_eq(message_read(r, span_of("\x93\xce\xff\xff\xff\xff\x05\xc0", 8), &m),
                 PE_UNKNOWN_CMD);
    cr_assert_eq(m.cmd, UINT32_MAX);
    message_reader_destroy(r);
    TEST_NO_LEAKS();
}

/* --- numbers -----------------------------------------------------------------------------------
 */

static size_t put_be(uint8_t *out, uint64_t v, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)(v >> (8 * (bytes - 1 - i)));
    return bytes;
}

#define FORMS 12

/* `v` in form number `form`; 0 where the form cannot hold it exactly. */
static size_t put_number(uint8_t *out, double v, int form)
{
    bool whole = v == floor(v) && fabs(v) <= 9007199254740992.0;
    int64_t i = whole ? (int64_t)v : 0;
    float f = (float)v;
    uint32_t f_bits;
    uint64_t d_bits;
    memcpy(&f_bits, &f, sizeof f);
    memcpy(&d_bits, &v, sizeof v);
    if (form == 0) {
        out[0] = (uint8_t)i;
        return whole && i >= -32 && i <= 127 ? 1 : 0;
    }
    if (form <= 4) { /* unsigned */
        int bytes = 1 << (form - 1);
        out[0] = (uint8_t)(0xcc + form - 1);
        put_be(out + 1, (uint64_t)i, (size_t)bytes);
        bool fits = whole && i >= 0 && (bytes == 8 || (uint64_t)i >> (8 * bytes) == 0);
        return fits ? 1 + (size_t)bytes : 0;
    }
    if (form <= 8) { /* signed */
        int bytes = 1 << (form - 5);
        int64_t most = (int64_t)(UINT64_MAX >> (65 - 8 * bytes));
        out[0] = (uint8_t)(0xd0 + form - 5);
        put_be(out + 1, (uint64_t)i, (size_t)bytes);
        return whole && i >= -most - 1 && i <= most ? 1 + (size_t)bytes : 0;
    }
    if (form == 9) {
        out[0] = 0xca;
        return (double)f == v ? 1 + put_be(out + 1, f_bits, 4) : 0;
    }
    out[0] = 0xcb;
    return form == 10 ? 1 + put_be(out + 1, d_bits, 8) : 0;
}

Test(message_read, c08_every_form_of_a_number_is_the_same_number)
{
    static const double values[] = {
        0,      1,    8,      127,   128,    255,   256,   -1,       -32,          -33,
        -128,   -129, -32768, 32767, 32768,  65535, 65536, -0.5,     0.1,          1e300,
        5e-324, -1e9, 1e15,   16384, -16384, 3e9,   -3e9,  1.0f / 3, 2147483648.0, -2147483648.0};
    struct message_reader *r = reader();
    for (size_t v = 0; v < ARRAY_LEN(values); v++) {
        int forms = 0;
        for (int f = 0; f < FORMS; f++) {
            for (int g = 0; g < FORMS; g++) {
                uint8_t body[64] = {0x93, 0x07, 0x01, 0x82, 0xa1, 'x'};
                size_t n = 6;
                size_t x = put_number(body + n, values[v], f);
                n += x;
                body[n++] = 0xa1;
                body[n++] = 'y';
                size_t y = put_number(body + n, values[v], g);
                n += y;
                if (x == 0 || y == 0)
                    continue;
                struct message m;
                cr_assert_eq(message_read(r, span_of(body, n), &m), 0, "%g", values[v]);
                cr_assert(m.move_req.x == values[v] && m.move_req.y == values[v], "%g", values[v]);
                forms++;
            }
        }
        cr_assert_geq(forms, 1);
    }
    message_reader_destroy(r);
    TEST_NO_LEAKS();
}

Test(message_read, a16_numbers_at_the_ends_are_finite)
{
    struct message_reader *r = reader();
    struct message m;
    struct span body = span_of("\x93\x07\x01\x82\xa1x\xcf\xff\xff\xff\xff\xff\xff\xff\xff"
                               "\xa1y\xd3\x80\x00\x00\x00\x00\x00\x00\x00",
                               26);
    cr_assert_eq(message_read(r, body, &m), 0);
    cr_assert(m.move_req.x == 18446744073709551616.0);
    cr_assert(m.move_req.y == -9223372036854775808.0);
    message_reader_destroy(r);
    TEST_NO_LEAKS();
}

/* --- fields ------------------------------------------------------------------------------------
 */

static bool optional(uint32_t cmd, uint32_t code, const char *key)
{
    static const char *const any[] = {"ok",  "token", "version", "scene",
                                      "dir", "speed", "path",    "hidden"};
    if (strcmp(key, "resume") == 0)
        return cmd == CMD_LOGIN_REQ;
    if (strcmp(key, "scene") == 0 && cmd != CMD_ENTER_REQ)
        return false;
    if (cmd == CMD_ERROR_NOTIFY && (code < 9 || code > 11) && strlen(key) == 1)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(any); i++) {
        if (strcmp(key, any[i]) == 0)
            return true;
    }
    return false;
}

static int read_json(struct message_reader *r, const json_t *meaning)
{
    static uint8_t out[65536];
    struct span_writer w = span_writer_of(out, sizeof out);
    struct message m;
    vectors_pack_body(&w, meaning);
    cr_assert_not(w.full);
    return message_read(r, span_written(&w), &m);
}

/* The vector's meaning with `key` taken out (NULL) or replaced. */
static int read_with(struct message_reader *r, const json_t *meaning, const char *key,
                     json_t *value)
{
    json_t *copy = json_deep_copy(meaning);
    json_t *payload = json_object_get(copy, "payload");
    if (value == NULL)
        json_object_del(payload, key);
    else
        json_object_set_new(payload, key, value);
    int err = read_json(r, copy);
    json_decref(copy);
    return err;
}

static void try_field(struct message_reader *r, const json_t *v, const char *key)
{
    const json_t *meaning = json_object_get(v, "meaning");
    const json_t *payload = json_object_get(meaning, "payload");
    uint32_t cmd = (uint32_t)vectors_uint(json_object_get(meaning, "cmd"));
    const json_t *code = json_object_get(payload, "code");
    bool may_lack = optional(cmd, code != NULL ? (uint32_t)vectors_uint(code) : 0, key);
    cr_assert_eq(read_with(r, meaning, key, NULL), may_lack ? 0 : PE_BAD_PAYLOAD, "%s without %s",
                 vectors_name(v), key);
    if (strcmp(key, "ok") == 0) /* nobody looks at it */
        return;
    cr_assert_eq(read_with(r, meaning, key, json_null()), PE_BAD_PAYLOAD, "%s, %s nil",
                 vectors_name(v), key);
    cr_assert_eq(read_with(r, meaning, key, json_object()), PE_BAD_PAYLOAD, "%s, %s a map",
                 vectors_name(v), key);
    const json_t *value = json_object_get(payload, key);
    json_t *other = json_is_string(value) ? json_integer(1) : json_string("1");
    cr_assert_eq(read_with(r, meaning, key, other), PE_BAD_PAYLOAD, "%s, %s of another type",
                 vectors_name(v), key);
    if (json_is_integer(value)) {
        cr_assert_eq(read_with(r, meaning, key, json_real(1.0)), PE_BAD_PAYLOAD, "%s, %s a float",
                     vectors_name(v), key);
        cr_assert_eq(read_with(r, meaning, key, json_integer(-1)), PE_BAD_PAYLOAD, "%s, %s -1",
                     vectors_name(v), key);
    }
    if (json_is_integer(value) && strcmp(key, "version") != 0)
        cr_assert_eq(read_with(r, meaning, key, json_integer(4294967296)), PE_BAD_PAYLOAD,
                     "%s, %s 2^32", vectors_name(v), key);
    if (strcmp(key, "id") == 0 && strncmp(vectors_name(v), "SayNotify", 9) != 0)
        cr_assert_eq(read_with(r, meaning, key, json_integer(0)), PE_BAD_PAYLOAD, "%s, id 0",
                     vectors_name(v));
}

Test(message_read, c09_every_field_of_every_message_is_needed_and_typed)
{
    struct message_reader *r = reader();
    json_t *doc = vectors_load("messages.json");
    size_t i;
    const json_t *v;
    json_array_foreach(vectors_list(doc, "vectors"), i, v)
    {
        const json_t *meaning = json_object_get(v, "meaning");
        uint64_t cmd = vectors_uint(json_object_get(meaning, "cmd"));
        if (!vectors_canonical(v) || cmd == CMD_PING_REQ || cmd == CMD_PING_RESP)
            continue;
        const char *key;
        json_t *unused;
        json_object_foreach(json_object_get(meaning, "payload"), key, unused) try_field(r, v, key);
    }
    json_decref(doc);
    message_reader_destroy(r);
    TEST_NO_LEAKS();
}

/* `json`, with single quotes for double ones, as the payload of `cmd`. */
static int read_text(struct message_reader *r, int cmd, const char *json)
{
    char text[256];
    snprintf(text, sizeof text, "%s", json);
    for (char *c = text; *c != 0; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *meaning = json_pack("{s:i, s:i, s:o}", "cmd", cmd, "seq", 0, "payload",
                                json_loads(text, JSON_DECODE_ANY, NULL));
    cr_assert_not_null(meaning, "%s", text);
    int err = read_json(r, meaning);
    json_decref(meaning);
    return err;
}

Test(message_read, entities_and_ids_are_typed_one_by_one)
{
    static const char *const bad[] = {
        "1",
        "{}",
        "[1]",
        "[[]]",
        "[[1,0,'a',1,2,3]]",
        "[[0,0,'a',1,2,3,4]]",
        "[[-1,0,'a',1,2,3,4]]",
        "[[1.0,0,'a',1,2,3,4]]",
        "[[4294967296,0,'a',1,2,3,4]]",
        "[[1,-1,'a',1,2,3,4]]",
        "[[1,0,null,1,2,3,4]]",
        "[[1,0,'a','1',2,3,4]]",
        "[[1,0,'a',1,null,3,4]]",
        "[[1,0,'a',1,2,true,4]]",
        "[[1,0,'a',1,2,3,[]]]",
        "[[1,0,'a',1,2,3,4],2]",
        "[[1,0,'a',1,2,3,4],[2,0,'a',1,2,3]]",
    };
    static const char *const bad_ids[] = {
        "1", "{}", "[0]", "[1,-2]", "[1,2.0]", "[4294967296]", "[null]", "[[1]]", "['1']"};
    struct message_reader *r = reader();
    char payload[256];
    cr_assert_eq(read_text(r, CMD_AOI_ADD, "{'tick':1,'entities':[[1,0,'a',1,2,3,4]]}"), 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        snprintf(payload, sizeof payload, "{'tick':1,'entities':%s}", bad[i]);
        cr_assert_eq(read_text(r, CMD_AOI_ADD, payload), PE_BAD_PAYLOAD, "%s", payload);
    }
    cr_assert_eq(read_text(r, CMD_AOI_REMOVE, "{'tick':1,'ids':[1,4294967295]}"), 0);
    for (size_t i = 0; i < ARRAY_LEN(bad_ids); i++) {
        snprintf(payload, sizeof payload, "{'tick':1,'ids':%s}", bad_ids[i]);
        cr_assert_eq(read_text(r, CMD_AOI_REMOVE, payload), PE_BAD_PAYLOAD, "%s", payload);
    }
    message_reader_destroy(r);
    TEST_NO_LEAKS();
}

Test(message_read, the_rest_of_what_a_server_sends_is_typed_too)
{
    static const struct {
        int cmd;
        const char *payload;
    } bad[] = {
        {CMD_AOI_MOVE, "{'tick':1,'moves':'abc'}"},
        {CMD_AOI_MOVE, "{'tick':1,'moves':[1]}"},
        {CMD_ERROR_NOTIFY, "{'code':9,'error':'e','cmd':7}"},
        {CMD_ERROR_NOTIFY, "{'code':4,'error':'e','cmd':7,'x':1}"},
        {CMD_ERROR_NOTIFY, "{'code':11,'error':'e','cmd':7,'y':1}"},
        {CMD_LEAVE_RESP, "null"},
        {CMD_SAY_RESP, "[]"},
        {CMD_MOVE_RESP, "null"},
        {CMD_BYE, "null"},
    };
    struct message_reader *r = reader();
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_assert_eq(read_text(r, bad[i].cmd, bad[i].payload), PE_BAD_PAYLOAD, "%s",
                     bad[i].payload);
    message_reader_destroy(r);
    TEST_NO_LEAKS();
}

Test(message_read, optional_fields_say_whether_they_were_there)
{
    struct message_reader *r = reader();
    struct message m;
    cr_assert_eq(message_read(r,
                              span_of("\x93\x07\x01\x83\xa1x\x01\xa1y\x02\xa3"
                                      "dir\x03",
                                      15),
                              &m),
                 0);
    cr_assert(m.move_req.has_dir && m.move_req.dir == 3.0);
    cr_assert_not(m.move_req.has_speed);
    cr_assert_eq(message_read(r, span_of("\x93\x03\x01\x80", 4), &m), 0);
    cr_assert_not(m.enter_req.has_scene);
    cr_assert_eq(message_read(r, span_of("\x93\x01\x01\x81\xa4name\xa1z", 11), &m), 0);
    cr_assert_eq(m.login_req.version, 1);
    cr_assert_eq(m.login_req.token.n, 0);
    cr_assert_eq(m.login_req.resume.n, 0);
    message_reader_destroy(r);
    TEST_NO_LEAKS();
}

/* --- memory ------------------------------------------------------------------------------------
 */

static size_t allocated(void)
{
#ifdef TEST_LEAKS
    return __sanitizer_get_current_allocated_bytes();
#else
    struct mallinfo2 i = mallinfo2();
    return i.uordblks + i.hblkhd;
#endif
}

/* A whole body of `n` bytes: `head`, then `unit` as often as it fits. `count_at`: where the 32-bit
 * number of units goes. */
static void fill(uint8_t *body, size_t n, struct span head, size_t count_at, struct span unit)
{
    memcpy(body, head.p, head.n);
    uint32_t count = 0;
    for (size_t at = head.n; at + unit.n <= n; at += unit.n, count++)
        memcpy(body + at, unit.p, unit.n);
    put_be(body + count_at, count, 4);
}

Test(message_read, c05_no_body_up_to_the_limit_asks_for_more_memory)
{
    static const struct {
        struct span head;
        size_t count_at;
        struct span unit;
        int want;
    } rows[] = {
#define BYTES(text) {(const uint8_t *)(text), sizeof(text) - 1}
        /* an unknown key with values of one byte; a map of pairs of two bytes; lists of each kind
         */
        {BYTES("\x93\x03\x01\x81\xa1z\xdd\0\0\0\0"), 7, BYTES("\xc0"), 0},
        {BYTES("\x93\x03\x01\x81\xa1z\xdf\0\0\0\0"), 7, BYTES("\xc0\xc0"), 0},
        {BYTES("\x93\x03\x01\x81\xa1z\xdd\0\0\0\0"), 7, BYTES("\x91\x91\x91\x91\x90"), 0},
        {BYTES("\x93\x03\x01\x81\xa1z\xdd\0\0\0\0"), 7, BYTES("\x81\x80\x81\x80\xc0"), 0},
        {BYTES("\x93\x03\x01\xdf\0\0\0\0"), 4, BYTES("\xa0\xc0"), 0},
        {BYTES("\x93\x21\x01\x82\xa4tick\x01\xa3ids\xdd\0\0\0\0"), 15, BYTES("\x01"), 0},
        {BYTES("\x93\x20\x01\x82\xa4tick\x01\xa8"
               "entities\xdd\0\0\0\0"),
         20, BYTES("\x97\x01\x00\xa0\x00\x00\x00\x00"), 0},
        {BYTES("\x93\x20\x01\x82\xa4tick\x01\xa8"
               "entities\xdd\0\0\0\0"),
         20, BYTES("\x01"), PE_BAD_PAYLOAD},
#undef BYTES
    };
    struct message_reader *r = reader();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        static uint8_t body[PROTO_FRAME_MAX];
        struct message m;
        size_t n = sizeof body - (sizeof body - rows[i].head.n) % rows[i].unit.n;
        fill(body, n, rows[i].head, rows[i].count_at, rows[i].unit);
        size_t before = allocated();
        cr_assert_eq(message_read(r, span_of(body, n), &m), rows[i].want, "row %zu", i);
        cr_assert_eq(allocated(), before, "row %zu", i);
    }
    message_reader_destroy(r);
    TEST_NO_LEAKS();
}

Test(message_read, a_reader_that_was_made_small_still_reads_large_bodies)
{
    struct message_reader *r;
    cr_assert_eq(message_reader_create(1, &r), 0);
    static uint8_t body[PROTO_FRAME_MAX];
    struct message m;
    fill(body, sizeof body, span_of("\x93\x21\x01\x82\xa4tick\x01\xa3ids\xdd\0\0\0\0", 19), 15,
         span_of("\x07", 1));
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(message_read(r, span_of(body, sizeof body), &m), 0);
        cr_assert_eq(m.aoi_remove.count, sizeof body - 19);
        cr_assert_eq(m.aoi_remove.ids[m.aoi_remove.count - 1], 7);
    }
    message_reader_destroy(r);
    TEST_NO_LEAKS();
}

Test(message_read, destroying_nothing_is_fine)
{
    message_reader_destroy(NULL);
}

/* --- at random ---------------------------------------------------------------------------------
 */

Test(message_read, damaged_bodies_keep_the_rules)
{
    struct rng rng;
    rng_init(&rng, 7);
    struct message_reader *r = reader();
    json_t *docs[] = {vectors_load("messages.json"), vectors_load("bad_payloads.json")};
    size_t taken = 0;
    for (int i = 0; i < 200000; i++) {
        const json_t *list = vectors_list(docs[rng_below(&rng, 8) == 0], "vectors");
        const json_t *v = json_array_get(list, rng_below(&rng, json_array_size(list)));
        struct span seed = vectors_hex(v);
        uint8_t bytes[2048];
        struct message m;
        size_t n = seed.n - FRAME_HEAD < 1024 ? seed.n - FRAME_HEAD : 1024;
        memcpy(bytes, seed.p + FRAME_HEAD, n);
        n = mutate(&rng, bytes, n, sizeof bytes);
        free((void *)seed.p);
        struct span copy = vectors_copy(span_of(bytes, n));
        const char *broken = round_trip_message(r, copy);
        cr_assert(broken == NULL, "round %d, %s: %s", i, vectors_name(v), broken);
        taken += message_read(r, copy, &m) == 0;
        free((void *)copy.p);
    }
    cr_assert(taken > 10000, "%zu were taken: too few to show anything", taken);
    json_decref(docs[0]);
    json_decref(docs[1]);
    message_reader_destroy(r);
    TEST_NO_LEAKS();
}

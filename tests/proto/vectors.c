/* tests/proto/vectors.c: the golden vectors of tests/vectors, for tests.
 * May touch: common, proto, jansson, msgpack-c.
 */
#include "tests/proto/vectors.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>

json_t *vectors_load(const char *file)
{
    char path[256];
    snprintf(path, sizeof path, "tests/vectors/%s", file);
    json_error_t why;
    json_t *doc = json_load_file(path, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &why);
    cr_assert(doc != NULL, "%s:%d: %s", path, why.line, why.text);
    return doc;
}

const json_t *vectors_list(const json_t *doc, const char *key)
{
    const json_t *list = json_object_get(doc, key);
    cr_assert(json_array_size(list) > 0, "no %s", key);
    return list;
}

const char *vectors_name(const json_t *vector)
{
    const char *name = json_string_value(json_object_get(vector, "name"));
    cr_assert(name != NULL, "a vector without a name");
    return name;
}

bool vectors_canonical(const json_t *vector)
{
    const json_t *v = json_object_get(vector, "canonical");
    return v == NULL || json_is_true(v);
}

static unsigned digit(char c)
{
    const char *at = strchr("0123456789abcdef", c);
    cr_assert(c != 0 && at != NULL, "no hex digit: %c", c);
    return (unsigned)(at - "0123456789abcdef");
}

static void from_hex(uint8_t *out, const char *hex, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
}

struct span vectors_hex(const json_t *vector)
{
    const char *hex = json_string_value(json_object_get(vector, "hex"));
    cr_assert(hex != NULL, "%s: no hex", vectors_name(vector));
    size_t n = strlen(hex) / 2;
    cr_assert(strlen(hex) % 2 == 0, "%s: half a byte", vectors_name(vector));
    uint8_t *p = malloc(n);
    cr_assert(p != NULL || n == 0);
    from_hex(p, hex, n);
    return span_of(p, n);
}

struct span vectors_copy(struct span bytes)
{
    uint8_t *p = malloc(bytes.n);
    cr_assert(p != NULL || bytes.n == 0);
    if (bytes.n > 0)
        memcpy(p, bytes.p, bytes.n);
    return span_of(p, bytes.n);
}

uint64_t vectors_uint(const json_t *v)
{
    const char *digits = json_string_value(json_object_get(v, "int"));
    if (digits != NULL) {
        errno = 0;
        uint64_t n = strtoull(digits, NULL, 10);
        cr_assert(errno == 0 && digits[0] != '-', "no unsigned integer: %s", digits);
        return n;
    }
    cr_assert(json_is_integer(v) && json_integer_value(v) >= 0, "no unsigned integer");
    return (uint64_t)json_integer_value(v);
}

static uint8_t *take_room(struct vectors_room *room, size_t n)
{
    cr_assert(n <= sizeof room->bytes - room->used, "a vector larger than its room");
    uint8_t *p = room->bytes + room->used;
    room->used += n;
    return p;
}

static const char *bin_of(const json_t *v)
{
    return json_object_size(v) == 1 ? json_string_value(json_object_get(v, "bin")) : NULL;
}

struct span vectors_bytes(const json_t *v, struct vectors_room *room)
{
    const char *bin = bin_of(v);
    if (bin != NULL) {
        size_t n = strlen(bin) / 2;
        uint8_t *p = take_room(room, n);
        from_hex(p, bin, n);
        return span_of(p, n);
    }
    cr_assert(json_is_string(v), "no text");
    size_t n = json_string_length(v);
    uint8_t *p = take_room(room, n);
    memcpy(p, json_string_value(v), n);
    return span_of(p, n);
}

/* --- any JSON as msgpack -----------------------------------------------------------------------
 */

static int put(void *w, const char *bytes, size_t n)
{
    span_put(w, bytes, n);
    return 0;
}

static void pack(msgpack_packer *pk, const json_t *v);

static void pack_object(msgpack_packer *pk, const json_t *v)
{
    const char *key;
    json_t *value;
    const char *bin = bin_of(v);
    if (bin != NULL) {
        uint8_t bytes[4096];
        size_t n = strlen(bin) / 2;
        cr_assert(n <= sizeof bytes);
        from_hex(bytes, bin, n);
        msgpack_pack_bin(pk, n);
        msgpack_pack_bin_body(pk, bytes, n);
        return;
    }
    if (json_object_size(v) == 1 && json_object_get(v, "int") != NULL) {
        msgpack_pack_uint64(pk, vectors_uint(v));
        return;
    }
    msgpack_pack_map(pk, json_object_size(v));
    json_object_foreach((json_t *)v, key, value)
    {
        msgpack_pack_str(pk, strlen(key));
        msgpack_pack_str_body(pk, key, strlen(key));
        pack(pk, value);
    }
}

static void pack(msgpack_packer *pk, const json_t *v)
{
    size_t i;
    json_t *value;
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        pack_object(pk, v);
        return;
    case JSON_ARRAY:
        msgpack_pack_array(pk, json_array_size(v));
        json_array_foreach(v, i, value) pack(pk, value);
        return;
    case JSON_STRING:
        msgpack_pack_str(pk, json_string_length(v));
        msgpack_pack_str_body(pk, json_string_value(v), json_string_length(v));
        return;
    case JSON_INTEGER:
        msgpack_pack_int64(pk, json_integer_value(v));
        return;
    case JSON_REAL:
        msgpack_pack_double(pk, json_real_value(v));
        return;
    case JSON_TRUE:
        msgpack_pack_true(pk);
        return;
    case JSON_FALSE:
        msgpack_pack_false(pk);
        return;
    case JSON_NULL:
        msgpack_pack_nil(pk);
        return;
    }
}

void vectors_pack(struct span_writer *w, const json_t *v)
{
    msgpack_packer pk;
    msgpack_packer_init(&pk, w, put);
    pack(&pk, v);
}

void vectors_pack_body(struct span_writer *w, const json_t *meaning)
{
    msgpack_packer pk;
    msgpack_packer_init(&pk, w, put);
    msgpack_pack_array(&pk, 3);
    pack(&pk, json_object_get(meaning, "cmd"));
    pack(&pk, json_object_get(meaning, "seq"));
    pack(&pk, json_object_get(meaning, "payload"));
}

/* --- a meaning as a message --------------------------------------------------------------------
 */

/* A payload, with the room for what the message points at. */
struct source {
    const json_t *payload;
    struct vectors_room *room;
};

static const json_t *get(struct source s, const char *key)
{
    const json_t *v = json_object_get(s.payload, key);
    cr_assert(v != NULL, "the meaning has no %s", key);
    return v;
}

static bool has(struct source s, const char *key)
{
    return json_object_get(s.payload, key) != NULL;
}

static double number(struct source s, const char *key)
{
    cr_assert(json_is_real(get(s, key)), "%s: the meaning of a number is a real", key);
    return json_real_value(get(s, key));
}

static uint32_t u32(struct source s, const char *key)
{
    uint64_t v = vectors_uint(get(s, key));
    cr_assert(v <= UINT32_MAX);
    return (uint32_t)v;
}

static struct span text(struct source s, const char *key)
{
    return vectors_bytes(get(s, key), s.room);
}

static void request(struct source s, struct message *m)
{
    switch (m->cmd) {
    case CMD_LOGIN_REQ:
        m->login_req.name = text(s, "name");
        m->login_req.token = has(s, "token") ? text(s, "token") : span_of(NULL, 0);
        m->login_req.resume = has(s, "resume") ? text(s, "resume") : span_of(NULL, 0);
        m->login_req.version = has(s, "version") ? vectors_uint(get(s, "version")) : 1;
        break;
    case CMD_ENTER_REQ:
        m->enter_req.has_scene = has(s, "scene");
        if (m->enter_req.has_scene)
            m->enter_req.scene = text(s, "scene");
        break;
    case CMD_MOVE_REQ:
        m->move_req.x = number(s, "x");
        m->move_req.y = number(s, "y");
        m->move_req.has_dir = has(s, "dir");
        m->move_req.has_speed = has(s, "speed");
        m->move_req.dir = m->move_req.has_dir ? number(s, "dir") : 0.0;
        m->move_req.speed = m->move_req.has_speed ? number(s, "speed") : 0.0;
        break;
    case CMD_WALK_REQ:
        m->walk_req.x = number(s, "x");
        m->walk_req.y = number(s, "y");
        m->walk_req.path = has(s, "path") && json_is_true(get(s, "path"));
        break;
    case CMD_SAY_REQ:
        m->say_req.text = text(s, "text");
        break;
    case CMD_LEAVE_REQ:
        cr_assert(json_is_null(s.payload));
        break;
    default:
        cr_assert_fail("no request: %u", m->cmd);
    }
}

static void answer(struct source s, struct message *m)
{
    switch (m->cmd) {
    case CMD_LOGIN_RESP:
        m->login_resp.id = u32(s, "id");
        m->login_resp.name = text(s, "name");
        m->login_resp.resume = text(s, "resume");
        m->login_resp.resumed = json_is_true(get(s, "resumed"));
        break;
    case CMD_ENTER_RESP:
        m->enter_resp.id = u32(s, "id");
        m->enter_resp.scene = text(s, "scene");
        m->enter_resp.x = number(s, "x");
        m->enter_resp.y = number(s, "y");
        m->enter_resp.tick_ms = u32(s, "tick_ms");
        m->enter_resp.radius = number(s, "radius");
        m->enter_resp.quantum = number(s, "quantum");
        m->enter_resp.max_speed = number(s, "max_speed");
        break;
    case CMD_MOVE_RESP:
        m->move_resp = (struct message_place){number(s, "x"), number(s, "y")};
        break;
    case CMD_WALK_RESP:
        m->walk_resp = (struct message_place){number(s, "x"), number(s, "y")};
        break;
    case CMD_LEAVE_RESP:
    case CMD_SAY_RESP:
        cr_assert(json_is_true(get(s, "ok")));
        break;
    default:
        cr_assert_fail("no answer: %u", m->cmd);
    }
}

static void entities(struct source s, struct message *m)
{
    size_t i;
    json_t *v;
    cr_assert(json_array_size(get(s, "entities")) <= VECTORS_LIST_MAX);
    json_array_foreach(get(s, "entities"), i, v)
    {
        s.room->entities[i] = (struct message_entity){
            .id = (uint32_t)vectors_uint(json_array_get(v, 0)),
            .kind = (uint32_t)vectors_uint(json_array_get(v, 1)),
            .name = vectors_bytes(json_array_get(v, 2), s.room),
            .x = json_real_value(json_array_get(v, 3)),
            .y = json_real_value(json_array_get(v, 4)),
            .dir = json_real_value(json_array_get(v, 5)),
            .speed = json_real_value(json_array_get(v, 6)),
        };
    }
    m->aoi_add.entities = s.room->entities;
    m->aoi_add.count = (uint32_t)i;
}

static void ids(struct source s, struct message *m)
{
    size_t i;
    json_t *v;
    cr_assert(json_array_size(get(s, "ids")) <= VECTORS_LIST_MAX);
    json_array_foreach(get(s, "ids"), i, v) s.room->ids[i] = (uint32_t)vectors_uint(v);
    m->aoi_remove.ids = s.room->ids;
    m->aoi_remove.count = (uint32_t)i;
}

static void notice(struct source s, struct message *m)
{
    switch (m->cmd) {
    case CMD_AOI_ADD:
        m->aoi_add.tick = u32(s, "tick");
        entities(s, m);
        m->aoi_add.has_hidden = has(s, "hidden");
        m->aoi_add.hidden = m->aoi_add.has_hidden ? u32(s, "hidden") : 0;
        break;
    case CMD_AOI_REMOVE:
        m->aoi_remove.tick = u32(s, "tick");
        ids(s, m);
        break;
    case CMD_AOI_MOVE:
        m->aoi_move.tick = u32(s, "tick");
        m->aoi_move.moves = text(s, "moves");
        break;
    case CMD_MOVE_FAIL:
        m->move_fail.x = number(s, "x");
        m->move_fail.y = number(s, "y");
        m->move_fail.code = u32(s, "code");
        break;
    case CMD_SAY_NOTIFY:
        m->say_notify.id = u32(s, "id");
        m->say_notify.text = text(s, "text");
        break;
    case CMD_ERROR_NOTIFY:
        m->error_notify.code = u32(s, "code");
        m->error_notify.error = text(s, "error");
        m->error_notify.cmd = u32(s, "cmd");
        m->error_notify.has_place = has(s, "x");
        m->error_notify.x = m->error_notify.has_place ? number(s, "x") : 0.0;
        m->error_notify.y = m->error_notify.has_place ? number(s, "y") : 0.0;
        break;
    case CMD_BYE:
        m->bye.code = u32(s, "code");
        m->bye.reason = text(s, "reason");
        break;
    default:
        cr_assert_fail("no notice: %u", m->cmd);
    }
}

void vectors_message(const json_t *meaning, struct vectors_room *room, struct message *out)
{
    room->used = 0;
    struct source s = {json_object_get(meaning, "payload"), room};
    *out = (struct message){
        .cmd = (uint32_t)vectors_uint(json_object_get(meaning, "cmd")),
        .seq = (uint32_t)vectors_uint(json_object_get(meaning, "seq")),
    };
    if (out->cmd == CMD_PING_REQ || out->cmd == CMD_PING_RESP) {
        struct span_writer w = span_writer_of(room->bytes, sizeof room->bytes);
        vectors_pack(&w, s.payload);
        out->ping.payload = span_written(&w);
    } else if (protocol_is_request(out->cmd)) {
        request(s, out);
    } else if (out->cmd < CMD_AOI_ADD) {
        answer(s, out);
    } else {
        notice(s, out);
    }
}

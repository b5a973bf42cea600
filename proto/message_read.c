/* proto/message_read.c: bytes into messages, with msgpack-c's unpacker.
 * A payload was walked before it comes here, so that what the unpacker asks of the zone is bounded
 * by the payload's bytes; the zone's first block holds all of that and is kept between reads.
 * May touch: common, proto, msgpack-c.
 * On trouble: a reading function notes the first wrong field in its `fields` and goes on with
 * zeros; one look at the end decides.
 */
#include "proto/message.h"

#include "common/err.h"
#include "proto/walk.h"

#include <math.h>
#include <msgpack.h>
#include <stdlib.h>

/* Elements of one entity in an AoiAdd that are looked at; more may follow. */
#define ENTITY_ELEMENTS 7

/* What one byte of a payload can cost the zone: one value of an array (half a pair of a map is the
 * same), and its share of a decoded entity or id. An entity takes eight bytes at least. */
#define ZONE_BYTES_PER_BYTE (sizeof(msgpack_object) + sizeof(struct message_entity) / 8)
#define ZONE_SLACK          256

_Static_assert(sizeof(msgpack_object_kv) == 2 * sizeof(msgpack_object), "a pair is two values");
_Static_assert(sizeof(struct message_entity) % 8 == 0, "an entity's share of a byte is whole");
_Static_assert(sizeof(uint32_t) <= sizeof(struct message_entity) / 8,
               "an id takes a byte at least");

struct message_reader {
    msgpack_zone zone;
};

const char *message_library(void)
{
    return msgpack_version();
}

int message_reader_create(size_t body_max, struct message_reader **out)
{
    struct message_reader *r = malloc(sizeof *r);
    if (r == NULL)
        return E_NOMEM;
    if (!msgpack_zone_init(&r->zone, body_max * ZONE_BYTES_PER_BYTE + ZONE_SLACK)) {
        free(r);
        return E_NOMEM;
    }
    *out = r;
    return 0;
}

void message_reader_destroy(struct message_reader *r)
{
    if (r == NULL)
        return;
    msgpack_zone_destroy(&r->zone);
    free(r);
}

/* --- values ------------------------------------------------------------------------------------
 */

/* A map being read. */
struct fields {
    msgpack_object_map map;
    msgpack_zone *zone;
    int err; /* 0, PE_BAD_PAYLOAD or E_NOMEM: the first trouble */
};

static void trouble(struct fields *f, int err)
{
    if (f->err == 0)
        f->err = err;
}

static bool has_type(const msgpack_object *o, msgpack_object_type type)
{
    return o != NULL && o->type == type;
}

/* Any integer or float; finite. */
static double as_number(struct fields *f, const msgpack_object *o)
{
    double v = NAN;
    if (o == NULL)
        v = NAN;
    else if (o->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
        v = (double)o->via.u64;
    else if (o->type == MSGPACK_OBJECT_NEGATIVE_INTEGER)
        v = (double)o->via.i64;
    else if (o->type == MSGPACK_OBJECT_FLOAT32 || o->type == MSGPACK_OBJECT_FLOAT64)
        v = o->via.f64;
    if (isfinite(v))
        return v;
    trouble(f, PE_BAD_PAYLOAD);
    return 0.0;
}

static uint64_t as_uint(struct fields *f, const msgpack_object *o, uint64_t min, uint64_t max)
{
    if (has_type(o, MSGPACK_OBJECT_POSITIVE_INTEGER) && o->via.u64 >= min && o->via.u64 <= max)
        return o->via.u64;
    trouble(f, PE_BAD_PAYLOAD);
    return 0;
}

static uint32_t as_u32(struct fields *f, const msgpack_object *o)
{
    return (uint32_t)as_uint(f, o, 0, UINT32_MAX);
}

static uint32_t as_id(struct fields *f, const msgpack_object *o)
{
    return (uint32_t)as_uint(f, o, 1, UINT32_MAX);
}

static struct span as_str(struct fields *f, const msgpack_object *o)
{
    if (has_type(o, MSGPACK_OBJECT_STR))
        return span_of(o->via.str.ptr, o->via.str.size);
    trouble(f, PE_BAD_PAYLOAD);
    return span_of(NULL, 0);
}

static bool as_bool(struct fields *f, const msgpack_object *o)
{
    if (has_type(o, MSGPACK_OBJECT_BOOLEAN))
        return o->via.boolean;
    trouble(f, PE_BAD_PAYLOAD);
    return false;
}

/* The last value of this key; NULL where it is absent. */
static const msgpack_object *field(const struct fields *f, const char *name)
{
    size_t n = strlen(name);
    for (uint32_t i = f->map.size; i-- > 0;) {
        const msgpack_object_str *k = &f->map.ptr[i].key.via.str;
        if (k->size == n && memcmp(k->ptr, name, n) == 0)
            return &f->map.ptr[i].val;
    }
    return NULL;
}

static double number(struct fields *f, const char *name)
{
    return as_number(f, field(f, name));
}

static double number_if(struct fields *f, const char *name, bool *there)
{
    const msgpack_object *o = field(f, name);
    *there = o != NULL;
    return *there ? as_number(f, o) : 0.0;
}

static uint32_t u32(struct fields *f, const char *name)
{
    return as_u32(f, field(f, name));
}

static uint32_t id(struct fields *f, const char *name)
{
    return as_id(f, field(f, name));
}

static struct span str(struct fields *f, const char *name)
{
    return as_str(f, field(f, name));
}

static struct span str_if(struct fields *f, const char *name)
{
    const msgpack_object *o = field(f, name);
    return o != NULL ? as_str(f, o) : span_of(NULL, 0);
}

/* Open a map: every key a str. */
static void fields_of(struct fields *f, msgpack_zone *zone, const msgpack_object *o)
{
    *f = (struct fields){.zone = zone};
    if (!has_type(o, MSGPACK_OBJECT_MAP)) {
        trouble(f, PE_BAD_PAYLOAD);
        return;
    }
    for (uint32_t i = 0; i < o->via.map.size; i++) {
        if (o->via.map.ptr[i].key.type != MSGPACK_OBJECT_STR) {
            trouble(f, PE_BAD_PAYLOAD);
            return;
        }
    }
    f->map = o->via.map;
}

/* --- requests ----------------------------------------------------------------------------------
 */

static void login_req(struct fields *f, struct message *m)
{
    m->login_req.name = str(f, "name");
    m->login_req.token = str_if(f, "token");
    m->login_req.resume = str_if(f, "resume");
    const msgpack_object *version = field(f, "version");
    m->login_req.version = version != NULL ? as_uint(f, version, 0, UINT64_MAX) : 1;
    if (!message_name_ok(m->login_req.name))
        trouble(f, PE_BAD_PAYLOAD);
}

static void enter_req(struct fields *f, struct message *m)
{
    const msgpack_object *scene = field(f, "scene");
    m->enter_req.has_scene = scene != NULL;
    if (scene != NULL)
        m->enter_req.scene = as_str(f, scene);
}

static void move_req(struct fields *f, struct message *m)
{
    m->move_req.x = number(f, "x");
    m->move_req.y = number(f, "y");
    m->move_req.dir = number_if(f, "dir", &m->move_req.has_dir);
    m->move_req.speed = number_if(f, "speed", &m->move_req.has_speed);
    if (m->move_req.speed < 0.0)
        trouble(f, PE_BAD_PAYLOAD);
}

static void walk_req(struct fields *f, struct message *m)
{
    m->walk_req.x = number(f, "x");
    m->walk_req.y = number(f, "y");
    const msgpack_object *path = field(f, "path");
    if (path != NULL)
        m->walk_req.path = as_bool(f, path);
}

static void say_req(struct fields *f, struct message *m)
{
    m->say_req.text = str(f, "text");
    if (m->say_req.text.n == 0 || m->say_req.text.n > PROTO_SAY_MAX)
        trouble(f, PE_BAD_PAYLOAD);
}

/* --- answers and notices -----------------------------------------------------------------------
 */

static void login_resp(struct fields *f, struct message *m)
{
    m->login_resp.id = id(f, "id");
    m->login_resp.name = str(f, "name");
    m->login_resp.resume = str(f, "resume");
    m->login_resp.resumed = as_bool(f, field(f, "resumed"));
}

static void enter_resp(struct fields *f, struct message *m)
{
    m->enter_resp.id = id(f, "id");
    m->enter_resp.scene = str(f, "scene");
    m->enter_resp.x = number(f, "x");
    m->enter_resp.y = number(f, "y");
    m->enter_resp.tick_ms = u32(f, "tick_ms");
    m->enter_resp.radius = number(f, "radius");
    m->enter_resp.quantum = number(f, "quantum");
    m->enter_resp.max_speed = number(f, "max_speed");
}

static void move_resp(struct fields *f, struct message *m)
{
    m->move_resp = (struct message_place){.x = number(f, "x"), .y = number(f, "y")};
}

static void walk_resp(struct fields *f, struct message *m)
{
    m->walk_resp = (struct message_place){.x = number(f, "x"), .y = number(f, "y")};
}

/* An array of entities, by its form alone: room for them is asked for by what they take on the
 * wire, so this is looked at first. */
static bool are_entities(const msgpack_object *o)
{
    if (!has_type(o, MSGPACK_OBJECT_ARRAY))
        return false;
    for (uint32_t i = 0; i < o->via.array.size; i++) {
        const msgpack_object *e = &o->via.array.ptr[i];
        if (e->type != MSGPACK_OBJECT_ARRAY || e->via.array.size < ENTITY_ELEMENTS)
            return false;
    }
    return true;
}

static struct message_entity as_entity(struct fields *f, const msgpack_object *o)
{
    const msgpack_object *v = o->via.array.ptr;
    return (struct message_entity){
        .id = as_id(f, &v[0]),
        .kind = as_u32(f, &v[1]),
        .name = as_str(f, &v[2]),
        .x = as_number(f, &v[3]),
        .y = as_number(f, &v[4]),
        .dir = as_number(f, &v[5]),
        .speed = as_number(f, &v[6]),
    };
}

static void aoi_add(struct fields *f, struct message *m)
{
    m->aoi_add.tick = u32(f, "tick");
    const msgpack_object *hidden = field(f, "hidden");
    m->aoi_add.has_hidden = hidden != NULL;
    if (hidden != NULL)
        m->aoi_add.hidden = as_u32(f, hidden);
    const msgpack_object *o = field(f, "entities");
    if (!are_entities(o)) {
        trouble(f, PE_BAD_PAYLOAD);
        return;
    }
    uint32_t count = o->via.array.size;
    struct message_entity *entities = NULL;
    if (count > 0 && (entities = msgpack_zone_malloc(f->zone, count * sizeof *entities)) == NULL) {
        trouble(f, E_NOMEM);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        entities[i] = as_entity(f, &o->via.array.ptr[i]);
    m->aoi_add.entities = entities;
    m->aoi_add.count = count;
}

static void aoi_remove(struct fields *f, struct message *m)
{
    m->aoi_remove.tick = u32(f, "tick");
    const msgpack_object *o = field(f, "ids");
    if (!has_type(o, MSGPACK_OBJECT_ARRAY)) {
        trouble(f, PE_BAD_PAYLOAD);
        return;
    }
    uint32_t count = o->via.array.size;
    uint32_t *ids = NULL;
    if (count > 0 && (ids = msgpack_zone_malloc(f->zone, count * sizeof *ids)) == NULL) {
        trouble(f, E_NOMEM);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        ids[i] = as_id(f, &o->via.array.ptr[i]);
    m->aoi_remove.ids = ids;
    m->aoi_remove.count = count;
}

static void aoi_move(struct fields *f, struct message *m)
{
    m->aoi_move.tick = u32(f, "tick");
    const msgpack_object *moves = field(f, "moves");
    if (has_type(moves, MSGPACK_OBJECT_BIN))
        m->aoi_move.moves = span_of(moves->via.bin.ptr, moves->via.bin.size);
    else
        trouble(f, PE_BAD_PAYLOAD);
}

static void move_fail(struct fields *f, struct message *m)
{
    m->move_fail.x = number(f, "x");
    m->move_fail.y = number(f, "y");
    m->move_fail.code = u32(f, "code");
}

static void say_notify(struct fields *f, struct message *m)
{
    m->say_notify.id = u32(f, "id"); /* 0: the operator */
    m->say_notify.text = str(f, "text");
}

/* Codes 9, 10 and 11 need a place; with others one may be there, whole. */
static void error_notify(struct fields *f, struct message *m)
{
    bool x, y;
    m->error_notify.code = u32(f, "code");
    m->error_notify.error = str(f, "error");
    m->error_notify.cmd = u32(f, "cmd");
    m->error_notify.x = number_if(f, "x", &x);
    m->error_notify.y = number_if(f, "y", &y);
    m->error_notify.has_place = x && y;
    bool needed = m->error_notify.code >= PE_MOVE_SPEED && m->error_notify.code <= PE_MOVE_BOUNDS;
    if (x != y || (needed && !x))
        trouble(f, PE_BAD_PAYLOAD);
}

static void bye(struct fields *f, struct message *m)
{
    m->bye.code = u32(f, "code");
    m->bye.reason = str(f, "reason");
}

/* --- the whole ---------------------------------------------------------------------------------
 */

typedef void read_fn(struct fields *f, struct message *m);

/* Commands without a row have no fields to look for. */
static read_fn *const READERS[] = {
    [CMD_LOGIN_REQ] = login_req,       [CMD_LOGIN_RESP] = login_resp,
    [CMD_ENTER_REQ] = enter_req,       [CMD_ENTER_RESP] = enter_resp,
    [CMD_MOVE_REQ] = move_req,         [CMD_MOVE_RESP] = move_resp,
    [CMD_WALK_REQ] = walk_req,         [CMD_WALK_RESP] = walk_resp,
    [CMD_SAY_REQ] = say_req,           [CMD_AOI_ADD] = aoi_add,
    [CMD_AOI_REMOVE] = aoi_remove,     [CMD_AOI_MOVE] = aoi_move,
    [CMD_MOVE_FAIL] = move_fail,       [CMD_SAY_NOTIFY] = say_notify,
    [CMD_ERROR_NOTIFY] = error_notify, [CMD_BYE] = bye,
};

static bool is_nil(struct span payload)
{
    return payload.p[0] == 0xc0;
}

/* Nil, or any map whatever it holds. */
static bool is_nil_or_map(struct span payload)
{
    uint8_t head = payload.p[0];
    return is_nil(payload) || (head >= 0x80 && head <= 0x8f) || head == 0xde || head == 0xdf;
}

static int decode(struct message_reader *r, struct span payload, msgpack_object *out)
{
    size_t used = 0;
    msgpack_zone_clear(&r->zone);
    msgpack_unpack_return got =
        msgpack_unpack((const char *)payload.p, payload.n, &used, &r->zone, out);
    if (got == MSGPACK_UNPACK_NOMEM_ERROR)
        return E_NOMEM;
    /* EXTRA_BYTES is success with something behind; a walked payload has nothing behind. */
    return got == MSGPACK_UNPACK_SUCCESS ? 0 : PE_BAD_PAYLOAD;
}

int message_read_payload(struct message_reader *r, struct span payload, struct message *out)
{
    *out = (struct message){.cmd = out->cmd, .seq = out->seq};
    if (protocol_cmd_name(out->cmd) == NULL)
        return PE_UNKNOWN_CMD;
    ASSERT(payload.n > 0);
    if (out->cmd == CMD_PING_REQ || out->cmd == CMD_PING_RESP) {
        out->ping.payload = payload;
        return 0;
    }
    if (out->cmd == CMD_LEAVE_REQ)
        return is_nil_or_map(payload) ? 0 : PE_BAD_PAYLOAD;
    if (out->cmd == CMD_ENTER_REQ && is_nil(payload))
        return 0;

    msgpack_object o;
    struct fields f;
    int err = decode(r, payload, &o);
    if (err != 0)
        return err;
    fields_of(&f, &r->zone, &o);
    if (f.err == 0 && out->cmd < ARRAY_LEN(READERS) && READERS[out->cmd] != NULL)
        READERS[out->cmd](&f, out);
    return f.err;
}

int message_read(struct message_reader *r, struct span body, struct message *out)
{
    struct walk_head head;
    int err = walk_body(body, &head);
    if (err != 0)
        return err;
    out->cmd = head.cmd;
    out->seq = head.seq;
    return message_read_payload(r, head.payload, out);
}

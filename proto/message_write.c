/* proto/message_write.c: messages into bytes, with msgpack-c's packer.
 * Keys stand in the order of PROTOCOL.md's table; places and speeds go as float64, whole numbers
 * in their shortest form. May touch: common, proto, msgpack-c.
 * On trouble: a writer without room is `full`.
 */
#include "proto/message.h"

#include <msgpack.h>

/* Elements of one entity in an AoiAdd. */
#define ENTITY_ELEMENTS 7

static int put(void *w, const char *bytes, size_t n)
{
    span_put(w, bytes, n);
    return 0;
}

static void put_span(msgpack_packer *pk, struct span s)
{
    if (s.n > 0)
        span_put(pk->data, s.p, s.n);
}

static void put_str(msgpack_packer *pk, struct span s)
{
    msgpack_pack_str(pk, s.n);
    put_span(pk, s);
}

static void put_bool(msgpack_packer *pk, bool v)
{
    if (v)
        msgpack_pack_true(pk);
    else
        msgpack_pack_false(pk);
}

static void key(msgpack_packer *pk, const char *name)
{
    put_str(pk, span_text(name));
}

static void key_str(msgpack_packer *pk, const char *name, struct span v)
{
    key(pk, name);
    put_str(pk, v);
}

static void key_uint(msgpack_packer *pk, const char *name, uint64_t v)
{
    key(pk, name);
    msgpack_pack_uint64(pk, v);
}

static void key_number(msgpack_packer *pk, const char *name, double v)
{
    key(pk, name);
    msgpack_pack_double(pk, v);
}

static void key_bool(msgpack_packer *pk, const char *name, bool v)
{
    key(pk, name);
    put_bool(pk, v);
}

static void key_place(msgpack_packer *pk, double x, double y)
{
    key_number(pk, "x", x);
    key_number(pk, "y", y);
}

static void login_req(msgpack_packer *pk, const struct message *m)
{
    bool token = m->login_req.token.n > 0, resume = m->login_req.resume.n > 0;
    bool version = m->login_req.version != 1; /* absent is 1 */
    msgpack_pack_map(pk, 1u + token + resume + version);
    key_str(pk, "name", m->login_req.name);
    if (token)
        key_str(pk, "token", m->login_req.token);
    if (resume)
        key_str(pk, "resume", m->login_req.resume);
    if (version)
        key_uint(pk, "version", m->login_req.version);
}

static void login_resp(msgpack_packer *pk, const struct message *m)
{
    msgpack_pack_map(pk, 5);
    key_bool(pk, "ok", true);
    key_uint(pk, "id", m->login_resp.id);
    key_str(pk, "name", m->login_resp.name);
    key_str(pk, "resume", m->login_resp.resume);
    key_bool(pk, "resumed", m->login_resp.resumed);
}

static void enter_req(msgpack_packer *pk, const struct message *m)
{
    if (!m->enter_req.has_scene) {
        msgpack_pack_nil(pk);
        return;
    }
    msgpack_pack_map(pk, 1);
    key_str(pk, "scene", m->enter_req.scene);
}

static void enter_resp(msgpack_packer *pk, const struct message *m)
{
    msgpack_pack_map(pk, 9);
    key_bool(pk, "ok", true);
    key_uint(pk, "id", m->enter_resp.id);
    key_str(pk, "scene", m->enter_resp.scene);
    key_place(pk, m->enter_resp.x, m->enter_resp.y);
    key_uint(pk, "tick_ms", m->enter_resp.tick_ms);
    key_number(pk, "radius", m->enter_resp.radius);
    key_number(pk, "quantum", m->enter_resp.quantum);
    key_number(pk, "max_speed", m->enter_resp.max_speed);
}

static void move_req(msgpack_packer *pk, const struct message *m)
{
    msgpack_pack_map(pk, 2u + m->move_req.has_dir + m->move_req.has_speed);
    key_place(pk, m->move_req.x, m->move_req.y);
    if (m->move_req.has_dir)
        key_number(pk, "dir", m->move_req.dir);
    if (m->move_req.has_speed)
        key_number(pk, "speed", m->move_req.speed);
}

static void ok_place(msgpack_packer *pk, struct message_place at)
{
    msgpack_pack_map(pk, 3);
    key_bool(pk, "ok", true);
    key_place(pk, at.x, at.y);
}

static void walk_req(msgpack_packer *pk, const struct message *m)
{
    msgpack_pack_map(pk, 2u + m->walk_req.path);
    key_place(pk, m->walk_req.x, m->walk_req.y);
    if (m->walk_req.path)
        key_bool(pk, "path", true);
}

static void say_req(msgpack_packer *pk, const struct message *m)
{
    msgpack_pack_map(pk, 1);
    key_str(pk, "text", m->say_req.text);
}

static void aoi_add(msgpack_packer *pk, const struct message *m)
{
    msgpack_pack_map(pk, 2u + m->aoi_add.has_hidden);
    key_uint(pk, "tick", m->aoi_add.tick);
    key(pk, "entities");
    msgpack_pack_array(pk, m->aoi_add.count);
    for (uint32_t i = 0; i < m->aoi_add.count; i++) {
        const struct message_entity *e = &m->aoi_add.entities[i];
        msgpack_pack_array(pk, ENTITY_ELEMENTS);
        msgpack_pack_uint32(pk, e->id);
        msgpack_pack_uint32(pk, e->kind);
        put_str(pk, e->name);
        msgpack_pack_double(pk, e->x);
        msgpack_pack_double(pk, e->y);
        msgpack_pack_double(pk, e->dir);
        msgpack_pack_double(pk, e->speed);
    }
    if (m->aoi_add.has_hidden)
        key_uint(pk, "hidden", m->aoi_add.hidden);
}

static void aoi_remove(msgpack_packer *pk, const struct message *m)
{
    msgpack_pack_map(pk, 2);
    key_uint(pk, "tick", m->aoi_remove.tick);
    key(pk, "ids");
    msgpack_pack_array(pk, m->aoi_remove.count);
    for (uint32_t i = 0; i < m->aoi_remove.count; i++)
        msgpack_pack_uint32(pk, m->aoi_remove.ids[i]);
}

static void aoi_move(msgpack_packer *pk, const struct message *m)
{
    msgpack_pack_map(pk, 2);
    key_uint(pk, "tick", m->aoi_move.tick);
    key(pk, "moves");
    msgpack_pack_bin(pk, m->aoi_move.moves.n);
    put_span(pk, m->aoi_move.moves);
}

static void move_fail(msgpack_packer *pk, const struct message *m)
{
    msgpack_pack_map(pk, 3);
    key_place(pk, m->move_fail.x, m->move_fail.y);
    key_uint(pk, "code", m->move_fail.code);
}

static void say_notify(msgpack_packer *pk, const struct message *m)
{
    msgpack_pack_map(pk, 2);
    key_uint(pk, "id", m->say_notify.id);
    key_str(pk, "text", m->say_notify.text);
}

static void error_notify(msgpack_packer *pk, const struct message *m)
{
    msgpack_pack_map(pk, m->error_notify.has_place ? 5 : 3);
    key_uint(pk, "code", m->error_notify.code);
    key_str(pk, "error", m->error_notify.error);
    key_uint(pk, "cmd", m->error_notify.cmd);
    if (m->error_notify.has_place)
        key_place(pk, m->error_notify.x, m->error_notify.y);
}

static void bye(msgpack_packer *pk, const struct message *m)
{
    msgpack_pack_map(pk, 2);
    key_uint(pk, "code", m->bye.code);
    key_str(pk, "reason", m->bye.reason);
}

static void leave_req(msgpack_packer *pk, const struct message *m)
{
    (void)m;
    msgpack_pack_nil(pk);
}

static void move_resp(msgpack_packer *pk, const struct message *m)
{
    ok_place(pk, m->move_resp);
}

static void walk_resp(msgpack_packer *pk, const struct message *m)
{
    ok_place(pk, m->walk_resp);
}

static void ping(msgpack_packer *pk, const struct message *m)
{
    put_span(pk, m->ping.payload);
}

static void only_ok(msgpack_packer *pk, const struct message *m)
{
    (void)m;
    msgpack_pack_map(pk, 1);
    key_bool(pk, "ok", true);
}

typedef void write_fn(msgpack_packer *pk, const struct message *m);

static write_fn *const WRITERS[] = {
    [CMD_LOGIN_REQ] = login_req,
    [CMD_LOGIN_RESP] = login_resp,
    [CMD_ENTER_REQ] = enter_req,
    [CMD_ENTER_RESP] = enter_resp,
    [CMD_LEAVE_REQ] = leave_req,
    [CMD_LEAVE_RESP] = only_ok,
    [CMD_MOVE_REQ] = move_req,
    [CMD_MOVE_RESP] = move_resp,
    [CMD_WALK_REQ] = walk_req,
    [CMD_WALK_RESP] = walk_resp,
    [CMD_PING_REQ] = ping,
    [CMD_PING_RESP] = ping,
    [CMD_SAY_REQ] = say_req,
    [CMD_SAY_RESP] = only_ok,
    [CMD_AOI_ADD] = aoi_add,
    [CMD_AOI_REMOVE] = aoi_remove,
    [CMD_AOI_MOVE] = aoi_move,
    [CMD_MOVE_FAIL] = move_fail,
    [CMD_SAY_NOTIFY] = say_notify,
    [CMD_ERROR_NOTIFY] = error_notify,
    [CMD_BYE] = bye,
};

void message_write(struct span_writer *w, const struct message *m)
{
    ASSERT(m->cmd < ARRAY_LEN(WRITERS));
    ASSERT(WRITERS[m->cmd] != NULL);
    msgpack_packer pk;
    msgpack_packer_init(&pk, w, put);
    msgpack_pack_array(&pk, 3);
    msgpack_pack_uint32(&pk, m->cmd);
    msgpack_pack_uint32(&pk, m->seq);
    WRITERS[m->cmd](&pk, m);
}

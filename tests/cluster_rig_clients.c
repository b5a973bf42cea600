/* tests/cluster_rig_clients.c: the clients of tests/cluster_rig: what they ask, and how they come
 * and go. May touch: tests/cluster_rig, proto. On trouble: the test at hand fails.
 */
#include "tests/cluster_rig.h"

#include "proto/frame.h"
#include "tests/world_rig.h"

#include <stdio.h>

#define FRAME_MAX 65536 /* bytes of a frame that a request makes */

void crig_send(struct crig *r, uint32_t client, struct message *m)
{
    static uint8_t bytes[FRAME_MAX], body[FRAME_MAX];
    struct crig_client *c = &r->clients[client];
    struct span_writer b = span_writer_of(body, sizeof body);
    struct span_writer w = span_writer_of(bytes, sizeof bytes);
    m->seq = ++c->sent;
    message_write(&b, m);
    struct span span = span_written(&b);
    link_write_data(&w, c->sid, &span, 1);
    crig_frame_up(r, c->world, &w);
}

void crig_send_nil(struct crig *r, uint32_t client, uint32_t cmd)
{
    struct message m = {.cmd = cmd};
    crig_send(r, client, &m);
}

void crig_move(struct crig *r, uint32_t client, double x, double y, double dir, double speed)
{
    struct message m = {.cmd = CMD_MOVE_REQ};
    m.move_req.x = x;
    m.move_req.y = y;
    m.move_req.has_dir = m.move_req.has_speed = true;
    m.move_req.dir = dir;
    m.move_req.speed = speed;
    crig_send(r, client, &m);
}

void crig_walk(struct crig *r, uint32_t client, double x, double y)
{
    struct message m = {.cmd = CMD_WALK_REQ};
    m.walk_req.x = x;
    m.walk_req.y = y;
    crig_send(r, client, &m);
}

void crig_say(struct crig *r, uint32_t client, const char *text)
{
    struct message m = {.cmd = CMD_SAY_REQ};
    m.say_req.text = span_text(text);
    crig_send(r, client, &m);
}

uint32_t crig_login(struct crig *r, uint32_t world, const char *name)
{
    return crig_login_by(r, world, name, NULL);
}

uint32_t crig_login_by(struct crig *r, uint32_t world, const char *name, const char *key)
{
    uint8_t bytes[256];
    struct span_writer w = span_writer_of(bytes, sizeof bytes);
    uint32_t at = r->n_clients++;
    struct crig_client *c = &r->clients[at];
    if (at == CRIG_CLIENTS_MAX)
        rig_fail("too many clients for the rig");
    *c = (struct crig_client){.open = true, .world = world, .sid = at + 1};
    snprintf(c->name, sizeof c->name, "%s", name);
    link_write_open(&w, c->sid, span_text("192.0.2.1:1"));
    crig_frame_up(r, world, &w);
    struct message m = {.cmd = CMD_LOGIN_REQ};
    m.login_req.name = span_text(name);
    m.login_req.version = PROTO_VERSION;
    if (key)
        m.login_req.resume = span_text(key);
    crig_send(r, at, &m);
    return at;
}

uint32_t crig_join(struct crig *r, uint32_t world, const char *name)
{
    uint32_t at = crig_login(r, world, name);
    crig_send_nil(r, at, CMD_ENTER_REQ);
    crig_deliver(r);
    return at;
}

uint32_t crig_join_at(struct crig *r, uint32_t world, const char *name, double x, double y)
{
    uint32_t at = crig_join(r, world, name);
    crig_put(r, at, x, y);
    return at;
}

void crig_close(struct crig *r, uint32_t client)
{
    uint8_t bytes[256];
    struct span_writer w = span_writer_of(bytes, sizeof bytes);
    struct crig_client *c = &r->clients[client];
    link_write_close(&w, c->sid, 0, span_text("gone"));
    crig_frame_up(r, c->world, &w);
    c->open = false;
}

void crig_congestion(struct crig *r, uint32_t client, bool on)
{
    uint8_t bytes[64];
    struct span_writer w = span_writer_of(bytes, sizeof bytes);
    r->clients[client].congested = on;
    r->clients[client].view.lax = on ? 0 : 3;
    link_write_congestion(&w, r->clients[client].sid, on);
    crig_frame_up(r, r->clients[client].world, &w);
}

void crig_put(struct crig *r, uint32_t client, double x, double y)
{
    uint32_t slot, world = crig_owner(r, r->clients[client].id, &slot);
    if (world == CRIG_NONE)
        rig_fail("%sis nowhere", r->clients[client].name);
    entities_put(&r->worlds[world].world->entities, slot, 0, x, y);
    r->clients[client].x = x;
    r->clients[client].y = y;
}

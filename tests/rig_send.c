/* tests/rig_send.c: the rig's requests as a client makes them.
 * May touch: tests/world_rig. On trouble: the test at hand fails.
 */
#include "tests/world_rig.h"

uint32_t rig_send_login(struct rig *r, uint32_t s, const char *name)
{
    struct message m = {.cmd = CMD_LOGIN_REQ};
    m.login_req.name = span_text(name);
    m.login_req.version = PROTO_VERSION;
    return rig_send(r, s, &m);
}

uint32_t rig_send_resume(struct rig *r, uint32_t s, const char *name, const char *key)
{
    struct message m = {.cmd = CMD_LOGIN_REQ};
    m.login_req.name = span_text(name);
    m.login_req.resume = span_text(key);
    m.login_req.version = PROTO_VERSION;
    return rig_send(r, s, &m);
}

uint32_t rig_send_token(struct rig *r, uint32_t s, const char *name, const char *token,
                        const char *key)
{
    struct message m = {.cmd = CMD_LOGIN_REQ};
    m.login_req.name = span_text(name);
    m.login_req.token = span_text(token);
    m.login_req.resume = span_text(key);
    m.login_req.version = PROTO_VERSION;
    return rig_send(r, s, &m);
}

uint32_t rig_send_nil(struct rig *r, uint32_t s, uint32_t cmd)
{
    static const uint8_t nil[] = {0xc0};
    return rig_send_payload(r, s, cmd, span_of(nil, 1));
}

uint32_t rig_send_move(struct rig *r, uint32_t s, double x, double y)
{
    struct message m = {.cmd = CMD_MOVE_REQ};
    m.move_req.x = x;
    m.move_req.y = y;
    return rig_send(r, s, &m);
}

uint32_t rig_send_walk(struct rig *r, uint32_t s, double x, double y, bool path)
{
    struct message m = {.cmd = CMD_WALK_REQ};
    m.walk_req.x = x;
    m.walk_req.y = y;
    m.walk_req.path = path;
    return rig_send(r, s, &m);
}

uint32_t rig_send_turn(struct rig *r, uint32_t s, double x, double y, double dir, double speed)
{
    struct message m = {.cmd = CMD_MOVE_REQ};
    m.move_req.x = x;
    m.move_req.y = y;
    m.move_req.has_dir = m.move_req.has_speed = true;
    m.move_req.dir = dir;
    m.move_req.speed = speed;
    return rig_send(r, s, &m);
}

uint32_t rig_send_say(struct rig *r, uint32_t s, const char *text)
{
    struct message m = {.cmd = CMD_SAY_REQ};
    m.say_req.text = span_text(text);
    return rig_send(r, s, &m);
}

/* bot/bot_client_ask.c: a client's requests by their fields.
 * May touch: proto, bot/bot_client, bot/signer. On trouble: see bot_client.h.
 */
#include "bot/bot_client.h"

#include "bot/signer.h"

int bot_client_login(struct bot_client *c, const char *name)
{
    struct message m = {.cmd = CMD_LOGIN_REQ};
    char token[TOKEN_MAX + 1];

    m.login_req.name = span_text(name);
    m.login_req.version = PROTO_VERSION;
    if (bot_client_signer(c)) {
        int err = signer_token(bot_client_signer(c), name, token);

        if (err != 0)
            return err;
        m.login_req.token = span_text(token);
    }
    return bot_client_send(c, &m);
}

int bot_client_resume(struct bot_client *c, const char *name)
{
    struct message m = {.cmd = CMD_LOGIN_REQ};

    if (bot_client_facts(c)->key[0] == '\0')
        return bot_client_login(c, name);
    m.login_req.name = span_text(name);
    m.login_req.version = PROTO_VERSION;
    m.login_req.resume = span_text(bot_client_facts(c)->key);
    return bot_client_send(c, &m);
}

int bot_client_enter(struct bot_client *c)
{
    return bot_client_send(c, &(struct message){.cmd = CMD_ENTER_REQ});
}

int bot_client_enter_scene(struct bot_client *c, const char *scene)
{
    struct message m = {.cmd = CMD_ENTER_REQ};
    m.enter_req.has_scene = true;
    m.enter_req.scene = span_text(scene);
    return bot_client_send(c, &m);
}

int bot_client_leave(struct bot_client *c)
{
    return bot_client_send(c, &(struct message){.cmd = CMD_LEAVE_REQ});
}

int bot_client_move(struct bot_client *c, double x, double y)
{
    struct message m = {.cmd = CMD_MOVE_REQ};
    m.move_req.x = x;
    m.move_req.y = y;
    return bot_client_send(c, &m);
}

int bot_client_move_with(struct bot_client *c, double x, double y, double dir, double speed)
{
    struct message m = {.cmd = CMD_MOVE_REQ};
    m.move_req.x = x;
    m.move_req.y = y;
    m.move_req.has_dir = true;
    m.move_req.dir = dir;
    m.move_req.has_speed = true;
    m.move_req.speed = speed;
    return bot_client_send(c, &m);
}

int bot_client_walk(struct bot_client *c, double x, double y, bool path)
{
    struct message m = {.cmd = CMD_WALK_REQ};
    m.walk_req.x = x;
    m.walk_req.y = y;
    m.walk_req.path = path;
    return bot_client_send(c, &m);
}

int bot_client_say(struct bot_client *c, const char *text)
{
    struct message m = {.cmd = CMD_SAY_REQ};
    m.say_req.text = span_text(text);
    return bot_client_send(c, &m);
}

int bot_client_ping(struct bot_client *c)
{
    static const uint8_t nil = 0xc0;
    struct message m = {.cmd = CMD_PING_REQ};
    m.ping.payload = span_of(&nil, 1);
    return bot_client_send(c, &m);
}

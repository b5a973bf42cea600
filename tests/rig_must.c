/* tests/rig_must.c: the rig's requests, those that must do well, and what must be.
 * May touch: tests/world_rig. On trouble: the test at hand fails.
 */
#include "tests/world_rig.h"

#include <math.h>

/* The answer to `seq` must be of this command. */
static const struct message *must(struct rig *r, uint32_t s, uint32_t seq, uint32_t cmd)
{
    const struct message *m = rig_answer(r, s, seq);
    if (!m)
        rig_fail("session %u: no answer where %s was due", s, protocol_cmd_name(cmd));
    if (m->cmd == CMD_ERROR_NOTIFY)
        rig_fail("session %u: error %u where %s was due", s, m->error_notify.code,
                 protocol_cmd_name(cmd));
    if (m->cmd != cmd)
        rig_fail("session %u: %s where %s was due", s, protocol_cmd_name(m->cmd),
                 protocol_cmd_name(cmd));
    return m;
}

uint32_t rig_login(struct rig *r, uint32_t s, const char *name)
{
    const struct message *m = must(r, s, rig_send_login(r, s, name), CMD_LOGIN_RESP);
    if (!span_equal(m->login_resp.name, span_text(name)))
        rig_fail("LoginResp of another name");
    return m->login_resp.id;
}

uint32_t rig_resume(struct rig *r, uint32_t s, const char *name, const char *key)
{
    char text[RIG_KEY_BYTES + 1]; /* it may be the session's own */
    snprintf(text, sizeof text, "%s", key);
    const struct message *m = rig_answer(r, s, rig_send_resume(r, s, name, text));
    if (!m || m->cmd != CMD_LOGIN_RESP || !m->login_resp.resumed)
        rig_fail("%s%s is not resumed", r->context, name);
    return m->login_resp.id;
}

uint32_t rig_enter(struct rig *r, uint32_t s)
{
    return must(r, s, rig_send_nil(r, s, CMD_ENTER_REQ), CMD_ENTER_RESP)->enter_resp.id;
}

uint32_t rig_enter_scene(struct rig *r, uint32_t s, const char *scene)
{
    struct message m = {.cmd = CMD_ENTER_REQ};
    m.enter_req.has_scene = true;
    m.enter_req.scene = span_text(scene);
    return must(r, s, rig_send(r, s, &m), CMD_ENTER_RESP)->enter_resp.id;
}

void rig_leave(struct rig *r, uint32_t s)
{
    must(r, s, rig_send_nil(r, s, CMD_LEAVE_REQ), CMD_LEAVE_RESP);
}

static void moved(struct rig *r, uint32_t s, uint32_t seq, double x, double y)
{
    const struct message *m = must(r, s, seq, CMD_MOVE_RESP);
    if (m->move_resp.x != x || m->move_resp.y != y)
        rig_fail("MoveResp of another place: %.17g, %.17g", m->move_resp.x, m->move_resp.y);
}

void rig_move(struct rig *r, uint32_t s, double x, double y)
{
    moved(r, s, rig_send_move(r, s, x, y), x, y);
}

void rig_turn(struct rig *r, uint32_t s, double x, double y, double dir, double speed)
{
    moved(r, s, rig_send_turn(r, s, x, y, dir, speed), x, y);
}

void rig_walk(struct rig *r, uint32_t s, double x, double y, bool path)
{
    const struct message *m = must(r, s, rig_send_walk(r, s, x, y, path), CMD_WALK_RESP);
    if (m->walk_resp.x != x || m->walk_resp.y != y)
        rig_fail("WalkResp of another goal: %.17g, %.17g", m->walk_resp.x, m->walk_resp.y);
}

void rig_say(struct rig *r, uint32_t s, const char *text)
{
    must(r, s, rig_send_say(r, s, text), CMD_SAY_RESP);
}

uint32_t rig_join(struct rig *r, const char *name)
{
    uint32_t s = rig_open(r, 0);
    uint32_t id = rig_login(r, s, name);
    if (rig_enter(r, s) != id)
        rig_fail("the first EnterResp's id is not LoginResp's");
    return s;
}

void rig_place(struct rig *r, uint32_t s, double x, double y)
{
    const struct world_config *c = &r->world->config;
    double seconds = c->move_burst_ns ? (double)c->move_burst_ns / 1e9 : 1;
    double stride = c->max_speed * seconds;
    for (;;) {
        double dx = x - r->sessions[s].x, dy = y - r->sessions[s].y;
        double d = sqrt(dx * dx + dy * dy);
        rig_pass(r, (int64_t)(seconds * 1e9) + 1);
        if (d <= stride) {
            rig_move(r, s, x, y);
            return;
        }
        double part = 0.999 * stride / d;
        rig_move(r, s, r->sessions[s].x + part * dx, r->sessions[s].y + part * dy);
    }
}

uint32_t rig_join_at(struct rig *r, const char *name, double x, double y)
{
    uint32_t s = rig_join(r, name);
    rig_place(r, s, x, y);
    return s;
}

const struct message *rig_refused(struct rig *r, uint32_t s, uint32_t seq, uint32_t code)
{
    const struct message *m = rig_answer(r, s, seq);
    if (!m)
        rig_fail("session %u: no answer where error %u was due", s, code);
    if (m->cmd != CMD_ERROR_NOTIFY)
        rig_fail("session %u: %s where error %u was due", s, protocol_cmd_name(m->cmd), code);
    if (m->error_notify.code != code)
        rig_fail("session %u: error %u where error %u was due", s, m->error_notify.code, code);
    if (m->error_notify.error.n == 0)
        rig_fail("error %u without a sentence", code);
    return m;
}

bool rig_knows(const struct rig *r, uint32_t s, uint32_t other)
{
    return rig_view_find(&r->sessions[s].view, r->sessions[other].id) != NULL;
}

void rig_balance(const struct rig *r)
{
    const struct sight *s = &r->world->sight;
    uint64_t left = s->added - s->removed - s->cleared;
    if (left != s->pairs)
        rig_fail("books: %llu added - %llu removed - %llu cleared, but %llu known",
                 (unsigned long long)s->added, (unsigned long long)s->removed,
                 (unsigned long long)s->cleared, (unsigned long long)s->pairs);
    world_validate(r->world);
}

/* --- which code ---------------------------------------------------------------------------- */

void rig_code(struct rig *r, uint32_t mask, uint32_t pack)
{
    const struct mask_code *masks;
    const struct pack_code *packs;
    uint32_t n_masks = mask_codes(&masks), n_packs = pack_codes(&packs);
    r->world->sight.mask = masks[mask < n_masks ? mask : n_masks - 1];
    r->world->fan.code = packs[pack < n_packs ? pack : n_packs - 1];
}

void rig_portable(struct rig *r)
{
    rig_code(r, UINT32_MAX, UINT32_MAX);
}

/* bot/pending.c: the requests of one connection that wait for their answer.
 * Few wait at a time, so that looking from the oldest on is the fastest way too. Pure.
 * May touch: common, proto.
 * On trouble: see pending.h.
 */
#include "bot/pending.h"

#include "common/err.h"

#include <stdarg.h>
#include <stdio.h>

static void breach(struct pending *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Note a breach; the first one of a message is the one that is told. */
static void breach(struct pending *p, const char *fmt, ...)
{
    va_list ap;

    if (p->breach[0] != '\0')
        return;
    va_start(ap, fmt);
    vsnprintf(p->breach, sizeof(p->breach), fmt, ap);
    va_end(ap);
}

static void drop(struct pending *p, uint32_t i)
{
    p->count--;
    memmove(&p->request[i], &p->request[i + 1], (p->count - i) * sizeof(p->request[0]));
}

int pending_add(struct pending *p, const struct message *m, struct mono now)
{
    for (uint32_t i = p->count; p->count == PENDING_MAX && i-- > 0;) {
        if (p->request[i].lost)
            drop(p, i);
    }
    if (p->count == PENDING_MAX)
        return E_FULL;

    struct pending_request *r = &p->request[p->count++];
    *r = (struct pending_request){.cmd = m->cmd, .seq = m->seq, .sent = now};
    if (m->cmd == CMD_WALK_REQ) {
        r->x = m->walk_req.x;
        r->y = m->walk_req.y;
    } else if (m->cmd == CMD_MOVE_REQ) {
        r->x = m->move_req.x;
        r->y = m->move_req.y;
        r->has_dir = m->move_req.has_dir;
        r->dir = m->move_req.dir;
        r->has_speed = m->move_req.has_speed;
        r->speed = m->move_req.speed;
    }
    return 0;
}

/* Is this an answer that the gateway gives by itself? It may overtake. */
static bool is_gateways(const struct message *m)
{
    if (m->cmd == CMD_PING_RESP)
        return true;
    if (m->cmd != CMD_ERROR_NOTIFY)
        return false;
    switch (m->error_notify.code) {
    case PE_BAD_FRAME:
    case PE_RATE_LIMITED:
    case PE_UNAVAILABLE:
    case PE_IDLE:
    case PE_SLOW:
        return true;
    default:
        return false;
    }
}

/* A kind of message that answers a request, rather than one that comes unasked. */
static bool is_answer(uint32_t cmd)
{
    return cmd < CMD_AOI_ADD || cmd == CMD_ERROR_NOTIFY;
}

/* The world answers in order: before number `i` only what may be overtaken still waits. Those
 * lost with the world are given up. */
static void check_order(struct pending *p, uint32_t i, const struct pending_request *asked)
{
    for (uint32_t j = i; j-- > 0;) {
        const struct pending_request *older = &p->request[j];
        if (older->lost)
            drop(p, j);
        else if (older->cmd != CMD_PING_REQ)
            breach(p, "%s %u is answered before %s %u", protocol_cmd_name(asked->cmd), asked->seq,
                   protocol_cmd_name(older->cmd), older->seq);
    }
}

/* Does a message of this kind fit the request? */
static void check_kind(struct pending *p, const struct message *m,
                       const struct pending_request *asked)
{
    if (m->cmd == CMD_ERROR_NOTIFY) {
        if (m->error_notify.cmd != asked->cmd)
            breach(p, "ErrorNotify of cmd %u answers %s %u", m->error_notify.cmd,
                   protocol_cmd_name(asked->cmd), asked->seq);
    } else if (m->cmd != asked->cmd + 1) {
        breach(p, "%s answers %s %u", protocol_cmd_name(m->cmd), protocol_cmd_name(asked->cmd),
               asked->seq);
    }
}

/* The world is away: what waits may never be answered. */
static void lose_all(struct pending *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        p->request[i].lost = true;
}

static void take_unasked(struct pending *p, const struct message *m)
{
    if (m->seq != 0) {
        breach(p, "%s comes unasked, but with seq %u", protocol_cmd_name(m->cmd), m->seq);
        return;
    }
    if (is_answer(m->cmd) && m->cmd != CMD_ERROR_NOTIFY && m->cmd != CMD_ENTER_RESP)
        breach(p, "%s with seq 0", protocol_cmd_name(m->cmd));
    if (m->cmd == CMD_ERROR_NOTIFY && m->error_notify.code == PE_UNAVAILABLE)
        lose_all(p);
}

const char *pending_take(struct pending *p, const struct message *m, struct pending_request *asked,
                         bool *found)
{
    uint32_t i = 0;

    p->breach[0] = '\0';
    *found = false;
    if (m->seq == 0 || !is_answer(m->cmd)) {
        take_unasked(p, m);
        return p->breach[0] != '\0' ? p->breach : NULL;
    }
    while (i < p->count && p->request[i].seq != m->seq)
        i++;
    if (i == p->count) {
        breach(p, "%s with seq %u answers nothing", protocol_cmd_name(m->cmd), m->seq);
        return p->breach;
    }
    *asked = p->request[i];
    *found = true;
    drop(p, i);
    check_kind(p, m, asked);
    if (!is_gateways(m))
        check_order(p, i, asked);
    return p->breach[0] != '\0' ? p->breach : NULL;
}

/* bot/swarm_bot.c: one bot of a swarm: how it comes in, walks, is thrown out and comes back.
 * May touch: common, proto, bot. On trouble: see swarm.h.
 */
#include "bot/swarm_bot.h"

#include "bot/bot_opts.h"
#include "bot/swarm.h"
#include "bot/witness.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"
#include "proto/aoi_move.h"

#include <math.h>
#include <stdio.h>

#define SWARM_RETRY_NS    (200 * CLOCK_NS_PER_MS) /* the first wait; it doubles */
#define SWARM_RETRY_MAX   (5 * CLOCK_NS_PER_S)
#define SWARM_QUIET_NS    (200 * CLOCK_NS_PER_MS) /* listened to after leaving */
#define SWARM_STAY_MIN_NS (1 * CLOCK_NS_PER_S)    /* of one who churns */
#define SWARM_STAY_MAX_NS (5 * CLOCK_NS_PER_S)
#define SWARM_AWAY_NS     (500 * CLOCK_NS_PER_MS)
#define SWARM_CUT_NS      (1500 * CLOCK_NS_PER_MS) /* without a connection, at most */
#define SWARM_BURY_NS     (10 * CLOCK_NS_PER_S)    /* that an abandoned connection stays open */
#define SWARM_HOME        24.0 /* units: how far from where it enters a bot walks by default */

/* Bytes that the kernel may keep for a deaf one; by itself it keeps megabytes. */
#define SWARM_DEAF_RCVBUF 16384

/* How a kind is called in a name. */
static const char swarm_letters[SWARM_KINDS + 1] = "wdtc";

/* --- coming in and being thrown out ----------------------------------------------------------- */

/* A time between the two. */
static int64_t between(struct swarm *s, int64_t least, int64_t most)
{
    return least + (int64_t)rng_below(&s->rng, (uint64_t)(most - least) + 1);
}

/* Try again from `state` on, later the more often it was in vain. */
static void try_later(struct swarm_bot *b, enum swarm_state state)
{
    int64_t wait = SWARM_RETRY_NS << (b->tries < 5 ? b->tries : 5);

    if (wait > SWARM_RETRY_MAX)
        wait = SWARM_RETRY_MAX;
    /* Not all at once: a third more or less. */
    wait = between(b->swarm, wait * 2 / 3, wait * 4 / 3);
    b->tries++;
    b->state = state;
    b->asked = false;
    b->due = clock_add(clock_mono(), wait);
}

/* Its connection is of no use any more: another one, later. */
static void start_over(struct swarm_bot *b)
{
    swarm_delist(b->swarm, b);
    b->away = false;
    bot_client_close(b->client, false);
    if (b->swarm->stopping)
        b->state = SWARM_DONE;
    else
        try_later(b, SWARM_OUT);
}

/* Send what the state asks for; a request that cannot be sent is one that is refused. */
static void ask(struct swarm_bot *b)
{
    int rc = b->state == SWARM_LOGIN ? bot_client_resume(b->client, b->name)
                                     : bot_client_enter(b->client);
    if (rc != 0)
        start_over(b);
    else
        b->asked = true;
}

static void on_connected(void *arg)
{
    struct swarm_bot *b = arg;

    b->state = SWARM_LOGIN;
    ask(b);
}

/* After these a client does not come back by itself. */
static bool is_expelled(uint32_t bye)
{
    return bye == PE_NAME_IN_USE || bye == PE_AUTH_FAILED || bye == PE_KICKED;
}

static void on_closed(void *arg, const char *why)
{
    struct swarm_bot *b = arg;
    struct swarm *s = b->swarm;

    swarm_delist(b->swarm, b);
    b->away = false;
    if (s->stopping) {
        b->state = SWARM_DONE;
        return;
    }
    if (b->kind == SWARM_DEAF && b->deaf) {
        s->counted.deaf_cut++;
        s->counted.deaf_slow += b->facts->bye_code == PE_SLOW;
        log_often(LOG_INFO, "deaf one cut bot=%s why=\"%s\"", b->name, why);
        b->state = SWARM_DONE;
        return;
    }
    if (is_expelled(b->facts->bye_code)) {
        s->counted.expelled++;
        log_often(LOG_WARN, "expelled bot=%s why=\"%s\"", b->name, why);
        b->state = SWARM_DONE;
        return;
    }
    s->counted.lost++;
    log_often(LOG_WARN, "connection lost bot=%s why=\"%s\"", b->name, why);
    try_later(b, SWARM_OUT);
}

static void on_breach(void *arg, const char *text)
{
    struct swarm_bot *b = arg;

    if (b->deaf)
        return; /* what it missed makes no sense to it */
    b->swarm->counted.breaches++;
    log_often(LOG_ERROR, "contract broken bot=%s id=%u what=\"%s\"", b->name, b->facts->id, text);
}

void swarm_bot_deafen(struct swarm_bot *b)
{
    b->deaf = true;
    bot_client_deaf(b->client, true);
}

/* Where it stands, as the server says. */
static void stand(struct swarm_bot *b)
{
    b->has_stood = true;
    b->x = b->facts->x;
    b->y = b->facts->y;
}

/* It may face any way, since it was here before, and no EnterResp tells: it says so itself. */
static void face(struct swarm_bot *b)
{
    if (bot_client_move_with(b->client, b->facts->x, b->facts->y, 0, 0) == 0)
        b->swarm->counted.moves++;
}

static void on_entered(struct swarm_bot *b, bool unasked)
{
    const struct bot_client_facts *f = b->facts;
    bool before = b->has_stood;
    double way = before ? hypot(f->x - b->x, f->y - b->y) : 0;

    b->swarm->counted.placed += unasked && b->state != SWARM_ENTER;
    if (way > b->swarm->counted.farthest)
        b->swarm->counted.farthest = way;
    stand(b);

    swarm_enlist(b->swarm, b, f->id);
    if (b->swarm->witness)
        witness_entered(b->swarm->witness, b->index, f->id, f->x, f->y, &f->pending);
    b->away = false;
    b->tries = 0;
    b->asked = false;
    b->state = SWARM_IN;
    memset(b->sent, 0, sizeof(b->sent));
    walker_place(&b->walker, f->x, f->y, f->max_speed, clock_mono());
    if (!b->has_area)
        walker_area(&b->walker, (struct walker_area){f->x - SWARM_HOME, f->y - SWARM_HOME,
                                                     f->x + SWARM_HOME, f->y + SWARM_HOME});
    if (b->kind == SWARM_CHURN)
        b->due = clock_add(clock_mono(), between(b->swarm, SWARM_STAY_MIN_NS, SWARM_STAY_MAX_NS));
    if (b->kind == SWARM_DEAF && b->swarm->deafened)
        swarm_bot_deafen(b);
    if (b->swarm->stopping)
        start_over(b);
    else if ((unasked || before) && !b->deaf)
        face(b);
}

/* A request was refused. */
static void on_refused(struct swarm_bot *b, const struct message *m)
{
    uint32_t code = m->error_notify.code;

    switch (m->error_notify.cmd) {
    case CMD_LOGIN_REQ:
    case CMD_ENTER_REQ:
        /* These say that it is not where it believes to be. */
        if (code == PE_ALREADY_LOGGED_IN || code == PE_ALREADY_IN_WORLD) {
            start_over(b);
        } else if (code == PE_AUTH_FAILED) { /* the key was of the past: without it, then */
            b->swarm->counted.keys_refused++;
            b->state = SWARM_LOGIN;
            ask(b);
        } else {
            try_later(b, code == PE_NOT_LOGGED_IN ? SWARM_LOGIN : b->state);
        }
        break;
    case CMD_MOVE_REQ:
        if (code == PE_MOVE_SPEED || code == PE_MOVE_BLOCKED || code == PE_MOVE_BOUNDS)
            walker_refused(&b->walker, m->error_notify.x, m->error_notify.y);
        else if (code == PE_NOT_IN_WORLD && b->state == SWARM_IN)
            start_over(b);
        break;
    case CMD_WALK_REQ:
        if (code == PE_NOT_IN_WORLD && b->state == SWARM_IN)
            start_over(b);
        break;
    case CMD_LEAVE_REQ:
        start_over(b);
        break;
    default:
        break;
    }
}

/* What the server says of itself. */
static void on_unasked_error(struct swarm_bot *b, uint32_t code)
{
    bool coming = b->state == SWARM_LOGIN || b->state == SWARM_ENTER;

    if (code == PE_NOT_LOGGED_IN && !b->swarm->stopping) {
        swarm_delist(b->swarm, b);
        try_later(b, SWARM_LOGIN);
    } else if (code == PE_NOT_LOGGED_IN) {
        start_over(b);
    } else if (code == PE_UNAVAILABLE) {
        b->away = true;
        if (coming)
            try_later(b, b->state); /* its request may never be answered */
    }
}

/* What it is told, to be held against where the others are. */
static void bear_witness(struct swarm_bot *b, const struct message *m,
                         const struct pending_request *asked)
{
    struct witness *w = b->swarm->witness;

    switch (m->cmd) {
    case CMD_AOI_REMOVE:
        witness_heard(w, b->index, m->aoi_remove.tick);
        break;
    case CMD_AOI_ADD:
        witness_heard(w, b->index, m->aoi_add.tick);
        break;
    case CMD_AOI_MOVE:
        witness_heard(w, b->index, m->aoi_move.tick);
        break;
    default:
        if (!asked || b->state != SWARM_IN || m->cmd == CMD_ENTER_RESP)
            break;
        witness_answered(w, b->index, asked->sent, m->cmd == CMD_MOVE_RESP, b->facts->x,
                         b->facts->y);
        if (m->cmd == CMD_MOVE_RESP)
            witness_look(w, b->index, bot_client_view(b->client), b->facts->heard);
        break;
    }
}

static void on_message(void *arg, const struct message *m, const struct pending_request *asked)
{
    struct swarm_bot *b = arg;
    struct swarm_count *n = &b->swarm->counted;

    if (b->swarm->witness)
        bear_witness(b, m, asked);
    switch (m->cmd) {
    case CMD_LOGIN_RESP:
        n->logins++;
        n->resumed += b->facts->resumed;
        b->state = SWARM_ENTER;
        b->asked = b->facts->resumed; /* EnterResp comes by itself */
        if (!b->asked)
            ask(b);
        break;
    case CMD_ENTER_RESP:
        on_entered(b, m->seq == 0);
        break;
    case CMD_LEAVE_RESP:
        swarm_delist(b->swarm, b);
        b->due = clock_add(clock_mono(), SWARM_QUIET_NS);
        break;
    case CMD_MOVE_FAIL:
        walker_refused(&b->walker, m->move_fail.x, m->move_fail.y);
        break;
    case CMD_MOVE_RESP:
    case CMD_WALK_RESP:
        n->moves_ok++;
        stand(b);
        b->away = false;
        break;
    case CMD_ERROR_NOTIFY:
        n->errors++;
        n->error[m->error_notify.code < SWARM_CODE_MAX ? m->error_notify.code : SWARM_CODE_MAX]++;
        if (asked)
            on_refused(b, m);
        else
            on_unasked_error(b, m->error_notify.code);
        break;
    case CMD_BYE:
        n->byes++;
        break;
    default:
        break;
    }
}

static const struct bot_client_ops swarm_ops = {
    .connected = on_connected, .message = on_message, .breach = on_breach, .closed = on_closed};

/* --- being cut off ---------------------------------------------------------------------------- */

void swarm_bot_drop(struct swarm_bot *b)
{
    struct swarm *s = b->swarm;
    struct mono now = clock_mono();

    if (b->state != SWARM_IN || b->deaf || b->away)
        return;
    switch (rng_below(&s->rng, 3)) {
    case 0:
        s->counted.dropped_fin++;
        bot_client_close(b->client, false);
        break;
    case 1:
        s->counted.dropped_rst++;
        bot_client_close(b->client, true);
        break;
    default:
        s->counted.dropped_silent++;
        bot_client_abandon(b->client);
        b->bury = clock_add(now, SWARM_BURY_NS);
        break;
    }
    swarm_delist(s, b);
    b->state = SWARM_OUT;
    b->asked = false;
    b->due = clock_add(now, between(s, 0, SWARM_CUT_NS));
}

/* --- moving and being noticed ----------------------------------------------------------------- */

/* Somebody's view learns that an entity moved: how long after it was asked for? Of a crowd a sample
 * tells as much; what the contract says is checked of all. */
static void on_moved(void *arg, const struct view_entity *e)
{
    struct swarm_bot *viewer = arg;
    struct swarm *s = viewer->swarm;

    if (--s->notice_in > 0)
        return;
    s->notice_in = s->notice_every;
    const struct swarm_bot *mover = swarm_find(s, e->id);

    if (!mover || viewer->deaf)
        return;
    for (unsigned i = 1; i <= SWARM_SENT; i++) {
        const struct swarm_sent *t = &mover->sent[(mover->sent_next - i) % SWARM_SENT];
        if (t->at_ns == 0)
            return;
        if (t->qx != e->qx || t->qy != e->qy)
            continue;
        int64_t took = viewer->facts->heard.ns - t->at_ns;
        hist_add(&s->latency, took > 0 ? (uint64_t)took : 0);
        return;
    }
}

void swarm_bot_move(struct swarm_bot *b, struct mono now)
{
    struct swarm *s = b->swarm;
    struct walker *w = &b->walker;

    if (b->deaf || b->facts->held > 0)
        return;
    walker_wander(w, now);
    int rc = s->config.walk ? bot_client_walk(b->client, w->x, w->y, false)
                            : bot_client_move_with(b->client, w->x, w->y, w->dir, w->speed);
    if (rc != 0) {
        s->counted.moves_late++;
        walker_refused(w, b->facts->x, b->facts->y);
        return;
    }
    s->counted.moves++;
    if (b->kind == SWARM_DRIP)
        return; /* its moves leave much later than now */
    b->sent[b->sent_next++ % SWARM_SENT] =
        (struct swarm_sent){aoi_move_quantise(w->x, b->facts->quantum),
                            aoi_move_quantise(w->y, b->facts->quantum), clock_mono().ns};
}

/* --- looking after them ----------------------------------------------------------------------- */

static void begin_connecting(struct swarm_bot *b)
{
    struct swarm *s = b->swarm;

    b->state = SWARM_CONNECTING;
    int rc =
        bot_client_connect(b->client, bot_opts_gateway(s->config.addr, &s->config.also, b->turn++),
                           s->config.timeout_ns);
    if (rc != 0)
        on_closed(b, err_text(rc));
}

/* One who churns has stayed long enough. */
static void churn(struct swarm_bot *b)
{
    struct swarm *s = b->swarm;
    uint64_t how = rng_below(&s->rng, 3);

    s->counted.churned++;
    if (how == 0 && bot_client_leave(b->client) == 0) {
        b->state = SWARM_LEAVING;
        return;
    }
    swarm_delist(b->swarm, b);
    bot_client_close(b->client, how == 1);
    b->state = SWARM_OUT;
    b->due = clock_add(clock_mono(), between(s, 0, SWARM_AWAY_NS));
}

/* It has left the world politely, and nothing came after that. */
static void gone(struct swarm_bot *b)
{
    bot_client_close(b->client, false);
    b->state = b->swarm->stopping ? SWARM_DONE : SWARM_OUT;
}

void swarm_bot_tend(struct swarm_bot *b, struct mono now)
{
    struct swarm *s = b->swarm;

    if (clock_since(now, b->bury) >= 0)
        bot_client_bury(b->client);
    if (clock_since(now, b->due) < 0 || s->resting)
        return;
    switch (b->state) {
    case SWARM_OUT:
        if (s->config.login_rate > 0 && s->logins_owed < 1)
            return;
        s->logins_owed -= 1;
        begin_connecting(b);
        break;
    case SWARM_LOGIN:
    case SWARM_ENTER:
        if (!b->asked)
            ask(b);
        break;
    case SWARM_LEAVING:
        if (b->id == 0)
            gone(b);
        break;
    case SWARM_IN:
        if (b->kind == SWARM_CHURN)
            churn(b);
        break;
    default:
        break;
    }
}

/* --- from outside ------------------------------------------------------------------------------
 */

int swarm_bot_init(struct swarm_bot *b, struct swarm *s, uint32_t index, enum swarm_kind kind)
{
    b->swarm = s;
    b->index = index;
    b->kind = kind;
    b->turn = index;
    b->due = s->stepped;
    snprintf(b->name, sizeof(b->name), "%.*s-%c-%u", SWARM_PREFIX_MAX, s->config.prefix,
             swarm_letters[kind], index + 1);
    walker_init(&b->walker, s->config.seed + index);
    int rc = bot_client_create(s->loop, s->reader, &swarm_ops, b, &b->client);
    if (rc != 0)
        return rc;
    b->facts = bot_client_facts(b->client);
    bot_client_sign(b->client, s->config.signer);
    bot_client_secure(b->client, s->config.trust);
    bot_client_hold(b->client, kind == SWARM_DRIP);
    if (kind == SWARM_DEAF)
        bot_client_rcvbuf(b->client, SWARM_DEAF_RCVBUF);
    struct view *v = bot_client_view(b->client);
    view_init(v, on_moved, b);
    return 0;
}

void swarm_bot_fini(struct swarm_bot *b)
{
    bot_client_destroy(b->client);
    b->client = NULL;
}

void swarm_bot_touch(struct swarm_bot *b)
{
    if (b->state != SWARM_IN || b->deaf || b->kind == SWARM_DRIP)
        return;
    if (bot_client_move(b->client, b->facts->x, b->facts->y) != 0)
        b->swarm->counted.moves_late++;
}

bool swarm_bot_settled(const struct swarm_bot *b)
{
    if (b->state == SWARM_CONNECTING || (b->away && b->state != SWARM_DONE))
        return false;
    return b->deaf || (b->facts->pending == 0 && b->facts->held == 0);
}

void swarm_bot_hear(struct swarm_bot *b)
{
    bot_client_deaf(b->client, false);
    /* Where the server has given up on the connection, only writing finds that out. */
    int rc = bot_client_ping(b->client);
    (void)rc; /* then it is found out already */
}

void swarm_bot_leave(struct swarm_bot *b)
{
    if (b->state == SWARM_IN && !b->deaf && bot_client_leave(b->client) == 0)
        b->state = SWARM_LEAVING;
    else if (b->state != SWARM_DONE)
        start_over(b);
}

/* bot/swarm.c: many bots in one loop.
 * One timer paces all: moves are dealt out bot after bot, so that they are spread evenly over
 * time and a late turn is caught up with, up to a bound. May touch: common, proto, bot.
 * On trouble: see swarm.h.
 */
#include "bot/swarm.h"

#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"
#include "proto/aoi_move.h"

#include <stdio.h>
#include <stdlib.h>

#define SWARM_STEP_NS     (5 * CLOCK_NS_PER_MS)
#define SWARM_TEND_NS     (100 * CLOCK_NS_PER_MS) /* in which each bot is looked after once */
#define SWARM_RETRY_NS    (200 * CLOCK_NS_PER_MS) /* the first wait; it doubles */
#define SWARM_RETRY_MAX   (5 * CLOCK_NS_PER_S)
#define SWARM_QUIET_NS    (200 * CLOCK_NS_PER_MS) /* listened to after leaving */
#define SWARM_STAY_MIN_NS (1 * CLOCK_NS_PER_S)    /* of one who churns */
#define SWARM_STAY_MAX_NS (5 * CLOCK_NS_PER_S)
#define SWARM_AWAY_NS     (500 * CLOCK_NS_PER_MS)
#define SWARM_HOME        24.0 /* units: how far from where it enters a bot walks by default */

/* How a kind is called in a name. */
static const char swarm_letters[SWARM_KINDS + 1] = "wdtc";

/* Moves that may be caught up with, as a share of what all make in a second. */
#define SWARM_OWED_S 0.2

/* --- who has which id ------------------------------------------------------------------------- */

struct swarm_bot *swarm_find(const struct swarm *s, uint32_t id)
{
    if (id >= s->by_id_cap || s->by_id[id] == 0)
        return NULL;
    return &s->bots[s->by_id[id] - 1];
}

struct swarm_bot *swarm_find_name(const struct swarm *s, struct span name)
{
    size_t prefix = strnlen(s->config.prefix, SWARM_PREFIX_MAX);
    unsigned number = 0;

    if (name.n < prefix + 4 || memcmp(name.p, s->config.prefix, prefix) != 0)
        return NULL;
    for (size_t i = prefix + 3; i < name.n && number <= s->n; i++)
        number = number * 10 + (unsigned)(name.p[i] - '0');
    if (number == 0 || number > s->n)
        return NULL;
    struct swarm_bot *b = &s->bots[number - 1];
    return span_equal(span_text(b->name), name) ? b : NULL;
}

static void forget_id(struct swarm_bot *b)
{
    struct swarm *s = b->swarm;

    if (b->id < s->by_id_cap && s->by_id[b->id] == b->index + 1)
        s->by_id[b->id] = 0;
    if (b->id != 0)
        s->in_world--;
    b->id = 0;
}

static void learn_id(struct swarm_bot *b, uint32_t id)
{
    struct swarm *s = b->swarm;

    forget_id(b);
    b->id = id;
    s->in_world++;
    if (id > SWARM_ID_MAX)
        return;
    if (id >= s->by_id_cap) {
        uint32_t cap = s->by_id_cap ? s->by_id_cap : 1024;
        while (cap <= id)
            cap *= 2;
        uint32_t *grown = realloc(s->by_id, cap * sizeof(*grown));
        if (!grown)
            return;
        memset(grown + s->by_id_cap, 0, (cap - s->by_id_cap) * sizeof(*grown));
        s->by_id = grown;
        s->by_id_cap = cap;
    }
    s->by_id[id] = b->index + 1;
}

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
    forget_id(b);
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
    int rc = b->state == SWARM_LOGIN ? bot_client_login(b->client, b->name)
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

static void on_closed(void *arg, const char *why)
{
    struct swarm_bot *b = arg;
    struct swarm *s = b->swarm;

    forget_id(b);
    b->away = false;
    if (s->stopping) {
        b->state = SWARM_DONE;
        return;
    }
    if (b->kind == SWARM_DEAF && b->deaf) {
        s->counted.deaf_cut++;
        s->counted.deaf_slow += b->facts->bye_code == PE_SLOW;
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

static void on_entered(struct swarm_bot *b)
{
    const struct bot_client_facts *f = b->facts;

    learn_id(b, f->id);
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
    if (b->kind == SWARM_DEAF) {
        b->deaf = true;
        bot_client_deaf(b->client, true);
    }
    if (b->swarm->stopping)
        start_over(b);
}

/* A request was refused. */
static void on_refused(struct swarm_bot *b, const struct message *m)
{
    uint32_t code = m->error_notify.code;

    switch (m->error_notify.cmd) {
    case CMD_LOGIN_REQ:
    case CMD_ENTER_REQ:
        /* These say that it is not where it believes to be. */
        if (code == PE_ALREADY_LOGGED_IN || code == PE_ALREADY_IN_WORLD)
            start_over(b);
        else
            try_later(b, code == PE_NOT_LOGGED_IN ? SWARM_LOGIN : b->state);
        break;
    case CMD_MOVE_REQ:
        if (code == PE_MOVE_SPEED || code == PE_MOVE_BLOCKED || code == PE_MOVE_BOUNDS)
            walker_refused(&b->walker, m->error_notify.x, m->error_notify.y);
        else if (code == PE_NOT_IN_WORLD && b->state == SWARM_IN)
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
        forget_id(b);
        try_later(b, SWARM_LOGIN);
    } else if (code == PE_NOT_LOGGED_IN) {
        start_over(b);
    } else if (code == PE_UNAVAILABLE) {
        b->away = true;
        if (coming)
            try_later(b, b->state); /* its request may never be answered */
    }
}

static void on_message(void *arg, const struct message *m, const struct pending_request *asked)
{
    struct swarm_bot *b = arg;
    struct swarm_count *n = &b->swarm->counted;

    switch (m->cmd) {
    case CMD_LOGIN_RESP:
        n->logins++;
        b->state = SWARM_ENTER;
        ask(b);
        break;
    case CMD_ENTER_RESP:
        on_entered(b);
        break;
    case CMD_LEAVE_RESP:
        forget_id(b);
        b->due = clock_add(clock_mono(), SWARM_QUIET_NS);
        break;
    case CMD_MOVE_RESP:
        n->moves_ok++;
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

/* --- moving and being noticed ----------------------------------------------------------------- */

/* Somebody's view learns that an entity moved: how long after it was asked for? */
static void on_moved(void *arg, const struct view_entity *e)
{
    struct swarm_bot *viewer = arg;
    struct swarm *s = viewer->swarm;
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

static void move(struct swarm_bot *b, struct mono now)
{
    struct swarm *s = b->swarm;
    struct walker *w = &b->walker;

    if (b->deaf || b->facts->held > 0)
        return;
    walker_wander(w, now);
    if (bot_client_move_with(b->client, w->x, w->y, w->dir, w->speed) != 0) {
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

/* Let a byte of each dripping bot go. */
static void drip(struct swarm *s)
{
    uint32_t first = s->config.n[SWARM_WALKER] + s->config.n[SWARM_DEAF];

    for (uint32_t i = first; i < first + s->config.n[SWARM_DRIP]; i++)
        bot_client_drip(s->bots[i].client, 1);
}

/* Deal out the moves that are due. */
static void deal_moves(struct swarm *s, struct mono now, double seconds)
{
    double each_second = s->config.rate * s->n;
    double most = each_second * SWARM_OWED_S + 1;

    if (s->resting || s->stopping) {
        s->moves_owed = 0;
        return;
    }
    s->moves_owed += each_second * seconds;
    if (s->moves_owed > most) {
        s->counted.moves_late += (uint64_t)(s->moves_owed - most);
        s->moves_owed = most;
    }
    for (; s->moves_owed >= 1; s->moves_owed -= 1) {
        struct swarm_bot *b = &s->bots[s->move_next];
        s->move_next = (s->move_next + 1) % s->n;
        if (b->state == SWARM_IN)
            move(b, now);
    }
}

/* --- looking after them ----------------------------------------------------------------------- */

static void begin_connecting(struct swarm_bot *b)
{
    struct swarm *s = b->swarm;

    b->state = SWARM_CONNECTING;
    int rc = bot_client_connect(b->client, s->config.addr, s->config.timeout_ns);
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
    forget_id(b);
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

static void tend(struct swarm_bot *b, struct mono now)
{
    struct swarm *s = b->swarm;

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

static void on_timer(void *arg)
{
    struct swarm *s = arg;
    struct mono now = clock_mono();
    int64_t passed = clock_since(now, s->stepped);
    double seconds = (double)passed / (double)CLOCK_NS_PER_S;
    /* As many as are due in the time that passed, and at least one. */
    int64_t share = passed < SWARM_TEND_NS ? passed : SWARM_TEND_NS;
    uint32_t n = 1 + (uint32_t)((int64_t)s->n * share / SWARM_TEND_NS);

    s->stepped = now;
    s->logins_owed += s->config.login_rate * seconds;
    if (s->logins_owed > s->config.login_rate * SWARM_OWED_S + 1)
        s->logins_owed = s->config.login_rate * SWARM_OWED_S + 1;
    for (uint32_t i = 0; i < n && i < s->n; i++) {
        tend(&s->bots[s->tend_next], now);
        s->tend_next = (s->tend_next + 1) % s->n;
    }
    deal_moves(s, now, seconds);
    drip(s);
    loop_timer_arm(s->timer, SWARM_STEP_NS);
}

/* --- the whole -------------------------------------------------------------------------------- */

static int init_bot(struct swarm *s, uint32_t index, enum swarm_kind kind)
{
    struct swarm_bot *b = &s->bots[index];

    b->swarm = s;
    b->index = index;
    b->kind = kind;
    b->due = s->stepped;
    snprintf(b->name, sizeof(b->name), "%.*s-%c-%u", SWARM_PREFIX_MAX, s->config.prefix,
             swarm_letters[kind], index + 1);
    walker_init(&b->walker, s->config.seed + index);
    int rc = bot_client_create(s->loop, s->reader, &swarm_ops, b, &b->client);
    if (rc != 0)
        return rc;
    b->facts = bot_client_facts(b->client);
    bot_client_hold(b->client, kind == SWARM_DRIP);
    struct view *v = bot_client_view(b->client);
    view_init(v, on_moved, b);
    return 0;
}

int swarm_create(struct loop *l, struct message_reader *reader, const struct swarm_config *config,
                 struct swarm **out)
{
    struct swarm *s = calloc(1, sizeof(*s));
    int rc = E_NOMEM;

    if (!s)
        return E_NOMEM;
    s->config = *config;
    for (int i = 0; i < SWARM_KINDS; i++)
        s->n += config->n[i];
    ASSERT(s->n > 0);
    s->loop = l;
    s->reader = reader;
    s->stepped = clock_mono();
    rng_init(&s->rng, config->seed);
    s->bots = calloc(s->n, sizeof(*s->bots));
    if (s->bots)
        rc = loop_timer_create(l, on_timer, s, &s->timer);
    uint32_t index = 0;
    for (int kind = 0; kind < SWARM_KINDS; kind++) {
        for (uint32_t i = 0; rc == 0 && i < config->n[kind]; i++)
            rc = init_bot(s, index++, (enum swarm_kind)kind);
    }
    if (rc != 0) {
        swarm_destroy(s);
        return rc;
    }
    loop_timer_arm(s->timer, 0);
    *out = s;
    return 0;
}

void swarm_destroy(struct swarm *s)
{
    if (!s)
        return;
    loop_timer_destroy(s->timer);
    for (uint32_t i = 0; s->bots && i < s->n; i++)
        bot_client_destroy(s->bots[i].client);
    free(s->bots);
    free(s->by_id);
    free(s);
}

void swarm_rest(struct swarm *s, bool on)
{
    s->resting = on;
}

bool swarm_settled(void *swarm)
{
    const struct swarm *s = swarm;

    for (uint32_t i = 0; i < s->n; i++) {
        const struct swarm_bot *b = &s->bots[i];
        if (b->state == SWARM_CONNECTING || (b->away && b->state != SWARM_DONE))
            return false;
        if (!b->deaf && (b->facts->pending > 0 || b->facts->held > 0))
            return false;
    }
    return true;
}

void swarm_touch(struct swarm *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        struct swarm_bot *b = &s->bots[i];
        if (b->state != SWARM_IN || b->deaf || b->kind == SWARM_DRIP)
            continue;
        if (bot_client_move(b->client, b->facts->x, b->facts->y) != 0)
            s->counted.moves_late++;
    }
}

void swarm_hear(struct swarm *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->bots[i].deaf)
            bot_client_deaf(s->bots[i].client, false);
    }
}

void swarm_leave(struct swarm *s)
{
    s->stopping = true;
    for (uint32_t i = 0; i < s->n; i++) {
        struct swarm_bot *b = &s->bots[i];
        if (b->state == SWARM_IN && !b->deaf && bot_client_leave(b->client) == 0)
            b->state = SWARM_LEAVING;
        else if (b->state != SWARM_DONE)
            start_over(b);
    }
}

bool swarm_left(void *swarm)
{
    const struct swarm *s = swarm;

    for (uint32_t i = 0; i < s->n; i++) {
        if (s->bots[i].state != SWARM_DONE)
            return false;
    }
    return true;
}

void swarm_sum(const struct swarm *s, struct swarm_told *out)
{
    *out = (struct swarm_told){0};
    for (uint32_t i = 0; i < s->n; i++) {
        const struct swarm_bot *b = &s->bots[i];
        const struct view_count *v = &bot_client_view(b->client)->counted;
        struct stream_count bytes = bot_client_bytes(b->client);
        out->adds += v->adds;
        out->removes += v->removes;
        out->moves += v->moves;
        out->frames += b->facts->frames_in;
        out->bytes_in += bytes.bytes_in;
        out->bytes_out += bytes.bytes_out;
    }
}

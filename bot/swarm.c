/* bot/swarm.c: many bots in one loop.
 * One timer paces all: moves are dealt out bot after bot, so that they are spread evenly over
 * time and a late turn is caught up with, up to a bound; in an order in which those who stand
 * together do not move together. May touch: common, proto, bot. On trouble: see swarm.h.
 */
#include "bot/swarm.h"

#include "bot/spread.h"
#include "bot/witness.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"

#include <stdlib.h>

#define SWARM_STEP_NS (2 * CLOCK_NS_PER_MS)
#define SWARM_TEND_NS (100 * CLOCK_NS_PER_MS) /* in which each bot is looked after once */

/* From so many bots on, one notice of so many is timed: a number that has no factor in common with
 * usual counts of neighbours. */
#define SWARM_CROWD       256
#define SWARM_CROWD_EVERY 7

/* Moves and logins that may be caught up with, as a share of what all make in a second. */
#define SWARM_OWED_S 0.2

/* --- who is who --------------------------------------------------------------------------------
 */

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

void swarm_delist(struct swarm *s, struct swarm_bot *b)
{
    if (b->id < s->by_id_cap && s->by_id[b->id] == b->index + 1)
        s->by_id[b->id] = 0;
    if (b->id != 0)
        s->in_world--;
    b->id = 0;
    if (s->witness)
        witness_gone(s->witness, b->index);
}

void swarm_enlist(struct swarm *s, struct swarm_bot *b, uint32_t id)
{
    swarm_delist(s, b);
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

/* --- pacing ------------------------------------------------------------------------------------
 */

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
        s->move_next = (uint32_t)(((uint64_t)s->move_next + s->stride) % s->n);
        if (b->state == SWARM_IN)
            swarm_bot_move(b, now);
    }
}

/* Cut the connections that are due, of any who are in the world and read. */
static void deal_drops(struct swarm *s, double seconds)
{
    if (s->drop <= 0 || s->resting || s->stopping)
        return;
    s->drops_owed += s->drop * s->in_world * seconds;
    for (; s->drops_owed >= 1; s->drops_owed -= 1)
        swarm_bot_drop(&s->bots[rng_below(&s->rng, s->n)]);
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
        swarm_bot_tend(&s->bots[s->tend_next], now);
        s->tend_next = (s->tend_next + 1) % s->n;
    }
    deal_moves(s, now, seconds);
    if (s->witness && witness_judge(s->witness, now) > 0)
        log_often(LOG_ERROR, "view not exact while walking what=\"%s\"", s->witness->why);
    deal_drops(s, seconds);
    drip(s);
    loop_timer_arm(s->timer, SWARM_STEP_NS);
}

/* --- the whole -------------------------------------------------------------------------------- */

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
    s->stride = spread_stride(s->n);
    s->notice_in = s->notice_every = s->n < SWARM_CROWD ? 1 : SWARM_CROWD_EVERY;
    rng_init(&s->rng, config->seed);
    s->bots = calloc(s->n, sizeof(*s->bots));
    if (s->bots)
        rc = loop_timer_create(l, on_timer, s, &s->timer);
    uint32_t index = 0;
    for (int kind = 0; kind < SWARM_KINDS; kind++) {
        for (uint32_t i = 0; rc == 0 && i < config->n[kind]; i++) {
            rc = swarm_bot_init(&s->bots[index], s, index, (enum swarm_kind)kind);
            index++;
        }
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
        swarm_bot_fini(&s->bots[i]);
    free(s->bots);
    free(s->by_id);
    free(s);
}

void swarm_drop(struct swarm *s, double share)
{
    s->drop = share;
}

void swarm_rest(struct swarm *s, bool on)
{
    s->resting = on;
}

bool swarm_settled(void *swarm)
{
    const struct swarm *s = swarm;

    for (uint32_t i = 0; i < s->n; i++) {
        if (!swarm_bot_settled(&s->bots[i]))
            return false;
    }
    return true;
}

void swarm_touch(struct swarm *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        swarm_bot_touch(&s->bots[i]);
}

void swarm_deafen(struct swarm *s)
{
    s->deafened = true;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->bots[i].kind == SWARM_DEAF && s->bots[i].state == SWARM_IN)
            swarm_bot_deafen(&s->bots[i]);
    }
}

void swarm_hear(struct swarm *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->bots[i].deaf)
            swarm_bot_hear(&s->bots[i]);
    }
}

void swarm_leave(struct swarm *s)
{
    s->stopping = true;
    for (uint32_t i = 0; i < s->n; i++)
        swarm_bot_leave(&s->bots[i]);
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

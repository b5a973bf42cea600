/* bot/logins.c: bots that connect, log in and go, again and again, at a rate.
 *
 *   free ─► connecting ─► login [─► enter] ─► free
 *
 * A few hundred clients take turns. Each goes with an RST, so that no port waits for minutes, and
 * comes back by another name, so that it is never its own rival.
 * May touch: common, proto, bot.
 * On trouble: what is refused or lost is counted; a broken contract ends in exit status 1.
 */
#include "bot/logins.h"

#include "bot/bot_client.h"
#include "bot/bot_opts.h"
#include "bot/runner.h"
#include "common/err.h"
#include "common/hist.h"
#include "common/log.h"
#include "common/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LOGINS_STEP_NS (2 * CLOCK_NS_PER_MS)
#define LOGINS_OWED_S  0.1                  /* that may be caught up with */
#define LOGINS_END_NS  (3 * CLOCK_NS_PER_S) /* for the last ones to be answered */
#define LOGINS_NAME    24

struct logins_bot {
    struct logins *all;
    struct bot_client *client;
    struct logins_bot *next; /* among the free */
    struct mono began;
};

struct logins {
    const struct bot_config *config;
    struct runner runner;
    struct loop_timer *timer;
    struct logins_bot *bots, *free;
    uint32_t busy;
    struct mono stepped;
    double owed;
    bool ending;
    uint32_t run; /* in the names, so that two processes do not quarrel */
    uint64_t begun, done, left_out, refused, lost, breaches;
    struct hist took; /* ns, from connecting to the last answer */
};

static void set_free(struct logins_bot *b)
{
    bot_client_close(b->client, true);
    b->next = b->all->free;
    b->all->free = b;
    b->all->busy--;
}

static void on_connected(void *arg)
{
    struct logins_bot *b = arg;
    char name[LOGINS_NAME];

    snprintf(name, sizeof(name), "in-%04x-%" PRIu64, b->all->run, ++b->all->begun);
    if (bot_client_login(b->client, name) == 0)
        return;
    b->all->lost++;
    set_free(b);
}

static void on_message(void *arg, const struct message *m, const struct pending_request *asked)
{
    struct logins_bot *b = arg;
    struct logins *l = b->all;

    (void)asked;
    if (m->cmd == CMD_LOGIN_RESP && l->config->enter && bot_client_enter(b->client) == 0)
        return;
    if (m->cmd == CMD_LOGIN_RESP || m->cmd == CMD_ENTER_RESP) {
        l->done++;
        hist_add(&l->took, (uint64_t)clock_since(clock_mono(), b->began));
        set_free(b);
    } else if (m->cmd == CMD_ERROR_NOTIFY || m->cmd == CMD_BYE) {
        l->refused++;
        set_free(b);
    }
}

static void on_closed(void *arg, const char *why)
{
    struct logins_bot *b = arg;

    b->all->lost++;
    log_often(LOG_WARN, "connection lost why=\"%s\"", why);
    set_free(b);
}

static void on_breach(void *arg, const char *text)
{
    struct logins_bot *b = arg;

    b->all->breaches++;
    log_often(LOG_ERROR, "contract broken what=\"%s\"", text);
}

static const struct bot_client_ops logins_ops = {
    .connected = on_connected, .message = on_message, .breach = on_breach, .closed = on_closed};

static void begin(struct logins *l)
{
    struct logins_bot *b = l->free;

    l->free = b->next;
    l->busy++;
    b->began = clock_mono();
    int rc = bot_client_connect(b->client, l->config->addr, l->config->timeout_ns);
    if (rc != 0)
        on_closed(b, err_text(rc));
}

static void on_timer(void *arg)
{
    struct logins *l = arg;
    struct mono now = clock_mono();
    double most = l->config->login_rate * LOGINS_OWED_S + 1;

    l->owed +=
        l->config->login_rate * (double)clock_since(now, l->stepped) / (double)CLOCK_NS_PER_S;
    l->stepped = now;
    if (l->owed > most) {
        l->left_out += (uint64_t)(l->owed - most);
        l->owed = most;
    }
    for (; l->owed >= 1 && l->free && !l->ending; l->owed -= 1)
        begin(l);
    loop_timer_arm(l->timer, LOGINS_STEP_NS);
}

static bool all_free(void *arg)
{
    const struct logins *l = arg;

    return l->busy == 0;
}

static int set_up(struct logins *l)
{
    int rc = runner_init(&l->runner);

    if (rc == 0)
        rc = loop_timer_create(l->runner.loop, on_timer, l, &l->timer);
    l->bots = calloc(l->config->n, sizeof(*l->bots));
    if (rc == 0 && !l->bots)
        rc = E_NOMEM;
    for (uint64_t i = 0; rc == 0 && i < l->config->n; i++) {
        struct logins_bot *b = &l->bots[i];
        b->all = l;
        b->next = l->free;
        l->free = b;
        rc = bot_client_create(l->runner.loop, l->runner.reader, &logins_ops, b, &b->client);
        if (rc != 0)
            break;
        bot_client_sign(b->client, l->config->signer);
        bot_client_secure(b->client, l->config->trust);
    }
    return rc;
}

static void tear_down(struct logins *l)
{
    for (uint64_t i = 0; l->bots && i < l->config->n; i++)
        bot_client_destroy(l->bots[i].client);
    free(l->bots);
    loop_timer_destroy(l->timer);
    runner_fini(&l->runner);
}

static void report(const struct logins *l, double seconds)
{
    const double p50 = (double)hist_quantile(&l->took, 0.50) / 1e6;
    const double p99 = (double)hist_quantile(&l->took, 0.99) / 1e6;
    const double max = (double)l->took.max / 1e6;
    const char *text = "logins      %" PRIu64 " in %.1f s (%.0f/s), %" PRIu64 " left out, %" PRIu64
                       " refused, %" PRIu64 " lost\n"
                       "latency     p50=%.1fms p99=%.1fms max=%.1fms\n"
                       "breaches    %" PRIu64 "\n";
    const char *json = "{\"logins\":%" PRIu64 ",\"seconds\":%.3f,\"logins_per_s\":%.1f,"
                       "\"left_out\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"lost\":%" PRIu64
                       ",\"latency_ms\":{\"p50\":%.3f,\"p99\":%.3f,\"max\":%.3f},"
                       "\"breaches\":%" PRIu64 "}\n";

    printf(l->config->json ? json : text, l->done, seconds, (double)l->done / seconds, l->left_out,
           l->refused, l->lost, p50, p99, max, l->breaches);
}

int logins_run(const struct bot_config *config)
{
    struct logins l = {.config = config, .stepped = clock_mono()};
    struct mono began = clock_mono();

    l.run = (uint32_t)config->seed;
    if (l.run == 0) /* names of its own */
        rng_secret(&l.run, sizeof(l.run));
    l.run &= 0xffff;
    int rc = set_up(&l);
    if (rc == 0) {
        struct mono end =
            clock_add(began, config->seconds_ns > 0 ? config->seconds_ns : INT64_MAX / 2);
        loop_timer_arm(l.timer, 0);
        bot_client_run_until(l.runner.loop, runner_stopped, &l.runner, end);
        double seconds = (double)clock_since(clock_mono(), began) / (double)CLOCK_NS_PER_S;
        l.ending = true;
        bot_client_run_until(l.runner.loop, all_free, &l, clock_add(clock_mono(), LOGINS_END_NS));
        report(&l, seconds);
    } else {
        fprintf(stderr, "bot: %s\n", err_text(rc));
    }
    tear_down(&l);
    return rc != 0 || l.breaches > 0 || l.done == 0 ? 1 : 0;
}

/* bot/wander.c: bots that walk about until they are stopped, with a line a second about them.
 *   players=30 moves/s=300 updates/s=5731 p50=26.4ms p99=51.2ms errors=0
 * May touch: common, bot.
 * On trouble: the server's errors are counted; a broken contract ends in exit status 1.
 */
#include "bot/wander.h"

#include "bot/runner.h"
#include "bot/swarm.h"
#include "common/err.h"

#include <inttypes.h>
#include <stdio.h>

/* How long leaving may take on the way out. */
#define WANDER_LEAVE_NS (3 * CLOCK_NS_PER_S)

struct wander {
    struct runner runner;
    struct swarm *swarm;
    struct mono printed; /* the last line */
    struct swarm_count before;
    struct swarm_told told_before;
};

/* The line about the time since the last one. */
static void print_line(struct wander *w)
{
    struct swarm *s = w->swarm;
    struct mono now = clock_mono();
    struct swarm_told told;
    double seconds = (double)clock_since(now, w->printed) / (double)CLOCK_NS_PER_S;

    swarm_sum(s, &told);
    uint64_t updates = told.adds + told.removes + told.moves - w->told_before.adds -
                       w->told_before.removes - w->told_before.moves;
    printf("players=%u moves/s=%.0f updates/s=%.0f p50=%.1fms p99=%.1fms errors=%" PRIu64,
           s->in_world, (double)(s->counted.moves - w->before.moves) / seconds,
           (double)updates / seconds, (double)hist_quantile(&s->latency, 0.50) / 1e6,
           (double)hist_quantile(&s->latency, 0.99) / 1e6, s->counted.errors);
    if (s->counted.breaches)
        printf(" breaches=%" PRIu64, s->counted.breaches);
    printf("\n");
    hist_clear(&s->latency);
    w->printed = now;
    w->before = s->counted;
    w->told_before = told;
}

static void walk_about(struct wander *w, const struct bot_config *config)
{
    struct mono began = clock_mono();
    struct mono next = began;

    w->printed = began;
    while (!w->runner.stop) {
        next = clock_add(next, CLOCK_NS_PER_S);
        bot_client_run_until(w->runner.loop, runner_stopped, &w->runner, next);
        if (!w->runner.stop)
            print_line(w);
        if (config->seconds_ns > 0 && clock_since(clock_mono(), began) >= config->seconds_ns)
            break;
    }
    swarm_leave(w->swarm);
    bot_client_run_until(w->runner.loop, swarm_left, w->swarm,
                         clock_add(clock_mono(), WANDER_LEAVE_NS));
}

static int set_up(struct wander *w, const struct bot_config *config, const char *prefix,
                  uint64_t seed)
{
    const struct swarm_config swarm = {
        .addr = config->addr,
        .also = config->also,
        .prefix = prefix,
        .n = {[SWARM_WALKER] = (uint32_t)config->n},
        .rate = config->rate,
        .login_rate = config->login_rate,
        .seed = seed,
        .timeout_ns = config->timeout_ns,
        .signer = config->signer,
        .trust = config->trust,
    };
    int rc = runner_init(&w->runner);

    return rc != 0 ? rc : swarm_create(w->runner.loop, w->runner.reader, &swarm, &w->swarm);
}

int wander_run(const struct bot_config *config)
{
    struct wander w = {0};
    uint64_t run;
    char prefix[24];

    /* Two runs at a time must not quarrel about names. */
    rng_secret(&run, sizeof(run));
    snprintf(prefix, sizeof(prefix), "wander-%04x", (unsigned)(run & 0xffff));
    int rc = set_up(&w, config, prefix, config->seed ? config->seed : run);
    if (rc == 0)
        walk_about(&w, config);
    else
        fprintf(stderr, "bot: %s\n", err_text(rc));
    bool broken = w.swarm && w.swarm->counted.breaches > 0;
    swarm_destroy(w.swarm);
    runner_fini(&w.runner);
    return rc != 0 || broken ? 1 : 0;
}

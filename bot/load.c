/* bot/load.c: thousands of bots that walk, check all they are told, and measure it.
 *
 *   come in ─► spread ─► walk … rest and compare … walk ─► leave ─► report
 *                        └──────── every 5 s ────────┘
 *
 * May touch: common, proto, bot.
 * On trouble: exit status 1 where the contract was broken, or where nobody could enter.
 */
#include "bot/load.h"

#include "bot/census.h"
#include "bot/report.h"
#include "bot/spread.h"
#include "bot/runner.h"
#include "bot/smoke_plan.h"
#include "bot/swarm.h"
#include "bot/witness.h"
#include "common/err.h"
#include "common/io/net.h"
#include "common/log.h"
#include "proto/aoi_move.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOAD_PROGRESS_NS (1 * CLOCK_NS_PER_S)
#define LOAD_WALK_TICKS  32                    /* where the world walks: what one step may take */
#define LOAD_REST_NS     (5 * CLOCK_NS_PER_S)  /* from one rest to the next */
#define LOAD_REST_TICKS  4                     /* after which views have to be exact */
#define LOAD_LATE_TICKS  20                    /* more, until late counts as wrong */
#define LOAD_SETTLE_NS   (5 * CLOCK_NS_PER_S)  /* for answers to come */
#define LOAD_SPREAD_NS   (60 * CLOCK_NS_PER_S) /* for walking to one's square */
#define LOAD_HEAR_NS     (5 * CLOCK_NS_PER_S)  /* for deaf ones to notice their end */
#define LOAD_LEAVE_NS    (5 * CLOCK_NS_PER_S)
#define LOAD_DESCRIPTORS 32 /* that are not a bot's */

struct load {
    const struct bot_config *config;
    struct runner runner;
    struct swarm *swarm;
    struct census census;
    struct witness witness;
    struct report report;
    bool terminal; /* somebody watches the progress */
    struct swarm_count count_before;
    struct swarm_told told_before;
    struct hist latency; /* of the walking */
    int64_t rested_ns;
};

/* --- waiting ---------------------------------------------------------------------------------- */

static void progress(struct load *l, const char *phase)
{
    const struct swarm *s = l->swarm;

    if (!l->terminal)
        return;
    fprintf(stderr,
            "\r%-8s %u of %u in the world, %" PRIu64 " moves, p50 %.1f ms, p99 %.1f ms, %" PRIu64
            " errors, %" PRIu64 " breaches \033[K",
            phase, s->in_world, s->n, s->counted.moves,
            (double)hist_quantile(&s->latency, 0.50) / 1e6,
            (double)hist_quantile(&s->latency, 0.99) / 1e6, s->counted.errors,
            s->counted.breaches + l->report.rests.wrong);
}

/* Wait until `pred` holds (NULL: never), with the progress shown. False: the time was over, or a
 * signal came. */
static bool wait_for(struct load *l, const char *phase, bool (*pred)(const struct load *),
                     int64_t ns)
{
    struct mono deadline = clock_add(clock_mono(), ns);
    struct mono shown = clock_mono();

    while (!l->runner.stop) {
        struct mono now = clock_mono();
        if (pred && pred(l))
            return true;
        if (clock_since(now, deadline) >= 0)
            return false;
        if (clock_since(now, shown) >= LOAD_PROGRESS_NS) {
            progress(l, phase);
            shown = now;
        }
        int64_t left = clock_since(deadline, now);
        loop_turn(l->runner.loop, left < 10 * CLOCK_NS_PER_MS ? left : 10 * CLOCK_NS_PER_MS);
    }
    return false;
}

static bool all_in(const struct load *l)
{
    for (uint32_t i = 0; i < l->swarm->n; i++) {
        const struct swarm_bot *b = &l->swarm->bots[i];
        if (b->kind != SWARM_CHURN && b->state != SWARM_IN && b->state != SWARM_DONE)
            return false;
    }
    return true;
}

static bool all_inside(const struct load *l)
{
    for (uint32_t i = 0; i < l->swarm->n; i++) {
        const struct swarm_bot *b = &l->swarm->bots[i];
        if (b->kind <= SWARM_DEAF && b->state == SWARM_IN && !walker_inside(&b->walker))
            return false;
    }
    return true;
}

static bool settled(const struct load *l)
{
    return swarm_settled(l->swarm);
}

static bool deaf_done(const struct load *l)
{
    return l->swarm->counted.deaf_cut >= l->swarm->config.n[SWARM_DEAF];
}

static bool left(const struct load *l)
{
    return swarm_left(l->swarm);
}

/* --- rest and compare ------------------------------------------------------------------------- */

/* May a view know an entity of ours that has no body? Those whose end the world had to find out
 * by itself may linger. */
static bool may_linger(void *arg, struct span name)
{
    const struct load *l = arg;
    const struct swarm_bot *b = swarm_find_name(l->swarm, name);

    return !b || b->kind == SWARM_DEAF || b->kind == SWARM_CHURN || b->state != SWARM_IN;
}

static struct census_body body_of(const struct swarm_bot *b)
{
    const struct bot_client_facts *f = b->facts;

    return (struct census_body){
        .id = f->id,
        .scene = f->scene,
        .x = f->x,
        .y = f->y,
        .dir = aoi_move_dir(f->dir),
        .speed = aoi_move_speed(f->speed, f->max_speed),
        .walked = f->walked,
        .sure = !b->deaf,
    };
}

static void count_heads(struct load *l)
{
    const struct swarm *s = l->swarm;
    double radius = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        if (s->bots[i].state == SWARM_IN)
            radius = s->bots[i].facts->radius;
    }
    census_clear(&l->census, radius, l->config->hysteresis);
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->bots[i].state == SWARM_IN) {
            struct census_body body = body_of(&s->bots[i]);
            census_add(&l->census, &body);
        }
    }
    census_sort(&l->census);
}

/* Compare all views. Returns how many differ; with `tell` the first of them is logged. */
static uint32_t compare(struct load *l, bool tell, uint32_t *views, uint64_t *seen)
{
    uint32_t wrong = 0;

    *views = 0;
    *seen = 0;
    count_heads(l);
    for (uint32_t i = 0; i < l->swarm->n; i++) {
        const struct swarm_bot *b = &l->swarm->bots[i];
        if (b->state != SWARM_IN || b->deaf)
            continue;
        struct census_body self = body_of(b);
        ++*views;
        uint32_t n = census_check(&l->census, &self, bot_client_view(b->client), seen);
        if (n > 0 && wrong++ == 0 && tell)
            log_line(LOG_ERROR, "view not exact at rest bot=%s id=%u differences=%u first=\"%s\"",
                     b->name, self.id, n, l->census.why);
    }
    if (wrong > 0 && tell)
        log_line(LOG_ERROR, "views not exact at rest wrong=%u of=%u", wrong, *views);
    return wrong;
}

static int64_t tick_ns(const struct load *l)
{
    for (uint32_t i = 0; i < l->swarm->n; i++) {
        const struct swarm_bot *b = &l->swarm->bots[i];
        if (b->state == SWARM_IN && b->facts->tick_ms > 0)
            return b->facts->tick_ms * CLOCK_NS_PER_MS;
    }
    return 50 * CLOCK_NS_PER_MS;
}

/* All rest: every view has to be exact after four ticks and once all that was on its way is here.
 * What needs longer is counted as late, and as wrong if it never gets there. */
static void rest_and_compare(struct load *l)
{
    struct report_rests *r = &l->report.rests;
    struct mono began = clock_mono();
    int64_t tick = tick_ns(l);
    uint32_t views, wrong = 0, first_wrong = 0;
    uint64_t seen;

    swarm_rest(l->swarm, true);
    bool calm = wait_for(l, "resting", settled, LOAD_SETTLE_NS);
    if (calm) {
        wait_for(l, "resting", NULL, (l->config->walk ? LOAD_WALK_TICKS : LOAD_REST_TICKS) * tick);
        swarm_touch(l->swarm);
        calm = wait_for(l, "resting", settled, LOAD_SETTLE_NS);
    }
    if (!calm) {
        r->unsettled += !l->runner.stop;
    } else {
        first_wrong = wrong = compare(l, false, &views, &seen);
        for (int i = 0; wrong > 0 && i < LOAD_LATE_TICKS && !l->runner.stop; i++) {
            wait_for(l, "resting", NULL, tick);
            wrong = compare(l, i == LOAD_LATE_TICKS - 1 && settled(l), &views, &seen);
        }
    }
    if (wrong > 0 && !settled(l)) { /* the world or a gateway went away meanwhile */
        r->unsettled++;
    } else if (calm) {
        r->done++;
        r->views += views;
        r->seen += seen;
        r->wrong += wrong;
        r->late += first_wrong > wrong ? first_wrong - wrong : 0;
    }
    swarm_rest(l->swarm, false);
    l->rested_ns += clock_since(clock_mono(), began);
}

/* --- the phases ------------------------------------------------------------------------------- */

static bool come_in(struct load *l)
{
    int64_t ns = l->config->timeout_ns;

    if (l->config->login_rate > 0)
        ns += (int64_t)(l->swarm->n / l->config->login_rate * (double)CLOCK_NS_PER_S);
    wait_for(l, "entering", all_in, ns);
    l->report.entered = l->swarm->in_world;
    if (l->swarm->in_world > 0 || l->runner.stop)
        return true;
    fprintf(stderr, "bot: nobody could enter the world at %s\n", l->config->addr);
    return false;
}

/* Give each its square, and wait until all are there. */
static int spread(struct load *l)
{
    struct swarm *s = l->swarm;
    double radius = 0;
    uint32_t n = 0;
    struct smoke_plan_place at;
    const bool placed = smoke_plan_read(l->config->at, &at);
    struct spread_bot *bots = calloc(s->n, sizeof(*bots));

    if (!bots)
        return E_NOMEM;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct swarm_bot *b = &s->bots[i];
        if (b->state != SWARM_IN)
            continue;
        radius = b->facts->radius;
        bots[n++] = (struct spread_bot){.x = b->facts->x, .y = b->facts->y, .index = i};
    }
    uint32_t group = l->config->spread == BOT_SPREAD_SQUARE
                         ? n
                         : (uint32_t)(SPREAD_GROUP * l->config->neighbours) + 1;
    if (n > 0)
        spread_groups(bots, n, group, l->config->neighbours, radius);
    for (uint32_t i = 0; i < n; i++) {
        struct swarm_bot *b = &s->bots[bots[i].index];
        if (placed)
            spread_around(&bots[i].area, at.x, at.y);
        walker_area(&b->walker, bots[i].area);
        b->has_area = true;
    }
    free(bots);
    wait_for(l, "spreading", all_inside, LOAD_SPREAD_NS);
    return 0;
}

static void walk(struct load *l)
{
    struct mono began = clock_mono();
    int64_t left_ns = INT64_MAX;

    log_line(LOG_INFO, "phase=walking players=%u", l->swarm->in_world);
    hist_clear(&l->swarm->latency);
    l->count_before = l->swarm->counted;
    swarm_sum(l->swarm, &l->told_before);
    l->rested_ns = 0;
    swarm_drop(l->swarm, l->config->drop);
    while (!l->runner.stop && left_ns > 0) {
        wait_for(l, "walking", NULL, left_ns < LOAD_REST_NS ? left_ns : LOAD_REST_NS);
        if (!l->runner.stop && clock_since(clock_mono(), began) >= l->config->compare_after_ns)
            rest_and_compare(l);
        if (l->config->seconds_ns > 0)
            left_ns = l->config->seconds_ns - clock_since(clock_mono(), began);
    }
    swarm_drop(l->swarm, 0);
    log_line(LOG_INFO, "phase=walked players=%u", l->swarm->in_world);
    int64_t ns = clock_since(clock_mono(), began);
    l->report.seconds = (double)ns / (double)CLOCK_NS_PER_S;
    l->report.walked_seconds = (double)(ns - l->rested_ns) / (double)CLOCK_NS_PER_S;
}

/* What was counted since walking began. */
static void subtract(struct swarm_count *n, const struct swarm_count *before)
{
    n->moves -= before->moves;
    n->moves_ok -= before->moves_ok;
    n->moves_late -= before->moves_late;
    n->logins -= before->logins;
    n->lost -= before->lost;
    n->churned -= before->churned;
    n->resumed -= before->resumed;
    n->keys_refused -= before->keys_refused;
    n->placed -= before->placed;
    n->dropped_fin -= before->dropped_fin;
    n->dropped_rst -= before->dropped_rst;
    n->dropped_silent -= before->dropped_silent;
    n->expelled -= before->expelled; /* farthest is no sum */
    n->errors -= before->errors;
    n->byes -= before->byes;
    for (int i = 0; i <= SWARM_CODE_MAX; i++)
        n->error[i] -= before->error[i];
}

static void fill_report(struct load *l)
{
    struct report *r = &l->report;

    for (int i = 0; i < SWARM_KINDS; i++)
        r->bots[i] = l->swarm->config.n[i];
    r->count = l->swarm->counted;
    subtract(&r->count, &l->count_before);
    swarm_sum(l->swarm, &r->told);
    r->told.adds -= l->told_before.adds;
    r->told.removes -= l->told_before.removes;
    r->told.moves -= l->told_before.moves;
    r->told.frames -= l->told_before.frames;
    r->told.bytes_in -= l->told_before.bytes_in;
    r->told.bytes_out -= l->told_before.bytes_out;
    l->latency = l->swarm->latency;
    r->latency = &l->latency;
}

/* Who stops reading has to know before where it stands. */
static void deafen(struct load *l)
{
    if (l->swarm->config.n[SWARM_DEAF] == 0)
        return;
    swarm_rest(l->swarm, true);
    wait_for(l, "resting", settled, LOAD_SETTLE_NS);
    swarm_deafen(l->swarm);
    swarm_rest(l->swarm, false);
}

/* All the phases. */
static int play(struct load *l)
{
    int rc = 0;

    if (!come_in(l))
        return 1;
    if (l->config->spread != BOT_SPREAD_HOME)
        rc = spread(l);
    if (rc != 0) {
        fprintf(stderr, "bot: %s\n", err_text(rc));
        return 1;
    }
    deafen(l);
    walk(l);
    fill_report(l);
    l->runner.stop = false;
    swarm_hear(l->swarm);
    if (l->swarm->config.n[SWARM_DEAF] > 0)
        wait_for(l, "hearing", deaf_done, LOAD_HEAR_NS);
    swarm_leave(l->swarm);
    wait_for(l, "leaving", left, LOAD_LEAVE_NS);
    /* These are known only now. */
    l->report.count.deaf_cut = l->swarm->counted.deaf_cut;
    l->report.count.deaf_slow = l->swarm->counted.deaf_slow;
    l->report.count.breaches = l->swarm->counted.breaches;
    if (l->terminal)
        fprintf(stderr, "\r\033[K");
    if (l->config->json)
        report_json(&l->report, stdout);
    else
        report_text(&l->report, stdout);
    return report_is_bad(&l->report) ? 1 : 0;
}

static int set_up(struct load *l, const char *prefix, uint64_t seed)
{
    const struct bot_config *c = l->config;
    const struct swarm_config swarm = {
        .addr = c->addr,
        .also = c->also,
        .prefix = prefix,
        .n = {(uint32_t)c->n, (uint32_t)c->deaf, (uint32_t)c->drip, (uint32_t)c->churn},
        .rate = c->rate,
        .walk = c->walk,
        .login_rate = c->login_rate,
        .seed = seed,
        .timeout_ns = c->timeout_ns,
        .signer = c->signer,
        .trust = c->trust,
    };
    int rc = runner_init(&l->runner);

    if (rc == 0)
        rc = swarm_create(l->runner.loop, l->runner.reader, &swarm, &l->swarm);
    if (rc == 0 && c->oracle) {
        rc = witness_init(&l->witness, l->swarm->n, c->hysteresis, (uint32_t)c->late);
        l->swarm->witness = rc == 0 ? &l->witness : NULL;
        l->report.witness = l->swarm->witness ? &l->witness.counted : NULL;
    }
    if (rc == 0)
        rc = census_init(&l->census, l->swarm->n, may_linger, l);
    return rc;
}

int load_run(const struct bot_config *config)
{
    struct load l = {.config = config, .terminal = isatty(STDERR_FILENO) != 0};
    uint64_t run, descriptors = net_raise_descriptors();
    uint64_t bots = config->n + config->deaf + config->drip + config->churn;
    char prefix[SWARM_PREFIX_MAX];

    if (config->drop > 0) /* beside its own, each may have one that it turned away from */
        bots *= 2;
    if (bots + LOAD_DESCRIPTORS > descriptors) {
        fprintf(stderr,
                "bot: %" PRIu64 " connections need %" PRIu64 " descriptors, there are %" PRIu64
                " (ulimit -n); more bots by more processes\n",
                bots, bots + LOAD_DESCRIPTORS, descriptors);
        return 1;
    }
    /* Several processes must not quarrel about names. */
    rng_secret(&run, sizeof(run));
    snprintf(prefix, sizeof(prefix), "load-%04x", (unsigned)(run & 0xffff));
    int rc = set_up(&l, prefix, config->seed ? config->seed : run);
    int status = 1;
    if (rc == 0)
        status = play(&l);
    else
        fprintf(stderr, "bot: %s\n", err_text(rc));
    census_fini(&l.census);
    swarm_destroy(l.swarm);
    witness_fini(&l.witness);
    runner_fini(&l.runner);
    return status;
}

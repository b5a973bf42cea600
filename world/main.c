/* world/main.c: the world as a program: flags, composition, signals.
 *
 *   gateways ◄─► world_link ─► inbox ─► core ─► outbox ─► world_link
 *                 ticker ─────► tick ──┘
 *
 * The first SIGTERM, SIGINT, or SIGHUP where no file is to be read anew, stops the listener, sends
 * what is queued and closes the links; gateways keep their clients; meanwhile the store takes where
 * everybody stands. In a cluster all that is here first moves to the other worlds, and the lease is
 * given up before links close. A second one ends at once.
 * May touch: everything in world, common/io, the clock. On trouble: one line and an exit status.
 */
#include "common/err.h"
#include "common/io/loop.h"
#include "common/io/net.h"
#include "common/io/notify.h"
#include "common/io/reload.h"
#include "common/keys.h"
#include "common/log.h"
#include "common/parts.h"
#include "proto/message.h"
#include "world/edge/auth_jwt.h"
#include "world/edge/cluster_part.h"
#include "world/edge/map_tiled.h"
#include "world/edge/storage.h"
#include "world/edge/ticker.h"
#include "world/edge/world_admin.h"
#include "world/edge/world_link.h"
#include "world/edge/world_status.h"
#include "world/tick.h"
#include "world/world_main.h"
#include "world/world_opts.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#define EXIT_CLEAN   0
#define EXIT_TROUBLE 1 /* at the start, ended by a second signal, or places were not stored */

#define WHY_MAX  512
#define FLAG_MAX 16 /* bytes of a flag's name with what stands behind it */

/* A -drain-timeout of 0 is no limit; gateways close long before. */
#define FOREVER_NS (365 * 24 * 3600 * CLOCK_NS_PER_S)

struct program {
    struct world_options options;
    struct opts *texts; /* owns what `options` points to */
    struct loop *loop;
    struct loop_signal *on_term, *on_int;
    struct loop_timer *deadline; /* of the drain */
    struct world_link *link;
    struct map maps[OPT_LIST_MAX]; /* [n_maps] the world borrows them */
    uint32_t n_maps;
    struct storage *storage;
    struct auth_jwt *auth; /* NULL: no tokens */
    struct world *world;
    struct cluster_part cluster;
    struct ticker ticker;
    struct world_status status;
    struct world_admin *admin; /* NULL: off */
    struct admin_token token;
    struct keys link_keys; /* all zero: no -link-key */
    struct notify *notify; /* NULL: no service manager */
    struct reload reload;  /* who keeps a file joins it */
    struct edge_metrics metrics;
    struct hist tick_ns; /* tick and hand-over to the links */
    bool draining, leaving, drained, stored, refused;
    int exit_status;
    char last_words[WHY_MAX]; /* of who was refused before it ever acted */
};

/* --- running ---------------------------------------------------------------------------------- */

static int64_t clock_for_phases(void *arg)
{
    (void)arg;
    return clock_mono().ns;
}

static void secret(void *arg, void *out, size_t n)
{
    (void)arg;
    rng_secret(out, n);
}

static void drain(void *arg);
static void finish(struct program *p);

/* The cluster has no place for this world: before it ever acted that ends it like a bad flag. */
static void give_up(struct program *p, const char *why)
{
    p->refused = true;
    p->exit_status = EXIT_TROUBLE;
    if (p->cluster.acted) {
        log_line(LOG_ERROR, "cluster: this world may not take part any more: %s", why);
        drain(p);
        return;
    }
    snprintf(p->last_words, sizeof(p->last_words), "%s", why);
    loop_stop(p->loop);
}

/* May this world act? What it would do waits while it may not. */
static bool may_act(struct program *p)
{
    char why[WHY_MAX];

    if (cluster_part_may_act(&p->cluster))
        return true;
    if (!p->refused && cluster_part_refused(&p->cluster, why, sizeof(why)))
        give_up(p, why);
    return false;
}

static void on_tick(void *arg, struct mono now, uint64_t skipped)
{
    struct program *p = arg;
    struct mono start = clock_mono();
    int64_t ahead_ns;

    if (!may_act(p)) {
        p->world->lead += p->cluster.acted ? (uint32_t)skipped + 1 : 0;
        return;
    }
    if (cluster_part_falls_in(&p->cluster, &ahead_ns)) {
        ticker_shift(&p->ticker, clock_add(clock_mono(), ahead_ns));
        return;
    }
    if (p->cluster.nats)
        p->world->lead += (uint32_t)skipped;
    tick_run(p->world, now);
    (void)cluster_part_may_act(&p->cluster);
    outbox_flush(&p->world->outbox);

    uint64_t took_ns = (uint64_t)clock_since(clock_mono(), start);
    hist_add(&p->tick_ns, took_ns);
    world_status_tick(&p->status, took_ns);
    if (p->admin)
        world_admin_tick(p->admin, now, took_ns);
    p->metrics.ticks_skipped += skipped;
    p->metrics.tick_overruns += took_ns > (uint64_t)p->options.core.tick_ns;
    if (p->leaving && (cluster_part_left(&p->cluster, now) || !cluster_part_can_leave(&p->cluster)))
        finish(p);
    if (skipped > 0)
        log_often(LOG_WARN, "tick late tick=%" PRIu32 " skipped=%" PRIu64, p->world->tick, skipped);
}

static void end_if_done(struct program *p)
{
    if (p->drained && p->stored)
        loop_stop(p->loop);
}

static void on_drained(void *arg)
{
    struct program *p = arg;

    p->drained = true;
    end_if_done(p);
}

/* The last word: gateways look for other worlds, or wait for one. */
static void close_links(void *arg)
{
    struct program *p = arg;
    int64_t limit_ns = p->options.drain_timeout_ns;

    outbox_release(&p->world->outbox);
    world_link_finish(p->link, limit_ns != 0 ? limit_ns : FOREVER_NS, on_drained, p);
}

static void on_stored(void *arg)
{
    struct program *p = arg;

    p->stored = true;
    if (p->cluster.nats)
        cluster_part_quit(&p->cluster, close_links, p);
    else
        end_if_done(p);
}

static void on_deadline(void *arg)
{
    struct program *p = arg;

    if (p->leaving) {
        log_line(LOG_WARN, "leaving ends unfinished: what is left here is saved");
        finish(p);
        return;
    }
    log_line(LOG_WARN, "drain ends unfinished");
    loop_stop(p->loop);
}

/* What a kill would have lost too, for the log and the exit status. */
static void count_unstored(struct program *p)
{
    uint64_t left = p->draining ? storage_left(p->storage) : 0;

    if (left == 0)
        return;
    log_line(LOG_WARN, "places not stored n=%" PRIu64, left);
    p->exit_status = EXIT_TROUBLE;
}

/* No tick any more: save, and close. In a cluster the links wait for that, since who goes on
 * elsewhere is read from the store. */
static void finish(struct program *p)
{
    int64_t limit_ns = p->options.drain_timeout_ns;

    p->leaving = false;
    ticker_fini(&p->ticker);
    loop_timer_cancel(p->deadline);
    if (limit_ns != 0)
        loop_timer_arm(p->deadline, limit_ns);
    cluster_part_rest(&p->cluster);
    storage_finish(p->storage, on_stored, p);
    if (!p->cluster.nats)
        close_links(p);
}

static void drain(void *arg)
{
    struct program *p = arg;

    if (p->draining)
        return;
    p->draining = true;
    notify_stopping(p->notify);
    if (p->options.leave_timeout_ns == 0 || !cluster_part_can_leave(&p->cluster)) {
        finish(p);
        return;
    }
    log_line(LOG_INFO, "leaving the cluster: all that is here moves to the other worlds");
    p->leaving = true;
    loop_timer_arm(p->deadline, p->options.leave_timeout_ns);
    cluster_part_leave(&p->cluster);
}

static void on_signal(void *arg, int signo)
{
    struct program *p = arg;

    if (p->draining) {
        log_line(LOG_WARN, "signal %d again: ending at once", signo);
        p->exit_status = EXIT_TROUBLE;
        loop_stop(p->loop);
        return;
    }
    log_line(LOG_INFO, "draining signal=%d", signo);
    drain(p);
}

/* Whoever is logged in stays; logins that come are held against the new keys. */
static int on_reload_keys(void *arg, char *why, size_t why_cap)
{
    struct program *p = arg;
    int err = auth_jwt_reload(p->auth, why, why_cap);

    p->metrics.auth_reloads += err == 0;
    p->metrics.auth_reloads_failed += err != 0;
    return err;
}

/* --- start and end ---------------------------------------------------------------------------- */

/* Name the flag too, before what is wrong with its value. */
static void name_flag(const char *flag, char *why, size_t why_cap)
{
    char reason[WHY_MAX - FLAG_MAX];
    snprintf(reason, sizeof(reason), "%.*s", (int)sizeof(reason) - 1, why);
    snprintf(why, why_cap, "%s: %s", flag, reason);
}

static int load_maps(struct program *p, char *why, size_t why_cap)
{
    const struct opt_list *list = &p->options.maps;

    for (uint64_t i = 0; i < list->n; i++) {
        int err = map_tiled_load(list->text[i], p->options.tile_size, &p->maps[i], why, why_cap);
        if (err != 0)
            return err;
        p->n_maps++;
    }
    return 0;
}

static int open_store(struct program *p, char *why, size_t why_cap)
{
    const struct world_options *o = &p->options;
    char reason[WHY_MAX - FLAG_MAX], shown[STORAGE_SHOWN];
    struct storage_config c = {.store = o->store,
                               .shared = o->cluster[0] != '\0',
                               .delay_ns = o->store_delay_ns,
                               .entities = o->core.max_entities};
    int err = storage_open(p->loop, &c, &p->storage, reason, sizeof(reason));

    storage_show(o->store, shown);
    if (err != 0)
        snprintf(why, why_cap, "-store: %.200s: %.200s", shown, reason);
    return err;
}

static int open_auth(struct program *p, char *why, size_t why_cap)
{
    const struct world_options *o = &p->options;
    struct auth_jwt_config c = {
        .path = o->auth_key,
        .leeway_s = o->auth_leeway_ns / CLOCK_NS_PER_S,
        .unix_s = clock_unix_s,
    };
    int err;

    if (o->auth_key[0] == '\0')
        return 0;
    err = auth_jwt_create(&c, &p->auth, why, why_cap);
    if (err == 0) {
        err = reload_join(&p->reload, "auth-key", on_reload_keys, p);
        snprintf(why, why_cap, "%s", err_text(err));
    }
    if (err != 0)
        name_flag("-auth-key", why, why_cap);
    return err;
}

/* Everything that needs memory only, and the store. */
static int build(struct program *p, char *why, size_t why_cap)
{
    int err = loop_create(&p->loop);

    reload_init(&p->reload, p->loop);
    if (err == 0)
        err = world_link_create(p->loop, &p->options, &p->metrics, &p->link);
    if (err == 0)
        err = loop_timer_create(p->loop, on_deadline, p, &p->deadline);
    if (err == 0)
        err = loop_signal_create(p->loop, SIGTERM, on_signal, p, &p->on_term);
    if (err == 0)
        err = loop_signal_create(p->loop, SIGINT, on_signal, p, &p->on_int);
    if (err == 0)
        err = notify_create(p->loop, &p->notify);
    if (err != 0) {
        snprintf(why, why_cap, "cannot start: %s", err_text(err));
        return err;
    }
    err = open_auth(p, why, why_cap);
    if (err == 0)
        err = open_store(p, why, why_cap);
    if (err == 0)
        err =
            cluster_part_init(&p->cluster, p->loop, &p->options, p->maps, p->n_maps, why, why_cap);
    if (err != 0)
        return err;
    struct world_ops ops = {
        .drain = world_link_drain,
        .secret = secret,
        .clock_ns = clock_for_phases,
        .arg = p->link,
        .maps = p->maps,
        .n_maps = p->n_maps,
        .store = storage_door(p->storage),
        .cluster = cluster_part_door(&p->cluster),
        .auth = auth_jwt_door(p->auth),
    };
    err = world_create(&p->options.core, &ops, &p->world, why, why_cap);
    if (err == 0)
        storage_serve(p->storage, p->world);
    return err;
}

static int start_admin(struct program *p, char *why, size_t why_cap)
{
    struct world_admin_view view = {
        .world = p->world,
        .link = p->link,
        .metrics = &p->metrics,
        .tick_ns = &p->tick_ns,
        .token = &p->token,
        .storage = p->storage,
        .cluster = &p->cluster,
        .maps = {.rate = (uint32_t)p->options.map_rate,
                 .viewers = (uint32_t)p->options.map_viewers},
        .drain = drain,
        .drain_arg = p,
    };
    int err = 0;

    if (p->options.admin[0] == '\0')
        return 0;
    if (p->options.admin_token[0] != '\0')
        err = admin_token_read(p->options.admin_token, &p->token, why, why_cap);
    if (err != 0) {
        name_flag("-admin-token", why, why_cap);
        return err;
    }
    err = world_admin_create(p->loop, p->options.admin, &view, &p->admin, why, why_cap);
    if (err != 0)
        name_flag("-admin", why, why_cap);
    return err;
}

static int read_link_keys(void *arg, char *why, size_t why_cap)
{
    struct program *p = arg;
    return keys_read(&p->link_keys, why, why_cap);
}

/* Before anybody can connect. */
static int guard_link(struct program *p, char *why, size_t why_cap)
{
    if (p->options.link_key[0] == '\0')
        return 0;
    keys_init(&p->link_keys, p->options.link_key);
    int err = read_link_keys(p, why, why_cap);
    if (err != 0) {
        name_flag("-link-key", why, why_cap);
        return err;
    }
    world_link_guard(p->link, &p->link_keys);
    err = reload_join(&p->reload, "link-key", read_link_keys, p);
    if (err != 0)
        snprintf(why, why_cap, "cannot start: %s", err_text(err));
    return err;
}

static int start(struct program *p, char *why, size_t why_cap)
{
    int err = guard_link(p, why, why_cap);

    if (err != 0)
        return err;
    err = world_link_listen(p->link, p->world, why, why_cap);
    if (err != 0) {
        name_flag("-listen", why, why_cap);
        return err;
    }
    err = start_admin(p, why, why_cap);
    if (err == 0)
        err = cluster_part_serve(&p->cluster, &p->options, p->world, p->link, p->storage, why,
                                 why_cap);
    if (err != 0)
        return err;
    err = reload_otherwise(&p->reload, on_signal, p);
    if (err == 0)
        err = ticker_init(&p->ticker, p->loop, p->options.core.tick_ns, on_tick, p);
    if (err == 0)
        err = world_status_init(&p->status, p->loop, p->world, p->options.status_ns);
    if (err != 0)
        snprintf(why, why_cap, "cannot start: %s", err_text(err));
    return err;
}

static void tear_down(struct program *p)
{
    world_admin_destroy(p->admin);
    cluster_part_fini(&p->cluster);
    world_status_fini(&p->status);
    ticker_fini(&p->ticker);
    world_link_destroy(p->link);
    keys_fini(&p->link_keys);
    storage_close(p->storage);
    world_destroy(p->world);
    auth_jwt_destroy(p->auth);
    for (uint32_t i = 0; i < p->n_maps; i++)
        map_fini(&p->maps[i]);
    reload_fini(&p->reload);
    notify_destroy(p->notify);
    loop_signal_destroy(p->on_int);
    loop_signal_destroy(p->on_term);
    loop_timer_destroy(p->deadline);
    loop_destroy(p->loop);
}

static int run(struct program *p)
{
    char why[WHY_MAX];
    int err;

    log_init("world", (enum log_level)p->options.log_level, (enum log_format)p->options.log_format);
    net_raise_descriptors();
    err = load_maps(p, why, sizeof(why));
    if (err != 0)
        name_flag("-map", why, sizeof(why));
    if (err == 0)
        err = build(p, why, sizeof(why));
    if (err == 0)
        err = start(p, why, sizeof(why));
    if (err == 0) {
        log_line(LOG_INFO, "listening on %s", world_link_addr(p->link));
        if (p->admin)
            log_line(LOG_INFO, "admin on %s", world_admin_addr(p->admin));
        notify_ready(p->notify);
        loop_run(p->loop);
        count_unstored(p);
        if (p->last_words[0] != '\0')
            fprintf(stderr, "aegis: %s\n", p->last_words);
        else
            log_line(LOG_INFO, "ended status=%d", p->exit_status);
    } else {
        fprintf(stderr, "aegis: %s\n", why);
        p->exit_status = EXIT_TROUBLE;
    }
    tear_down(p);
    return p->exit_status;
}

/* -store-check: no world, only a look at its store. */
static int verify(const struct world_options *o)
{
    char why[WHY_MAX], shown[STORAGE_SHOWN];

    storage_show(o->store, shown);
    if (storage_verify(o->store, stdout, why, sizeof(why)) == 0) {
        printf("%s: ok\n", shown);
        return EXIT_CLEAN;
    }
    fprintf(stderr, "aegis: -store-check: %s: %s\n", shown, why);
    return EXIT_TROUBLE;
}

static int check(const void *options, char *why, size_t why_cap)
{
    return world_opts_check(options, why, why_cap);
}

int world_main(int argc, char **argv)
{
    const struct opts_part parts[] = {
        {"libevent", loop_library()},
        {"msgpack-c", message_library()},
        PARTS_OPTIONAL,
    };
    const struct opts_program program = {
        .name = "aegis",
        .usage = "aegis -role=world [flags]",
        .version = AEGIS_VERSION,
        .parts = parts,
        .n_parts = ARRAY_LEN(parts),
        .table = world_opts_table,
        .n = world_opts_count,
        .check = check,
        .metrics = world_admin_print_metrics,
    };
    struct program p = {.exit_status = EXIT_CLEAN};
    int status;

    if (!opts_answer(&program, &p.options, argc, argv, &p.texts, &status))
        return status;
    status = p.options.store_check ? verify(&p.options) : run(&p);
    opts_destroy(p.texts);
    return status;
}

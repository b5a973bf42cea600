/* gateway/main.c: the gateway as a program: flags, log, signals, run.
 * May touch: common, gateway. On trouble: a bad flag is one line and exit 2 before anything is
 * bound; a start that fails is one line and exit 1.
 */
#include "gateway/gateway_main.h"

#include "common/err.h"
#include "common/io/notify.h"
#include "common/io/reload.h"
#include "common/log.h"
#include "common/parts.h"
#include "gateway/gateway_admin.h"
#include "proto/message.h"

#include <signal.h>
#include <string.h>

#define GATEWAY_WHY_MAX 512

enum { EXIT_CLEAN = 0, EXIT_TROUBLE = 1 };

/* What the signals act on. */
struct gateway_run {
    struct loop *loop;
    struct crew *crew;
    struct gateway_admin *admin; /* NULL: off */
    struct admin_token token;
    struct notify *notify; /* NULL: no service manager */
    struct reload reload;  /* who keeps a file joins it */
    int status;
};

static void gateway_signalled(void *arg, int signo)
{
    struct gateway_run *run = arg;

    log_line(LOG_INFO, "signal name=%s", sigabbrev_np(signo));
    if (!crew_draining(run->crew)) {
        notify_stopping(run->notify);
        crew_drain(run->crew);
        return;
    }
    run->status = EXIT_TROUBLE;
    loop_stop(run->loop);
}

static void gateway_log_books(struct crew *crew)
{
    const struct gateway_metrics *m = crew_metrics(crew);

    log_line(LOG_INFO,
             "ended accepted=%llu frames_in=%llu frames_out=%llu link_frames_in=%llu "
             "link_frames_out=%llu link_losses=%llu",
             (unsigned long long)m->accepted, (unsigned long long)m->frames_in,
             (unsigned long long)m->frames_out, (unsigned long long)m->link_frames_in,
             (unsigned long long)m->link_frames_out, (unsigned long long)m->link_losses);
}

static int gateway_complain(const char *what, const char *why)
{
    fprintf(stderr, "aegis: %s%s\n", what, why);
    return EXIT_TROUBLE;
}

static int gateway_start_admin(struct gateway_run *run, const struct gateway_config *config)
{
    char why[GATEWAY_WHY_MAX];
    const char *flag = "-admin: ";
    int r = 0;

    if (config->admin[0] == '\0')
        return 0;
    if (config->admin_token[0] != '\0') {
        r = admin_token_read(config->admin_token, &run->token, why, sizeof(why));
        flag = r != 0 ? "-admin-token: " : flag;
    }
    if (r == 0)
        r = gateway_admin_create(run->loop, config->admin, run->crew, &run->token, &run->admin, why,
                                 sizeof(why));
    if (r != 0)
        run->status = gateway_complain(flag, why);
    return r;
}

static int gateway_reload_keys(void *arg, char *why, size_t why_cap)
{
    struct gateway_run *run = arg;
    return crew_read_keys(run->crew, why, why_cap);
}

static int gateway_reload_tls(void *arg, char *why, size_t why_cap)
{
    struct gateway_run *run = arg;
    return crew_read_tls(run->crew, why, why_cap);
}

/* Those that keep a file. */
static int gateway_join_reload(struct gateway_run *run, const struct gateway_config *config)
{
    int r = 0;

    if (config->link_key[0] != '\0')
        r = reload_join(&run->reload, "link-key", gateway_reload_keys, run);
    if (r == 0 && config->tls_cert[0] != '\0')
        r = reload_join(&run->reload, "tls-cert", gateway_reload_tls, run);
    return r == 0 ? reload_otherwise(&run->reload, gateway_signalled, run) : r;
}

static void gateway_run(struct gateway_run *run, const struct gateway_config *config)
{
    struct loop_signal *terminate = NULL, *interrupt = NULL;
    int r = loop_signal_create(run->loop, SIGTERM, gateway_signalled, run, &terminate);

    if (r == 0)
        r = loop_signal_create(run->loop, SIGINT, gateway_signalled, run, &interrupt);
    if (r == 0)
        r = gateway_join_reload(run, config);
    if (r == 0)
        r = notify_create(run->loop, &run->notify);
    if (r == 0)
        r = crew_start(run->crew);
    if (r == 0) {
        log_line(LOG_INFO, "listening on %s", crew_addr(run->crew));
        if (crew_ws_addr(run->crew))
            log_line(LOG_INFO, "websocket on %s", crew_ws_addr(run->crew));
        if (run->admin)
            log_line(LOG_INFO, "admin on %s", gateway_admin_addr(run->admin));
        notify_ready(run->notify);
        loop_run(run->loop);
        crew_stop(run->crew);
        gateway_log_books(run->crew);
    } else {
        run->status = gateway_complain("cannot start: ", err_text(r));
    }
    notify_destroy(run->notify);
    loop_signal_destroy(interrupt);
    loop_signal_destroy(terminate);
}

static int gateway_serve(struct loop *loop, const struct gateway_config *config)
{
    struct gateway_run run = {.loop = loop, .status = EXIT_CLEAN};
    char why[GATEWAY_WHY_MAX];

    reload_init(&run.reload, loop);
    if (crew_create(loop, config, &run.crew, why, sizeof(why)) != 0)
        return gateway_complain("", why);
    if (gateway_start_admin(&run, config) == 0)
        gateway_run(&run, config);
    reload_fini(&run.reload);
    gateway_admin_destroy(run.admin);
    crew_destroy(run.crew);
    loop_turn(loop, 0); /* frees the streams that ended just now */
    return run.status;
}

static int gateway_check(const void *config, char *why, size_t why_cap)
{
    return gateway_opts_check(config, why, why_cap);
}

int gateway_main(int argc, char **argv)
{
    const struct opts_part parts[] = {
        {"libevent", loop_library()},
        {"msgpack-c", message_library()},
        PARTS_OPTIONAL,
    };
    const struct opts_program program = {
        .name = "aegis",
        .usage = "aegis -role=gateway [flags]",
        .version = AEGIS_VERSION,
        .parts = parts,
        .n_parts = ARRAY_LEN(parts),
        .table = gateway_opts,
        .n = gateway_opts_n,
        .check = gateway_check,
        .metrics = gateway_admin_print_metrics,
    };
    struct gateway_config config;
    struct opts *opts;
    struct loop *loop;
    int status;

    if (!opts_answer(&program, &config, argc, argv, &opts, &status))
        return status;
    log_init("gateway", (enum log_level)config.log_level, (enum log_format)config.log_format);
    if (loop_create(&loop) == 0) {
        status = gateway_serve(loop, &config);
        loop_destroy(loop);
    } else {
        status = gateway_complain("", err_text(E_NOMEM));
    }
    opts_destroy(opts);
    return status;
}

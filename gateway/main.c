/* gateway/main.c: the gateway as a program: flags, log, signals, run.
 * May touch: common, gateway. On trouble: a bad flag is one line and exit 2 before anything is
 * bound; a start that fails is one line and exit 1.
 */
#include "gateway/gateway_main.h"

#include "common/err.h"
#include "common/log.h"
#include "gateway/gateway.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define GATEWAY_WHY_MAX 512

enum { EXIT_CLEAN = 0, EXIT_TROUBLE = 1, EXIT_FLAGS = 2 };

/* What the signals act on. */
struct gateway_run {
    struct loop *loop;
    struct gateway *gateway;
    int status;
};

static void gateway_signalled(void *arg, int signo)
{
    struct gateway_run *run = arg;

    log_line(LOG_INFO, "signal name=%s", sigabbrev_np(signo));
    if (!gateway_draining(run->gateway)) {
        gateway_drain(run->gateway);
        return;
    }
    run->status = EXIT_TROUBLE;
    loop_stop(run->loop);
}

static void gateway_log_books(struct gateway *g)
{
    const struct gateway_metrics *m = gateway_metrics_now(g);

    log_line(LOG_INFO,
             "ended accepted=%llu frames_in=%llu frames_out=%llu link_frames_in=%llu "
             "link_frames_out=%llu link_losses=%llu",
             (unsigned long long)m->accepted, (unsigned long long)m->frames_in,
             (unsigned long long)m->frames_out, (unsigned long long)m->link_frames_in,
             (unsigned long long)m->link_frames_out, (unsigned long long)m->link_losses);
}

static int gateway_serve(struct loop *loop, const struct gateway_config *config)
{
    struct gateway_run run = {.loop = loop, .status = EXIT_CLEAN};
    struct loop_signal *terminate = NULL, *interrupt = NULL;
    char why[GATEWAY_WHY_MAX];

    if (gateway_create(loop, config, &run.gateway, why, sizeof(why)) != 0) {
        fprintf(stderr, "aegis: %s\n", why);
        return EXIT_TROUBLE;
    }
    int r = loop_signal_create(loop, SIGTERM, gateway_signalled, &run, &terminate);
    if (r == 0)
        r = loop_signal_create(loop, SIGINT, gateway_signalled, &run, &interrupt);
    if (r == 0) {
        log_line(LOG_INFO, "listening on %s", gateway_addr(run.gateway));
        loop_run(loop);
        gateway_log_books(run.gateway);
    } else {
        fprintf(stderr, "aegis: signals: %s\n", err_text(r));
        run.status = EXIT_TROUBLE;
    }
    loop_signal_destroy(interrupt);
    loop_signal_destroy(terminate);
    gateway_destroy(run.gateway);
    loop_turn(loop, 0); /* frees the streams that ended just now */
    return run.status;
}

/* The forms of -help that print the table for something else than a terminal. */
static bool gateway_help_form(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *flag = argv[i] + strspn(argv[i], "-");
        if (argv[i][0] != '-')
            continue;
        if (strcmp(flag, "help=markdown") == 0)
            opts_print_markdown(gateway_opts, gateway_opts_n, stdout);
        else if (strcmp(flag, "help=config") == 0)
            opts_print_config(gateway_opts, gateway_opts_n, stdout);
        else
            continue;
        return true;
    }
    return false;
}

int gateway_main(int argc, char **argv)
{
    struct gateway_config config;
    struct opts *opts = NULL;
    struct loop *loop = NULL;
    char why[GATEWAY_WHY_MAX];
    int status = EXIT_CLEAN;

    if (gateway_help_form(argc, argv))
        return EXIT_CLEAN;
    switch (
        opts_parse(gateway_opts, gateway_opts_n, &config, argc, argv, &opts, why, sizeof(why))) {
    case OPTS_HELP:
        printf("usage: aegis -role=gateway [flags]\n\n");
        opts_print_help(gateway_opts, gateway_opts_n, stdout);
        goto out;
    case OPTS_VERSION:
        printf("aegis %s\n", AEGIS_VERSION);
        goto out;
    case OPTS_OK:
        if (gateway_opts_check(&config, why, sizeof(why)))
            break;
        /* fall through */
    case OPTS_ERROR:
        fprintf(stderr, "aegis: %s\n", why);
        status = EXIT_FLAGS;
        goto out;
    }

    log_init("gateway", (enum log_level)config.log_level, (enum log_format)config.log_format);
    signal(SIGPIPE, SIG_IGN);
    if (loop_create(&loop) != 0) {
        fprintf(stderr, "aegis: %s\n", err_text(E_NOMEM));
        status = EXIT_TROUBLE;
        goto out;
    }
    status = gateway_serve(loop, &config);
    loop_destroy(loop);
out:
    opts_destroy(opts);
    return status;
}

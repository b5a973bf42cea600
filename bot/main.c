/* bot/main.c: the bot's door: reads the flags and hands them to the mode.
 * May touch: common, the modes. On trouble: one line that names the flag, and exit status 2.
 */
#include "bot/bot_opts.h"
#include "bot/load.h"
#include "bot/smoke.h"
#include "bot/wander.h"
#include "common/io/net.h"
#include "common/log.h"

#include <stdio.h>

static int run(const struct bot_config *config)
{
    /* A reader of a pipe sees each line as it happens. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    log_init("bot", (enum log_level)config->log_level, LOG_TEXT);
    net_raise_descriptors();
    switch ((enum bot_mode)config->mode) {
    case BOT_SMOKE:
        return smoke_run(config);
    case BOT_WANDER:
        return wander_run(config);
    case BOT_LOAD:
        return load_run(config);
    }
    return 2;
}

int main(int argc, char **argv)
{
    struct bot_config config;
    struct opts *opts = NULL;
    char why[256];
    bot_opts_print_fn *print = bot_opts_form(argc, argv);
    int status = 0;

    if (print) {
        print(bot_opts, bot_opts_n, stdout);
        return 0;
    }
    switch (opts_parse(bot_opts, bot_opts_n, &config, argc, argv, &opts, why, sizeof(why))) {
    case OPTS_OK:
        status = run(&config);
        break;
    case OPTS_HELP:
        printf("usage: bot [flags]\n\n");
        opts_print_help(bot_opts, bot_opts_n, stdout);
        break;
    case OPTS_VERSION:
        printf("bot %s\n", AEGIS_VERSION);
        break;
    case OPTS_ERROR:
        fprintf(stderr, "bot: %s\n", why);
        status = 2;
        break;
    }
    opts_destroy(opts);
    return status;
}

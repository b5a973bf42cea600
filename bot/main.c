/* bot/main.c: the bot's door: reads the flags and hands them to the mode.
 * May touch: common, the modes. On trouble: one line that names the flag, and exit status 2.
 */
#include "bot/bot_opts.h"
#include "bot/load.h"
#include "bot/logins.h"
#include "bot/signer.h"
#include "bot/smoke.h"
#include "bot/wander.h"
#include "common/io/net.h"
#include "common/io/tls.h"
#include "common/log.h"
#include "common/parts.h"
#include "proto/message.h"

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
    case BOT_LOGINS:
        return logins_run(config);
    case BOT_TOKEN:
        return signer_run(config->signer, config);
    }
    return 2;
}

/* Under TLS, if that is asked for. */
static int run_secure(struct bot_config *config)
{
    struct tls_why why;

    if (config->tls &&
        tls_client_create(config->tls_ca, config->tls_insecure, &config->trust, &why) != 0) {
        fprintf(stderr, "bot: -tls-ca: %s\n", why.text);
        return OPTS_EXIT_FLAG;
    }
    const int status = run(config);
    tls_destroy(config->trust);
    return status;
}

/* With the keys that -auth-key names, if it does. */
static int run_signed(struct bot_config *config, struct signer *signer)
{
    char why[640];
    int status;

    if (config->auth_key[0] != '\0') {
        if (signer_open(signer, config, why, sizeof(why)) != 0) {
            fprintf(stderr, "bot: %s\n", why);
            return OPTS_EXIT_FLAG;
        }
        config->signer = signer;
    }
    status = run_secure(config);
    signer_close(signer);
    return status;
}

static int check(const void *config, char *why, size_t why_cap)
{
    return bot_opts_check(config, why, why_cap);
}

int main(int argc, char **argv)
{
    const struct opts_part parts[] = {
        {"libevent", loop_library()},   {"msgpack-c", message_library()}, {"libssl", PARTS_LIBSSL},
        {"libcrypto", PARTS_LIBCRYPTO}, {"libjwt", PARTS_LIBJWT},
    };
    const struct opts_program program = {
        .name = "bot",
        .usage = "bot [flags]",
        .version = AEGIS_VERSION,
        .parts = parts,
        .n_parts = ARRAY_LEN(parts),
        .table = bot_opts,
        .n = bot_opts_n,
        .check = check,
    };
    struct bot_config config = {0};
    struct signer signer = {0};
    struct opts *opts;
    int status;

    if (!opts_answer(&program, &config, argc, argv, &opts, &status))
        return status;
    status = run_signed(&config, &signer);
    opts_destroy(opts);
    return status;
}

/* bot/signer.c: see the header. */
#include "bot/signer.h"

#include "common/clock.h"

#include <stdio.h>

/* The key of -kid; without it, the first that can sign. NULL: there is none. */
static const struct keyring_key *choose(const struct keyring *keys, const char *kid)
{
    for (uint32_t i = 0; i < keys->n; i++) {
        const struct keyring_key *key = &keys->keys[i];

        if (key->key.own.n > 0 &&
            (kid[0] == '\0' || span_equal(span_text(kid), span_text(key->kid))))
            return key;
    }
    return NULL;
}

int signer_open(struct signer *s, const struct bot_config *config, char *why, size_t why_cap)
{
    char reason[512];
    int err = keyring_read(config->auth_key, &s->keys, reason, sizeof(reason));

    if (err != 0) {
        snprintf(why, why_cap, "-auth-key: %s", reason);
        return err;
    }
    s->ttl_s = config->ttl_ns / CLOCK_NS_PER_S;
    s->key = choose(&s->keys, config->kid);
    if (s->key)
        return 0;
    if (config->kid[0] != '\0')
        snprintf(why, why_cap, "-kid: \"%.64s\": no key that signs has it in %.200s", config->kid,
                 config->auth_key);
    else
        snprintf(why, why_cap, "-auth-key: \"%.200s\": no key in it can sign", config->auth_key);
    signer_close(s);
    return E_MISSING;
}

void signer_close(struct signer *s)
{
    keyring_fini(&s->keys);
    s->key = NULL;
}

int signer_token(const struct signer *s, const char *name, char out[TOKEN_MAX + 1])
{
    int64_t now_s = clock_unix_s();

    return token_sign(s->key, name, now_s, now_s + s->ttl_s, out);
}

int signer_run(const struct signer *s, const struct bot_config *config)
{
    char token[TOKEN_MAX + 1];
    int err = signer_token(s, config->name, token);

    if (err != 0) {
        fprintf(stderr, "bot: -name: \"%.64s\": %s\n", config->name, err_text(err));
        return 1;
    }
    printf("%s\n", token);
    return 0;
}

/* bot/signer.h: tokens for bots, and for whoever develops a client: -auth-key, -mode=token.
 * Signs with a key of the file that the world checks them against; RS256 and ES256 need the private
 * one there. May touch: common/token, the wall clock. On trouble: one line that names the flag.
 */
#pragma once

#include "bot/bot_opts.h"
#include "common/token.h"

struct signer {
    struct keyring keys;
    const struct keyring_key *key; /* the one that signs */
    int64_t ttl_s;
};

/* By -auth-key, -kid and -ttl. `why`: a line without newline. 0, or an E_* and nothing is open. */
int signer_open(struct signer *s, const struct bot_config *config, char *why,
                size_t why_cap) MUST_CHECK;
void signer_close(struct signer *s);

/* A token for this name from now on, NUL-terminated. 0, or as token_sign. */
int signer_token(const struct signer *s, const char *name, char out[TOKEN_MAX + 1]) MUST_CHECK;

/* -mode=token: print one for -name. Returns the exit status. */
int signer_run(const struct signer *s, const struct bot_config *config);

/* world/session/auth.h: is somebody who they say they are? What the core asks of whoever knows.
 * With a door that is open each login shows a token, and the token is the identity; without one
 * names are first come, first served. The keys, the signatures and the wall clock are outside.
 * Pure. May touch: common/token for what a token claims. On trouble: a verdict, which is a normal
 * answer. Source: PROTOCOL.md, "Login".
 */
#pragma once

#include "common/token.h"

/* What may be said of a token; the word is a label of what is counted, the text is told to the
 * client ("": only that it is not valid). Nothing more is told before the signature held. */
#define AUTH_VERDICTS(X)                                            \
    X(AUTH_MISSING, missing, "a token is needed here")              \
    X(AUTH_MALFORMED, malformed, "")                                \
    X(AUTH_NO_KEY, unknown_key, "")                                 \
    X(AUTH_OTHER_ALG, algorithm, "")                                \
    X(AUTH_NOT_ITS_KEY, signature, "")                              \
    X(AUTH_NO_NAME, no_name, "the token names nobody: no sub")      \
    X(AUTH_OTHER_NAME, other_name, "the token is for another name") \
    X(AUTH_NO_EXPIRY, no_expiry, "the token has no end: no exp")    \
    X(AUTH_EXPIRED, expired, "the token has expired")               \
    X(AUTH_EARLY, early, "the token is not valid yet")

#define AUTH_ENUM(name, word, text) name,
enum auth_verdict { AUTH_GOOD, AUTH_VERDICTS(AUTH_ENUM) AUTH_COUNT };
#undef AUTH_ENUM

/* Called inside of ticks and requests, at most so often in a tick as the world's auth_checks say:
 * it may take as long as a signature does, and the memory that its library takes. */
struct auth_ops {
    enum auth_verdict (*check)(void *arg, struct span token, struct span name);
};

/* What the core is given. `ops` NULL: no tokens. */
struct auth_door {
    const struct auth_ops *ops;
    void *arg;
};

/* What is told to the client; NULL: the error's own text. */
const char *auth_text(enum auth_verdict v);
/* A token's flaw as a verdict. */
enum auth_verdict auth_flaw(enum token_flaw flaw);
/* Do these claims let `name` in now? Clocks may differ by `leeway_s`. */
enum auth_verdict auth_claims(const struct token_claims *c, struct span name, int64_t unix_s,
                              int64_t leeway_s);

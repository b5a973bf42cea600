/* world/session/auth.c: see the header. */
#include "world/session/auth.h"

const char *auth_text(enum auth_verdict v)
{
    static const char *const texts[] = {[AUTH_GOOD] = "",
#define AUTH_TEXT(name, word, text) [name] = text,
                                        AUTH_VERDICTS(AUTH_TEXT)
#undef AUTH_TEXT
    };

    ASSERT(v < AUTH_COUNT);
    return texts[v][0] != '\0' ? texts[v] : NULL;
}

enum auth_verdict auth_flaw(enum token_flaw flaw)
{
    switch (flaw) {
    case TOKEN_SOUND:
        return AUTH_GOOD;
    case TOKEN_NO_KEY:
        return AUTH_NO_KEY;
    case TOKEN_OTHER_ALG:
        return AUTH_OTHER_ALG;
    case TOKEN_NOT_ITS_KEY:
        return AUTH_NOT_ITS_KEY;
    case TOKEN_MALFORMED:
    case TOKEN_NO_MEMORY:
        break;
    }
    return AUTH_MALFORMED;
}

enum auth_verdict auth_claims(const struct token_claims *c, struct span name, int64_t unix_s,
                              int64_t leeway_s)
{
    if (!c->has_sub || c->sub_n == 0)
        return AUTH_NO_NAME;
    if (!span_equal(span_of(c->sub, c->sub_n), name))
        return AUTH_OTHER_NAME;
    if (!c->has_exp)
        return AUTH_NO_EXPIRY;
    if (c->exp_s <= unix_s - leeway_s)
        return AUTH_EXPIRED;
    if (c->has_nbf && c->nbf_s > unix_s + leeway_s)
        return AUTH_EARLY;
    return AUTH_GOOD;
}

/* common/admin_token.c: see the header. */
#include "common/admin_token.h"

#include "common/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char SCHEME[] = "Bearer ";

/* The file's first line without its end; `line` has room for one character more than a token. */
static int first_line(const char *path, char line[ADMIN_TOKEN_MAX + 2], size_t *n)
{
    FILE *f = file_open(path);
    int err;

    if (!f)
        return errno;
    *n = fread(line, 1, ADMIN_TOKEN_MAX + 2, f);
    err = ferror(f) ? errno : 0;
    fclose(f);
    for (size_t i = 0; i < *n; i++) {
        if (line[i] == '\n' || line[i] == '\r')
            *n = i;
    }
    return err;
}

int admin_token_read(const char *path, struct admin_token *out, char *why, size_t why_cap)
{
    char line[ADMIN_TOKEN_MAX + 2];
    size_t n = 0;
    int err = first_line(path, line, &n);

    if (err != 0) {
        snprintf(why, why_cap, "\"%.200s\": %s", path, strerror(err));
        return E_IO;
    }
    if (n < ADMIN_TOKEN_MIN || n > ADMIN_TOKEN_MAX) {
        snprintf(why, why_cap, "\"%.200s\": its first line must have %d to %d characters", path,
                 ADMIN_TOKEN_MIN, ADMIN_TOKEN_MAX);
        return E_RANGE;
    }
    for (size_t i = 0; i < n; i++) {
        if (line[i] <= ' ' || line[i] >= 0x7f) {
            snprintf(why, why_cap, "\"%.200s\": its first line may hold visible ASCII only", path);
            return E_RANGE;
        }
    }
    memcpy(out->text, line, n);
    out->n = n;
    return 0;
}

/* The scheme's letters match in either case, as RFC 9110 wants. */
static bool is_bearer(struct span authorization)
{
    const size_t n = sizeof(SCHEME) - 1;

    return authorization.n > n && strncasecmp((const char *)authorization.p, SCHEME, n) == 0;
}

enum admin_token_says admin_token_check(const struct admin_token *t, struct span authorization)
{
    const size_t n = sizeof(SCHEME) - 1;
    struct span given;
    size_t differ;

    if (t->n == 0)
        return ADMIN_TOKEN_OFF;
    if (!is_bearer(authorization))
        return ADMIN_TOKEN_MISSING;
    given = span_of(authorization.p + n, authorization.n - n);
    differ = given.n ^ t->n;
    for (size_t i = 0; i < given.n; i++) /* all that was given, whatever differs first */
        differ |= (size_t)(given.p[i] ^ (uint8_t)t->text[i % t->n]);
    return differ == 0 ? ADMIN_TOKEN_GOOD : ADMIN_TOKEN_WRONG;
}

const char *admin_token_refusal(const struct admin_token *t, struct span authorization,
                                const char *off, int *status)
{
    *status = 401;
    switch (admin_token_check(t, authorization)) {
    case ADMIN_TOKEN_OFF:
        *status = 403;
        return off;
    case ADMIN_TOKEN_MISSING:
        return "this needs the field Authorization: Bearer with the token of -admin-token";
    case ADMIN_TOKEN_WRONG:
        return "the token is wrong";
    case ADMIN_TOKEN_GOOD:
        break;
    }
    *status = 200;
    return NULL;
}

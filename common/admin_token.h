/* common/admin_token.h: the secret with which an operator may change something.
 * Read once, from the first line of a file, so that it stands in no list of processes. May touch:
 * common, the file. On trouble: E_IO or E_RANGE with a line for the operator; the secret is in no
 * line.
 */
#pragma once

#include "common/err.h"
#include "common/span.h"

#define ADMIN_TOKEN_MIN 16 /* characters */
#define ADMIN_TOKEN_MAX 256

struct admin_token {
    char text[ADMIN_TOKEN_MAX];
    size_t n; /* 0: none is set, nothing may be changed */
};

enum admin_token_says { ADMIN_TOKEN_OFF, ADMIN_TOKEN_MISSING, ADMIN_TOKEN_WRONG, ADMIN_TOKEN_GOOD };

/* ADMIN_TOKEN_MIN to _MAX visible ASCII characters, up to the first line's end.
 * `why`: a line without newline. 0, E_IO (the file), E_RANGE (what it holds). */
int admin_token_read(const char *path, struct admin_token *out, char *why,
                     size_t why_cap) MUST_CHECK;
/* Of an Authorization field's value. How long it takes tells nothing of the secret. */
enum admin_token_says admin_token_check(const struct admin_token *t, struct span authorization);
/* The same as an answer: NULL where it is good, else why not, with HTTP's `status`. `off` is said
 * where no token was set. */
const char *admin_token_refusal(const struct admin_token *t, struct span authorization,
                                const char *off, int *status);

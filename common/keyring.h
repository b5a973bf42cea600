/* common/keyring.h: the keys of tokens, read from a file.
 *
 *   # kid     algorithm  key
 *   2026-11   HS256      text:0123456789abcdef0123456789abcdef
 *   2026-10   HS256      base64:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=
 *   accounts  RS256      file:accounts.pem
 *   edge      ES256      file:keys/edge.pem
 *
 * A line is a key: its id, the one algorithm that it is for, and the secret or where its PEM file
 * lies, seen from the folder of this file. A private key serves as its public one, and signs too.
 * May touch: common, the files. On trouble: E_IO or E_BAD with a line that names file and line; no
 * secret is in it.
 */
#pragma once

#include "common/err.h"
#include "common/sign_key.h"

#define KEYRING_MAX        16        /* keys in a file */
#define KEYRING_KID_MAX    64        /* bytes of a kid: visible ASCII */
#define KEYRING_SECRET_MAX 512       /* bytes, of HS256 */
#define KEYRING_FILE_MAX   (1 << 16) /* bytes, of the file and of each PEM file */

struct keyring_key {
    char kid[KEYRING_KID_MAX + 1];
    struct sign_key key;
};

struct keyring {
    struct keyring_key keys[KEYRING_MAX];
    uint32_t n;
};

/* One line of the file. */
struct keyring_line {
    struct span kid;
    enum sign_alg alg;
    uint8_t secret[KEYRING_SECRET_MAX]; /* where HS256 */
    size_t secret_n;                    /* bytes */
    struct span file;                   /* else */
};

/* Take a line apart, without its end. 0; E_MISSING: there is no key in it; E_BAD: `why` says what
 * is wrong, and shows nothing of the line. Pure. */
int keyring_line_read(struct span line, struct keyring_line *out, const char **why) MUST_CHECK;

/* `why`: a line without newline. 0, E_IO, E_BAD, E_NOMEM; then there is nothing in `out`. */
int keyring_read(const char *path, struct keyring *out, char *why, size_t why_cap) MUST_CHECK;
/* Leaves nothing of the secrets in memory. */
void keyring_fini(struct keyring *k);

/* The key of this id; where there is but one, an empty kid means it. NULL: none, or not sure. */
const struct keyring_key *keyring_find(const struct keyring *k, struct span kid);

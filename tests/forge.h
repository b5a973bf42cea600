/* tests/forge.h: keys in a folder of their own, and tokens as they should and should not be.
 * May touch: libcrypto, files. On trouble: the test at hand fails. Without libcrypto: nothing.
 */
#pragma once

#include "common/token.h"
#include "world/session/auth.h"

#define FORGE_MAX      64   /* tokens in a list */
#define FORGE_TEXT_MAX 6000 /* bytes of one, with its NUL */

/* Who signs. */
enum forge_hand {
    FORGE_H, /* the keys of the file: kid "h", "r" and "e" */
    FORGE_R,
    FORGE_E,
    FORGE_OTHER_H, /* keys that are in no file */
    FORGE_OTHER_R,
    FORGE_PUBLIC, /* the text of r's public key as a secret */
    FORGE_DER,    /* e, as libcrypto writes it */
    FORGE_NOBODY  /* no signature */
};

struct forge {
    char folder[64];
    char path[96];          /* of the file of keys */
    void *rsa, *ec, *other; /* libcrypto's */
};

/* Makes the folder, the keys and the file, in which RS256 is a public key and ES256 a private one.
 */
void forge_open(struct forge *f);
void forge_close(struct forge *f);
/* Another file of keys at the same path. */
void forge_rewrite(const struct forge *f, const char *text);

/* A file of PEM in the folder that no file of keys should name. */
enum forge_pem { FORGE_PEM_SHORT, FORGE_PEM_CURVE, FORGE_PEM_TWO, FORGE_PEM_LOCKED };
void forge_pem(const struct forge *f, const char *name, enum forge_pem what);

/* The two JSON texts, signed. */
void forge_token(const struct forge *f, enum forge_hand hand, const char *header,
                 const char *claims, char out[FORGE_TEXT_MAX]);
/* What `hand` would rightly make: its kid, this sub, this exp. */
void forge_good(const struct forge *f, enum forge_hand hand, const char *sub, int64_t exp_s,
                char out[FORGE_TEXT_MAX]);

struct forged {
    const char *what; /* is wrong with it */
    enum auth_verdict verdict;
    char text[FORGE_TEXT_MAX];
};

/* Bad ones for the name "alpha", of all kinds; how many. `list` [FORGE_MAX]. */
uint32_t forge_bad(const struct forge *f, int64_t now_s, struct forged *list);

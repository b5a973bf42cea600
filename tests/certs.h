/* tests/certs.h: certificates and keys in files of one test, made when it needs them.
 * Each is its own root, for localhost, 127.0.0.1 and ::1. Where TLS is not built in there are none.
 * May touch: OpenSSL, files in a folder of its own. On trouble: the test at hand fails.
 */
#pragma once

#include <stdbool.h>

#define CERTS_PATH 256

/* What a pair of files can hold. */
struct certs {
    char dir[CERTS_PATH];
    char cert[CERTS_PATH], key[CERTS_PATH];
    char address[64]; /* that it is good for beside those; "": none */
};

/* A folder with a certificate of this name, and its key. */
void certs_make(struct certs *c, const char *name);
/* The same for one more address, "127.1.2.3:0" as well. */
void certs_make_at(struct certs *c, const char *name, const char *address);
/* Another of this name in the same files; `expired`: since yesterday. */
void certs_renew(const struct certs *c, const char *name, bool expired);
/* The key behind a passphrase. */
void certs_encrypt(const struct certs *c);
/* Any text in one of them. */
void certs_write(const char *path, const char *text);
/* Remove folder and files. */
void certs_end(struct certs *c);

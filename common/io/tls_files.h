/* common/io/tls_files.h: the PEM files that a TLS context is made of.
 * For tls.c only, and only where OpenSSL is built in. May touch: OpenSSL, the files named.
 * On trouble: one line that names the file, never a question on a terminal.
 */
#pragma once

#include "common/io/tls.h"

struct ssl_ctx_st; /* OpenSSL's SSL_CTX */

/* The certificate with its chain, and the key that belongs to it. E_IO, E_BAD. */
int tls_files_load(struct ssl_ctx_st *ctx, const char *cert, const char *key,
                   struct tls_facts *facts, struct tls_why *why) MUST_CHECK;
/* Whom a client trusts; "": whom the system trusts. E_IO, E_BAD. */
int tls_files_trust(struct ssl_ctx_st *ctx, const char *file, struct tls_why *why) MUST_CHECK;

/* common/parts.h: the optional libraries that this build has, for -version and for what needs them.
 * The Makefile asks pkg-config for each and defines AEGIS_PART_<NAME> as its version where it is
 * there (of http_parser and wslay, which have no .pc file, it looks for the header); WITHOUT="name
 * ..." builds as if it were not. Code that needs one stands between #ifdef AEGIS_PART_<NAME> and
 * #endif, beside a plain refusal. May touch: common/opts.
 */
#pragma once

#include "common/opts.h"

#define PARTS_NONE "not built in"

#ifndef AEGIS_PART_JANSSON
#define PARTS_JANSSON PARTS_NONE
#else
#define PARTS_JANSSON AEGIS_PART_JANSSON
#endif
#ifndef AEGIS_PART_ZLIB
#define PARTS_ZLIB PARTS_NONE
#else
#define PARTS_ZLIB AEGIS_PART_ZLIB
#endif
#ifndef AEGIS_PART_LIBZSTD
#define PARTS_LIBZSTD PARTS_NONE
#else
#define PARTS_LIBZSTD AEGIS_PART_LIBZSTD
#endif
#ifndef AEGIS_PART_LIBURING
#define PARTS_LIBURING PARTS_NONE
#else
#define PARTS_LIBURING AEGIS_PART_LIBURING
#endif
#ifndef AEGIS_PART_SQLITE3
#define PARTS_SQLITE3 PARTS_NONE
#else
#define PARTS_SQLITE3 AEGIS_PART_SQLITE3
#endif
#ifndef AEGIS_PART_LIBSSL
#define PARTS_LIBSSL PARTS_NONE
#else
#define PARTS_LIBSSL AEGIS_PART_LIBSSL
#endif
#ifndef AEGIS_PART_LIBPQ
#define PARTS_LIBPQ PARTS_NONE
#else
#define PARTS_LIBPQ AEGIS_PART_LIBPQ
#endif
#ifndef AEGIS_PART_LIBCRYPTO
#define PARTS_LIBCRYPTO PARTS_NONE
#else
#define PARTS_LIBCRYPTO AEGIS_PART_LIBCRYPTO
#endif
#ifndef AEGIS_PART_LIBNATS
#define PARTS_LIBNATS PARTS_NONE
#else
#define PARTS_LIBNATS AEGIS_PART_LIBNATS
#endif
#ifndef AEGIS_PART_LIBJWT
#define PARTS_LIBJWT PARTS_NONE
#else
#define PARTS_LIBJWT AEGIS_PART_LIBJWT
#endif
#ifndef AEGIS_PART_HTTP_PARSER
#define PARTS_HTTP_PARSER PARTS_NONE
#else
#define PARTS_HTTP_PARSER AEGIS_PART_HTTP_PARSER
#endif
#ifndef AEGIS_PART_WSLAY
#define PARTS_WSLAY PARTS_NONE
#else
#define PARTS_WSLAY AEGIS_PART_WSLAY
#endif

/* WebSocket wants three of them. */
#if defined(AEGIS_PART_LIBCRYPTO) && defined(AEGIS_PART_HTTP_PARSER) && defined(AEGIS_PART_WSLAY)
#define PARTS_WEBSOCKET 1
#endif

/* TLS wants both of OpenSSL's. */
#if defined(AEGIS_PART_LIBSSL) && defined(AEGIS_PART_LIBCRYPTO)
#define PARTS_TLS 1
#endif

/* Rows for opts_program.parts, one a library, whether it is there or not. */
/* clang-format off */
#define PARTS_OPTIONAL \
    {"jansson", PARTS_JANSSON}, {"zlib", PARTS_ZLIB}, {"zstd", PARTS_LIBZSTD}, \
    {"sqlite", PARTS_SQLITE3}, {"libpq", PARTS_LIBPQ}, {"liburing", PARTS_LIBURING}, \
    {"libssl", PARTS_LIBSSL}, \
    {"libcrypto", PARTS_LIBCRYPTO}, {"libjwt", PARTS_LIBJWT}, {"nats.c", PARTS_LIBNATS}, \
    {"http-parser", PARTS_HTTP_PARSER}, {"wslay", PARTS_WSLAY}
/* clang-format on */

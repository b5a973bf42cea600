/* common/parts.h: the optional libraries that this build has, for -version and for what needs them.
 * The Makefile asks pkg-config for each and defines AEGIS_PART_<NAME> as its version where it is
 * there; WITHOUT="name ..." builds as if it were not. Code that needs one stands between #ifdef
 * AEGIS_PART_<NAME> and #endif, beside a plain refusal. May touch: common/opts.
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

/* Rows for opts_program.parts, one a library, whether it is there or not. */
/* clang-format off */
#define PARTS_OPTIONAL \
    {"jansson", PARTS_JANSSON}, {"zlib", PARTS_ZLIB}, {"zstd", PARTS_LIBZSTD}, \
    {"sqlite", PARTS_SQLITE3}, {"liburing", PARTS_LIBURING}
/* clang-format on */

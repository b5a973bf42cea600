/* common/base.h: the few macros every room uses.
 * Compiler attributes, assertion, bounds. May touch: libc. Never: anything of ours.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The caller has to look at what comes back. */
#define MUST_CHECK __attribute__((warn_unused_result))

/* `fmt` is argument number `f`, its values start at `a` (both from 1). */
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* For our own bugs only; stays on in release. One condition each. Whatever a peer, a file or a
 * clock can cause is an error, never an assert. */
#define ASSERT(cond) ((cond) ? (void)0 : base_assert_failed(#cond, __FILE__, __LINE__))

_Noreturn void base_assert_failed(const char *cond, const char *file, int line);

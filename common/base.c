/* common/base.c: how an assertion ends the process.
 * May touch: libc. On trouble: it is the trouble; prints one line and aborts.
 */
#include "common/base.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void base_assert_failed(const char *cond, const char *file, int line)
{
    /* Not the log: it may be what failed, and its level may be off. */
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, cond);
    fflush(stderr);
    abort();
}

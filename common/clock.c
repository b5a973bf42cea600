/* common/clock.c: reads the clocks.
 * May touch: libc. On trouble: Linux always has this clock, so a failure is our bug.
 */
#include "common/clock.h"

#include "common/base.h"

#include <time.h>

struct mono clock_mono(void)
{
    struct timespec ts;
    int failed = clock_gettime(CLOCK_MONOTONIC, &ts);
    ASSERT(!failed);
    return (struct mono){(int64_t)ts.tv_sec * CLOCK_NS_PER_S + ts.tv_nsec};
}

int64_t clock_unix_s(void)
{
    return (int64_t)time(NULL);
}

int64_t clock_unix_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / CLOCK_NS_PER_MS;
}

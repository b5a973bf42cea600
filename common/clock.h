/* common/clock.h: monotonic time as a value.
 * A struct, so that nobody mixes it with a duration or a wall time. Only the loop (common/io)
 * and the edges read the clock; everything else is handed a `struct mono`. May touch: libc.
 */
#pragma once

#include <stdint.h>

struct mono {
    int64_t ns; /* nanoseconds since an origin that is fixed while the machine is up */
};

#define CLOCK_NS_PER_MS 1000000LL
#define CLOCK_NS_PER_S  1000000000LL

/* Reads CLOCK_MONOTONIC. */
struct mono clock_mono(void);
/* The wall clock, which jumps: seconds since 1970. For dates that come from outside alone. */
int64_t clock_unix_s(void);
/* The same in milliseconds. */
int64_t clock_unix_ms(void);

static inline struct mono clock_add(struct mono t, int64_t ns)
{
    return (struct mono){t.ns + ns};
}

/* later − earlier, in nanoseconds; negative where `later` is the earlier one. */
static inline int64_t clock_since(struct mono later, struct mono earlier)
{
    return later.ns - earlier.ns;
}

/* tests/bench/load_ticks.h: what a world says of its ticks, and of its neighbours, on its admin
 * page. May touch: sockets. On trouble: false.
 */
#pragma once

#include <stdbool.h>

#define LOAD_TICKS_BOUNDS 64

struct load_ticks {
    unsigned bounds;
    double le[LOAD_TICKS_BOUNDS];    /* seconds, ascending */
    double count[LOAD_TICKS_BOUNDS]; /* ticks of at most le */
    double overruns, skipped;
    double zones, ghosts;        /* now; 0 without a cluster, as what follows */
    double handed, border_bytes; /* since the start */
};

/* `addr` is 127.0.0.1:PORT. */
bool load_ticks_read(const char *addr, struct load_ticks *out);
/* Of the ticks between the two, seconds; between a bucket's edges by their share. */
double load_ticks_quantile(const struct load_ticks *before, const struct load_ticks *after,
                           double q);

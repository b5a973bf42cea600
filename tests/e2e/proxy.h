/* tests/e2e/proxy.h: a bad network between two ends: slow, or cut without a word.
 * A child process with small buffers passes bytes both ways between whoever connects and one
 * address. May touch: tests/raw_client, processes, sockets, shared memory.
 * On trouble: the test at hand fails; the child dies with the test.
 */
#pragma once

#include "tests/process.h"

#include <stdatomic.h>

#define PROXY_LINKS_MAX 32

/* Shared with the child. */
struct proxy_control {
    atomic_uint_fast64_t rate;   /* bytes a second towards those who connected; 0: no limit */
    atomic_bool cut;             /* nothing passes, nothing is closed, nobody is told */
    atomic_uint_fast64_t passed; /* bytes so far, both ways */
};

struct proxy {
    pid_t pid;
    struct proxy_control *control;
    char addr[PROCESS_ADDR_MAX]; /* where it listens */
};

/* `rate` as above. */
void proxy_start(struct proxy *p, const char *to, uint64_t rate);
void proxy_cut(struct proxy *p, bool cut);
uint64_t proxy_passed(const struct proxy *p);
void proxy_end(struct proxy *p);

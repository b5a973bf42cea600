/* tests/e2e/torture.h: a child process that sends damaged frames to a gateway, each one judged.
 * Seeded: the golden vectors, damaged by tests/mutate.h, on many connections, most of them logged
 * in and in the world; besides raw garbage, RST in mid-frame, FIN, and ends that are left half
 * open. May touch: tests/vectors, tests/raw_client, jansson, processes, sockets, shared memory.
 * On trouble: the test at hand fails; the child dies with the test.
 */
#pragma once

#include "tests/process.h"

#include <stdatomic.h>

/* What was done, shared with the child. */
struct torture_count {
    atomic_uint_fast64_t frames;   /* damaged ones that were judged */
    atomic_uint_fast64_t fatal;    /* of them those that ended their connection */
    atomic_uint_fast64_t unjudged; /* those left hanging: what they claim never came */
    atomic_uint_fast64_t garbage;  /* streams of raw bytes */
    atomic_uint_fast64_t resets;   /* in mid-frame */
    atomic_uint_fast64_t halves;   /* FIN from us with the other way left open */
    atomic_uint_fast64_t connects;
    atomic_uint_fast64_t entered; /* connections that sent a login and an entry first */
    atomic_bool done;
};

struct torture {
    pid_t pid;
    struct torture_count *count;
};

/* Until `frames` were judged. */
void torture_start(struct torture *t, const char *addr, uint64_t seed, uint64_t frames);
bool torture_done(const struct torture *t);
/* Ends it, done or not; it must not have failed. */
void torture_end(struct torture *t);

/* common/io/reload.h: what is read anew at SIGHUP.
 * Each part of a program that keeps a file in memory joins with its flag's name and a function; at
 * the signal all are called, in the order in which they joined, in the loop's thread. Where nobody
 * has joined the signal is that of a terminal that closes: reload_otherwise. May touch: the loop,
 * the log. Never: files. On trouble: who cannot read its file keeps what it had, and says why; the
 * others go on.
 */
#pragma once

#include "common/io/loop.h"

#define RELOAD_MAX     8   /* parts that may join */
#define RELOAD_WHY_MAX 512 /* bytes of a reason with its NUL */

/* 0, or an E_* with one line in `why`: nothing is changed then. */
typedef int reload_fn(void *arg, char *why, size_t why_cap);

struct reload {
    struct loop *loop; /* borrowed */
    struct loop_signal *signal;
    uint32_t n;
    struct reload_part {
        const char *flag; /* for the log; borrowed */
        reload_fn *fn;
        void *arg;
    } parts[RELOAD_MAX];
};

/* Nothing to be freed before the first part joins. */
void reload_init(struct reload *r, struct loop *loop);
/* `flag` without its dash. E_NOMEM, E_IO: as loop_signal_create. */
int reload_join(struct reload *r, const char *flag, reload_fn *fn, void *arg) MUST_CHECK;
/* When all who want to have joined: where that is nobody, SIGHUP calls `fn`, unless it is ignored
 * (as under nohup). E_NOMEM, E_IO. */
int reload_otherwise(struct reload *r, loop_signal_fn *fn, void *arg) MUST_CHECK;
/* All zero is fine. */
void reload_fini(struct reload *r);

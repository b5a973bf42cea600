/* common/io/opening.h: the first bytes of connections, as many as are wanted and not one more.
 * What somebody says before everything else is read off, and the connection is handed on as if it
 * had just been accepted, whatever comes behind: frames, HTTP, TLS. Bounded in number, in bytes and
 * in time. May touch: libevent, sockets. Never: what the bytes mean.
 *
 *   openings_take ─► want: how many? ─► read ─┬─► done: takes the socket
 *                        ▲                    └─► done with an error: it is closed
 *                        └── not all there ───┘
 *
 * On trouble: its owner is told why, once, from the loop.
 */
#pragma once

#include "common/base.h"
#include "common/io/loop.h"
#include "common/span.h"

#define OPENING_BYTES_MAX 1024

struct openings;

struct openings_ops {
    /* How many bytes are wanted in all, where these came: more, or as many, which is the end of it.
     * At most OPENING_BYTES_MAX. 0: they are not what they should be. */
    size_t (*want)(struct span got);
    /* `err` 0: the callee takes `fd`, and these bytes stood in front. Else the connection is
     * closed: E_BAD (see want), E_CLOSED (by its peer), E_TIMEOUT. `peer` as it was taken. Not from
     * inside openings_take or openings_end. */
    void (*done)(void *arg, void *owner, int fd, const char *peer, struct span got, int err);
};

/* At most `most` at once, each for `timeout_ns` at most (0: off). Borrows `ops` and `arg`. E_NOMEM.
 */
int openings_create(struct loop *l, uint32_t most, int64_t timeout_ns,
                    const struct openings_ops *ops, void *arg, struct openings **out) MUST_CHECK;
/* All are closed at once, and nobody is told; how many there were. */
uint32_t openings_end(struct openings *o);
/* Ends them first. NULL is fine. */
void openings_destroy(struct openings *o);

/* Takes `fd`, which must not block; copies `peer`, of at most NET_TEXT_MAX bytes. E_FULL, E_NOMEM:
 * it is closed. */
int openings_take(struct openings *o, int fd, const char *peer, void *owner) MUST_CHECK;

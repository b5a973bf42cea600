/* common/io/notify.h: tell a service manager how we are (sd_notify's protocol, without its
 * library). A datagram of one word to the socket that NOTIFY_SOCKET names: ready, stopping, and,
 * where WATCHDOG_USEC asks for it, alive. Alive is said by a timer of the loop, so a loop that
 * hangs falls silent and the manager starts the process anew. May touch: the loop, the environment,
 * one socket. Never: what the process is for. On trouble: a manager that cannot be told is a
 * warning in the log; the process runs on.
 */
#pragma once

#include "common/base.h"
#include "common/io/loop.h"

struct notify;

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. Where the first is not set, or cannot be
 * used, `*out` is NULL, which all of the below accept and do nothing. E_NOMEM. */
int notify_create(struct loop *l, struct notify **out) MUST_CHECK;
void notify_destroy(struct notify *n);

/* We serve from now on. */
void notify_ready(struct notify *n);
/* We drain from now on. The watchdog goes on until notify_destroy. */
void notify_stopping(struct notify *n);

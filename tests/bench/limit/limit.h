/* tests/bench/limit/limit.h: what the limit programs share.
 * A limit program does the least that any program could for one job: no sessions, no checks, no
 * queue, and one client that does not read stops it. What a real program costs above it is the
 * price of what it does more.
 * May touch: sockets, epoll. On trouble: one line on standard error and exit 1.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LIMIT_EVENTS 512 /* of one epoll_wait */

/* Listen on the loopback, and print "listening on ADDR". */
int limit_listen(void);
/* Connect to "127.0.0.1:PORT". */
int limit_dial(const char *addr);
/* The next client; says one byte to it, so that it knows that it is in. -1: none waits. */
int limit_accept(int listener);

/* An epoll that knows `fd` as `index`; for standard input too, whose end is ours. */
int limit_epoll(void);
void limit_watch(int epoll, int fd, uint64_t index);

/* All of it; the peer reads. */
void limit_write(int fd, const void *bytes, size_t n);
/* Up to `n` bytes; ends the program at the end of the file. */
size_t limit_read(int fd, void *bytes, size_t n);
/* The number that an argument is, up to `most`. */
uint32_t limit_number(const char *arg, uint32_t most);
/* Memory of zeros, which takes room only where it is written to. Kept for ever. */
void *limit_memory(size_t n);

_Noreturn void limit_fail(const char *what);

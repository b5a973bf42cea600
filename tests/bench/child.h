/* tests/bench/child.h: a program that is measured, as a child of the benchmark.
 * Starts it on a core of its own, reads where it listens, what it used of processor and memory,
 * and ends it. It dies with the benchmark in any case.
 * May touch: processes, /proc. Linux.
 * On trouble: one line on standard error, and false.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_ARGS_MAX 32

/* The core that measured programs share, one at a time, and the one for everything else; -1 where
 * this machine lets us use only one, and nothing is pinned. */
struct child_cores {
    int measured, others;
};
struct child_cores child_cores(void);
/* Stay on this core; -1: anywhere. */
void child_pin(int core);

struct child {
    pid_t pid;      /* 0: none */
    int in;         /* our end of its standard input, a pipe */
    int log;        /* what it prints, a file in memory */
    char addr[128]; /* where it listens, once child_await_addr found it */
};

/* `path`: with a slash as it is; else looked up on PATH and in the sbin folders. False and no
 * line where `path` is not there. */
bool child_find(const char *path, char *out, size_t cap);
/* The path of a program that stands beside this one. */
void child_beside(const char *name, char *out, size_t cap);

/* `argv` ends with NULL; argv[0] is the path. */
bool child_start(struct child *c, const char *const *argv, int core);
/* Wait for "MARK ADDR" in its output. */
bool child_await_addr(struct child *c, const char *mark);
/* How often did it print this? */
unsigned child_logged(const struct child *c, const char *text);
/* Does it run? */
bool child_alive(struct child *c);
/* End it at once and wait for it; zeroed or ended is fine. */
void child_end(struct child *c);

/* Processor time of all its threads so far, user and system, ns. */
int64_t child_cpu_ns(const struct child *c);
/* Memory of its own that it has written to, bytes. */
uint64_t child_private_bytes(const struct child *c);
/* The last lines it printed, to standard error. */
void child_show_log(const struct child *c);

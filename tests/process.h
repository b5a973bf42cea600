/* tests/process.h: a program under test as a real process.
 * Starts it, keeps what it prints in bounded memory, signals it, waits for its end by a deadline.
 * Whatever a test started ends with the test, also where the test fails or its process crashes.
 * May touch: processes, signals, files in memory, /proc. Linux.
 * On trouble: the test at hand fails, and shows the ends of all logs.
 */
#pragma once

#include "common/clock.h"
#include "common/span.h"

#include <stdbool.h>
#include <sys/types.h>

#define PROCESS_MAX      16 /* processes that one test starts, restarts included */
#define PROCESS_ARGS_MAX 48
#define PROCESS_TEXT_MAX (8u << 20) /* bytes kept of each output; what is beyond is refused */
#define PROCESS_ADDR_MAX 64

/* Time for anything that should happen at once, on a machine that is busy with other tests. */
#define PROCESS_PATIENCE_MS 8000

/* A list of arguments, NULL at its end. */
#define PROCESS_ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

struct process {
    const char *program;          /* without its folder; borrowed */
    char *argv[PROCESS_ARGS_MAX]; /* owned, NULL at the end */
    pid_t pid;                    /* 0: it ended and was waited for */
    int status;                   /* of waitpid, once it ended */
    int lifeline;                 /* our end of its standard input */
    struct span err, out;         /* what there is room for: read them with process_log, _out */
    char addr[PROCESS_ADDR_MAX];  /* where it said that it listens; "": it has not */
};

/* bin/NAME, or $AEGIS_BIN/NAME; an absolute path as it is. `args`: NULL-terminated, copied. The
 * process lives until the test ends; the struct too. */
struct process *process_start(const char *program, const char *const *args);
/* Its path, for those who have it started by somebody else. Borrowed until the next call. */
const char *process_path(const char *program);
/* Start `p` once more, after it ended, listening where it listened before. Its output starts anew.
 */
void process_restart(struct process *p);
/* Wait for "listening on ADDR" in its log; returns ADDR. */
const char *process_await_addr(struct process *p);

void process_signal(struct process *p, int signo);
/* Did it end within `ms`? */
bool process_ended(struct process *p, int64_t ms);
/* It must end within `ms`, by itself and with this exit status. */
void process_await_exit(struct process *p, int64_t ms, int status);
/* SIGKILL, and wait for it. */
void process_kill(struct process *p);

/* What was printed so far; borrowed, and grows. */
struct span process_log(const struct process *p);
struct span process_out(const struct process *p);
/* How often this text stands in the log. */
unsigned process_logged(const struct process *p, const char *text);
/* Wait until it stands there at least `times`. */
void process_await_log(struct process *p, const char *text, unsigned times);
/* Of those that are started from now on the sanitizer lets freed memory go at once, instead of
 * watching it for late uses; else their memory only grows. */
void process_measure_memory(void);
/* Resident memory, bytes. */
uint64_t process_memory(const struct process *p);

/* All that were started must have ended by now, and no log may hold a sanitizer's line, a failed
 * assertion or a line of level error. The last line of a test. */
void process_check_all(void);
/* The same for one that ended, and its place can be used again: for tests that start very many. It
 * must be the one that was started last. */
void process_forget(struct process *p);
/* Kill whatever still runs. For fixtures, which get no argument. */
void process_end_all(void);

/* An address of this test alone on the loopback, "127.x.y.z:0": a port that it gave up is given to
 * no other test meanwhile, so that a program can come back to it. */
const char *process_any_port(void);
/* The same with a port where nobody listens. Borrowed until the next call. */
const char *process_free_port(void);

/* Are the programs (and this one) built with the sanitizers? They are slower and larger then. */
bool process_sanitized(void);

struct mono process_deadline(int64_t ms);
/* A short rest inside a loop that waits for something; the test fails where the deadline is over
 * (`what` says what was waited for). */
void process_rest(struct mono deadline, const char *what);
/* End the test at hand with this line and the ends of all logs. */
_Noreturn void process_fail(const char *fmt, ...) PRINTF_LIKE(1, 2);

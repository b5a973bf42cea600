/* tests/e2e/probe.h: what a process under test counts, asked over its operators' listener.
 * For those started with PROBE_ADMIN. May touch: tests/process, sockets, /proc.
 * On trouble: the test at hand fails.
 */
#pragma once

#include "tests/process.h"

#include <netinet/in.h>

#define PROBE_ADMIN "-admin", process_any_port()

/* The value of one series as /metrics writes it, "name" or "name{label="value"}". */
uint64_t probe_metric(const struct process *p, const char *series);
/* Several of them added up, so that no scrape falls between; `series` ends in NULL. */
uint64_t probe_sum(const struct process *p, const char *const *series);
/* Poll until the series is at least, or at most, so much; the test fails after `ms`. */
void probe_await_least(const struct process *p, const char *series, uint64_t least, int64_t ms);
void probe_await_most(const struct process *p, const char *series, uint64_t most, int64_t ms);

/* Processor time it took so far, in both modes, milliseconds. */
uint64_t probe_cpu_ms(const struct process *p);
/* "admin on ADDR" of its log, from the start that is running now. */
struct sockaddr_in probe_admin(const struct process *p);
/* The whole answer to a GET at the operators' address; lives until the next call. */
const char *probe_get(const struct process *p, const char *path);
/* The whole answer to a POST at the operators' address; lives until the next call. */
const char *probe_post(const struct process *p, const char *path, const char *token,
                       const char *body);

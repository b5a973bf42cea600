/* tests/bench/pump.h: the benchmark's own event loop: one epoll, a few kinds of descriptors.
 * Level-triggered. May touch: epoll. On trouble: one line on standard error and exit 1.
 */
#pragma once

#include "common/base.h"

#include <stdbool.h>
#include <stdint.h>

#define PUMP_KINDS 8

/* `events` are epoll's. */
typedef void pump_fn(void *arg, uint32_t index, uint32_t events);

struct pump {
    int epoll;
    struct {
        pump_fn *fn;
        void *arg;
    } kinds[PUMP_KINDS];
};

void pump_init(struct pump *p);
void pump_fini(struct pump *p);
/* What is called for descriptors of this kind. */
void pump_kind(struct pump *p, uint32_t kind, pump_fn *fn, void *arg);
void pump_add(struct pump *p, int fd, uint32_t kind, uint32_t index, uint32_t events);
void pump_change(struct pump *p, int fd, uint32_t kind, uint32_t index, uint32_t events);
/* One wait of at most `ms`, and what it brought. */
void pump_turn(struct pump *p, int ms);

/* Stop the benchmark with a line. */
_Noreturn void pump_fail(const char *fmt, ...) PRINTF_LIKE(1, 2);

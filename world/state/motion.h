/* world/state/motion.h: speed credit: what an entity may move, and when.
 * Seconds of credit grow with real time up to a cap; a move spends distance / max speed of them.
 * Pure. May touch: common/clock, proto/limits. Source: PROTOCOL.md, "Speed".
 */
#pragma once

#include "common/base.h"
#include "common/clock.h"

#include <stdbool.h>

struct motion {
    double credit;  /* seconds; at least -PROTO_CREDIT_OVERDRAFT */
    struct mono at; /* when `credit` was true */
};

struct motion_rules {
    double max_speed; /* units a second; > 0 */
    double burst;     /* seconds of credit at most; 0: no cap */
};

/* On entering. */
void motion_start(struct motion *m, struct mono now);
/* Seconds of credit at `now`. A `now` before `at` counts as `at`. */
double motion_credit(const struct motion *m, const struct motion_rules *r, struct mono now);
/* How far it may move now, units; >= 0. */
double motion_reach(const struct motion *m, const struct motion_rules *r, struct mono now);
/* May it move `distance` (units, >= 0) now? Spends the credit where it may; else nothing
 * changes. */
bool motion_spend(struct motion *m, const struct motion_rules *r, double distance,
                  struct mono now) MUST_CHECK;

/* `dir` (finite) modulo 2π, in [0, 2π). */
double motion_turn(double dir);
/* The smaller angle between two directions in [0, 2π), in [0, π]. */
double motion_angle(double a, double b);

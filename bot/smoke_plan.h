/* bot/smoke_plan.h: where the three players of the smoke scenario go.
 * Pure arithmetic on places. May touch: common.
 */
#pragma once

#include "common/base.h"

#include <stdbool.h>

#define SMOKE_PLAN_PLAYERS 3

/* A place of one player. */
struct smoke_plan_place {
    double x, y;
};

/* Does each of the three stand within `radius` of both others? */
bool smoke_plan_together(const struct smoke_plan_place at[SMOKE_PLAN_PLAYERS], double radius);
/* Where each goes so that all stand together: side by side in the middle of them. */
void smoke_plan_meet(const struct smoke_plan_place at[SMOKE_PLAN_PLAYERS], double radius,
                     struct smoke_plan_place goal[SMOKE_PLAN_PLAYERS]);
/* "X,Y", two finite numbers, as a place. False: it is not that. */
bool smoke_plan_read(const char *text, struct smoke_plan_place *out);
/* Where the three stand round `at` so that lines through it along both axes leave each in a quarter
 * of its own, as deep in it as the radius allows. `turn` sends all of them on by so many quarters,
 * the same way round. */
void smoke_plan_round(struct smoke_plan_place at, double radius, unsigned turn,
                      struct smoke_plan_place goal[SMOKE_PLAN_PLAYERS]);
/* The longest way that one of them has to go from `at` to `goal`, in world units. */
double smoke_plan_longest(const struct smoke_plan_place at[SMOKE_PLAN_PLAYERS],
                          const struct smoke_plan_place goal[SMOKE_PLAN_PLAYERS]);
/* A place at x = 9999 that no legal step reaches from `at`. */
struct smoke_plan_place smoke_plan_teleport(struct smoke_plan_place at, double max_speed);
/* Which way leads away from the others: `turn` 0 to 3 tries one after the other. */
struct smoke_plan_place smoke_plan_away(struct smoke_plan_place at, struct smoke_plan_place others,
                                        unsigned turn);

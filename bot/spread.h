/* bot/spread.h: how many bots share which square, so that each sees about so many others.
 * Pure arithmetic. May touch: common, bot/walker.
 */
#pragma once

#include "bot/walker.h"
#include "common/base.h"

/* A group is this many times the neighbours that each should see: then sight changes all the
 * time, and yet those who gather come from nearby. */
#define SPREAD_GROUP 3

/* One who is to be given a square. */
struct spread_bot {
    double x, y;             /* where it stands */
    uint32_t index;          /* the caller's */
    struct walker_area area; /* out */
};

/* A step that, taken again and again modulo `n`, comes to each of 0..n-1 once, those next to each
 * other far apart in time: so that who gathers in one place does not move all at once. */
uint32_t spread_stride(uint32_t n);

/* The side of the square in which `n` bots at random places see `neighbours` others within
 * `radius` on average; where these are nearly all of them, all see all. */
double spread_side(uint32_t n, double neighbours, double radius);

/* Move an area so that its middle is (x, y). */
void spread_around(struct walker_area *area, double x, double y);
/* Give each an area: bots that are near each other by x form groups of `group` (the last takes
 * the rest) in one square around their middle. Reorders `bots` by x. */
void spread_groups(struct spread_bot *bots, uint32_t n, uint32_t group, double neighbours,
                   double radius);

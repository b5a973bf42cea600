/* world/cluster/zones.h: how a scene is cut into zones, and what lies near their borders.
 *
 *     y[2] ┌────┬────┬────┐     zone = row * nx + column, from the scene's first corner
 *          │ 3  │ 4  │ 5  │     a zone has its low lines, not its high ones: [x[i], x[i+1])
 *     y[1] ├────┼────┼────┤     the scene's last lines belong to the last row and column
 *          │ 0  │ 1  │ 2  │     what is outside of the scene belongs to the zone nearest to it
 *     y[0] └────┴────┴────┘
 *         x[0] x[1] x[2] x[3]
 *
 * An entity is owned by a zone and may stand up to the margin M outside of it, since it is handed
 * over only there. Who is owned by two zones sees each other over radius and hysteresis, so a zone
 * is told of whoever stands within R + H + M of it, its `reach`; and none is narrower than that, so
 * that only the zone where one stands and those around it are ever meant.
 * Pure. May touch: common. On trouble: what is cut too fine is E_RANGE, with a line that says why.
 */
#pragma once

#include "common/base.h"

#include <stdbool.h>

#define ZONES_SIDE_MAX 32 /* rows, and columns */
#define ZONES_MAX      (ZONES_SIDE_MAX * ZONES_SIDE_MAX)
#define ZONES_NEAR_MAX 9 /* the one where one stands, and those around it */

struct zones {
    uint32_t nx, ny;              /* columns, rows */
    double reach;                 /* units */
    double x[ZONES_SIDE_MAX + 1]; /* [nx + 1] the lines between columns, ascending */
    double y[ZONES_SIDE_MAX + 1]; /* [ny + 1] */
};

/* What `-zones` says: "4x2" is four columns and two rows, each 1..ZONES_SIDE_MAX. 0, or E_BAD. */
int zones_parse(const char *text, uint32_t *nx, uint32_t *ny) MUST_CHECK;
/* Cut a scene.
 *   bounds   x0, y0, x1, y1; units; x0 < x1, y0 < y1
 *   reach    R + H + M; units; > 0
 *   why      gets the line without newline, which names -zones
 * One zone is as narrow as the scene likes. 0, or E_RANGE: a zone would be narrower than `reach`.
 */
int zones_init(struct zones *z, const double bounds[4], uint32_t nx, uint32_t ny, double reach,
               char *why, size_t why_cap) MUST_CHECK;

static inline uint32_t zones_count(const struct zones *z)
{
    return z->nx * z->ny;
}

/* In which zone is this place? In exactly one; finite. */
uint32_t zones_at(const struct zones *z, double x, double y);
/* x0, y0, x1, y1 of a zone. */
void zones_bounds(const struct zones *z, uint32_t zone, double out[4]);
/* From a place to a zone's rectangle, lines included, squared; 0 in it. */
double zones_distance2(const struct zones *z, uint32_t zone, double x, double y);
/* The zones within reach of a place (a distance of exactly `reach` is), ascending; the one where it
 * is is always among them. Returns how many. */
uint32_t zones_near(const struct zones *z, double x, double y, uint32_t out[ZONES_NEAR_MAX]);
/* The zones that share a line or a corner with it, ascending. Returns how many. */
uint32_t zones_around(const struct zones *z, uint32_t zone, uint32_t out[ZONES_NEAR_MAX - 1]);
/* Where should one be who is owned by `zone` and stands here? There, until it is `margin` or more
 * away from it; then where it stands. */
uint32_t zones_home(const struct zones *z, uint32_t zone, double x, double y, double margin);

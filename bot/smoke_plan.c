/* bot/smoke_plan.c: where the three players of the smoke scenario go.
 * Pure arithmetic on places. May touch: common. On trouble: nothing can go wrong.
 */
#include "bot/smoke_plan.h"

#include <math.h>
#include <stdlib.h>

#define SMOKE_TELEPORT_X 9999.0
/* Seconds of walking at full speed that no burst of credit covers. */
#define SMOKE_TELEPORT_S 60.0
/* How far from both lines, as a share of the radius: two opposite quarters are still in sight. */
#define SMOKE_QUARTER_DEPTH 0.3
#define SMOKE_FAR           1e6 /* units: further than any radius, in the far move's direction */

bool smoke_plan_together(const struct smoke_plan_place at[SMOKE_PLAN_PLAYERS], double radius)
{
    for (int i = 0; i < SMOKE_PLAN_PLAYERS; i++) {
        for (int j = 0; j < i; j++) {
            double dx = at[i].x - at[j].x, dy = at[i].y - at[j].y;
            if (dx * dx + dy * dy > radius * radius)
                return false;
        }
    }
    return true;
}

bool smoke_plan_read(const char *text, struct smoke_plan_place *out)
{
    char *end;

    out->x = strtod(text, &end);
    if (end == text || *end != ',' || !isfinite(out->x))
        return false;
    text = end + 1;
    out->y = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(out->y);
}

void smoke_plan_round(struct smoke_plan_place at, double radius, unsigned turn,
                      struct smoke_plan_place goal[SMOKE_PLAN_PLAYERS])
{
    static const int side[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};

    for (unsigned i = 0; i < SMOKE_PLAN_PLAYERS; i++) {
        const int *s = side[(i + turn) % 4];
        goal[i].x = at.x + s[0] * radius * SMOKE_QUARTER_DEPTH;
        goal[i].y = at.y + s[1] * radius * SMOKE_QUARTER_DEPTH;
    }
}

double smoke_plan_longest(const struct smoke_plan_place at[SMOKE_PLAN_PLAYERS],
                          const struct smoke_plan_place goal[SMOKE_PLAN_PLAYERS])
{
    double longest = 0;

    for (int i = 0; i < SMOKE_PLAN_PLAYERS; i++)
        longest = fmax(longest, hypot(goal[i].x - at[i].x, goal[i].y - at[i].y));
    return longest;
}

void smoke_plan_meet(const struct smoke_plan_place at[SMOKE_PLAN_PLAYERS], double radius,
                     struct smoke_plan_place goal[SMOKE_PLAN_PLAYERS])
{
    double x0 = at[0].x, x1 = at[0].x, y0 = at[0].y, y1 = at[0].y;
    double apart = radius / 4 < 8 ? radius / 4 : 8;

    for (int i = 1; i < SMOKE_PLAN_PLAYERS; i++) {
        x0 = fmin(x0, at[i].x);
        x1 = fmax(x1, at[i].x);
        y0 = fmin(y0, at[i].y);
        y1 = fmax(y1, at[i].y);
    }
    for (int i = 0; i < SMOKE_PLAN_PLAYERS; i++) {
        goal[i].x = (x0 + x1) / 2 + (i - SMOKE_PLAN_PLAYERS / 2) * apart;
        goal[i].y = (y0 + y1) / 2;
    }
}

struct smoke_plan_place smoke_plan_teleport(struct smoke_plan_place at, double max_speed)
{
    double least = max_speed * SMOKE_TELEPORT_S;
    struct smoke_plan_place to = {SMOKE_TELEPORT_X, at.y};

    if (fabs(at.x - to.x) < least)
        to.y = at.y > 0 ? at.y - least : at.y + least;
    return to;
}

struct smoke_plan_place smoke_plan_away(struct smoke_plan_place at, struct smoke_plan_place others,
                                        unsigned turn)
{
    double sx = at.x >= others.x ? 1 : -1, sy = at.y >= others.y ? 1 : -1;

    switch (turn % 4) {
    case 0:
        return (struct smoke_plan_place){at.x + sx * SMOKE_FAR, at.y};
    case 1:
        return (struct smoke_plan_place){at.x, at.y + sy * SMOKE_FAR};
    case 2:
        return (struct smoke_plan_place){at.x, at.y - sy * SMOKE_FAR};
    default:
        return (struct smoke_plan_place){at.x - sx * SMOKE_FAR, at.y};
    }
}

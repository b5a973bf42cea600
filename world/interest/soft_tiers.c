/* world/interest/soft_tiers.c: the text of -aoi-tiers.
 * Pure. May touch: what soft.h may. On trouble: a reason for a person.
 */
#include "world/interest/soft.h"

#include "common/err.h"
#include "world/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A decimal number without sign, blank or exponent's tricks; what follows it, NULL: none is there.
 */
static const char *number(const char *text, double *out)
{
    char *end;

    if (!(*text >= '0' && *text <= '9') && *text != '.')
        return NULL;
    *out = strtod(text, &end);
    return end != text && isfinite(*out) ? end : NULL;
}

/* "radius:ticks"; what follows it, NULL: it is none. */
static const char *tier(const char *text, double *radius, double *every)
{
    const char *at = number(text, radius);

    if (!at || *at != ':' || !(*radius > 0))
        return NULL;
    at = number(at + 1, every);
    return at && *every >= 1 && *every <= SOFT_PARTS_MAX && floor(*every) == *every ? at : NULL;
}

int soft_tiers_read(const char *text, struct soft_rules *out, char *why, size_t why_cap)
{
    struct soft_rules r = *out;
    uint32_t sum = 0;

    r.n_tiers = 0;
    for (const char *at = text;; at++) {
        double radius, every;

        if (r.n_tiers == SOFT_TIERS_MAX) {
            snprintf(why, why_cap, "at most %d tiers", SOFT_TIERS_MAX);
            return E_BAD;
        }
        at = tier(at, &radius, &every);
        if (!at || (*at != ',' && *at != '\0')) {
            snprintf(why, why_cap, "must be radius:ticks,... such as 30:1,100:4,240:20");
            return E_BAD;
        }
        if (r.n_tiers > 0 &&
            (radius <= r.radius[r.n_tiers - 1] || every < r.every[r.n_tiers - 1])) {
            snprintf(why, why_cap, "radii must ascend, and ticks must not descend");
            return E_BAD;
        }
        r.radius[r.n_tiers] = radius;
        r.every[r.n_tiers++] = (uint32_t)every;
        sum += (uint32_t)every;
        if (*at == '\0')
            break;
    }
    if (sum > SOFT_PARTS_MAX) {
        snprintf(why, why_cap, "all ticks together must be at most %d", SOFT_PARTS_MAX);
        return E_BAD;
    }
    *out = r;
    return 0;
}

int soft_rules_of(const struct world_config *c, struct soft_rules *out, char *why, size_t why_cap)
{
    *out = (struct soft_rules){
        .n_tiers = 1,
        .radius = {c->aoi_radius},
        .every = {1},
        .hysteresis = c->aoi_hysteresis,
        .refresh = c->aoi_refresh > 1 ? (uint32_t)c->aoi_refresh : 1,
        .max = (uint32_t)c->aoi_max,
        .viewer_bytes = c->viewer_bytes,
    };
    if (!c->aoi_tiers || c->aoi_tiers[0] == '\0')
        return 0;
    return soft_tiers_read(c->aoi_tiers, out, why, why_cap);
}

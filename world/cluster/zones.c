/* world/cluster/zones.c: see the header.
 * Lines are kept as numbers and compared with, never computed again, so that a place and a line are
 * the same to all who ask, on every machine.
 */
#include "world/cluster/zones.h"

#include "common/err.h"

#include <math.h>
#include <stdio.h>

/* One number of "4x2" up to `end` ('x' or NUL); NULL where it is none. */
static const char *side(const char *at, char end, uint32_t *out)
{
    uint32_t n = 0;

    if (*at < '1' || *at > '9')
        return NULL;
    for (; *at >= '0' && *at <= '9'; at++) {
        n = n * 10 + (uint32_t)(*at - '0');
        if (n > ZONES_SIDE_MAX)
            return NULL;
    }
    if (*at != end)
        return NULL;
    *out = n;
    return end ? at + 1 : at;
}

int zones_parse(const char *text, uint32_t *nx, uint32_t *ny)
{
    uint32_t columns, rows;
    const char *at = side(text, 'x', &columns);

    if (!at || !side(at, '\0', &rows))
        return E_BAD;
    *nx = columns;
    *ny = rows;
    return 0;
}

/* Where `n` zones meet between two bounds. Returns the width of the narrowest. */
static double cut(double *line, uint32_t n, double low, double high)
{
    double narrowest = high - low;

    for (uint32_t i = 0; i <= n; i++)
        line[i] = low + (high - low) * i / n;
    line[n] = high;
    for (uint32_t i = 0; i < n; i++) {
        if (line[i + 1] - line[i] < narrowest)
            narrowest = line[i + 1] - line[i];
    }
    return narrowest;
}

int zones_init(struct zones *z, const double bounds[4], uint32_t nx, uint32_t ny, double reach,
               char *why, size_t why_cap)
{
    double wide, high;

    ASSERT(nx >= 1 && nx <= ZONES_SIDE_MAX);
    ASSERT(ny >= 1 && ny <= ZONES_SIDE_MAX);
    ASSERT(bounds[0] < bounds[2]);
    ASSERT(bounds[1] < bounds[3]);
    ASSERT(reach > 0);
    *z = (struct zones){.nx = nx, .ny = ny, .reach = reach};
    wide = cut(z->x, nx, bounds[0], bounds[2]);
    high = cut(z->y, ny, bounds[1], bounds[3]);
    if ((nx > 1 && wide < reach) || (ny > 1 && high < reach)) {
        snprintf(why, why_cap,
                 "-zones %ux%u: a zone would be %.6g by %.6g, and may not be narrower than radius, "
                 "hysteresis and margin, %.6g",
                 nx, ny, wide, high, reach);
        return E_RANGE;
    }
    return 0;
}

/* The last of the first `n` lines that is not past `v`. */
static uint32_t between(const double *line, uint32_t n, double v)
{
    double at = floor((v - line[0]) / (line[n] - line[0]) * n);
    uint32_t i = at >= n - 1 ? n - 1 : at > 0 ? (uint32_t)at : 0;

    while (i > 0 && v < line[i]) /* where the division rounded up over a line */
        i--;
    while (i + 1 < n && v >= line[i + 1])
        i++;
    return i;
}

uint32_t zones_at(const struct zones *z, double x, double y)
{
    return between(z->y, z->ny, y) * z->nx + between(z->x, z->nx, x);
}

void zones_bounds(const struct zones *z, uint32_t zone, double out[4])
{
    uint32_t column = zone % z->nx, row = zone / z->nx;

    ASSERT(zone < zones_count(z));
    out[0] = z->x[column];
    out[1] = z->y[row];
    out[2] = z->x[column + 1];
    out[3] = z->y[row + 1];
}

static double outside(double v, double low, double high)
{
    return v < low ? low - v : v > high ? v - high : 0;
}

double zones_distance2(const struct zones *z, uint32_t zone, double x, double y)
{
    double b[4], dx, dy;

    zones_bounds(z, zone, b);
    dx = outside(x, b[0], b[2]);
    dy = outside(y, b[1], b[3]);
    return dx * dx + dy * dy;
}

/* Those of the zones around `zone`, itself included, that are within `reach2` of a place. */
static uint32_t around(const struct zones *z, uint32_t zone, double x, double y, double reach2,
                       uint32_t out[ZONES_NEAR_MAX])
{
    uint32_t column = zone % z->nx, row = zone / z->nx, n = 0;
    uint32_t first = column > 0 ? column - 1 : 0, last = column + 1 < z->nx ? column + 1 : column;
    uint32_t low = row > 0 ? row - 1 : 0, high = row + 1 < z->ny ? row + 1 : row;

    for (uint32_t j = low; j <= high; j++) {
        for (uint32_t i = first; i <= last; i++) {
            uint32_t other = j * z->nx + i;

            if (other == zone || zones_distance2(z, other, x, y) <= reach2)
                out[n++] = other;
        }
    }
    return n;
}

uint32_t zones_near(const struct zones *z, double x, double y, uint32_t out[ZONES_NEAR_MAX])
{
    return around(z, zones_at(z, x, y), x, y, z->reach * z->reach, out);
}

uint32_t zones_around(const struct zones *z, uint32_t zone, uint32_t out[ZONES_NEAR_MAX - 1])
{
    uint32_t all[ZONES_NEAR_MAX], n = 0;
    uint32_t n_all = around(z, zone, z->x[0], z->y[0], HUGE_VAL, all);

    for (uint32_t i = 0; i < n_all; i++) {
        if (all[i] != zone)
            out[n++] = all[i];
    }
    return n;
}

uint32_t zones_home(const struct zones *z, uint32_t zone, double x, double y, double margin)
{
    if (zones_distance2(z, zone, x, y) < margin * margin)
        return zone;
    return zones_at(z, x, y);
}

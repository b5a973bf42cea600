/* bot/spread.c: how many bots share which square, so that each sees about so many others.
 * Pure arithmetic. May touch: common, bot/walker. On trouble: nothing can go wrong.
 */
#include "bot/spread.h"

#include <math.h>
#include <stdlib.h>

#define SPREAD_PI 3.141592653589793

/* Of the golden section: its multiples are spread most evenly of all. */
#define SPREAD_GOLDEN 0.6180339887498949

/* Halvings when looking for a side: to within a billionth of the first guess. */
#define SPREAD_HALVINGS 60

/* How likely two random places of a square with side `side` are within `d` of each other. Known
 * in this form for d <= side, which is where it is looked at. */
static double near(double d, double side)
{
    double r = d / side;

    return SPREAD_PI * r * r - 8.0 / 3.0 * r * r * r + r * r * r * r / 2;
}

double spread_side(uint32_t n, double neighbours, double radius)
{
    double lo = radius, hi = radius;

    /* Everybody sees everybody where the diagonal is no longer than the radius. */
    if (n < 2 || neighbours >= (n - 1) * near(radius, radius))
        return radius / sqrt(2);
    while ((n - 1) * near(radius, hi) > neighbours)
        hi *= 2;
    for (int i = 0; i < SPREAD_HALVINGS; i++) {
        double mid = (lo + hi) / 2;
        if ((n - 1) * near(radius, mid) > neighbours)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

uint32_t spread_stride(uint32_t n)
{
    uint32_t stride = (uint32_t)(n * SPREAD_GOLDEN);

    /* 1 is one, so this ends. */
    while (stride > 1 && common_divisor(stride, n) != 1)
        stride--;
    return stride > 0 ? stride : 1;
}

static int compare_x(const void *a, const void *b)
{
    const struct spread_bot *p = a, *q = b;
    return (p->x > q->x) - (p->x < q->x);
}

/* One square for these. */
static void gather(struct spread_bot *bots, uint32_t n, double neighbours, double radius)
{
    double half = spread_side(n, neighbours, radius) / 2, x = 0, y = 0;

    for (uint32_t i = 0; i < n; i++) {
        x += bots[i].x / n;
        y += bots[i].y / n;
    }
    for (uint32_t i = 0; i < n; i++)
        bots[i].area = (struct walker_area){x - half, y - half, x + half, y + half};
}

void spread_around(struct walker_area *area, double x, double y)
{
    const double dx = (area->x1 - area->x0) / 2, dy = (area->y1 - area->y0) / 2;

    *area = (struct walker_area){x - dx, y - dy, x + dx, y + dy};
}

void spread_groups(struct spread_bot *bots, uint32_t n, uint32_t group, double neighbours,
                   double radius)
{
    ASSERT(group > 0);
    qsort(bots, n, sizeof(*bots), compare_x);
    for (uint32_t i = 0; i < n;) {
        uint32_t rest = n - i;
        uint32_t size = rest < 2 * group ? rest : group;
        gather(bots + i, size, neighbours, radius);
        i += size;
    }
}

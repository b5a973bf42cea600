/* world/state/heading.c: see the header. */
#include "world/state/heading.h"

#define HEADING_TAU  6.283185307179586476925286766559
#define HEADING_TERM 33 /* highest power of the series; |t| <= tan(π/8), so the next is 1e-14 */

static const double TAN_PI_8 = 0.41421356237309504880;

/* The arc of tangent t, |t| <= tan(π/8): t - t³/3 + t⁵/5 ..., from the small end. */
static double arc(double t)
{
    double square = t * t, sum = 0;

    for (int k = HEADING_TERM; k >= 1; k -= 2)
        sum = sum * square + (k % 4 == 1 ? 1.0 : -1.0) / k;
    return t * sum;
}

double heading_of(double dx, double dy)
{
    double ax = dx < 0 ? -dx : dx, ay = dy < 0 ? -dy : dy, angle, ratio;

    if (ax == 0 && ay == 0)
        return 0;
    ratio = ax > ay ? ay / ax : ax / ay;
    if (ratio > TAN_PI_8) /* turned back by an eighth of a circle, it is small again */
        angle = HEADING_TAU / 8 + arc((ratio - 1) / (ratio + 1));
    else
        angle = arc(ratio);
    if (ay > ax)
        angle = HEADING_TAU / 4 - angle;
    if (dx < 0)
        angle = HEADING_TAU / 2 - angle;
    if (dy < 0)
        angle = HEADING_TAU - angle;
    return angle < HEADING_TAU ? angle : 0;
}

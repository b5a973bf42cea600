/* world/state/heading.h: which way a line leads, as an angle.
 * A function of our own, with + - * / alone: the atan2 of one libm differs from another's in the
 * last bits, and what the core says is the same everywhere. Pure. May touch: libc.
 */
#pragma once

/* The direction of (dx, dy), both finite: 0 along x, π/2 along y, in [0, 2π); of (0, 0) it is 0.
 * Off by less than 1e-12, far below a grain of the wire (2π/256). */
double heading_of(double dx, double dy);

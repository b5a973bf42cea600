/* tests/bench/modes.h: what sight costs and sends in each of its modes (bench_modes.c).
 */
#pragma once

/* `bin/bench tiers [flags]`, `bin/bench crowd [flags]`; each returns the exit status. */
int modes_tiers(int argc, char **argv);
int modes_crowd(int argc, char **argv);
/* Both, small. */
int modes_short(void);

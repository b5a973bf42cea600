/* tests/bench/bench_load.h: `bin/bench load`: world, gateway and bots, beside the least that could.
 * May touch: common/opts, load_run.
 */
#pragma once

/* Takes the command's flags, argv[0] being its name, and returns the exit status: 1 also where the
 * contract was broken. */
int bench_load(int argc, char **argv);

/* bot/smoke.h: one scenario with three players that shows whether a pair of gateway and world
 * works. One line for each step on standard output, the last one `smoke OK` or `smoke FAILED: why`.
 * May touch: common, proto, bot. On trouble: exit status 1 within -timeout.
 */
#pragma once

#include "bot/bot_opts.h"

/* Plays the scenario; the process's exit status. */
int smoke_run(const struct bot_config *config);

/* bot/load.h: thousands of bots that walk, check all they are told, and measure it.
 * May touch: common, proto, bot. On trouble: exit status 1 where the contract was broken, or
 * where nobody could enter.
 */
#pragma once

#include "bot/bot_opts.h"

/* Runs the mode; the process's exit status. */
int load_run(const struct bot_config *config);

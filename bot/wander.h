/* bot/wander.h: bots that walk about until they are stopped, with a line a second about them.
 * May touch: common, bot. On trouble: exit status 1 where the contract was broken.
 */
#pragma once

#include "bot/bot_opts.h"

/* Runs the mode; the process's exit status. */
int wander_run(const struct bot_config *config);

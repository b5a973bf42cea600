/* bot/logins.h: bots that connect, log in and go, again and again, at a rate.
 * May touch: common, bot.
 */
#pragma once

struct bot_config;

/* Until the time is over or a signal comes. Returns the exit status: 1 where the contract was
 * broken or nobody could log in. */
int logins_run(const struct bot_config *config);

/* bot/stroll.h: a walk round a house in a scene with ground, a part of the smoke scenario.
 * May touch: common, proto, bot. On trouble: the reason, in words.
 */
#pragma once

#include "bot/bot_opts.h"
#include "common/clock.h"
#include "common/io/loop.h"
#include "proto/message.h"

/* A player of its own enters config's scene, walks straight until a wall stops it, has the world
 * walk it to the other side by a way, and back to where it came in; prints a line for each. False:
 * `why` says what was not as it should be. */
bool stroll_run(struct loop *l, struct message_reader *reader, const struct bot_config *config,
                struct mono deadline, char *why, size_t why_cap);

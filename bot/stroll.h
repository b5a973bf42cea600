/* bot/stroll.h: a walk round a house in a scene with ground, a part of the smoke scenario.
 * May touch: common, proto, bot. On trouble: the reason, in words.
 */
#pragma once

#include "common/clock.h"
#include "common/io/loop.h"
#include "proto/message.h"

/* A player of its own enters the scene, walks straight until a wall stops it, has the world walk it
 * to the other side by a way, and back to where it came in; prints a line for each. False: `why`
 * says what was not as it should be. */
bool stroll_run(struct loop *l, struct message_reader *reader, const char *addr, const char *scene,
                struct mono deadline, char *why, size_t why_cap);

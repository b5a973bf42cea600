/* world/edge/store_none.h: no store: every character is new, and forgotten when it goes.
 * The door is shut, so the core asks nothing, answers at once, and waits for no save. May touch:
 * world/store.
 */
#pragma once

#include "world/store.h"

#define STORE_NONE "none" /* as -store says it */

struct store_door store_none_door(void);

/* gateway/origins.h: which pages may connect: the list of -ws-origins.
 * Entries between commas: scheme://host[:port] as browsers write it, or * for all. Pure. May touch:
 * common. On trouble: a list that cannot be meant is refused with its entry.
 */
#pragma once

#include "common/span.h"

/* 0; E_RANGE: `bad` is the entry at fault, inside `list`. */
int origins_check(const char *list, struct span *bad) MUST_CHECK;

/* Does the list, which was checked, hold this one? Byte for byte. */
bool origins_have(const char *list, struct span origin);

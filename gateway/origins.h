/* gateway/origins.h: which pages may connect: the list of -ws-origins.
 * Entries between commas: scheme://host[:port] as browsers write it, `self` for the pages that the
 * port itself serves, or * for all. Pure. May touch: common. On trouble: a list that cannot be
 * meant is refused with its entry.
 */
#pragma once

#include "common/span.h"

/* 0; E_RANGE: `bad` is the entry at fault, inside `list`. */
int origins_check(const char *list, struct span *bad) MUST_CHECK;

/* Does the list, which was checked, hold this one? Byte for byte. `host`: of the request's Host, by
 * which the browser calls this port; a page is its own where its origin is http:// or https:// and
 * that. */
bool origins_have(const char *list, struct span origin, struct span host);

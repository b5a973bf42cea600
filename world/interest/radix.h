/* world/interest/radix.h: sorting keys by their upper half (an id) without memory of its own.
 * Pure. May touch: libc.
 */
#pragma once

#include <stdint.h>

/* Sort `keys` [n] ascending by the upper half, equal ones in the order they came; `spare` [n] is
 * overwritten. Returns the one of the two in which they lie. One pass for each byte of the largest
 * id. */
uint64_t *radix_sort(uint64_t *keys, uint64_t *spare, uint32_t n);

/* tests/world/alloc_count.h: counts what is asked of the allocator, while it is told to.
 * Under AddressSanitizer through the sanitizer's hooks; else this program's own malloc and its kin
 * stand in front of libc's. May touch: libc, the sanitizer's interface.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Begin at 0, or end. Not nested. */
void alloc_count_begin(void);
/* Calls of malloc, calloc, realloc, free, posix_memalign, aligned_alloc, memalign and mmap since
 * alloc_count_begin; counting stops. */
uint64_t alloc_count_end(void);
/* Does this build see mmap too? */
bool alloc_count_sees_mmap(void);

/* common/arena.c: a bump allocator over one block.
 * May touch: libc. On trouble: what does not fit is NULL and counted.
 */
#include "common/arena.h"

#include "common/err.h"

#include <stdlib.h>

#define ARENA_ALIGN ((size_t)16)

int arena_init(struct arena *a, size_t cap)
{
    ASSERT(cap >= 1);
    *a = (struct arena){.cap = cap};
    a->base = malloc(cap);
    _Static_assert(_Alignof(max_align_t) >= ARENA_ALIGN, "malloc aligns the block");
    return a->base ? 0 : E_NOMEM;
}

void arena_fini(struct arena *a)
{
    if (!a)
        return;
    free(a->base);
    *a = (struct arena){0};
}

void *arena_take(struct arena *a, size_t bytes)
{
    size_t at = (a->used + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
    if (at > a->cap || bytes > a->cap - at) {
        a->refused++;
        return NULL;
    }
    a->used = at + bytes;
    if (a->used > a->peak)
        a->peak = a->used;
    return a->base + at;
}

void arena_rewind(struct arena *a, size_t mark)
{
    ASSERT(mark <= a->used);
    a->used = mark;
}

/* common/io/piece.c: see the header. May touch: memory. */
#include "common/io/piece.h"

#include <stdlib.h>

bool piece_room(struct piece **p, size_t n, size_t cap)
{
    struct piece *at = *p;
    size_t len = at ? at->len : 0;
    if (at && n <= at->cap - at->off - len)
        return true;
    /* Move to the front where that pays or nothing else is left. */
    if (at && n <= at->cap - len && (at->off >= at->cap / 2 || cap <= at->cap)) {
        memmove(at->bytes, at->bytes + at->off, len);
        at->off = 0;
        return true;
    }
    if (cap < len + n)
        cap = len + n;
    struct piece *grown = malloc(sizeof(*grown) + cap);
    if (!grown)
        return false;
    *grown = (struct piece){.cap = cap, .len = len};
    if (len > 0)
        memcpy(grown->bytes, at->bytes + at->off, len);
    free(at);
    *p = grown;
    return true;
}

void piece_append(struct piece *p, struct span bytes)
{
    ASSERT(bytes.n <= p->cap - p->off - p->len);
    if (bytes.n > 0)
        memcpy(p->bytes + p->off + p->len, bytes.p, bytes.n);
    p->len += bytes.n;
}

void piece_consume(struct piece **p, size_t n, size_t keep)
{
    struct piece *at = *p;
    ASSERT(n <= at->len);
    at->off += n;
    at->len -= n;
    if (at->len > 0)
        return;
    at->off = 0;
    if (at->cap > keep)
        piece_drop(p);
}

void piece_drop(struct piece **p)
{
    free(*p);
    *p = NULL;
}

struct span piece_span(const struct piece *p)
{
    return span_of(p->bytes + p->off, p->len);
}

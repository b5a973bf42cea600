/* common/span.c: bytes read and bytes written.
 * May touch: libc. Never: what the bytes mean. On trouble: a full writer stays full and valid.
 */
#include "common/span.h"

bool span_equal(struct span a, struct span b)
{
    /* memcmp must not see NULL, not even for no bytes. */
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

void span_put(struct span_writer *w, const void *bytes, size_t n)
{
    /* Once full, always full: a smaller piece that would fit must not follow a hole. */
    if (w->full || n > w->cap - w->len) {
        w->full = true;
        return;
    }
    if (n > 0)
        memcpy(w->p + w->len, bytes, n);
    w->len += n;
}

void span_put_u8(struct span_writer *w, uint8_t v)
{
    span_put(w, &v, 1);
}

void span_put_be32(struct span_writer *w, uint32_t v)
{
    uint8_t b[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
    span_put(w, b, sizeof(b));
}

uint32_t span_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

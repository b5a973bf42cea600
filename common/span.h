/* common/span.h: bytes read (struct span) and bytes written (struct span_writer).
 * Neither owns memory, neither ends in NUL. May touch: libc. Never: what the bytes mean.
 * On trouble: a writer that is full takes no more, remembers it in `full`, and stays valid.
 */
#pragma once

#include "common/base.h"

#include <stdbool.h>
#include <string.h>

struct span {
    const uint8_t *p; /* borrowed; may be NULL where n is 0 */
    size_t n;         /* bytes */
};

struct span_writer {
    uint8_t *p; /* [cap] borrowed */
    size_t cap; /* bytes */
    size_t len; /* bytes written */
    bool full;  /* something did not fit: the content is useless */
};

static inline struct span span_of(const void *p, size_t n)
{
    return (struct span){p, n};
}

/* A NUL-terminated text without its NUL. */
static inline struct span span_text(const char *s)
{
    return (struct span){(const uint8_t *)s, strlen(s)};
}

bool span_equal(struct span a, struct span b);

static inline struct span_writer span_writer_of(void *p, size_t cap)
{
    return (struct span_writer){p, cap, 0, false};
}

static inline struct span span_written(const struct span_writer *w)
{
    return (struct span){w->p, w->len};
}

/* Append `n` bytes, or set `full` and append nothing. */
void span_put(struct span_writer *w, const void *bytes, size_t n);
void span_put_u8(struct span_writer *w, uint8_t v);
void span_put_be32(struct span_writer *w, uint32_t v);

uint32_t span_be32(const uint8_t *p);

/* tests/mutate.h: seeded damage to bytes, for tests and fuzz targets.
 * The same seed does the same damage everywhere. May touch: common.
 */
#pragma once

#include "common/rng.h"
#include "common/span.h"

/* Bytes that mean something to msgpack: heads of every family, lengths at their ends. */
static inline uint8_t mutate_telling_byte(struct rng *r)
{
    static const uint8_t telling[] = {
        0x00, 0x01, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0x91, 0x93, 0x9f, 0xa0, 0xa1,
        0xbf, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca,
        0xcb, 0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd6, 0xd8,
        0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xe0, 0xed, 0xf0, 0xf4, 0xff,
    };
    return telling[rng_below(r, sizeof telling)];
}

static inline size_t mutate_once(struct rng *r, uint8_t *p, size_t n, size_t cap)
{
    size_t at = n > 0 ? rng_below(r, n) : 0;
    size_t many = 1 + rng_below(r, 8);
    switch (rng_below(r, 8)) {
    case 0: /* flip a bit */
        if (n > 0)
            p[at] ^= (uint8_t)(1u << rng_below(r, 8));
        return n;
    case 1:
        if (n > 0)
            p[at] = (uint8_t)rng_next(r);
        return n;
    case 2:
    case 3:
        if (n > 0)
            p[at] = mutate_telling_byte(r);
        return n;
    case 4: /* cut the end */
        return n > 0 ? at : 0;
    case 5: /* take some out */
        if (many > n - at)
            many = n - at;
        memmove(p + at, p + at + many, n - at - many);
        return n - many;
    case 6: /* put some in */
        if (many > cap - n)
            many = cap - n;
        memmove(p + at + many, p + at, n - at);
        for (size_t i = 0; i < many; i++)
            p[at + i] = mutate_telling_byte(r);
        return n + many;
    default: /* repeat some */
        if (many > n - at)
            many = n - at;
        if (many > cap - n)
            many = cap - n;
        memmove(p + at + many, p + at, n - at);
        return n + many;
    }
}

/* Damage the `n` bytes at `p` a few times over; at most `cap` there. The new length. */
static inline size_t mutate(struct rng *r, uint8_t *p, size_t n, size_t cap)
{
    for (uint64_t i = 1 + rng_below(r, 4); i > 0; i--)
        n = mutate_once(r, p, n, cap);
    return n;
}

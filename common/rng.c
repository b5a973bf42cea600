/* common/rng.c: xoshiro256** seeded through splitmix64, both by Blackman and Vigna, written from
 * their public descriptions. Integers only, so the numbers are the same everywhere.
 * May touch: libc, getrandom. On trouble: a kernel without randomness aborts.
 */
#include "common/rng.h"

#include <errno.h>
#include <sys/random.h>

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotl(uint64_t v, int by)
{
    return v << by | v >> (64 - by);
}

void rng_init(struct rng *r, uint64_t seed)
{
    /* Four consecutive outputs of a bijection cannot all be zero, which would be the one bad state.
     */
    for (size_t i = 0; i < ARRAY_LEN(r->s); i++)
        r->s[i] = splitmix64(&seed);
}

uint64_t rng_next(struct rng *r)
{
    uint64_t *s = r->s;
    uint64_t out = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return out;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    ASSERT(n >= 1);
    /* 2^64 mod n numbers at the low end are one too many for a fair modulo; draw again. */
    uint64_t skip = (0 - n) % n;
    uint64_t v;
    do {
        v = rng_next(r);
    } while (v < skip);
    return v % n;
}

double rng_unit(struct rng *r)
{
    return (double)(rng_next(r) >> 11) * 0x1.0p-53;
}

void rng_secret(void *out, size_t n)
{
    uint8_t *p = out;
    while (n > 0) {
        ssize_t got = getrandom(p, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        ASSERT(got > 0);
        p += got;
        n -= (size_t)got;
    }
}

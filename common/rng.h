/* common/rng.h: seeded randomness; the same seed gives the same numbers on every machine.
 * xoshiro256** seeded through splitmix64. Not for secrets: rng_secret asks the kernel.
 * May touch: libc, getrandom.
 */
#pragma once

#include "common/base.h"

struct rng {
    uint64_t s[4];
};

void rng_init(struct rng *r, uint64_t seed);
uint64_t rng_next(struct rng *r);
/* Uniform in [0, n), without modulo bias; n >= 1. */
uint64_t rng_below(struct rng *r, uint64_t n);
/* Uniform in [0, 1), 53 bits. */
double rng_unit(struct rng *r);

/* Fill with the kernel's random bytes. Aborts where the kernel has none to give. */
void rng_secret(void *out, size_t n);

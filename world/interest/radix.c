/* world/interest/radix.c: see the header. */
#include "world/interest/radix.h"

#define RADIX 256

/* One stable pass by the byte at `shift` of the key. */
static void pass(const uint64_t *in, uint64_t *out, uint32_t n, unsigned shift)
{
    uint32_t start[RADIX] = {0}, sum = 0;

    for (uint32_t i = 0; i < n; i++)
        start[in[i] >> shift & (RADIX - 1)]++;
    for (uint32_t i = 0; i < RADIX; i++) {
        uint32_t count = start[i];

        start[i] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < n; i++)
        out[start[in[i] >> shift & (RADIX - 1)]++] = in[i];
}

uint64_t *radix_sort(uint64_t *keys, uint64_t *spare, uint32_t n)
{
    uint32_t bits = 0; /* of all ids */

    for (uint32_t i = 0; i < n; i++)
        bits |= (uint32_t)(keys[i] >> 32);
    for (unsigned shift = 0; n > 1 && shift < 32 && bits >> shift != 0; shift += 8) {
        uint64_t *t = keys;

        pass(keys, spare, n, shift + 32);
        keys = spare;
        spare = t;
    }
    return keys;
}

/* tests/bench/limit/sight_pack.c: see the header; as the limit program writes its records.
 * May touch: libc, the compiler's vector intrinsics.
 */
#include "tests/bench/limit/sight_pack.h"

#include "tests/bench/limit/sight_put.h"

static struct sight_record *pack_plain(const struct sight_record *list, const uint64_t *bits,
                                       uint32_t words, struct sight_record *out)
{
    for (uint32_t w = 0; w < words; w++) {
        for (uint64_t some = bits[w]; some != 0; some &= some - 1)
            *out++ = list[w * 64 + (uint32_t)__builtin_ctzll(some)];
    }
    return out;
}

#if defined(__x86_64__)
AVX2 static struct sight_record *pack_avx2(const struct sight_record *list, const uint64_t *bits,
                                           uint32_t words, struct sight_record *out)
{
    for (uint32_t w = 0; w < words; w++) {
        const struct sight_record *from = list + (size_t)w * 64;

        for (uint64_t some = bits[w]; some != 0; some >>= 8, from += 8) {
            out = sight_put_avx2(out, from, some & 15);
            out = sight_put_avx2(out, from + 4, some >> 4 & 15);
        }
    }
    return out;
}

AVX512 static struct sight_record *pack_avx512(const struct sight_record *list,
                                               const uint64_t *bits, uint32_t words,
                                               struct sight_record *out)
{
    for (uint32_t w = 0; w < words; w++) {
        const struct sight_record *from = list + (size_t)w * 64;

        for (uint64_t some = bits[w]; some != 0; some >>= 8, from += 8)
            out = sight_put_avx512(out, from, some & 255);
    }
    return out;
}
#endif

sight_pack_fn *sight_pack_choose(void)
{
#if defined(__x86_64__)
    if (sight_has_avx512())
        return pack_avx512;
    if (sight_has_avx2())
        return pack_avx2;
#endif
    return pack_plain;
}

/* tests/bench/limit/sight_put.h: records written side by side where a bit says so, by vectors.
 * May touch: libc, the compiler's vector intrinsics.
 */
#pragma once

#include "tests/bench/limit/sight_rival.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,fma,bmi,bmi2,popcnt,lzcnt")))
#define AVX512 \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi,bmi2,popcnt")))

/* For each mask of four records, the words that pack its records to the left, a byte each. */
#define PACK(a, b, c, d)                                                    \
    (0x0100u + 0x0202u * (a)) | (uint64_t)(0x0100u + 0x0202u * (b)) << 16 | \
        (uint64_t)(0x0100u + 0x0202u * (c)) << 32 | (uint64_t)(0x0100u + 0x0202u * (d)) << 48
static const uint64_t sight_packs[16] = {
    PACK(0, 0, 0, 0), PACK(0, 0, 0, 0), PACK(1, 0, 0, 0), PACK(0, 1, 0, 0),
    PACK(2, 0, 0, 0), PACK(0, 2, 0, 0), PACK(1, 2, 0, 0), PACK(0, 1, 2, 0),
    PACK(3, 0, 0, 0), PACK(0, 3, 0, 0), PACK(1, 3, 0, 0), PACK(0, 1, 3, 0),
    PACK(2, 3, 0, 0), PACK(0, 2, 3, 0), PACK(1, 2, 3, 0), PACK(0, 1, 2, 3),
};

/* Of the four records (32 bytes, aligned) `from`, those of `bits`; up to 32 bytes are written. */
AVX2 static inline struct sight_record *sight_put_avx2(struct sight_record *out, const void *from,
                                                       uint32_t bits)
{
    __m256i four = _mm256_load_si256((const __m256i *)from);
    __m256i pack = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)&sight_packs[bits]));

    _mm256_storeu_si256((__m256i *)out, _mm256_permutevar8x32_epi32(four, pack));
    return out + __builtin_popcount(bits);
}

/* Of the eight records (64 bytes, aligned) `from`, those of `bits`; 64 bytes are written. */
AVX512 static inline struct sight_record *sight_put_avx512(struct sight_record *out,
                                                           const void *from, uint32_t bits)
{
    __m512i eight = _mm512_load_si512(from);

    _mm512_storeu_si512(out, _mm512_maskz_compress_epi64((__mmask8)bits, eight));
    return out + __builtin_popcount(bits);
}

static inline bool sight_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static inline bool sight_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}
#endif

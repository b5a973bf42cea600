/* world/interest/mask.c: see the header.
 * Squared distances stay below 2^31: a candidate's coordinate is at most MASK_COORD_MAX, a
 * viewer's at most MASK_VIEWER_MAX, so a difference is at most 32,000. After subtracting
 * edge.inner the sign says within, and a value that is small as an unsigned number says doubtful;
 * the smallest of a word's values is enough to know whether any is.
 */
#include "world/interest/mask.h"

#include <string.h>

_Static_assert(2ll * (MASK_COORD_MAX + MASK_VIEWER_MAX) * (MASK_COORD_MAX + MASK_VIEWER_MAX) <=
                   INT32_MAX,
               "squared distances fit");
_Static_assert(MASK_COORD_MAX + MASK_VIEWER_MAX <= INT16_MAX, "differences fit");

static void pad(uint32_t n, struct mask_place *now, struct mask_place *old)
{
    for (; n % MASK_BATCH != 0; n++)
        now[n] = old[n] = MASK_AWAY;
}

static void lay_portable(const struct mask_fixed *fixed, const uint32_t *ranks, uint32_t n,
                         int32_t mid_x, int32_t mid_y, struct mask_place *now,
                         struct mask_place *old)
{
    for (uint32_t j = 0; j < n; j++) {
        const struct mask_fixed *f = &fixed[ranks[j]];

        now[j] = (struct mask_place){mask_hold(f->x - mid_x), mask_hold(f->y - mid_y)};
        old[j] = (struct mask_place){mask_hold(f->old_x - mid_x), mask_hold(f->old_y - mid_y)};
    }
    pad(n, now, old);
}

/* A coordinate moved by half the side has no bit above the side's where it is inside. */
static void inside_portable(const struct mask_place *now, uint32_t batches, unsigned bits,
                            uint64_t *inside)
{
    uint32_t n = batches * MASK_BATCH, half = 1u << (bits - 1), out = 0xffffu << bits & 0xffffu;

    for (uint32_t at = 0; at < n; at += 64) {
        uint32_t end = n - at < 64 ? n - at : 64;
        uint64_t word = 0;

        for (uint32_t j = 0; j < end; j++) {
            uint32_t x = (uint32_t)now[at + j].x + half, y = (uint32_t)now[at + j].y + half;

            word |= (uint64_t)(((x | y) & out) == 0) << j;
        }
        inside[at / 64] = word;
    }
}

static uint64_t doubt_portable(const struct mask_place *at, uint32_t batches,
                               struct mask_place viewer, struct mask_edge edge)
{
    uint64_t word = 0;

    for (uint32_t j = 0; j < batches * MASK_BATCH; j++)
        word |= (uint64_t)((uint32_t)mask_beyond(at[j], viewer, edge) <= edge.doubt) << j;
    return word;
}

static bool look_portable(const struct mask_place *now, const struct mask_place *old,
                          uint32_t batches, const struct mask_place viewer[2],
                          struct mask_edge edge, uint64_t *in_now, uint64_t *in_old,
                          uint8_t *doubtful)
{
    uint32_t n = batches * MASK_BATCH;
    bool any = false;

    for (uint32_t at = 0; at < n; at += 64) {
        uint32_t end = n - at < 64 ? n - at : 64, least = UINT32_MAX;
        uint64_t bits_now = 0, bits_old = 0;

        for (uint32_t j = 0; j < end; j++) {
            uint32_t a = (uint32_t)mask_beyond(now[at + j], viewer[0], edge);
            uint32_t b = (uint32_t)mask_beyond(old[at + j], viewer[1], edge);

            bits_now |= (uint64_t)(a >> 31) << j;
            bits_old |= (uint64_t)(b >> 31) << j;
            least = a < least ? a : least;
            least = b < least ? b : least;
        }
        in_now[at / 64] = bits_now;
        in_old[at / 64] = bits_old;
        doubtful[at / 64] = least <= edge.doubt;
        any |= least <= edge.doubt;
    }
    return any;
}

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2   __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq")))

/* SSE2, which every x86-64 has: one place now and before in one go. */
static void lay_sse2(const struct mask_fixed *fixed, const uint32_t *ranks, uint32_t n,
                     int32_t mid_x, int32_t mid_y, struct mask_place *now, struct mask_place *old)
{
    const __m128i mid = _mm_setr_epi32(mid_x, mid_y, mid_x, mid_y);
    const __m128i low = _mm_set1_epi16(-MASK_COORD_MAX), high = _mm_set1_epi16(MASK_COORD_MAX);

    for (uint32_t j = 0; j < n; j++) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)&fixed[ranks[j]]);
        uint64_t both;

        v = _mm_sub_epi32(v, mid);
        v = _mm_max_epi16(_mm_min_epi16(_mm_packs_epi32(v, v), high), low);
        both = (uint64_t)_mm_cvtsi128_si64(v);
        memcpy(&now[j], &both, sizeof(now[j]));
        both >>= 32;
        memcpy(&old[j], &both, sizeof(old[j]));
    }
    pad(n, now, old);
}

static int32_t pair(struct mask_place p)
{
    return (int32_t)((uint32_t)(uint16_t)p.x | (uint32_t)(uint16_t)p.y << 16);
}

static inline AVX2 __m256i beyond_avx2(const struct mask_place *c, __m256i v, __m256i inner)
{
    __m256i d = _mm256_sub_epi16(_mm256_load_si256((const __m256i *)(const void *)c), v);

    return _mm256_sub_epi32(_mm256_madd_epi16(d, d), inner);
}

static inline AVX2 uint64_t signs_avx2(__m256i t)
{
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(t));
}

static AVX2 bool look_avx2(const struct mask_place *now, const struct mask_place *old,
                           uint32_t batches, const struct mask_place viewer[2],
                           struct mask_edge edge, uint64_t *in_now, uint64_t *in_old,
                           uint8_t *doubtful)
{
    const __m256i v = _mm256_set1_epi32(pair(viewer[0])),
                  v_old = _mm256_set1_epi32(pair(viewer[1]));
    const __m256i inner = _mm256_set1_epi32(edge.inner), doubt = _mm256_set1_epi32((int)edge.doubt);
    const uint32_t n = batches * MASK_BATCH;
    bool any = false;

    for (uint32_t at = 0, word = 0; at < n; word++) {
        uint32_t end = n - at < 64 ? n : at + 64;
        __m256i least = _mm256_set1_epi32(-1);
        uint64_t bits_now = 0, bits_old = 0;
        bool unsure;

        for (uint32_t shift = 0; at < end; at += 8, shift += 8) {
            __m256i a = beyond_avx2(now + at, v, inner);
            __m256i b = beyond_avx2(old + at, v_old, inner);

            bits_now |= signs_avx2(a) << shift;
            bits_old |= signs_avx2(b) << shift;
            least = _mm256_min_epu32(least, _mm256_min_epu32(a, b));
        }
        unsure =
            _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_min_epu32(least, doubt), least)) != 0;
        in_now[word] = bits_now;
        in_old[word] = bits_old;
        doubtful[word] = unsure;
        any |= unsure;
    }
    return any;
}

static AVX2 void inside_avx2(const struct mask_place *now, uint32_t batches, unsigned bits,
                             uint64_t *inside)
{
    const __m256i half = _mm256_set1_epi16((int16_t)(1 << (bits - 1)));
    const __m256i out = _mm256_set1_epi16((int16_t)(0xffffu << bits));
    const uint32_t n = batches * MASK_BATCH;

    for (uint32_t at = 0; at < n; at += 64) {
        uint32_t end = n - at < 64 ? n - at : 64;
        uint64_t word = 0;

        for (uint32_t j = 0; j < end; j += 8) {
            __m256i p = _mm256_load_si256((const __m256i *)(const void *)(now + at + j));

            p = _mm256_and_si256(_mm256_add_epi16(p, half), out);
            word |= signs_avx2(_mm256_cmpeq_epi32(p, _mm256_setzero_si256())) << j;
        }
        inside[at / 64] = word;
    }
}

static AVX2 uint64_t doubt_avx2(const struct mask_place *at, uint32_t batches,
                                struct mask_place viewer, struct mask_edge edge)
{
    const __m256i v = _mm256_set1_epi32(pair(viewer)), inner = _mm256_set1_epi32(edge.inner);
    const __m256i doubt = _mm256_set1_epi32((int)edge.doubt);
    uint64_t word = 0;

    for (uint32_t j = 0; j < batches * MASK_BATCH; j += 8) {
        __m256i t = beyond_avx2(at + j, v, inner);

        word |= signs_avx2(_mm256_cmpeq_epi32(_mm256_min_epu32(t, doubt), t)) << j;
    }
    return word;
}

static inline AVX512 __m512i beyond_avx512(const struct mask_place *c, __m512i v, __m512i inner)
{
    __m512i d = _mm512_sub_epi16(_mm512_load_si512(c), v);

    return _mm512_sub_epi32(_mm512_madd_epi16(d, d), inner);
}

static AVX512 bool look_avx512(const struct mask_place *now, const struct mask_place *old,
                               uint32_t batches, const struct mask_place viewer[2],
                               struct mask_edge edge, uint64_t *in_now, uint64_t *in_old,
                               uint8_t *doubtful)
{
    const __m512i v = _mm512_set1_epi32(pair(viewer[0])),
                  v_old = _mm512_set1_epi32(pair(viewer[1]));
    const __m512i inner = _mm512_set1_epi32(edge.inner), doubt = _mm512_set1_epi32((int)edge.doubt);
    const uint32_t n = batches * MASK_BATCH;
    bool any = false;

    for (uint32_t at = 0, word = 0; at < n; word++) {
        uint32_t end = n - at < 64 ? n : at + 64;
        __m512i least = _mm512_set1_epi32(-1);
        uint64_t bits_now = 0, bits_old = 0;
        bool unsure;

        for (uint32_t shift = 0; at < end; at += 16, shift += 16) {
            __m512i a = beyond_avx512(now + at, v, inner);
            __m512i b = beyond_avx512(old + at, v_old, inner);

            bits_now |= (uint64_t)_mm512_movepi32_mask(a) << shift;
            bits_old |= (uint64_t)_mm512_movepi32_mask(b) << shift;
            least = _mm512_min_epu32(least, _mm512_min_epu32(a, b));
        }
        unsure = _mm512_cmple_epu32_mask(least, doubt) != 0;
        in_now[word] = bits_now;
        in_old[word] = bits_old;
        doubtful[word] = unsure;
        any |= unsure;
    }
    return any;
}

static AVX512 uint64_t doubt_avx512(const struct mask_place *at, uint32_t batches,
                                    struct mask_place viewer, struct mask_edge edge)
{
    const __m512i v = _mm512_set1_epi32(pair(viewer)), inner = _mm512_set1_epi32(edge.inner);
    const __m512i doubt = _mm512_set1_epi32((int)edge.doubt);
    uint64_t word = 0;

    for (uint32_t j = 0; j < batches * MASK_BATCH; j += 16)
        word |= (uint64_t)_mm512_cmple_epu32_mask(beyond_avx512(at + j, v, inner), doubt) << j;
    return word;
}

static AVX512 void inside_avx512(const struct mask_place *now, uint32_t batches, unsigned bits,
                                 uint64_t *inside)
{
    const __m512i half = _mm512_set1_epi16((int16_t)(1 << (bits - 1)));
    const __m512i out = _mm512_set1_epi16((int16_t)(0xffffu << bits));
    const uint32_t n = batches * MASK_BATCH;

    for (uint32_t at = 0; at < n; at += 64) {
        uint32_t end = n - at < 64 ? n - at : 64;
        uint64_t word = 0;

        for (uint32_t j = 0; j < end; j += 16) {
            __m512i p = _mm512_add_epi16(_mm512_load_si512(now + at + j), half);

            word |= (uint64_t)_mm512_testn_epi32_mask(p, out) << j;
        }
        inside[at / 64] = word;
    }
}

static const struct mask_code codes[] = {
    {"avx512", look_avx512, lay_sse2, inside_avx512, doubt_avx512},
    {"avx2", look_avx2, lay_sse2, inside_avx2, doubt_avx2},
    {"portable", look_portable, lay_portable, inside_portable, doubt_portable},
};

uint32_t mask_codes(const struct mask_code **out)
{
    uint32_t first = 2;

    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2"))
        first = 1;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq"))
        first = 0;
    *out = codes + first;
    return ARRAY_LEN(codes) - first;
}
#else
static const struct mask_code codes[] = {
    {"portable", look_portable, lay_portable, inside_portable, doubt_portable}};

uint32_t mask_codes(const struct mask_code **out)
{
    *out = codes;
    return ARRAY_LEN(codes);
}
#endif

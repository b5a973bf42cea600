/* world/interest/mask.c: see the header.
 * Squared distances stay below 2^31: a candidate's coordinate is at most MASK_COORD_MAX, a
 * viewer's at most MASK_VIEWER_MAX, so a difference is at most 25,000. After subtracting
 * edge.inner the sign says within, and a value that is small as an unsigned number says doubtful;
 * the smallest of a word's values is enough to know whether any is.
 */
#include "world/interest/mask.h"

_Static_assert(2ll * (MASK_COORD_MAX + MASK_VIEWER_MAX) * (MASK_COORD_MAX + MASK_VIEWER_MAX) <=
                   INT32_MAX,
               "squared distances fit");
_Static_assert(MASK_COORD_MAX + MASK_VIEWER_MAX <= INT16_MAX, "differences fit");

void mask_portable(const struct mask_place *now, const struct mask_place *old, uint32_t batches,
                   const struct mask_place viewer[2], struct mask_edge edge, uint64_t *in_now,
                   uint64_t *in_old, uint8_t *doubtful)
{
    uint32_t n = batches * MASK_BATCH;

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
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

static inline __attribute__((target("avx2"))) __m256i beyond(const struct mask_place *c, __m256i v,
                                                             __m256i inner)
{
    __m256i d = _mm256_sub_epi16(_mm256_load_si256((const __m256i *)(const void *)c), v);

    return _mm256_sub_epi32(_mm256_madd_epi16(d, d), inner);
}

static inline __attribute__((target("avx2"))) __m256i broadcast(struct mask_place p)
{
    return _mm256_set1_epi32((int32_t)((uint32_t)(uint16_t)p.x | (uint32_t)(uint16_t)p.y << 16));
}

static inline __attribute__((target("avx2"))) uint64_t signs(__m256i t)
{
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(t));
}

static __attribute__((target("avx2"))) void
mask_avx2(const struct mask_place *now, const struct mask_place *old, uint32_t batches,
          const struct mask_place viewer[2], struct mask_edge edge, uint64_t *in_now,
          uint64_t *in_old, uint8_t *doubtful)
{
    __m256i v = broadcast(viewer[0]), v_old = broadcast(viewer[1]);
    __m256i inner = _mm256_set1_epi32(edge.inner), doubt = _mm256_set1_epi32((int)edge.doubt);

    for (uint32_t k = 0, word = 0; k < batches; word++) {
        uint32_t end = k + 8 < batches ? k + 8 : batches, shift = 0;
        __m256i least = _mm256_set1_epi32(-1);
        uint64_t bits_now = 0, bits_old = 0;

        for (; k < end; k++, shift += MASK_BATCH) {
            __m256i a = beyond(now + (size_t)k * MASK_BATCH, v, inner);
            __m256i b = beyond(old + (size_t)k * MASK_BATCH, v_old, inner);

            bits_now |= signs(a) << shift;
            bits_old |= signs(b) << shift;
            least = _mm256_min_epu32(least, _mm256_min_epu32(a, b));
        }
        in_now[word] = bits_now;
        in_old[word] = bits_old;
        doubtful[word] =
            _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_min_epu32(least, doubt), least)) != 0;
    }
}

mask_fn *mask_choose(const char **name)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) {
        *name = "avx2";
        return mask_avx2;
    }
    *name = "portable";
    return mask_portable;
}
#else
mask_fn *mask_choose(const char **name)
{
    *name = "portable";
    return mask_portable;
}
#endif

/* world/interest/pack.c: see the header.
 * A record of at most eight bytes is one number: the varint in its low bytes, the tail above it.
 * With AVX-512 the candidates told are first moved together, then eight records are made at a time
 * as eight numbers, and their unused bytes are squeezed out with one instruction. Records that do
 * not fit into eight bytes (ids far apart, with both turn and speed) go one by one.
 */
#include "world/interest/pack.h"

#include "common/err.h"

#include <stdlib.h>

_Static_assert(sizeof(struct aoi_move_tail) == 8, "a tail is one number");

static void *lines(size_t bytes)
{
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

int pack_list_init(struct pack_list *l, uint32_t cap)
{
    size_t n = (size_t)cap + 128;

    l->ids = lines(n * sizeof(*l->ids));
    l->tails = lines(n * sizeof(*l->tails));
    l->told = lines(n / 8);
    l->some_ids = lines(n * sizeof(*l->some_ids));
    l->some_tails = lines(n * sizeof(*l->some_tails));
    l->positions = lines(n * sizeof(*l->positions));
    if (!l->ids || !l->tails || !l->told || !l->some_ids || !l->some_tails || !l->positions) {
        pack_list_fini(l);
        return E_NOMEM;
    }
    return 0;
}

void pack_list_fini(struct pack_list *l)
{
    free(l->ids);
    free(l->tails);
    free(l->told);
    free(l->some_ids);
    free(l->some_tails);
    free(l->positions);
    *l = (struct pack_list){0};
}

/* Write one record, eight bytes at a time; returns its length. */
static inline size_t put(uint8_t *out, uint32_t delta, const struct aoi_move_tail *t)
{
    uint64_t v = (uint64_t)delta << 2 | t->flags, high = v >> 7, tail;

    if (high >= 0x80)
        return aoi_move_put_wide(out, delta, 0, t);
    memcpy(&tail, t, sizeof(tail));
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
        uint64_t more = high != 0, record = (v & 0x7f) | more << 7 | high << 8;

        record |= tail << (8 + 8 * more);
        memcpy(out, &record, sizeof(record));
        return 1 + (size_t)more + t->len;
    }
    return aoi_move_put_wide(out, delta, 0, t);
}

static uint32_t pack_portable(const struct pack_list *l, const uint64_t *stay, uint32_t words,
                              uint8_t *out, uint8_t **end)
{
    uint32_t previous = 0, n = 0;

    for (uint32_t i = 0; i < words; i++) {
        for (uint64_t bits = stay[i] & l->told[i]; bits != 0; bits &= bits - 1) {
            const uint32_t j = i * 64 + (uint32_t)__builtin_ctzll(bits), id = l->ids[j];

            out += put(out, id - previous, &l->tails[j]);
            previous = id;
            n++;
        }
    }
    *end = out;
    return n;
}

#if defined(__x86_64__)
#include <immintrin.h>

#define BMI    __attribute__((target("bmi,popcnt,lzcnt")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi,popcnt")))

/* Move the ids and tails of those who are told together, where most of a word's are. */
static AVX512 uint32_t gather_dense(const struct pack_list *l, const uint64_t *stay, uint32_t words)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < words; i++) {
        uint64_t bits = stay[i] & l->told[i];

        for (uint32_t j = i * 64; bits != 0; j += PACK_BATCH, bits >>= PACK_BATCH) {
            const __mmask16 k = (__mmask16)bits;
            const __m512i *tails = (const __m512i *)(const void *)(l->tails + j);
            const uint32_t low = (uint32_t)_mm_popcnt_u32(k & 0xff);
            __m512i ids = _mm512_load_si512(l->ids + j);

            _mm512_storeu_si512(l->some_ids + n, _mm512_maskz_compress_epi32(k, ids));
            _mm512_storeu_si512(l->some_tails + n,
                                _mm512_maskz_compress_epi64((__mmask8)k, tails[0]));
            _mm512_storeu_si512(l->some_tails + n + low,
                                _mm512_maskz_compress_epi64((__mmask8)(k >> 8), tails[1]));
            n += (uint32_t)_mm_popcnt_u32(k);
        }
    }
    return n;
}

/* The same where few are: their positions first, then one by one. */
static AVX512 uint32_t gather_sparse(const struct pack_list *l, const uint64_t *stay,
                                     uint32_t words)
{
    const __m512i step = _mm512_set1_epi32(16);
    __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    uint32_t n = 0;

    for (uint32_t i = 0; i < words; i++) {
        const uint64_t bits = stay[i] & l->told[i];

        for (uint32_t shift = 0; shift < 64; shift += 16) {
            const __mmask16 k = (__mmask16)(bits >> shift);

            _mm512_storeu_si512(l->positions + n, _mm512_maskz_compress_epi32(k, first));
            first = _mm512_add_epi32(first, step);
            n += (uint32_t)_mm_popcnt_u32(k);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        l->some_ids[i] = l->ids[l->positions[i]];
        l->some_tails[i] = l->tails[l->positions[i]];
    }
    return n;
}

static AVX512 uint32_t gather(const struct pack_list *l, const uint64_t *stay, uint32_t words)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < words; i++)
        n += (uint32_t)_mm_popcnt_u64(stay[i] & l->told[i]);
    return n > words * 32 ? gather_dense(l, stay, words) : gather_sparse(l, stay, words);
}

static uint8_t *put_some(const struct pack_list *l, uint32_t from, uint32_t to, uint32_t previous,
                         uint8_t *out)
{
    for (uint32_t i = from; i < to; i++) {
        out += aoi_move_put_wide(out, l->some_ids[i], previous, &l->some_tails[i]);
        previous = l->some_ids[i];
    }
    return out;
}

static AVX512 uint32_t pack_avx512(const struct pack_list *l, const uint64_t *stay, uint32_t words,
                                   uint8_t *out, uint8_t **end)
{
    const uint32_t n = gather(l, stay, words);
    const __m512i one = _mm512_set1_epi64(1), seven = _mm512_set1_epi64(0x7f);
    const __m512i more = _mm512_set1_epi64(0x80), ones = _mm512_set1_epi64(-1);
    const __m512i places = _mm512_set1_epi64(0xffffffffffff);
    uint32_t previous = 0;

    for (uint32_t i = 0; i < n; i += 8) {
        const uint32_t left = n - i;
        const __mmask8 live = (__mmask8)(left >= 8 ? 0xffu : (1u << left) - 1);
        __m256i ids = _mm256_loadu_si256((const __m256i *)(const void *)(l->some_ids + i));
        /* each one's neighbour to the left; the first one's is `previous` */
        __m256i before = _mm256_alignr_epi32(ids, _mm256_set1_epi32((int)previous), 7);
        __m512i tail = _mm512_loadu_si512(l->some_tails + i);
        __m512i delta = _mm512_cvtepu32_epi64(_mm256_sub_epi32(ids, before));
        __m512i v = _mm512_or_si512(_mm512_slli_epi64(delta, 2), _mm512_srli_epi64(tail, 56));
        __m512i v1 = _mm512_srli_epi64(v, 7), v2 = _mm512_srli_epi64(v, 14);
        __mmask8 two = _mm512_test_epi64_mask(v1, v1), three = _mm512_test_epi64_mask(v2, v2);
        __m512i b0 = _mm512_and_si512(v, seven), b1 = _mm512_and_si512(v1, seven), record, bytes;
        __m512i len = _mm512_and_si512(_mm512_srli_epi64(tail, 48), _mm512_set1_epi64(0xff));
        __m512i head = one;
        __mmask64 keep;

        b0 = _mm512_mask_or_epi64(b0, two, b0, more);
        b1 = _mm512_mask_or_epi64(b1, three, b1, more);
        head = _mm512_mask_add_epi64(head, two, head, one);
        head = _mm512_mask_add_epi64(head, three, head, one);
        len = _mm512_maskz_add_epi64(live, len, head);
        previous = (uint32_t)_mm256_extract_epi32(ids, 7);
        if ((_mm512_cmpgt_epu64_mask(len, _mm512_set1_epi64(8)) |
             _mm512_cmpgt_epu64_mask(v2, seven)) &
            live) {
            out = put_some(l, i, i + (left < 8 ? left : 8), i == 0 ? 0 : l->some_ids[i - 1], out);
            continue;
        }
        record = _mm512_or_si512(b0, _mm512_slli_epi64(b1, 8));
        record = _mm512_or_si512(record, _mm512_slli_epi64(v2, 16));
        record = _mm512_or_si512(
            record, _mm512_sllv_epi64(_mm512_and_si512(tail, places), _mm512_slli_epi64(head, 3)));
        bytes = _mm512_sllv_epi64(ones, _mm512_slli_epi64(len, 3));
        keep = ~_mm512_movepi8_mask(bytes);
        _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(keep, record));
        out += _mm_popcnt_u64(keep);
    }
    *end = out;
    return n;
}

/* The portable code with instructions that count bits. */
static BMI uint32_t pack_bmi(const struct pack_list *l, const uint64_t *stay, uint32_t words,
                             uint8_t *out, uint8_t **end)
{
    uint32_t previous = 0, n = 0;

    for (uint32_t i = 0; i < words; i++) {
        uint64_t bits = stay[i] & l->told[i];

        n += (uint32_t)_mm_popcnt_u64(bits);
        for (; bits != 0; bits = _blsr_u64(bits)) {
            const uint32_t j = i * 64 + (uint32_t)_tzcnt_u64(bits), id = l->ids[j];

            out += put(out, id - previous, &l->tails[j]);
            previous = id;
        }
    }
    *end = out;
    return n;
}

static const struct pack_code codes[] = {
    {"avx512", pack_avx512},
    {"bmi", pack_bmi},
    {"portable", pack_portable},
};

uint32_t pack_codes(const struct pack_code **out)
{
    uint32_t first = 2;

    __builtin_cpu_init();
    if (__builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt"))
        first = 1;
    if (first == 1 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vbmi2"))
        first = 0;
    *out = codes + first;
    return ARRAY_LEN(codes) - first;
}
#else
static const struct pack_code codes[] = {{"portable", pack_portable}};

uint32_t pack_codes(const struct pack_code **out)
{
    *out = codes;
    return ARRAY_LEN(codes);
}
#endif

/* tests/bench/limit/sight_limit.c: the least that a program can do for sight, with no ids in order,
 * no comings and goings, no jumps, nothing exact near the edge: a line to measure against.
 *
 *   places ─► cells (strip, column) ─► windows: each strip with both its neighbours, by column
 *          ─► per viewer one run of a window: now & old stay, now ^ old changed
 *
 * A strip is as high as the radius and two steps, so whoever is or was within the radius of
 * somebody is in the window of that one's strip, and a viewer's candidates lie side by side, with
 * their places now and before and the record that would be written. Entities are walked in the
 * order of the tick before, which is nearly the order they go to. Three kernels look at a viewer:
 * AVX-512 (16 pairs at a time), AVX2 (8) and plain C.
 * May touch: libc, the compiler's vector intrinsics.
 */
#include "tests/bench/limit/sight_rival.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PER_CELL   2.0  /* entities, on average */
#define COLUMN_MIN 1.0f /* units */
#define AWAY       1e9f /* units, and its square is a float */
#define PAD        16u  /* candidates after a strip's last one that are away */

struct limit {
    struct sight_job job;
    float height, width; /* of a cell, units */
    float reach;         /* units: whoever matters to a viewer is that near in x now */
    uint32_t margin;     /* columns left of 0, and right of the last one */
    uint32_t columns, strips;
    uint32_t *count;  /* [strips * columns] */
    uint32_t *at;     /* [strips * columns] where the next one of a cell goes in sorted order */
    uint32_t *window; /* [strips * columns] the same in the windows; then: where it ends */
    uint32_t *cell;   /* [n] by order of the tick before */
    uint32_t *order, *order_next; /* [n] entities */
    float *x, *y;                 /* [n] in this order: places */
    float *x_next, *y_next;
    uint32_t *self; /* [n] in this order: its position in its strip's window */
    /* windows, [3 * n + strips * PAD] */
    float *now_x, *now_y, *old_x, *old_y;
    struct sight_record *record;
    uint64_t *changed; /* [n + 1] of the viewer at hand: position << 32 | now << 16 | old */
    uint64_t bytes;
};

/* A viewer and its run of a window. */
struct look {
    float x, y, old_x, old_y, r2;
    uint32_t from, to, self;
    bool all; /* everybody moved */
};

struct looked {
    uint32_t staying, changed;
};

typedef struct looked look_fn(const struct limit *l, const struct look *v,
                              struct sight_record *out);

/* --- filing ----------------------------------------------------------------------------------- */

static void *limit_array(struct limit *l, size_t n, size_t size)
{
    size_t bytes = (n * size + 63) / 64 * 64;
    void *p = aligned_alloc(64, bytes);

    if (!p)
        abort();
    memset(p, 0, bytes);
    l->bytes += bytes;
    return p;
}

static void *limit_create(const struct sight_job *j)
{
    struct limit *l = calloc(1, sizeof(*l));
    size_t cells, windows;

    if (!l)
        return NULL;
    l->job = *j;
    l->reach = (float)(j->radius + 2 * j->step) + 0.01f;
    l->height = l->reach;
    l->width = (float)(PER_CELL * j->side * j->side / j->n) / l->height;
    l->width = l->width < COLUMN_MIN ? COLUMN_MIN : l->width > l->reach ? l->reach : l->width;
    l->margin = (uint32_t)(l->reach / l->width) + 2;
    l->columns = (uint32_t)((float)j->side / l->width) + 2 * l->margin + 1;
    l->strips = (uint32_t)((float)j->side / l->height) + 5;
    cells = (size_t)l->columns * l->strips;
    windows = 3 * (size_t)j->n + l->strips * PAD;
    l->count = limit_array(l, cells, sizeof(uint32_t));
    l->at = limit_array(l, cells, sizeof(uint32_t));
    l->window = limit_array(l, cells, sizeof(uint32_t));
    l->cell = limit_array(l, j->n, sizeof(uint32_t));
    l->order = limit_array(l, j->n, sizeof(uint32_t));
    l->order_next = limit_array(l, j->n, sizeof(uint32_t));
    l->x = limit_array(l, j->n, sizeof(float));
    l->y = limit_array(l, j->n, sizeof(float));
    l->x_next = limit_array(l, j->n, sizeof(float));
    l->y_next = limit_array(l, j->n, sizeof(float));
    l->self = limit_array(l, j->n, sizeof(uint32_t));
    l->now_x = limit_array(l, windows, sizeof(float));
    l->now_y = limit_array(l, windows, sizeof(float));
    l->old_x = limit_array(l, windows, sizeof(float));
    l->old_y = limit_array(l, windows, sizeof(float));
    l->record = limit_array(l, windows, sizeof(struct sight_record));
    l->changed = limit_array(l, (size_t)j->n + 1, sizeof(uint64_t));
    for (uint32_t i = 0; i < j->n; i++) {
        l->order[i] = i;
        l->x[i] = l->y[i] = NAN; /* within nobody's radius, not its own either */
    }
    return l;
}

static void limit_destroy(void *p)
{
    struct limit *l = p;

    free(l->count);
    free(l->at);
    free(l->window);
    free(l->cell);
    free(l->order);
    free(l->order_next);
    free(l->x);
    free(l->y);
    free(l->x_next);
    free(l->y_next);
    free(l->self);
    free(l->now_x);
    free(l->now_y);
    free(l->old_x);
    free(l->old_y);
    free(l->record);
    free(l->changed);
    free(l);
}

/* The cell of each, and where each cell begins, alone and in the windows. */
static void limit_count(struct limit *l, const struct sight_input *in)
{
    const float per_width = 1 / l->width, per_height = 1 / l->height;
    const uint32_t columns = l->columns, margin = l->margin, cells = columns * l->strips;
    uint32_t sum = 0, windows = 0;

    memset(l->count, 0, cells * sizeof(*l->count));
    for (uint32_t k = 0; k < l->job.n; k++) {
        uint32_t i = l->order[k];
        uint32_t strip = 2 + (uint32_t)((float)in->y[i] * per_height);
        uint32_t cell = strip * columns + margin + (uint32_t)((float)in->x[i] * per_width);

        l->cell[k] = cell;
        l->count[cell]++;
    }
    for (uint32_t strip = 1; strip + 1 < l->strips; strip++) {
        for (uint32_t c = strip * columns; c < (strip + 1) * columns; c++) {
            l->at[c] = sum;
            l->window[c] = windows;
            sum += l->count[c];
            windows += l->count[c - columns] + l->count[c] + l->count[c + columns];
        }
        for (uint32_t i = 0; i < PAD; i++, windows++)
            l->now_x[windows] = l->now_y[windows] = l->old_x[windows] = l->old_y[windows] = AWAY;
    }
}

static inline uint32_t limit_lay(struct limit *l, uint32_t cell, const float place[4],
                                 struct sight_record record)
{
    uint32_t at = l->window[cell]++;

    l->now_x[at] = place[0];
    l->now_y[at] = place[1];
    l->old_x[at] = place[2];
    l->old_y[at] = place[3];
    l->record[at] = record;
    return at;
}

static void limit_file(struct limit *l, const struct sight_input *in)
{
    const uint32_t columns = l->columns;

    limit_count(l, in);
    for (uint32_t k = 0; k < l->job.n; k++) {
        uint32_t i = l->order[k], cell = l->cell[k], at = l->at[cell]++;
        float place[4] = {(float)in->x[i], (float)in->y[i], l->x[k], l->y[k]};
        struct sight_record record = {i, in->tail[i]};

        limit_lay(l, cell - columns, place, record);
        limit_lay(l, cell + columns, place, record);
        l->self[at] = limit_lay(l, cell, place, record);
        l->order_next[at] = i;
        l->x_next[at] = place[0];
        l->y_next[at] = place[1];
    }
}

static void swap_floats(float **a, float **b)
{
    float *t = *a;

    *a = *b;
    *b = t;
}

static void limit_settle(struct limit *l)
{
    uint32_t *t = l->order;

    l->order = l->order_next;
    l->order_next = t;
    swap_floats(&l->x, &l->x_next);
    swap_floats(&l->y, &l->y_next);
}

/* --- looking ---------------------------------------------------------------------------------- */

/* The records of who is gone and who is new: `n` entries of l->changed. */
static inline struct sight_record *limit_changed(const struct limit *l, uint32_t n,
                                                 struct sight_record *out, struct sight_sink *s)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct sight_record *record = l->record + (l->changed[i] >> 32);
        uint32_t now = (uint32_t)l->changed[i] >> 16, old = (uint32_t)l->changed[i] & 0xffff;

        for (uint32_t bits = now ^ old; bits != 0; bits &= bits - 1) {
            uint32_t bit = bits & -bits;

            out->subject = record[__builtin_ctz(bits)].subject;
            out->tail = now & bit ? SIGHT_NEW : SIGHT_GONE;
            out++;
        }
        s->added += (uint64_t)__builtin_popcount(now & ~old);
        s->gone += (uint64_t)__builtin_popcount(old & ~now);
    }
    return out;
}

static inline __attribute__((always_inline)) void
limit_look(struct limit *l, const struct sight_input *in, struct sight_sink *s, look_fn *look)
{
    const float per_width = 1 / l->width, left = (float)l->margin - l->reach * per_width,
                right = (float)l->margin + l->reach * per_width, per_height = 1 / l->height;
    struct look v = {.r2 = (float)(l->job.radius * l->job.radius), .all = in->movers == l->job.n};

    limit_file(l, in);
    for (uint32_t k = 0; k < l->job.n; k++) {
        struct sight_record *out = sight_sink_room(s, 2 * (size_t)l->job.n);
        struct looked found;
        uint32_t strip;

        v.self = l->self[k];
        v.x = l->now_x[v.self];
        v.y = l->now_y[v.self];
        v.old_x = l->old_x[v.self];
        v.old_y = l->old_y[v.self];
        strip = (2 + (uint32_t)(v.y * per_height)) * l->columns;
        v.from = l->window[strip + (uint32_t)(v.x * per_width + left) - 1];
        v.to = l->window[strip + (uint32_t)(v.x * per_width + right)];
        found = look(l, &v, out);
        s->staying += found.staying;
        out = limit_changed(l, found.changed, out + found.staying, s);
        s->at = (size_t)(out - s->base);
    }
    limit_settle(l);
}

static inline struct looked look_plain(const struct limit *l, const struct look *v,
                                       struct sight_record *out)
{
    struct looked f = {0};

    for (uint32_t j = v->from; j < v->to; j++) {
        float dx = l->now_x[j] - v->x, dy = l->now_y[j] - v->y;
        float ox = l->old_x[j] - v->old_x, oy = l->old_y[j] - v->old_y;
        uint64_t now = dx * dx + dy * dy <= v->r2, old = ox * ox + oy * oy <= v->r2;
        bool moved = v->all || l->now_x[j] != l->old_x[j] || l->now_y[j] != l->old_y[j];

        out[f.staying] = l->record[j];
        f.staying += (uint32_t)(now & old) & moved & (j != v->self);
        l->changed[f.changed] = (uint64_t)j << 32 | now << 16 | old;
        f.changed += now != old;
    }
    return f;
}

static void limit_tick_plain(void *p, const struct sight_input *in, struct sight_sink *out)
{
    limit_look(p, in, out, look_plain);
}

static uint64_t limit_resident(const void *p)
{
    return ((const struct limit *)p)->bytes;
}

const struct sight_rival sight_limit_plain = {
    .name = "limit, plain",
    .create = limit_create,
    .destroy = limit_destroy,
    .tick = limit_tick_plain,
    .resident = limit_resident,
};

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,fma,bmi,bmi2,popcnt,lzcnt")))
#define AVX512 \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi,bmi2,popcnt")))

/* For each mask of four records, the words that pack its records to the left. */
#define PACK(a, b, c, d)                                                                       \
    {                                                                                          \
        2 * (a), 2 * (a) + 1, 2 * (b), 2 * (b) + 1, 2 * (c), 2 * (c) + 1, 2 * (d), 2 * (d) + 1 \
    }
static const int32_t packs[16][8] __attribute__((aligned(64))) = {
    PACK(0, 0, 0, 0), PACK(0, 0, 0, 0), PACK(1, 0, 0, 0), PACK(0, 1, 0, 0),
    PACK(2, 0, 0, 0), PACK(0, 2, 0, 0), PACK(1, 2, 0, 0), PACK(0, 1, 2, 0),
    PACK(3, 0, 0, 0), PACK(0, 3, 0, 0), PACK(1, 3, 0, 0), PACK(0, 1, 3, 0),
    PACK(2, 3, 0, 0), PACK(0, 2, 3, 0), PACK(1, 2, 3, 0), PACK(0, 1, 2, 3),
};

AVX2 static inline uint32_t within_avx2(const float *x, const float *y, __m256 vx, __m256 vy,
                                        __m256 r2)
{
    __m256 dx = _mm256_sub_ps(_mm256_loadu_ps(x), vx), dy = _mm256_sub_ps(_mm256_loadu_ps(y), vy);
    __m256 d2 = _mm256_fmadd_ps(dx, dx, _mm256_mul_ps(dy, dy));

    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(d2, r2, _CMP_LE_OQ));
}

AVX2 static inline uint32_t moved_avx2(const struct limit *l, uint32_t j)
{
    __m256 x =
        _mm256_cmp_ps(_mm256_loadu_ps(l->now_x + j), _mm256_loadu_ps(l->old_x + j), _CMP_NEQ_UQ);
    __m256 y =
        _mm256_cmp_ps(_mm256_loadu_ps(l->now_y + j), _mm256_loadu_ps(l->old_y + j), _CMP_NEQ_UQ);

    return (uint32_t)_mm256_movemask_ps(_mm256_or_ps(x, y));
}

AVX2 static inline struct sight_record *put_avx2(struct sight_record *out,
                                                 const struct sight_record *from, uint32_t bits)
{
    __m256i four = _mm256_loadu_si256((const __m256i *)from);
    __m256i pack = _mm256_load_si256((const __m256i *)packs[bits]);

    _mm256_storeu_si256((__m256i *)out, _mm256_permutevar8x32_epi32(four, pack));
    return out + __builtin_popcount(bits);
}

AVX2 static inline struct looked look_avx2(const struct limit *l, const struct look *v,
                                           struct sight_record *out)
{
    const __m256 x = _mm256_set1_ps(v->x), y = _mm256_set1_ps(v->y), r2 = _mm256_set1_ps(v->r2);
    const __m256 old_x = _mm256_set1_ps(v->old_x), old_y = _mm256_set1_ps(v->old_y);
    struct sight_record *at = out;
    uint64_t *changed = l->changed;

    for (uint32_t j = v->from; j < v->to; j += 8) {
        uint32_t now = within_avx2(l->now_x + j, l->now_y + j, x, y, r2);
        uint32_t old = within_avx2(l->old_x + j, l->old_y + j, old_x, old_y, r2);
        uint32_t stay = now & old, lane = v->self - j;

        stay &= ~(lane < 8 ? 1u << lane : 0);
        if (!v->all)
            stay &= moved_avx2(l, j);
        *changed = (uint64_t)j << 32 | now << 16 | old;
        changed += now != old;
        at = put_avx2(at, l->record + j, stay & 15);
        at = put_avx2(at, l->record + j + 4, stay >> 4);
    }
    return (struct looked){(uint32_t)(at - out), (uint32_t)(changed - l->changed)};
}

AVX2 static void limit_tick_avx2(void *p, const struct sight_input *in, struct sight_sink *out)
{
    limit_look(p, in, out, look_avx2);
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

const struct sight_rival sight_limit_avx2 = {
    .name = "limit, AVX2",
    .runs_here = has_avx2,
    .create = limit_create,
    .destroy = limit_destroy,
    .tick = limit_tick_avx2,
    .resident = limit_resident,
};

AVX512 static inline uint32_t within_avx512(const float *x, const float *y, __m512 vx, __m512 vy,
                                            __m512 r2)
{
    __m512 dx = _mm512_sub_ps(_mm512_loadu_ps(x), vx), dy = _mm512_sub_ps(_mm512_loadu_ps(y), vy);
    __m512 d2 = _mm512_fmadd_ps(dx, dx, _mm512_mul_ps(dy, dy));

    return _mm512_cmp_ps_mask(d2, r2, _CMP_LE_OQ);
}

AVX512 static inline uint32_t moved_avx512(const struct limit *l, uint32_t j)
{
    __m512 x = _mm512_loadu_ps(l->now_x + j), y = _mm512_loadu_ps(l->now_y + j);

    return _mm512_cmp_ps_mask(x, _mm512_loadu_ps(l->old_x + j), _CMP_NEQ_UQ) |
           _mm512_cmp_ps_mask(y, _mm512_loadu_ps(l->old_y + j), _CMP_NEQ_UQ);
}

AVX512 static inline struct sight_record *put_avx512(struct sight_record *out,
                                                     const struct sight_record *from, uint32_t bits)
{
    __m512i eight = _mm512_loadu_si512(from);

    _mm512_storeu_si512(out, _mm512_maskz_compress_epi64((__mmask8)bits, eight));
    return out + __builtin_popcount(bits);
}

AVX512 static inline struct looked look_avx512(const struct limit *l, const struct look *v,
                                               struct sight_record *out)
{
    const __m512 x = _mm512_set1_ps(v->x), y = _mm512_set1_ps(v->y), r2 = _mm512_set1_ps(v->r2);
    const __m512 old_x = _mm512_set1_ps(v->old_x), old_y = _mm512_set1_ps(v->old_y);
    struct sight_record *at = out;
    uint64_t *changed = l->changed;

    for (uint32_t j = v->from; j < v->to; j += 16) {
        uint32_t now = within_avx512(l->now_x + j, l->now_y + j, x, y, r2);
        uint32_t old = within_avx512(l->old_x + j, l->old_y + j, old_x, old_y, r2);
        uint32_t stay = now & old, lane = v->self - j;

        stay &= ~(lane < 16 ? 1u << lane : 0);
        if (!v->all)
            stay &= moved_avx512(l, j);
        *changed = (uint64_t)j << 32 | now << 16 | old;
        changed += now != old;
        at = put_avx512(at, l->record + j, stay & 255);
        at = put_avx512(at, l->record + j + 8, stay >> 8);
    }
    return (struct looked){(uint32_t)(at - out), (uint32_t)(changed - l->changed)};
}

AVX512 static void limit_tick_avx512(void *p, const struct sight_input *in, struct sight_sink *out)
{
    limit_look(p, in, out, look_avx512);
}

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}

const struct sight_rival sight_limit_avx512 = {
    .name = "limit, AVX-512",
    .runs_here = has_avx512,
    .create = limit_create,
    .destroy = limit_destroy,
    .tick = limit_tick_avx512,
    .resident = limit_resident,
};
#else
static bool nowhere(void)
{
    return false;
}

const struct sight_rival sight_limit_avx2 = {.name = "limit, AVX2", .runs_here = nowhere};
const struct sight_rival sight_limit_avx512 = {.name = "limit, AVX-512", .runs_here = nowhere};
#endif

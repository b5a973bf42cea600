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
#include "tests/bench/limit/sight_put.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALWAYS inline __attribute__((always_inline))

#define PER_CELL    1.0  /* entities, on average */
#define COLUMN_MIN  1.0f /* units */
#define AWAY        1e9f /* units, and its square is a float */
#define BLOCK_WORDS 6    /* a candidate */
#define PAD         16u  /* candidates after a strip's last one that are away */

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
    /* windows, [3 * n + strips * 2 * PAD] */
    float *windows;
    uint32_t lanes;    /* 8 or 16: candidates in a block */
    uint64_t *changed; /* [n + 1] of the viewer at hand: at << 32 | now << 16 | old */
    uint64_t bytes;
};

/* A viewer and its run of a window. */
struct look {
    float x, y, old_x, old_y, r2;
    uint32_t from, to, self;
};

/* How many records of who stays were written, and how many entries of limit.changed. */
struct looked {
    uint32_t staying, changed;
};

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

static void *limit_create(const struct sight_job *j, uint32_t lanes)
{
    struct limit *l = calloc(1, sizeof(*l));
    size_t cells, windows;

    if (!l)
        return NULL;
    l->job = *j;
    l->lanes = lanes;
    l->reach = (float)(j->radius + 2 * j->step) + 0.01f;
    l->height = l->reach;
    l->width = (float)(PER_CELL * j->side * j->side / j->n) / l->height;
    l->width = l->width < COLUMN_MIN ? COLUMN_MIN : l->width;
    l->margin = (uint32_t)(l->reach / l->width) + 2;
    l->columns = (uint32_t)((float)j->side / l->width) + 2 * l->margin + 1;
    l->strips = (uint32_t)((float)j->side / l->height) + 5;
    cells = (size_t)l->columns * l->strips;
    windows = 3 * (size_t)j->n + l->strips * 2 * PAD;
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
    l->windows = limit_array(l, windows * BLOCK_WORDS, sizeof(float));
    l->changed = limit_array(l, (size_t)j->n + 1, sizeof(uint64_t));
    for (uint32_t i = 0; i < j->n; i++) {
        l->order[i] = i;
        l->x[i] = l->y[i] = NAN; /* within nobody's radius, not its own either */
    }
    return l;
}

static void *limit_create_8(const struct sight_job *j)
{
    return limit_create(j, 8);
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
    free(l->windows);
    free(l->changed);
    free(l);
}

/* A candidate's words lie `lanes` apart: x, y, old x, old y; then, one by one, the records. */
static inline void limit_put(const struct limit *l, uint32_t at, const float place[4],
                             struct sight_record record)
{
    const uint32_t lanes = l->lanes, lane = at & (lanes - 1);
    float *p = l->windows + (size_t)(at - lane) * BLOCK_WORDS + lane;

    p[0] = place[0];
    p[lanes] = place[1];
    p[2 * lanes] = place[2];
    p[3 * lanes] = place[3];
    memcpy(p + 4 * lanes + lane, &record, sizeof(record));
}

/* The cell of each, and where each cell begins, alone and in the windows. */
static void limit_count(struct limit *l, const struct sight_input *in)
{
    const float per_width = 1 / l->width, per_height = 1 / l->height;
    const uint32_t columns = l->columns, margin = l->margin, cells = columns * l->strips;
    const float away[4] = {AWAY, AWAY, AWAY, AWAY};
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
        for (uint32_t i = 0, pads = PAD + (-windows & 15); i < pads; i++, windows++)
            limit_put(l, windows, away, (struct sight_record){0, 0});
    }
}

static inline uint32_t limit_lay(struct limit *l, uint32_t cell, const float place[4],
                                 struct sight_record record)
{
    uint32_t at = l->window[cell]++;

    limit_put(l, at, place, record);
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

/* A viewer, by its number in the order of this tick, and its run of its strip's window. */
static ALWAYS struct look limit_viewer(const struct limit *l, uint32_t k)
{
    const float per_width = 1 / l->width, per_height = 1 / l->height;
    const float left = (float)l->margin - l->reach * per_width;
    const float right = (float)l->margin + l->reach * per_width;
    const uint32_t self = l->self[k];
    const uint32_t lane = self & (l->lanes - 1);
    const float *p = l->windows + (size_t)(self - lane) * BLOCK_WORDS + lane;
    const float x = p[0], y = p[l->lanes];
    const uint32_t *strip = l->window + (2 + (uint32_t)(y * per_height)) * l->columns;

    return (struct look){
        .x = x,
        .y = y,
        .old_x = p[2 * l->lanes],
        .old_y = p[3 * l->lanes],
        .r2 = (float)(l->job.radius * l->job.radius),
        .from = strip[(uint32_t)(x * per_width + left) - 1],
        .to = strip[(uint32_t)(x * per_width + right)],
        .self = self,
    };
}

/* What was looked at is counted, and records follow of who is gone and who is new. */
static ALWAYS void limit_close(const struct limit *l, struct looked found, struct sight_record *out,
                               struct sight_sink *s)
{
    const float *const windows = l->windows;
    const uint64_t *const changed = l->changed;
    const uint32_t lanes = l->lanes;
    uint32_t all = 0, added = 0;

    out += found.staying;
    for (uint32_t i = 0; i < found.changed; i++) {
        const float *block = windows + (changed[i] >> 32) * BLOCK_WORDS + 4 * lanes;
        uint32_t now = (uint32_t)changed[i] >> 16, bits = now ^ ((uint32_t)changed[i] & 0xffff);

        do {
            uint32_t lane = (uint32_t)__builtin_ctz(bits);

            memcpy(out, block + 2 * lane, sizeof(*out));
            out++->tail = now >> lane & 1 ? SIGHT_NEW : SIGHT_GONE;
            added += now >> lane & 1;
            all++;
            bits &= bits - 1;
        } while (bits != 0);
    }
    s->staying += found.staying;
    s->added += added;
    s->gone += all - added;
    s->at = (size_t)(out - s->base);
}

/* --- three kernels: `all` says that everybody moved; else who stays and did not is passed over ---
 */

static ALWAYS struct looked look_plain(const struct limit *l, const struct look *v, bool all,
                                       struct sight_record *out)
{
    struct looked f = {0};

    for (uint32_t j = v->from & ~7u; j < v->to; j += 8) {
        const float *p = l->windows + (size_t)j * BLOCK_WORDS;
        uint32_t now = 0, old = 0, stay;

        for (uint32_t i = 0; i < 8; i++) {
            float dx = p[i] - v->x, dy = p[i + 8] - v->y;
            float ox = p[i + 16] - v->old_x, oy = p[i + 24] - v->old_y;

            now |= (uint32_t)(dx * dx + dy * dy <= v->r2) << i;
            old |= (uint32_t)(ox * ox + oy * oy <= v->r2) << i;
        }
        l->changed[f.changed] = (uint64_t)j << 32 | now << 16 | old;
        f.changed += now != old;
        stay = now & old & ~(uint32_t)(v->self - j < 8 ? 1u << (v->self - j) : 0);
        for (; stay != 0; stay &= stay - 1) {
            uint32_t i = (uint32_t)__builtin_ctz(stay);

            memcpy(&out[f.staying], p + 32 + 2 * i, sizeof(*out));
            f.staying += all || p[i] != p[i + 16] || p[i + 8] != p[i + 24];
        }
    }
    return f;
}

static void limit_tick_plain(void *p, const struct sight_input *in, struct sight_sink *s)
{
    struct limit *l = p;
    bool all = in->movers == l->job.n;

    limit_file(l, in);
    for (uint32_t k = 0; k < l->job.n; k++) {
        struct sight_record *out = sight_sink_room(s, 2 * (size_t)l->job.n);
        struct look v = limit_viewer(l, k);

        limit_close(l, look_plain(l, &v, all, out), out, s);
    }
    limit_settle(l);
}

static uint64_t limit_resident(const void *p)
{
    return ((const struct limit *)p)->bytes;
}

const struct sight_rival sight_limit_plain = {
    .name = "limit, plain",
    .create = limit_create_8,
    .destroy = limit_destroy,
    .tick = limit_tick_plain,
    .resident = limit_resident,
};

#if defined(__x86_64__)
AVX2 static inline uint32_t within_avx2(const float *x, const float *y, __m256 vx, __m256 vy,
                                        __m256 r2)
{
    __m256 dx = _mm256_sub_ps(_mm256_load_ps(x), vx), dy = _mm256_sub_ps(_mm256_load_ps(y), vy);
    __m256 d2 = _mm256_fmadd_ps(dx, dx, _mm256_mul_ps(dy, dy));

    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(d2, r2, _CMP_LE_OQ));
}

AVX2 static inline uint32_t moved_avx2(const float *p)
{
    __m256 x = _mm256_cmp_ps(_mm256_load_ps(p), _mm256_load_ps(p + 16), _CMP_NEQ_UQ);
    __m256 y = _mm256_cmp_ps(_mm256_load_ps(p + 8), _mm256_load_ps(p + 24), _CMP_NEQ_UQ);

    return (uint32_t)_mm256_movemask_ps(_mm256_or_ps(x, y));
}

AVX2 static ALWAYS struct looked look_avx2(const struct limit *l, const struct look *v, bool all,
                                           struct sight_record *out)
{
    const __m256 x = _mm256_set1_ps(v->x), y = _mm256_set1_ps(v->y), r2 = _mm256_set1_ps(v->r2);
    const __m256 old_x = _mm256_set1_ps(v->old_x), old_y = _mm256_set1_ps(v->old_y);
    const float *const windows = l->windows;
    const uint32_t to = v->to, self = v->self;
    struct sight_record *at = out;
    uint64_t *changed = l->changed;

    for (uint32_t j = v->from & ~7u; j < to; j += 8) {
        const float *p = windows + (size_t)j * BLOCK_WORDS;
        uint32_t now = within_avx2(p, p + 8, x, y, r2);
        uint32_t old = within_avx2(p + 16, p + 24, old_x, old_y, r2);
        uint32_t stay = now & old, lane = self - j;

        stay &= ~(lane < 8 ? 1u << lane : 0);
        if (!all)
            stay &= moved_avx2(p);
        *changed = (uint64_t)j << 32 | now << 16 | old;
        changed += now != old;
        at = sight_put_avx2(at, p + 32, stay & 15);
        at = sight_put_avx2(at, p + 40, stay >> 4);
    }
    return (struct looked){(uint32_t)(at - out), (uint32_t)(changed - l->changed)};
}

AVX2 static void limit_tick_avx2(void *p, const struct sight_input *in, struct sight_sink *s)
{
    struct limit *l = p;

    limit_file(l, in);
    for (uint32_t k = 0; k < l->job.n; k++) {
        struct sight_record *out = sight_sink_room(s, 2 * (size_t)l->job.n);
        struct look v = limit_viewer(l, k);

        if (in->movers == l->job.n)
            limit_close(l, look_avx2(l, &v, true, out), out, s);
        else
            limit_close(l, look_avx2(l, &v, false, out), out, s);
    }
    limit_settle(l);
}

const struct sight_rival sight_limit_avx2 = {
    .name = "limit, AVX2",
    .runs_here = sight_has_avx2,
    .create = limit_create_8,
    .destroy = limit_destroy,
    .tick = limit_tick_avx2,
    .resident = limit_resident,
};

AVX512 static inline uint32_t within_avx512(const float *x, const float *y, __m512 vx, __m512 vy,
                                            __m512 r2)
{
    __m512 dx = _mm512_sub_ps(_mm512_load_ps(x), vx), dy = _mm512_sub_ps(_mm512_load_ps(y), vy);
    __m512 d2 = _mm512_fmadd_ps(dx, dx, _mm512_mul_ps(dy, dy));

    return _mm512_cmp_ps_mask(d2, r2, _CMP_LE_OQ);
}

AVX512 static inline uint32_t moved_avx512(const float *p)
{
    return _mm512_cmp_ps_mask(_mm512_load_ps(p), _mm512_load_ps(p + 32), _CMP_NEQ_UQ) |
           _mm512_cmp_ps_mask(_mm512_load_ps(p + 16), _mm512_load_ps(p + 48), _CMP_NEQ_UQ);
}

AVX512 static ALWAYS struct looked look_avx512(const struct limit *l, const struct look *v,
                                               bool all, struct sight_record *out)
{
    const __m512 x = _mm512_set1_ps(v->x), y = _mm512_set1_ps(v->y), r2 = _mm512_set1_ps(v->r2);
    const __m512 old_x = _mm512_set1_ps(v->old_x), old_y = _mm512_set1_ps(v->old_y);
    const float *const windows = l->windows;
    const uint32_t to = v->to, self = v->self;
    struct sight_record *at = out;
    uint64_t *changed = l->changed;

    for (uint32_t j = v->from & ~15u; j < to; j += 16) {
        const float *p = windows + (size_t)j * BLOCK_WORDS;
        uint32_t now = within_avx512(p, p + 16, x, y, r2);
        uint32_t old = within_avx512(p + 32, p + 48, old_x, old_y, r2);
        uint32_t stay = now & old, lane = self - j;

        stay &= ~(lane < 16 ? 1u << lane : 0);
        if (!all)
            stay &= moved_avx512(p);
        *changed = (uint64_t)j << 32 | now << 16 | old;
        changed += now != old;
        at = sight_put_avx512(at, p + 64, stay & 255);
        at = sight_put_avx512(at, p + 80, stay >> 8);
    }
    return (struct looked){(uint32_t)(at - out), (uint32_t)(changed - l->changed)};
}

static void *limit_create_16(const struct sight_job *j)
{
    return limit_create(j, 16);
}

AVX512 static void limit_tick_avx512(void *p, const struct sight_input *in, struct sight_sink *s)
{
    struct limit *l = p;

    limit_file(l, in);
    for (uint32_t k = 0; k < l->job.n; k++) {
        struct sight_record *out = sight_sink_room(s, 2 * (size_t)l->job.n);
        struct look v = limit_viewer(l, k);

        if (in->movers == l->job.n)
            limit_close(l, look_avx512(l, &v, true, out), out, s);
        else
            limit_close(l, look_avx512(l, &v, false, out), out, s);
    }
    limit_settle(l);
}

const struct sight_rival sight_limit_avx512 = {
    .name = "limit, AVX-512",
    .runs_here = sight_has_avx512,
    .create = limit_create_16,
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

/* common/hist.c: log-linear buckets.
 *
 *   values 0..15        buckets 0..15, one value each (exact)
 *   values 16..31       buckets 16..31, one value each
 *   values 32..63       buckets 32..47, two values each
 *   values 2^e..2^(e+1) buckets 16·(e−3) and the 15 after it, 2^(e−4) values each
 *
 * up to 2^64 − 1 in bucket 975. A bucket is at most a sixteenth as wide as its lowest value, hence
 * the 6.25 %. May touch: libc. On trouble: none; every value has a bucket.
 */
#include "common/hist.h"

#define HIST_SUB_BITS 4

_Static_assert(HIST_SUB == 1 << HIST_SUB_BITS, "a bucket's index is made by shifting");
_Static_assert(HIST_BUCKETS == HIST_SUB * (64 - HIST_SUB_BITS + 1), "every value has a bucket");

static size_t bucket_of(uint64_t value)
{
    if (value < HIST_SUB)
        return (size_t)value;
    unsigned shift = 63 - HIST_SUB_BITS - (unsigned)__builtin_clzll(value);
    return (size_t)shift * HIST_SUB + (size_t)(value >> shift);
}

/* The largest value of a bucket. */
static uint64_t bucket_top(size_t i)
{
    if (i < 2 * HIST_SUB)
        return i;
    unsigned shift = (unsigned)(i / HIST_SUB) - 1;
    uint64_t lead = HIST_SUB + i % HIST_SUB;
    /* The last bucket's end is 2^64, which wraps to 0 and, less one, is right again. */
    return ((lead + 1) << shift) - 1;
}

void hist_add(struct hist *h, uint64_t value)
{
    h->count++;
    h->sum += value;
    if (value > h->max)
        h->max = value;
    h->bucket[bucket_of(value)]++;
}

void hist_add_many(struct hist *h, uint64_t value, uint64_t times)
{
    if (times == 0)
        return;
    h->count += times;
    h->sum += value * times;
    if (value > h->max)
        h->max = value;
    h->bucket[bucket_of(value)] += times;
}

uint64_t hist_quantile(const struct hist *h, double q)
{
    if (h->count == 0)
        return 0;
    /* How many values have to lie at or below the answer: q of them, rounded up, at least one. */
    double want = q * (double)h->count;
    uint64_t seen = 0;
    for (size_t i = 0; i < HIST_BUCKETS; i++) {
        seen += h->bucket[i];
        if (seen > 0 && (double)seen >= want) {
            uint64_t top = bucket_top(i);
            return top < h->max ? top : h->max;
        }
    }
    return h->max;
}

uint64_t hist_at_most(const struct hist *h, uint64_t limit)
{
    size_t last = bucket_of(limit);
    uint64_t n = 0;
    for (size_t i = 0; i <= last; i++)
        n += h->bucket[i];
    return n;
}

void hist_merge(struct hist *into, const struct hist *from)
{
    into->count += from->count;
    into->sum += from->sum;
    if (from->max > into->max)
        into->max = from->max;
    for (size_t i = 0; i < HIST_BUCKETS; i++)
        into->bucket[i] += from->bucket[i];
}

void hist_since(const struct hist *now, const struct hist *before, struct hist *out)
{
    out->count = now->count - before->count;
    out->sum = now->sum - before->sum;
    out->max = 0;
    for (size_t i = 0; i < HIST_BUCKETS; i++) {
        out->bucket[i] = now->bucket[i] - before->bucket[i];
        if (out->bucket[i] > 0)
            out->max = bucket_top(i) < now->max ? bucket_top(i) : now->max;
    }
}

void hist_clear(struct hist *h)
{
    *h = (struct hist){0};
}

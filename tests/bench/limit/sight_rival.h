/* tests/bench/limit/sight_rival.h: what each program does that sight is measured against.
 * Each tick it takes everybody's places and writes, viewer after viewer, an 8-byte record of each
 * pair: who stays in the radius (and moved), who is gone, who is new, in any order. All find the
 * same input ready, the places and a word per entity, and write to the same buffer.
 * May touch: libc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGHT_RIVAL_SPARE 16 /* records a vector store may write past the last one */

struct sight_record {
    uint32_t subject, tail;
};

/* Instead of a subject's word, in records of who is gone and who is new. */
enum sight_change { SIGHT_GONE, SIGHT_NEW };

/* Where records go; rewound between two viewers where it could be full. */
struct sight_sink {
    struct sight_record *base; /* [cap + SIGHT_RIVAL_SPARE] */
    size_t cap, at;            /* records */
    uint64_t gone, added, staying;
};

struct sight_job {
    uint32_t n;
    double side;   /* of the square, units; from 0 on both axes */
    double radius; /* units */
    double step;   /* units an entity moves in one tick at most */
};

/* One tick's input; the first `movers` may have moved. */
struct sight_input {
    const double *x, *y;  /* [n] units */
    const uint32_t *tail; /* [n] */
    uint32_t movers;
};

struct sight_rival {
    const char *name;
    bool (*runs_here)(void);                    /* NULL: on every processor */
    void *(*create)(const struct sight_job *j); /* NULL: out of memory */
    void (*destroy)(void *p);
    void (*place)(void *p, const struct sight_input *in); /* NULL: none; not timed */
    void (*tick)(void *p, const struct sight_input *in, struct sight_sink *out);
    uint64_t (*resident)(const void *p); /* bytes it holds between two ticks */
    uint32_t n_max;                      /* more would take too long; 0: any */
    bool remembers;                      /* its work depends on earlier ticks than the one before */
};

extern const struct sight_rival sight_limit_plain, sight_limit_avx2, sight_limit_avx512;
extern const struct sight_rival sight_naive, sight_brute;

/* Room for a viewer with up to `most` records. */
static inline struct sight_record *sight_sink_room(struct sight_sink *s, size_t most)
{
    if (s->cap - s->at < most)
        s->at = 0;
    return s->base + s->at;
}

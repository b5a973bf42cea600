/* tests/bench/bench_sight.c: sight alone, beside other ways to do it and the least that could.
 * All programs walk the same walks in the same process, in turn, run after run; what they find is
 * compared tick by tick. What is timed is a tick's CPU time, of which a run's median counts, and of
 * the runs their median again. Places lie ready in every program's input, as requests leave them.
 * May touch: the core, tests/bench/limit.
 */
#include "tests/bench/bench.h"

#include "common/arena.h"
#include "tests/bench/limit/sight_pack.h"
#include "world/interest/sight.h"

#include <stdlib.h>
#include <string.h>

#define SPEED_MAX   12.0         /* units a second: the fastest of the walks */
#define SINK_MIN    (1u << 13)   /* records */
#define SCRATCH     (256u << 20) /* bytes; pages are touched as they are used */
#define BRUTE_PAIRS 500000000.0  /* that a run of a program without memory looks at, at most */
#define EDGE_SHARE  1e-4         /* of all pairs that floats may see otherwise */

/* --- ours --------------------------------------------------------------------------------------
 */

struct ours {
    struct sight_job job;
    struct entities entities;
    struct grid grid;
    struct sight sight;
    struct arena scratch;
    uint32_t tick;
    uint64_t before;           /* bytes resident before there was any sight */
    uint32_t block;            /* the number of the block that is laid out here */
    struct sight_record *laid; /* [cap, to a multiple of 64] */
    uint64_t *moved, *bits;    /* [cap / 64 + 1] */
    sight_pack_fn *pack;
    const struct sight_input *in;
    struct sight_sink *out;
};

/* Bytes of this process in memory, exactly. */
static uint64_t resident(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    unsigned long kib = 0;
    char line[256];

    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "Rss: %lu", &kib) == 1)
            break;
    }
    if (f)
        fclose(f);
    return (uint64_t)kib * 1024;
}

static void ours_destroy(void *p)
{
    struct ours *o = p;

    sight_fini(&o->sight);
    arena_fini(&o->scratch);
    grid_fini(&o->grid);
    entities_fini(&o->entities);
    free(o->laid);
    free(o->moved);
    free(o->bits);
    free(o);
}

static void *ours_create(const struct sight_job *j)
{
    const double bounds[4] = {0, 0, j->side, j->side};
    struct ours *o = calloc(1, sizeof(*o));
    uint32_t cap;

    if (!o || entities_init(&o->entities, j->n) != 0)
        return NULL;
    o->job = *j;
    cap = o->entities.cap;
    for (uint32_t i = 0; i < j->n; i++) {
        struct entity_birth birth = {.id = i + 1, .name = span_text("")};
        struct entity_ref ref;

        if (entities_add(&o->entities, &birth, &ref) != 0)
            return NULL;
    }
    o->pack = sight_pack_choose();
    o->laid = aligned_alloc(64, ((size_t)cap + 64) / 64 * 64 * sizeof(*o->laid));
    o->moved = calloc(cap / 64 + 1, sizeof(*o->moved));
    o->bits = calloc(cap / 64 + 1, sizeof(*o->bits));
    o->before = resident();
    if (!o->laid || !o->moved || !o->bits ||
        sight_init(&o->sight, (struct sight_rules){.radius = j->radius, .step = j->step}, &bounds,
                   1, cap, 1u << 20) != 0 ||
        grid_init(&o->grid, &bounds, 1, j->radius, false, cap) != 0 ||
        arena_init(&o->scratch, SCRATCH) != 0)
        return NULL;
    for (uint32_t i = 0; i < j->n; i++)
        sight_watch(&o->sight, o->entities.alive[i]);
    return o;
}

static void ours_place(void *p, const struct sight_input *in)
{
    struct ours *o = p;
    struct entities *e = &o->entities;

    if (o->tick > 0) { /* what the events of a tick do with the dirty */
        for (uint32_t i = 0; i < e->dirty_count; i++)
            e->flags[e->dirty[i]] = 0;
        e->dirty_count = 0;
    }
    for (uint32_t i = 0; i < in->movers; i++) {
        uint32_t slot = e->alive[i];

        e->x[slot] = in->x[i];
        e->y[slot] = in->y[i];
        entities_mark(e, slot, ENTITY_MOVED);
    }
}

/* The records of a block's candidates, once for all its viewers. */
static void ours_lay(struct ours *o, const struct sight_block *block)
{
    const struct places *p = &o->sight.places;

    o->block = block->number;
    memset(o->moved, 0, (block->n + 63) / 64 * sizeof(*o->moved));
    for (uint32_t j = 0; j < block->n; j++) {
        uint32_t id = known_id(p->keys[block->ranks[j]]);

        o->laid[j] = (struct sight_record){id, o->in->tail[id - 1]};
        o->moved[j / 64] |= (uint64_t)(id <= o->in->movers) << (j % 64);
    }
}

static void ours_tell(void *arg, const struct sight_result *r)
{
    struct ours *o = arg;
    size_t most = r->group ? (size_t)r->n_group * r->n_movers : 2 * (size_t)o->job.n;
    struct sight_record *first = sight_sink_room(o->out, most), *at = first;
    const uint64_t *bits = r->stay;
    uint32_t words;

    for (uint32_t i = 0; i < r->diff.n_gone; i++)
        *at++ = (struct sight_record){known_id(r->diff.gone[i]), SIGHT_GONE};
    for (uint32_t i = 0; i < r->diff.n_added; i++)
        *at++ = (struct sight_record){known_id(r->diff.added[i]), SIGHT_NEW};
    for (uint32_t i = 0; i < r->n_movers; i++) { /* to each of those who are told the same */
        uint32_t id = o->entities.id[r->movers[i]];

        for (uint32_t k = r->group ? r->n_group : 1; k > 0; k--)
            *at++ = (struct sight_record){id, o->in->tail[id - 1]};
    }
    o->out->gone += r->diff.n_gone;
    o->out->added += r->diff.n_added;
    if (r->movers) {
        o->out->staying += (uint64_t)(at - first) - r->diff.n_gone - r->diff.n_added;
        o->out->at += (size_t)(at - first);
        return;
    }
    if (r->block->number != o->block)
        ours_lay(o, r->block);
    words = (r->block->n + 63) / 64;
    if (o->in->movers < o->job.n) {
        for (uint32_t w = 0; w < words; w++)
            o->bits[w] = r->stay[w] & o->moved[w];
        bits = o->bits;
    }
    at = o->pack(o->laid, bits, words, at);
    o->out->staying += (uint64_t)(at - first) - r->diff.n_gone - r->diff.n_added;
    o->out->at += (size_t)(at - first);
}

static void ours_tick(void *p, const struct sight_input *in, struct sight_sink *out)
{
    struct ours *o = p;
    struct entities *e = &o->entities;

    o->tick++;
    o->in = in;
    o->out = out;
    o->block = 0;
    for (uint32_t i = 0; i < e->dirty_count; i++)
        grid_put(&o->grid, e->dirty[i],
                 grid_cell(&o->grid, 0, e->x[e->dirty[i]], e->y[e->dirty[i]]));
    sight_run(&o->sight, e, &o->grid, &o->scratch, o->tick);
    sight_tell(&o->sight, e, ours_tell, o);
    sight_settle(&o->sight, e);
    arena_rewind(&o->scratch, 0);
}

static uint64_t ours_resident(const void *p)
{
    uint64_t now = resident(), before = ((const struct ours *)p)->before;

    return now > before ? now - before : 0;
}

static const struct sight_rival ours = {
    .name = "aegis",
    .create = ours_create,
    .destroy = ours_destroy,
    .place = ours_place,
    .tick = ours_tick,
    .resident = ours_resident,
};

/* --- all of them, in turn ------------------------------------------------------------------------
 */

static const struct sight_rival *const rivals[] = {
    &ours, &sight_limit_avx512, &sight_limit_avx2, &sight_limit_plain, &sight_naive, &sight_brute,
};

#define OURS       0
#define LIMIT      2 /* the line to measure against; the plain one where there is no AVX2 */
#define LIMIT_ELSE 3
#define N_RIVALS   ARRAY_LEN(rivals)

struct tally {
    uint64_t gone, added, staying;
};

struct outcome {
    bool ran;
    double *ns;     /* [runs] a tick */
    double bytes;   /* an entity */
    uint64_t worst; /* most pairs of a tick that were told otherwise than by ours */
    bool agrees;
};

struct course {
    const struct bench_args *args;
    enum workload_kind kind;
    struct sight_job job;
    uint32_t movers;
    int64_t clock_cost; /* nanoseconds */
    struct sight_sink sink;
    uint32_t *tail;      /* [n] */
    struct tally *found; /* [ticks] by ours */
    double *ns;          /* [ticks] of the run at hand */
    struct outcome outcome[N_RIVALS];
};

/* What two readings in a row are apart. */
static int64_t clock_cost(void)
{
    int64_t least = INT64_MAX;

    for (int i = 0; i < 1000; i++) {
        int64_t start = bench_cpu_ns(), cost = bench_cpu_ns() - start;

        least = cost < least ? cost : least;
    }
    return least;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static void compare_tick(struct course *c, size_t which, uint64_t t)
{
    const struct tally found = {c->sink.gone, c->sink.added, c->sink.staying}, *ours_found;
    struct outcome *o = &c->outcome[which];
    uint64_t differ;

    if (which == OURS) {
        c->found[t] = found;
        return;
    }
    ours_found = &c->found[t];
    differ = apart(found.gone, ours_found->gone) + apart(found.added, ours_found->added) +
             apart(found.staying, ours_found->staying);
    o->worst = differ > o->worst ? differ : o->worst;
}

static uint64_t ticks_of(const struct course *c, size_t which)
{
    double pairs = (double)c->job.n * c->job.n, most = BRUTE_PAIRS / pairs;

    if (rivals[which]->n_max == 0 || most >= (double)c->args->ticks)
        return c->args->ticks;
    return most < 3 ? 3 : (uint64_t)most;
}

/* One run of one program: the walk from its start, warm-up, ticks. False: no memory. */
static bool run_one(struct course *c, size_t which, uint64_t run)
{
    const struct sight_rival *r = rivals[which];
    uint64_t ticks = ticks_of(c, which), skip = r->n_max != 0 ? WORKLOAD_WARM_UP - 1 : 0;
    void *p = r->create(&c->job);
    struct workload load;

    if (!p)
        return false;
    workload_init(&load, c->kind, c->job.n, c->args->neighbours, c->args->seed);
    for (uint64_t t = 0; t < WORKLOAD_WARM_UP + ticks; t++) {
        struct sight_input in = {load.x, load.y, c->tail, t <= skip ? c->job.n : c->movers};
        int64_t start;

        workload_step(&load, t == 0 ? c->job.n : c->movers);
        if (t < skip)
            continue;
        if (r->place)
            r->place(p, &in);
        c->sink.gone = c->sink.added = c->sink.staying = 0;
        start = bench_cpu_ns();
        r->tick(p, &in, &c->sink);
        if (t >= WORKLOAD_WARM_UP) {
            c->ns[t - WORKLOAD_WARM_UP] = (double)(bench_cpu_ns() - start - c->clock_cost);
            compare_tick(c, which, t - WORKLOAD_WARM_UP);
        }
    }
    c->outcome[which].ns[run] = bench_median(c->ns, ticks);
    if (run == 0)
        c->outcome[which].bytes = (double)r->resident(p) / c->job.n;
    c->outcome[which].ran = true;
    r->destroy(p);
    workload_fini(&load);
    return true;
}

static double staying_of(const struct course *c)
{
    double sum = 0;

    for (uint64_t t = 0; t < c->args->ticks; t++)
        sum += (double)c->found[t].staying;
    return sum / (double)c->args->ticks;
}

static void judge(struct course *c)
{
    double pairs = staying_of(c) * c->job.n / c->movers;

    for (size_t i = 0; i < N_RIVALS; i++) {
        struct outcome *o = &c->outcome[i];
        bool floats = i != OURS && rivals[i] != &sight_naive && rivals[i] != &sight_brute;

        if (!o->ran)
            continue;
        o->agrees = (double)o->worst <= (floats ? 3 + EDGE_SHARE * pairs : 0);
        if (!o->agrees)
            fprintf(stderr, "bench: %s and %s differ in up to %llu pairs of a tick\n",
                    rivals[i]->name, rivals[OURS]->name, (unsigned long long)o->worst);
    }
}

static void report(const struct course *c, size_t which, double limit)
{
    const struct bench_args *a = c->args;
    const struct outcome *o = &c->outcome[which];
    double per = c->movers, staying = staying_of(c);
    double ns = bench_median(o->ns, a->runs) / per; /* and they are sorted now */
    double least = o->ns[0] / per, most = o->ns[a->runs - 1] / per;
    const char *fmt =
        a->json ? "{\"bench\":\"sight\",\"program\":\"%s\",\"workload\":\"%s\",\"n\":%llu,"
                  "\"neighbours\":%g,\"moving\":%g,\"ns_per_moved_entity\":%.2f,\"min\":%.2f,"
                  "\"max\":%.2f,\"ns_per_staying_pair\":%.3f,\"limit_ns_per_moved_entity\":%.2f,"
                  "\"ratio_to_limit\":%.3f,\"bytes_per_entity\":%.1f,\"pairs_apart\":%llu,"
                  "\"agrees\":%s,\"staying_pairs\":%.0f,\"ticks\":%llu,\"runs\":%llu}\n"
                : "sight %-15s %-8s n=%-6llu K=%-4g moving=%-4g %9.1f ns/moved (%.1f to %.1f) "
                  "%7.3f ns/pair  limit %.1f, ratio %.2f  %6.0f bytes/entity  apart %llu%s\n";

    if (a->json)
        printf(fmt, rivals[which]->name, a->workload, (unsigned long long)a->n, a->neighbours,
               a->move_share, ns, least, most, ns * per / staying, limit, ns / limit, o->bytes,
               (unsigned long long)o->worst, o->agrees ? "true" : "false", staying,
               (unsigned long long)ticks_of(c, which), (unsigned long long)a->runs);
    else
        printf(fmt, rivals[which]->name, a->workload, (unsigned long long)a->n, a->neighbours,
               a->move_share, ns, least, most, ns * per / staying, limit, ns / limit, o->bytes,
               (unsigned long long)o->worst, o->agrees ? "" : "  DIFFERS");
}

static bool runs_here(const struct course *c, size_t which)
{
    const struct sight_rival *r = rivals[which];

    return (!r->runs_here || r->runs_here()) && (r->n_max == 0 || c->job.n <= r->n_max) &&
           (which == OURS || strstr(r->name, c->args->only));
}

static bool course_init(struct course *c)
{
    struct workload load;
    double records;

    workload_init(&load, c->kind, c->job.n, c->args->neighbours, c->args->seed);
    c->job.side = load.side;
    workload_fini(&load);
    c->clock_cost = clock_cost();
    records = 4.0 * c->job.n;
    c->sink.cap = records > SINK_MIN ? (size_t)records : SINK_MIN;
    c->sink.base = calloc(c->sink.cap + SIGHT_RIVAL_SPARE, sizeof(*c->sink.base));
    c->tail = calloc(c->job.n, sizeof(*c->tail));
    c->found = calloc(c->args->ticks, sizeof(*c->found));
    c->ns = calloc(c->args->ticks, sizeof(*c->ns));
    if (!c->sink.base || !c->tail || !c->found || !c->ns)
        return false;
    memset(c->sink.base, 1, (c->sink.cap + SIGHT_RIVAL_SPARE) * sizeof(*c->sink.base));
    for (uint32_t i = 0; i < c->job.n; i++)
        c->tail[i] = i * 2654435761u;
    for (size_t i = 0; i < N_RIVALS; i++) {
        c->outcome[i].ns = calloc(c->args->runs, sizeof(double));
        if (!c->outcome[i].ns)
            return false;
    }
    return true;
}

static void course_fini(struct course *c)
{
    for (size_t i = 0; i < N_RIVALS; i++)
        free(c->outcome[i].ns);
    free(c->sink.base);
    free(c->tail);
    free(c->found);
    free(c->ns);
}

int bench_sight(const struct bench_args *a)
{
    struct course c = {.args = a,
                       .job = {.n = (uint32_t)a->n,
                               .radius = WORKLOAD_RADIUS,
                               .step = SPEED_MAX * WORKLOAD_TICK_S},
                       .movers = (uint32_t)((double)a->n * a->move_share)};
    bool differs = false;
    double limit;

    if (c.movers == 0)
        c.movers = 1;
    if (!workload_kind_find(a->workload, &c.kind)) {
        fprintf(stderr, "bench: -workload: \"%s\": must be uniform, hotspot or mass\n",
                a->workload);
        return 2;
    }
    if (!course_init(&c)) {
        fprintf(stderr, "bench: out of memory\n");
        return 1;
    }
    for (uint64_t run = 0; run < a->runs; run++) {
        for (size_t i = 0; i < N_RIVALS; i++) {
            if (runs_here(&c, i) && !run_one(&c, i, run))
                fprintf(stderr, "bench: %s: out of memory\n", rivals[i]->name);
        }
    }
    judge(&c);
    limit =
        bench_median(c.outcome[c.outcome[LIMIT].ran ? LIMIT : LIMIT_ELSE].ns, a->runs) / c.movers;
    for (size_t i = 0; i < N_RIVALS; i++) {
        if (c.outcome[i].ran)
            report(&c, i, limit);
        else if (!a->json && a->only[0] == '\0')
            printf("sight %-15s left out: %s\n", rivals[i]->name,
                   rivals[i]->n_max ? "too many pairs" : "not on this processor");
        differs = differs || (c.outcome[i].ran && !c.outcome[i].agrees);
    }
    course_fini(&c);
    return differs ? 1 : 0;
}

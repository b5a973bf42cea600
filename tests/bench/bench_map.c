/* tests/bench/bench_map.c: what a live map costs a world: its copy at a tick's end, writing that as
 * a frame, and the tick itself with a copy after every other one (ten a second at 50 ms) and
 * without. May touch: the core, world/edge/watch_copy, world/edge/json_put.
 */
#include "tests/bench/bench.h"
#include "tests/bench/core_rig.h"
#include "world/edge/json_put.h"
#include "world/edge/watch_copy.h"

#include <stdlib.h>

struct samples {
    double *plain, *watched, *copy, *frame; /* [ticks] ns */
    uint64_t n_plain, n_watched, n_copies;
};

static bool samples_init(struct samples *s, uint64_t ticks)
{
    *s = (struct samples){
        .plain = calloc(ticks + 1, sizeof(double)),
        .watched = calloc(ticks + 1, sizeof(double)),
        .copy = calloc(ticks + 1, sizeof(double)),
        .frame = calloc(ticks + 1, sizeof(double)),
    };
    return s->plain && s->watched && s->copy && s->frame;
}

static void report(const struct bench_args *a, const struct samples *s, size_t bytes)
{
    double plain = bench_median(s->plain, s->n_plain);
    double watched = bench_median(s->watched, s->n_watched);
    const char *fmt = a->json
                          ? "{\"bench\":\"map\",\"program\":\"aegis\",\"n\":%llu,\"tick_us\":%.1f,"
                            "\"watched_tick_us\":%.1f,\"ratio\":%.3f,\"tick_p99_us\":%.1f,"
                            "\"watched_tick_p99_us\":%.1f,\"copy_us\":%.1f,\"frame_us\":%.1f,"
                            "\"frame_bytes\":%zu,"
                            "\"runs\":1}\n"
                          : "map n=%-6llu tick %.1f us, watched %.1f (%.3f); p99 %.1f, watched "
                            "%.1f; copy %.1f us, "
                            "frame %.1f us, %zu bytes\n";

    printf(fmt, (unsigned long long)a->n, plain / 1e3, watched / 1e3, watched / plain,
           s->plain[s->n_plain * 99 / 100] / 1e3, s->watched[s->n_watched * 99 / 100] / 1e3,
           bench_median(s->copy, s->n_copies) / 1e3, bench_median(s->frame, s->n_copies) / 1e3,
           bytes);
}

int bench_map(const struct bench_args *a)
{
    struct watch_copy copy, *copies[SCENES_MAX] = {&copy};
    uint8_t *bytes = malloc(WATCH_COPY_BYTES);
    char *text = malloc(JSON_PUT_BASE64(WATCH_COPY_BYTES));
    uint32_t n = (uint32_t)a->n;
    enum workload_kind kind;
    struct workload load;
    struct core_rig rig;
    struct samples s;
    size_t written = 0;

    if (!samples_init(&s, a->ticks) || !bytes || !text || watch_copy_init(&copy) != 0 ||
        !workload_kind_find(a->workload, &kind))
        return 2;
    workload_init(&load, kind, n, a->neighbours, a->seed);
    core_rig_init(&rig, n, load.side, a->seed);
    core_rig_populate(&rig, n);
    for (uint64_t t = 0; t < WORKLOAD_WARM_UP + 2 * a->ticks; t++) {
        bool watched = t / 20 % 2 == 1; /* a second of each by turns */
        int64_t start, end;

        workload_step(&load, n);
        core_rig_place(&rig, &load, n);
        start = core_rig_cpu_ns();
        core_rig_tick(&rig);
        end = core_rig_cpu_ns();
        if (t >= WORKLOAD_WARM_UP && watched && s.n_watched < a->ticks)
            s.watched[s.n_watched++] = (double)(end - start);
        if (t >= WORKLOAD_WARM_UP && !watched && s.n_plain < a->ticks)
            s.plain[s.n_plain++] = (double)(end - start);
        if (!watched || t % 2 != 0)
            continue;
        start = core_rig_cpu_ns();
        watch_copy_take(copies, rig.world);
        end = core_rig_cpu_ns();
        written = json_put_base64(bytes, watch_copy_write(&copy, bytes), text);
        if (s.n_copies < a->ticks) {
            s.copy[s.n_copies] = (double)(end - start);
            s.frame[s.n_copies++] = (double)(core_rig_cpu_ns() - end);
        }
    }
    report(a, &s, written);
    free(s.plain);
    free(s.watched);
    free(s.copy);
    free(s.frame);
    free(bytes);
    free(text);
    watch_copy_fini(&copy);
    core_rig_fini(&rig);
    workload_fini(&load);
    return 0;
}

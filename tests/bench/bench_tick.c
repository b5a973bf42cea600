/* tests/bench/bench_tick.c: the whole tick of the core, by phase.
 * A world with its sessions, driven as the edge drives it, but for places: they are set in the
 * entity arrays, since requests are not what is measured. The outbox is drained to nowhere.
 * May touch: the core.
 */
#include "tests/bench/bench.h"

#include "common/clock.h"
#include "proto/frame.h"
#include "proto/link.h"
#include "world/command/inbox.h"
#include "world/tick.h"

#include <stdlib.h>
#include <time.h>

static void drain(void *arg, struct link_ref link, struct span frames)
{
    (void)link;
    *(uint64_t *)arg += frames.n;
}

/* The thread's own time: what others do on the machine is not counted. */
static int64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * CLOCK_NS_PER_S + t.tv_nsec;
}

static int64_t clock_ns(void *arg)
{
    (void)arg;
    return cpu_ns();
}

static void give(struct world *w, struct link_ref link, const struct span_writer *frame)
{
    struct span body = span_of(frame->p + FRAME_HEAD, frame->len - FRAME_HEAD);

    if (inbox_frame(w, link, body, (struct mono){0}) != 0)
        exit(1);
}

static void request(struct world *w, struct link_ref link, uint64_t sid, const struct message *m)
{
    uint8_t body[256], frame[512];
    struct span_writer b = span_writer_of(body, sizeof(body));
    struct span_writer f = span_writer_of(frame, sizeof(frame));
    struct span whole;

    message_write(&b, m);
    whole = span_written(&b);
    link_write_data(&f, sid, &whole, 1);
    give(w, link, &f);
}

static void populate(struct world *w, struct link_ref link, uint32_t n)
{
    for (uint32_t i = 1; i <= n; i++) {
        struct message login = {.cmd = CMD_LOGIN_REQ, .seq = 1}, enter = {.cmd = CMD_ENTER_REQ};
        uint8_t bytes[256];
        struct span_writer f = span_writer_of(bytes, sizeof(bytes));
        char name[16];

        link_write_open(&f, i, span_text("bench"));
        give(w, link, &f);
        snprintf(name, sizeof(name), "p%u", i);
        login.login_req.name = span_text(name);
        login.login_req.version = PROTO_VERSION;
        request(w, link, i, &login);
        request(w, link, i, &enter);
    }
}

static void place(struct world *w, const struct workload *load, uint32_t movers)
{
    struct entities *e = &w->entities;

    for (uint32_t i = 0; i < movers; i++) {
        uint32_t slot = e->alive[i];

        e->x[slot] = load->x[i];
        e->y[slot] = load->y[i];
        entities_mark(e, slot, ENTITY_MOVED);
    }
}

static void report(const struct bench_args *a, const struct world *w, double ns, uint64_t bytes,
                   uint64_t moves, uint64_t moved)
{
    double ticks = (double)a->ticks, n = (double)moved, staying = (double)moves / ticks;
    double sight = (double)w->phase_ns[PHASE_SIGHT].sum / ticks;
    double grid = (double)w->phase_ns[PHASE_GRID].sum / ticks;
    double events = (double)w->phase_ns[PHASE_EVENTS].sum / ticks;
    double fanout = (double)w->phase_ns[PHASE_FANOUT].sum / ticks;
    const char *fmt =
        a->json
            ? "{\"bench\":\"tick\",\"workload\":\"%s\",\"n\":%llu,\"neighbours\":%g,"
              "\"ns_per_moved_entity\":%.1f,\"ns_per_staying_pair\":%.2f,\"grid_ns\":%.1f,"
              "\"sight_ns\":%.1f,\"events_ns\":%.1f,\"fanout_ns\":%.1f,\"bytes_per_viewer\":%.1f}\n"
            : "tick %-8s n=%-6llu K=%-4g %8.1f ns/moved %6.2f ns/pair  (grid %.0f sight %.0f "
              "events %.0f fanout %.0f) %7.1f bytes/viewer\n";

    printf(fmt, a->workload, (unsigned long long)a->n, a->neighbours, ns / n,
           staying > 0 ? ns / staying : 0, grid / n, sight / n, events / n, fanout / n,
           (double)bytes / ticks / (double)a->n);
}

int bench_tick(const struct bench_args *a)
{
    struct world_config c = {.aoi_radius = WORKLOAD_RADIUS,
                             .tick_ns = 50 * CLOCK_NS_PER_MS,
                             .max_speed = 12,
                             .move_burst_ns = CLOCK_NS_PER_S,
                             .update_interval = 2,
                             .move_epsilon = 0.05,
                             .dir_epsilon = 1,
                             .quantum = 1.0 / 64,
                             .max_entities = a->n,
                             .max_pairs = 256u << 20,
                             .spawn = "line",
                             .seed = a->seed};
    uint64_t bytes = 0, from = 0, moves = 0;
    uint32_t n = (uint32_t)a->n, movers = (uint32_t)((double)a->n * a->move_share);
    struct world_ops ops = {drain, clock_ns, &bytes};
    double *ns = calloc(a->ticks, sizeof(*ns));
    enum workload_kind kind;
    struct link_ref link, none;
    struct workload load;
    struct world *w;
    char why[256];

    if (!ns || !workload_kind_find(a->workload, &kind)) {
        fprintf(stderr, "bench: -workload: \"%s\": must be uniform, hotspot or mass\n",
                a->workload);
        return 2;
    }
    workload_init(&load, kind, n, a->neighbours, a->seed);
    c.bounds[2] = c.bounds[3] = load.side;
    if (world_create(&c, &ops, &w, why, sizeof(why)) != 0 ||
        inbox_link_up(w, span_text("bench"), (struct mono){0}, &link, &none) != 0) {
        fprintf(stderr, "bench: %s\n", why);
        return 1;
    }
    populate(w, link, n);
    for (uint64_t t = 0; t < WORKLOAD_WARM_UP + a->ticks; t++) {
        int64_t start;

        if (t == WORKLOAD_WARM_UP) {
            outbox_flush(&w->outbox);
            from = bytes;
            moves = w->metrics.aoi_moves;
            for (int i = 0; i < PHASE_COUNT; i++)
                hist_clear(&w->phase_ns[i]);
        }
        workload_step(&load, t == 0 ? n : movers);
        place(w, &load, t == 0 ? n : movers);
        start = cpu_ns();
        tick_run(w, (struct mono){0});
        outbox_flush(&w->outbox);
        if (t >= WORKLOAD_WARM_UP)
            ns[t - WORKLOAD_WARM_UP] = (double)(cpu_ns() - start);
    }
    report(a, w, bench_median(ns, a->ticks), bytes - from, w->metrics.aoi_moves - moves,
           movers > 0 ? movers : 1);
    free(ns);
    world_destroy(w);
    workload_fini(&load);
    return 0;
}

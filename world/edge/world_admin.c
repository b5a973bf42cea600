/* world/edge/world_admin.c: what operators see: metrics and health.
 * May touch: common, common/io/http, the core's counters, world_link. On trouble: a page that
 * cannot be made is a 500 of http's.
 */
#include "world/edge/world_admin.h"

#include "common/err.h"
#include "common/io/http.h"

#include <stdlib.h>

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define PLAIN_TYPE   "text/plain; charset=utf-8"

#define US(n) ((uint64_t)(n)*1000)
#define MS(n) ((uint64_t)(n)*1000000)

/* Around the tick's 50 ms, and fine where a tick should be. */
static const uint64_t bounds_ns[] = {
    US(10), US(25), US(50), US(100), US(250), US(500), MS(1),   MS(2),   MS(5),
    MS(10), MS(20), MS(30), MS(40),  MS(50),  MS(100), MS(250), MS(500), MS(1000),
};

static const struct {
    const char *name, *help;
} phase_table[PHASE_COUNT] = {
    [PHASE_GRID] = {"aegis_world_phase_grid_seconds", "Time to move the dirty to their cells"},
    [PHASE_SIGHT] = {"aegis_world_phase_sight_seconds", "Time to find who came into sight or went"},
    [PHASE_EVENTS] = {"aegis_world_phase_events_seconds", "Time to decide what is told"},
    [PHASE_FANOUT] = {"aegis_world_phase_fanout_seconds", "Time to write the viewers' batches"},
};

struct world_admin {
    struct world_admin_view view;
    struct http *http;
};

static void write_hist(const char *name, const char *help, const struct hist *h, FILE *to)
{
    metrics_write_hist(name, help, h, bounds_ns, ARRAY_LEN(bounds_ns), to);
}

static int page_metrics(void *arg, FILE *to)
{
    struct world_admin *a = arg;
    const struct world_admin_view *v = &a->view;
    struct http_counts counts = http_counted(a->http);

    v->metrics->admin_answered = counts.answered;
    v->metrics->admin_refused = counts.refused;
    v->metrics->admin_late = counts.late;
    v->metrics->admin_full = counts.full;
    world_gauges(v->world);
    world_link_gauges(v->link);
    metrics_write(world_metrics_table, world_metrics_count, &v->world->metrics, to);
    metrics_write(edge_metrics_table, edge_metrics_count, v->metrics, to);
    write_hist("aegis_world_tick_seconds", "Time of a tick, with the hand-over to the links",
               v->tick_ns, to);
    for (size_t i = 0; i < PHASE_COUNT; i++)
        write_hist(phase_table[i].name, phase_table[i].help, &v->world->phase_ns[i], to);
    return 200;
}

static int page_health(void *arg, FILE *to)
{
    (void)arg;
    fputs("ok\n", to);
    return 200;
}

static int page_ready(void *arg, FILE *to)
{
    const struct world_admin *a = arg;
    bool ready = world_link_listening(a->view.link);

    fputs(ready ? "ready\n" : "draining\n", to);
    return ready ? 200 : 503;
}

static const struct http_route routes[] = {
    {"/metrics", METRICS_TYPE, page_metrics},
    {"/healthz", PLAIN_TYPE, page_health},
    {"/readyz", PLAIN_TYPE, page_ready},
};

int world_admin_create(struct loop *l, const char *addr, const struct world_admin_view *v,
                       struct world_admin **out, char *why, size_t why_cap)
{
    struct world_admin *a = calloc(1, sizeof(*a));

    if (!a) {
        snprintf(why, why_cap, "%s", err_text(E_NOMEM));
        return E_NOMEM;
    }
    a->view = *v;
    struct http_config c = {
        .addr = addr,
        .routes = routes,
        .n_routes = ARRAY_LEN(routes),
        .arg = a,
    };
    int err = http_create(l, &c, &a->http, why, why_cap);
    if (err != 0) {
        free(a);
        return err;
    }
    *out = a;
    return 0;
}

const char *world_admin_addr(const struct world_admin *a)
{
    return http_addr(a->http);
}

void world_admin_destroy(struct world_admin *a)
{
    if (!a)
        return;
    http_destroy(a->http);
    free(a);
}

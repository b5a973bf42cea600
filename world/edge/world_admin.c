/* world/edge/world_admin.c: what operators see: metrics and health.
 * May touch: common, common/io/http, the core's counters, world_link. On trouble: a page that
 * cannot be made is a 500 of http's.
 */
#include "world/edge/world_admin.h"

#include "common/err.h"
#include "common/io/http.h"
#include "proto/message.h"

#include <stdlib.h>

#define PLAIN_TYPE "text/plain; charset=utf-8"

#define BUILD_NAME "aegis_build_info"
#define BUILD_HELP "What runs here"
#define TICK_NAME  "aegis_world_tick_seconds"
#define TICK_HELP  "Time of a tick, with the hand-over to the links"
#define PHASE_NAME "aegis_world_tick_phase_seconds"
#define PHASE_HELP "Time of a tick's parts, by phase"

#define US(n) ((uint64_t)(n)*1000)
#define MS(n) ((uint64_t)(n)*1000000)

/* Around the tick's 50 ms, and fine where a tick should be. */
static const uint64_t bounds_ns[] = {
    US(10), US(25), US(50), US(100), US(200), US(300), US(500), US(700), MS(1),    US(1500),
    MS(2),  MS(3),  MS(4),  MS(5),   MS(7),   MS(10),  MS(15),  MS(20),  MS(25),   MS(30),
    MS(35), MS(40), MS(45), MS(50),  MS(75),  MS(100), MS(250), MS(500), MS(1000),
};

static const char *const phase_labels[PHASE_COUNT] = {
    [PHASE_WALK] = "phase=\"walk\"",     /* who is walked takes a step */
    [PHASE_GRID] = "phase=\"grid\"",     /* the dirty go to their cells */
    [PHASE_SIGHT] = "phase=\"sight\"",   /* who came into sight, who went */
    [PHASE_EVENTS] = "phase=\"events\"", /* what is told */
    [PHASE_FANOUT] = "phase=\"fanout\"", /* the viewers' batches are written */
};

struct world_admin {
    struct world_admin_view view;
    struct http *http;
};

static void write_build(FILE *to)
{
    char label[256];

    snprintf(label, sizeof(label), "role=\"world\",version=\"%s\",libevent=\"%s\",msgpack_c=\"%s\"",
             AEGIS_VERSION, loop_library(), message_library());
    metrics_write_info(BUILD_NAME, BUILD_HELP, label, to);
}

static void write_times(const struct world_admin_view *v, FILE *to)
{
    struct metric_hist phases[PHASE_COUNT], tick = {"", v->tick_ns};

    for (size_t i = 0; i < PHASE_COUNT; i++)
        phases[i] = (struct metric_hist){phase_labels[i], &v->world->phase_ns[i]};
    metrics_write_hists(TICK_NAME, TICK_HELP, &tick, 1, bounds_ns, ARRAY_LEN(bounds_ns), to);
    metrics_write_hists(PHASE_NAME, PHASE_HELP, phases, PHASE_COUNT, bounds_ns,
                        ARRAY_LEN(bounds_ns), to);
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
    write_build(to);
    metrics_write(world_metrics_table, world_metrics_count, &v->world->metrics, to);
    metrics_write(edge_metrics_table, edge_metrics_count, v->metrics, to);
    write_times(v, to);
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

void world_admin_print_metrics(FILE *to)
{
    metrics_print_head(to);
    metrics_print_info(BUILD_NAME, BUILD_HELP, "`role`, `version`, `libevent`, `msgpack_c`", to);
    metrics_print_rows(world_metrics_table, world_metrics_count, to);
    metrics_print_rows(edge_metrics_table, edge_metrics_count, to);
    metrics_print_hists(TICK_NAME, TICK_HELP, NULL, 0, to);
    metrics_print_hists(PHASE_NAME, PHASE_HELP, phase_labels, PHASE_COUNT, to);
}

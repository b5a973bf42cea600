/* world/edge/world_admin.c: the operators' listener: its paths, metrics and health, live maps.
 * What is asked of the world is in admin_read.c, what is done to it in admin_act.c.
 * May touch: common, common/io/http, the core's counters, world_link. On trouble: a page that
 * cannot be made is a 500 of http's.
 */
#include "world/edge/world_admin_own.h"

#include "common/err.h"
#include "proto/message.h"
#include "world/edge/watch_page.h"

#include <inttypes.h>
#include <stdlib.h>

#define CONNECTIONS_MAX 128 /* at once, without live maps: fifty maps that are opened together */

#define PLAIN_TYPE "text/plain; charset=utf-8"
#define JSON_TYPE  "application/json"

#define BUILD_NAME "aegis_build_info"
#define BUILD_HELP "What runs here"
#define SCENE_NAME "aegis_world_scene_entities"
#define SCENE_HELP "Entities in the world now, by scene"
#define TICK_NAME  "aegis_world_tick_seconds"
#define TICK_HELP  "Time of a tick, with the hand-over to the links"
#define PHASE_NAME "aegis_world_tick_phase_seconds"
#define PHASE_HELP "Time of a tick's parts, by phase"

#define AGES_NAME "aegis_world_told_age_seconds"
#define AGES_HELP                                                                                \
    "Time from a change to the tick that tells a viewer of it, by tier: the median, what 99 of " \
    "100 stay below, and the most since the start; without tiers, once for each mover"
#define BOOKS_NAME "aegis_world_tick_pairs"
#define BOOKS_HELP                                                                                 \
    "Pairs of a viewer and one it sees, by book: that a tick told as added, told as removed, and " \
    "known after it; the median, what 99 of 100 stay below, and the most since the start"

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

static const char *const book_labels[BOOK_COUNT] = {
    [BOOK_ADDS] = "book=\"adds\"",
    [BOOK_REMOVES] = "book=\"removes\"",
    [BOOK_KNOWN] = "book=\"known\"",
};

static const char *const tier_labels[AGES_TIERS] = {
    "tier=\"0\"", "tier=\"1\"", "tier=\"2\"", "tier=\"3\"",
    "tier=\"4\"", "tier=\"5\"", "tier=\"6\"", "tier=\"7\"",
};

static void write_build(FILE *to)
{
    char label[256];

    snprintf(label, sizeof(label), "role=\"world\",version=\"%s\",libevent=\"%s\",msgpack_c=\"%s\"",
             AEGIS_VERSION, loop_library(), message_library());
    metrics_write_info(BUILD_NAME, BUILD_HELP, label, to);
}

static void write_scenes(const struct world *w, FILE *to)
{
    char labels[SCENES_MAX][PROTO_SCENE_MAX + sizeof("scene=\"\"")];
    struct metric_gauge gauges[SCENES_MAX];

    for (uint32_t i = 0; i < w->scenes.n; i++) {
        const struct scene *s = &w->scenes.list[i];

        snprintf(labels[i], sizeof(labels[i]), "scene=\"%.*s\"", (int)s->name.n,
                 (const char *)s->name.p);
        gauges[i] = (struct metric_gauge){labels[i], w->entities.in_scene[i]};
    }
    metrics_write_gauges(SCENE_NAME, SCENE_HELP, gauges, w->scenes.n, to);
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

static void write_sight(const struct world *w, FILE *to)
{
    const uint32_t n_tiers = world_tiers(w);
    struct metric_hist ages[AGES_TIERS], books[BOOK_COUNT];

    for (uint32_t i = 0; i < n_tiers; i++)
        ages[i] = (struct metric_hist){tier_labels[i], &w->ages.told[i]};
    for (size_t i = 0; i < BOOK_COUNT; i++)
        books[i] = (struct metric_hist){book_labels[i], &w->books[i]};
    metrics_write_summaries(AGES_NAME, AGES_HELP, ages, n_tiers, (uint64_t)w->config.tick_ns, to);
    metrics_write_summaries(BOOKS_NAME, BOOKS_HELP, books, BOOK_COUNT, 0, to);
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
    if (v->storage)
        storage_gauges(v->storage, v->metrics);
    if (v->cluster)
        cluster_part_gauges(v->cluster, v->metrics);
    write_build(to);
    metrics_write(world_metrics_table, world_metrics_count, &v->world->metrics, to);
    metrics_write(edge_metrics_table, edge_metrics_count, v->metrics, to);
    write_scenes(v->world, to);
    write_times(v, to);
    write_sight(v->world, to);
    return 200;
}

static int page_health(void *arg, FILE *to)
{
    (void)arg;
    fputs("ok\n", to);
    return 200;
}

const char *world_admin_still(const struct world_admin *a)
{
    if (!a->view.cluster || cluster_part_may_act(a->view.cluster))
        return NULL;
    return cluster_part_trouble(a->view.cluster);
}

static int page_ready(void *arg, FILE *to)
{
    const struct world_admin *a = arg;
    const char *still = a->view.cluster ? cluster_part_trouble(a->view.cluster) : NULL;
    char why[STORE_WHY_MAX];

    if (!world_link_listening(a->view.link) || (a->view.cluster && a->view.cluster->leaves)) {
        fputs("draining\n", to);
        return 503;
    }
    if (still) {
        fprintf(to, "%s\n", still);
        return 503;
    }
    if (a->view.storage && storage_trouble(a->view.storage, why)) {
        fprintf(to, "places are not saved: %s\n", why);
        return 503;
    }
    fputs("ready\n", to);
    return 200;
}

/* --- live maps -------------------------------------------------------------------------------- */

static int open_map(void *arg, const struct http_order *in, struct http_feed *f, FILE *to)
{
    struct world_admin *a = arg;
    const struct scenes *scenes = &a->view.world->scenes;
    uint32_t scene = scenes->first;
    struct admin_ask ask;
    const char *why;

    if (admin_ask_read(in->query, ADMIN_ASK_SCENE, 0, &ask, &why) != 0)
        return world_admin_say_no(400, why, to);
    if ((ask.has & ADMIN_ASK_SCENE) && !scenes_find(scenes, span_text(ask.scene), &scene))
        return world_admin_say_no(404, "there is no such scene", to);
    switch (watch_open(a->watch, f, scene)) {
    case 0:
        return 200;
    case E_FULL:
        return world_admin_say_no(503, "as many live maps are open as -map-viewers allows", to);
    default:
        return world_admin_say_no(503, "there is no memory for one more live map", to);
    }
}

static void on_map_closed(void *arg, struct http_feed *f)
{
    struct world_admin *a = arg;

    watch_closed(a->watch, f);
}

void world_admin_tick(struct world_admin *a, struct mono now, uint64_t took_ns)
{
    watch_stats_tick(&a->stats, a->view.world, took_ns);
    watch_tick(a->watch, now);
}

/* --- the whole -------------------------------------------------------------------------------- */

#define PAGE(path_, type_)                                                               \
    {                                                                                    \
        .path = (path_), .type = (type_), .ask = watch_page, .fields = WATCH_PAGE_FIELDS \
    }

static const struct http_route routes[] = {
    {.path = "/metrics", .type = METRICS_TYPE, .page = page_metrics},
    {.path = "/healthz", .type = PLAIN_TYPE, .page = page_health},
    {.path = "/readyz", .type = PLAIN_TYPE, .page = page_ready},
    {.path = "/zones", .type = JSON_TYPE, .ask = admin_read_zones},
    {.path = "/announce", .type = JSON_TYPE, .post = admin_act_announce},
    {.path = "/api/world", .type = JSON_TYPE, .ask = admin_read_world},
    {.path = "/api/stats", .type = JSON_TYPE, .ask = admin_read_stats},
    {.path = "/api/ground", .type = JSON_TYPE, .ask = admin_read_ground},
    {.path = "/api/entities", .type = JSON_TYPE, .ask = admin_read_entities},
    {.path = "/api/entity", .type = JSON_TYPE, .ask = admin_read_entity},
    {.path = "/api/explain", .type = JSON_TYPE, .ask = admin_read_explain},
    {.path = "/api/kick", .type = JSON_TYPE, .post = admin_act_kick},
    {.path = "/api/teleport", .type = JSON_TYPE, .post = admin_act_teleport},
    {.path = "/api/drain", .type = JSON_TYPE, .post = admin_act_drain},
    {.path = "/api/log", .type = JSON_TYPE, .post = admin_act_log},
    {.path = "/api/trace", .type = JSON_TYPE, .post = admin_act_trace},
    {.path = "/map/feed", .type = "text/event-stream", .feed = open_map},
    WATCH_PAGE_ROUTES(PAGE),
};

static void on_drain(void *arg)
{
    const struct world_admin *a = arg;

    a->view.drain(a->view.drain_arg);
}

static int build(struct world_admin *a, const char *addr, char *why, size_t why_cap)
{
    const struct world_admin_view *v = &a->view;
    struct http_config c = {
        .addr = addr,
        .routes = routes,
        .n_routes = ARRAY_LEN(routes),
        .arg = a,
        .connections = CONNECTIONS_MAX,
        .feed_closed = on_map_closed,
    };
    int err = loop_timer_create(a->loop, on_drain, a, &a->drain);

    a->stats.metrics = v->metrics;
    if (err == 0)
        err = watch_create(a->loop, v->world, &a->stats, v->metrics, &v->maps, &a->watch);
    if (err != 0) {
        snprintf(why, why_cap, "%s", err_text(err));
        return err;
    }
    return http_create(a->loop, &c, &a->http, why, why_cap);
}

int world_admin_create(struct loop *l, const char *addr, const struct world_admin_view *v,
                       struct world_admin **out, char *why, size_t why_cap)
{
    struct world_admin *a = calloc(1, sizeof(*a));
    int err;

    if (!a) {
        snprintf(why, why_cap, "%s", err_text(E_NOMEM));
        return E_NOMEM;
    }
    a->loop = l;
    a->view = *v;
    err = build(a, addr, why, why_cap);
    if (err != 0) {
        world_admin_destroy(a);
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
    watch_destroy(a->watch);
    loop_timer_destroy(a->drain);
    free(a);
}

void world_admin_print_metrics(FILE *to)
{
    metrics_print_head(to);
    metrics_print_info(BUILD_NAME, BUILD_HELP, "`role`, `version`, `libevent`, `msgpack_c`", to);
    metrics_print_rows(world_metrics_table, world_metrics_count, to);
    metrics_print_rows(edge_metrics_table, edge_metrics_count, to);
    metrics_print_info(SCENE_NAME, SCENE_HELP, "`scene`: open, and each map's name", to);
    metrics_print_hists(TICK_NAME, TICK_HELP, NULL, 0, to);
    metrics_print_hists(PHASE_NAME, PHASE_HELP, phase_labels, PHASE_COUNT, to);
    metrics_print_summaries(AGES_NAME, AGES_HELP, tier_labels, AGES_TIERS, to);
    metrics_print_summaries(BOOKS_NAME, BOOKS_HELP, book_labels, BOOK_COUNT, to);
}

/* world/edge/world_admin.c: what operators see: metrics and health; and what they may do.
 * May touch: common, common/io/http, the core's counters and inbox, world_link. On trouble: a page
 * that cannot be made is a 500 of http's; an order that is refused says why in one sentence.
 */
#include "world/edge/world_admin.h"

#include "common/err.h"
#include "common/io/http.h"
#include "common/log.h"
#include "proto/message.h"
#include "world/command/inbox.h"
#include "world/edge/announce.h"

#include <inttypes.h>
#include <stdlib.h>

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

struct world_admin {
    struct loop *loop;
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

static int page_ready(void *arg, FILE *to)
{
    const struct world_admin *a = arg;
    char why[STORE_WHY_MAX];

    if (!world_link_listening(a->view.link)) {
        fputs("draining\n", to);
        return 503;
    }
    if (a->view.storage && storage_trouble(a->view.storage, why)) {
        fprintf(to, "places are not saved: %s\n", why);
        return 503;
    }
    fputs("ready\n", to);
    return 200;
}

/* --- orders ----------------------------------------------------------------------------------- */

/* `why`: static text, without quotes. Returns the status. */
static int refuse(struct world_admin *a, const char *order, int status, const char *why, FILE *to)
{
    a->view.metrics->orders_refused++;
    log_often(LOG_WARN, "order refused order=%s status=%d: %s", order, status, why);
    fprintf(to, "{\"error\":\"%s\"}\n", why);
    return status;
}

/* May the world be changed by this request? NULL, or why not. */
static const char *forbidden(const struct world_admin *a, const struct http_order *in, int *status)
{
    *status = 401;
    switch (admin_token_check(a->view.token, in->authorization)) {
    case ADMIN_TOKEN_OFF:
        *status = 403;
        return "nothing can be changed here: the world was started without -admin-token";
    case ADMIN_TOKEN_MISSING:
        return "this needs the field Authorization: Bearer with the token of -admin-token";
    case ADMIN_TOKEN_WRONG:
        return "the token is wrong";
    case ADMIN_TOKEN_GOOD:
        break;
    }
    *status = 503;
    return world_link_listening(a->view.link) ? NULL : "the world is ending";
}

static const char *const area_words[] = {
    [NOTICE_EVERYBODY] = "everybody",
    [NOTICE_SCENE] = "scene",
    [NOTICE_ZONE] = "zone",
    [NOTICE_CELL] = "cell",
};

static int order_announce(void *arg, const struct http_order *in, FILE *to)
{
    struct world_admin *a = arg;
    struct world *w = a->view.world;
    struct notice_area area = {.reach = NOTICE_EVERYBODY, .scene = w->scenes.first};
    struct announce what;
    int status;
    const char *why = forbidden(a, in, &status);

    if (why)
        return refuse(a, "announce", status, why, to);
    if (announce_read(in->query, in->body, &what, &why) != 0)
        return refuse(a, "announce", 400, why, to);
    if (what.has_scene && !scenes_find(&w->scenes, span_text(what.scene), &area.scene))
        return refuse(a, "announce", 404, "there is no such scene", to);
    if (what.has_scene)
        area.reach = NOTICE_SCENE;
    if (what.has_rect) {
        area.reach = NOTICE_ZONE;
        memcpy(area.rect, what.rect, sizeof(area.rect));
    }
    if (what.has_at) {
        area.reach = NOTICE_CELL;
        area.cell = grid_cell(&w->scenes.grid, area.scene, what.at[0], what.at[1]);
    }
    uint32_t told = inbox_announce(w, &area, what.text, loop_now(a->loop));
    outbox_flush(&w->outbox);
    log_line(LOG_INFO, "announced area=%s told=%" PRIu32 " bytes=%zu", area_words[area.reach], told,
             what.text.n);
    fprintf(to, "{\"told\":%" PRIu32 "}\n", told);
    return 200;
}

static const struct http_route routes[] = {
    {"/metrics", METRICS_TYPE, page_metrics, NULL},
    {"/healthz", PLAIN_TYPE, page_health, NULL},
    {"/readyz", PLAIN_TYPE, page_ready, NULL},
    {"/announce", JSON_TYPE, NULL, order_announce},
};

int world_admin_create(struct loop *l, const char *addr, const struct world_admin_view *v,
                       struct world_admin **out, char *why, size_t why_cap)
{
    struct world_admin *a = calloc(1, sizeof(*a));

    if (!a) {
        snprintf(why, why_cap, "%s", err_text(E_NOMEM));
        return E_NOMEM;
    }
    a->loop = l;
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
    metrics_print_info(SCENE_NAME, SCENE_HELP, "`scene`: open, and each map's name", to);
    metrics_print_hists(TICK_NAME, TICK_HELP, NULL, 0, to);
    metrics_print_hists(PHASE_NAME, PHASE_HELP, phase_labels, PHASE_COUNT, to);
    metrics_print_summaries(AGES_NAME, AGES_HELP, tier_labels, AGES_TIERS, to);
    metrics_print_summaries(BOOKS_NAME, BOOKS_HELP, book_labels, BOOK_COUNT, to);
}

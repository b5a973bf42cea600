/* gateway/gateway_admin.c: what operators see: metrics and health.
 * May touch: common, common/io/http, gateway. On trouble: a page that cannot be made is a 500 of
 * http's.
 */
#include "gateway/gateway_admin.h"

#include "common/err.h"
#include "common/io/http.h"
#include "proto/message.h"

#include <stdlib.h>

#define PLAIN_TYPE "text/plain; charset=utf-8"

#define BUILD_NAME "aegis_build_info"
#define BUILD_HELP "What runs here"

struct gateway_admin {
    struct crew *crew;
    struct http *http;
};

static void write_build(FILE *to)
{
    char label[256];

    snprintf(label, sizeof(label),
             "role=\"gateway\",version=\"%s\",libevent=\"%s\",msgpack_c=\"%s\"", AEGIS_VERSION,
             loop_library(), message_library());
    metrics_write_info(BUILD_NAME, BUILD_HELP, label, to);
}

static int page_metrics(void *arg, FILE *to)
{
    struct gateway_admin *a = arg;
    struct gateway_metrics m = *crew_metrics(a->crew);
    const struct http_counts counts = http_counted(a->http);

    m.admin_answered = counts.answered;
    m.admin_refused = counts.refused;
    m.admin_late = counts.late;
    m.admin_full = counts.full;
    write_build(to);
    metrics_write(gateway_metrics_table, gateway_metrics_n, &m, to);
    return 200;
}

static int page_health(void *arg, FILE *to)
{
    const struct gateway_admin *a = arg;
    const char *hung = crew_hung(a->crew);

    fprintf(to, "%s\n", hung ? hung : "ok");
    return hung ? 503 : 200;
}

static int page_ready(void *arg, FILE *to)
{
    const struct gateway_admin *a = arg;
    const char *reason = crew_unready(a->crew);

    fprintf(to, "%s\n", reason ? reason : "ready");
    return reason ? 503 : 200;
}

static const struct http_route routes[] = {
    {.path = "/metrics", .type = METRICS_TYPE, .page = page_metrics},
    {.path = "/healthz", .type = PLAIN_TYPE, .page = page_health},
    {.path = "/readyz", .type = PLAIN_TYPE, .page = page_ready},
};

int gateway_admin_create(struct loop *l, const char *addr, struct crew *crew,
                         struct gateway_admin **out, char *why, size_t why_cap)
{
    struct gateway_admin *a = calloc(1, sizeof(*a));

    if (!a) {
        snprintf(why, why_cap, "%s", err_text(E_NOMEM));
        return E_NOMEM;
    }
    a->crew = crew;
    const struct http_config c = {
        .addr = addr,
        .routes = routes,
        .n_routes = ARRAY_LEN(routes),
        .arg = a,
    };
    const int r = http_create(l, &c, &a->http, why, why_cap);
    if (r != 0) {
        free(a);
        return r;
    }
    *out = a;
    return 0;
}

const char *gateway_admin_addr(const struct gateway_admin *a)
{
    return http_addr(a->http);
}

void gateway_admin_destroy(struct gateway_admin *a)
{
    if (!a)
        return;
    http_destroy(a->http);
    free(a);
}

void gateway_admin_print_metrics(FILE *to)
{
    metrics_print_head(to);
    metrics_print_info(BUILD_NAME, BUILD_HELP, "`role`, `version`, `libevent`, `msgpack_c`", to);
    metrics_print_rows(gateway_metrics_table, gateway_metrics_n, to);
}

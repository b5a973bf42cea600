/* gateway/gateway_admin.c: what operators see: metrics, health, and a session's frames.
 * May touch: common, common/io/http, gateway. On trouble: a page that cannot be made is a 500 of
 * http's; an order that is refused gets 4xx with one sentence.
 */
#include "gateway/gateway_admin.h"

#include "common/err.h"
#include "common/http_query.h"
#include "common/io/http.h"
#include "common/log.h"
#include "common/trace.h"
#include "proto/message.h"

#include <stdlib.h>
#include <string.h>

#define PLAIN_TYPE "text/plain; charset=utf-8"
#define JSON_TYPE  "application/json"

#define BUILD_NAME "aegis_build_info"
#define BUILD_HELP "What runs here"

struct gateway_admin {
    struct crew *crew;
    const struct admin_token *token;
    struct http *http;
    uint64_t orders_refused;
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
    m.orders_refused = a->orders_refused;
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

/* --- a session's frames ------------------------------------------------------------------------
 */

static int refuse(struct gateway_admin *a, const struct http_order *in, int status, const char *why,
                  FILE *to)
{
    a->orders_refused++;
    log_often(LOG_WARN, "order refused path=%.*s peer=%s status=%d: %s", (int)in->path.n,
              (const char *)in->path.p, in->peer, status, why);
    fprintf(to, "{\"error\":\"%s\"}\n", why);
    return status;
}

struct trace_ask {
    char session[HTTP_QUERY_VALUE_MAX + 1];
    uint32_t lines, seconds;
    bool has_lines, has_seconds;
};

/* One parameter: NULL, or what is wrong with it. */
static const char *take(struct trace_ask *ask, const struct http_query *q)
{
    if (span_equal(q->name, span_text("session")) && ask->session[0] == '\0') {
        memcpy(ask->session, q->value, sizeof(ask->session));
        return NULL;
    }
    if (span_equal(q->name, span_text("lines")) && !ask->has_lines) {
        ask->has_lines = true;
        return trace_count(q->value, TRACE_LINES_MAX, &ask->lines) ? NULL
                                                                   : "lines must be 1 to 10000";
    }
    if (span_equal(q->name, span_text("seconds")) && !ask->has_seconds) {
        ask->has_seconds = true;
        return trace_count(q->value, TRACE_S_MAX, &ask->seconds) ? NULL
                                                                 : "seconds must be 1 to 600";
    }
    return "there is no such parameter here, or it is given twice";
}

static const char *trace_ask_read(struct span query, struct trace_ask *ask)
{
    *ask = (struct trace_ask){.lines = TRACE_LINES, .seconds = TRACE_S};
    while (query.n > 0) {
        struct http_query q;
        const char *why = http_query_next(&query, &q) != 0 ? q.why : take(ask, &q);
        if (why)
            return why;
    }
    return ask->session[0] == '\0' ? "session is missing" : NULL;
}

static int order_trace(void *arg, const struct http_order *in, FILE *to)
{
    struct gateway_admin *a = arg;
    struct trace_ask ask;
    int status;
    const char *why = admin_token_refusal(
        a->token, in->authorization,
        "nothing can be asked for here: the gateway was started without -admin-token", &status);

    if (why)
        return refuse(a, in, status, why, to);
    why = trace_ask_read(in->query, &ask);
    if (why)
        return refuse(a, in, 400, why, to);
    if (crew_trace(a->crew, ask.session, ask.lines, ask.seconds) != 0)
        return refuse(a, in, 404, "this gateway has given no session that name", to);
    log_line(LOG_INFO, "trace asked for session=%s peer=%s", ask.session, in->peer);
    fputs("{\"done\":true}\n", to);
    return 200;
}

static const struct http_route routes[] = {
    {.path = "/metrics", .type = METRICS_TYPE, .page = page_metrics},
    {.path = "/healthz", .type = PLAIN_TYPE, .page = page_health},
    {.path = "/readyz", .type = PLAIN_TYPE, .page = page_ready},
    {.path = "/api/trace", .type = JSON_TYPE, .post = order_trace},
};

int gateway_admin_create(struct loop *l, const char *addr, struct crew *crew,
                         const struct admin_token *token, struct gateway_admin **out, char *why,
                         size_t why_cap)
{
    struct gateway_admin *a = calloc(1, sizeof(*a));

    if (!a) {
        snprintf(why, why_cap, "%s", err_text(E_NOMEM));
        return E_NOMEM;
    }
    a->crew = crew;
    a->token = token;
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

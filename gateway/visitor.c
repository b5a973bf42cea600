/* gateway/visitor.c: one HTTP head, one answer. May touch: common, proto/ws_request, clients,
 * web_files, web_page, origins. On trouble: see the header.
 */
#include "gateway/visitor.h"

#include "common/parts.h"

#ifdef PARTS_WEBSOCKET

#include "common/err.h"
#include "common/io/tls.h"
#include "common/log.h"
#include "gateway/origins.h"
#include "gateway/web_page.h"
#include "proto/ws_request.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VISITOR_WS_PATH  "/ws"
#define VISITOR_ANSWER   1024 /* bytes of an answer's head */
#define VISITOR_READ_MAX 16384
#define VISITOR_SEND_NS  (10 * CLOCK_NS_PER_S) /* an answer must be read by then */

struct visitor {
    struct visitors *home;
    struct visitor *prev, *next;
    struct client *client;
    struct stream *stream;
    struct loop_timer *timer; /* until the head is there; NULL: no limit */
    bool answered;
    size_t queued; /* bytes of its answer's body */
};

/* What may be answered, and where it is counted. */
static const struct visitor_status {
    int status;
    const char *text;
    size_t metric;
} statuses[] = {
    {101, "Switching Protocols", offsetof(struct gateway_metrics, web_clients)},
    {200, "OK", offsetof(struct gateway_metrics, web_files)},
    {400, "Bad Request", offsetof(struct gateway_metrics, web_bad)},
    {403, "Forbidden", offsetof(struct gateway_metrics, web_origin)},
    {404, "Not Found", offsetof(struct gateway_metrics, web_missing)},
    {405, "Method Not Allowed", offsetof(struct gateway_metrics, web_method)},
    {408, "Request Timeout", offsetof(struct gateway_metrics, web_late)},
    {426, "Upgrade Required", offsetof(struct gateway_metrics, web_upgrade)},
    {431, "Request Header Fields Too Large", offsetof(struct gateway_metrics, web_long)},
    {503, "Service Unavailable", offsetof(struct gateway_metrics, web_busy)},
};

static const char SECURITY[] =
    "Cache-Control: no-cache\r\n"
    "Content-Security-Policy: default-src 'none'; "
    "script-src 'self' '" WEB_PAGE_IMPORTS_HASH "'; style-src 'self'; "
    "img-src 'self' data:; font-src 'self'; media-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Permissions-Policy: camera=(), microphone=(), geolocation=()\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Connection: close\r\n";

/* The limits of a visitor's connection: its answer is queued whole, and bounded by WEB_FILE_MAX. */
static const struct stream_limits visitor_limits = {
    .keep_max = WS_REQUEST_MAX,
    .read_max = VISITOR_READ_MAX,
};

static const struct visitor_status *status_get(int status)
{
    const struct visitor_status *found = NULL;

    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        if (statuses[i].status == status)
            found = &statuses[i];
    }
    ASSERT(found);
    return found;
}

static void visitor_count(struct visitor *v, const struct visitor_status *s)
{
    (*(uint64_t *)((char *)v->home->clients->metrics + s->metric))++;
}

/* --- ends ------------------------------------------------------------------------------------- */

/* Out of the list, and freed; what it held is the caller's. */
static void visitor_free(struct visitor *v)
{
    if (v->prev)
        v->prev->next = v->next;
    else
        v->home->first = v->next;
    if (v->next)
        v->next->prev = v->prev;
    else
        v->home->last = v->prev;
    v->home->queued -= v->queued;
    loop_timer_destroy(v->timer);
    clients_visit_end(v->home->clients);
    free(v);
}

static void visitor_leave(struct visitor *v)
{
    stream_destroy(v->stream);
    clients_drop(v->home->clients, v->client);
    visitor_free(v);
}

static void visitor_closed(void *arg, enum stream_end why)
{
    struct visitor *v = arg;

    (void)why;
    if (!v->answered)
        v->home->clients->metrics->web_gone++;
    visitor_leave(v);
}

/* --- answers ---------------------------------------------------------------------------------- */

static const char *more_fields(int status)
{
    if (status == 405)
        return "Allow: GET, HEAD\r\n";
    if (status != 426)
        return "";
    return "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: " WS_VERSION "\r\n";
}

/* Queue the answer, and end politely. */
static void visitor_answer(struct visitor *v, int status, const char *type, struct span body,
                           bool head_only)
{
    const struct visitor_status *s = status_get(status);
    char head[VISITOR_ANSWER];
    const int n = snprintf(head, sizeof(head),
                           "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s%s\r\n",
                           status, s->text, type, body.n, more_fields(status), SECURITY);

    ASSERT(n > 0);
    ASSERT((size_t)n < sizeof(head));
    v->answered = true;
    visitor_count(v, s);
    loop_timer_destroy(v->timer);
    v->timer = NULL;
    /* Where memory has run out the visitor sees nothing but the end. */
    if (stream_write2(v->stream, span_of(head, (size_t)n), head_only ? span_of(NULL, 0) : body) !=
        0)
        v->home->clients->metrics->refused_error++;
    v->queued = body.n;
    v->home->queued += body.n;
    stream_finish(v->stream, VISITOR_SEND_NS);
}

static void visitor_refuse(struct visitor *v, int status, bool head_only)
{
    char text[64];
    const int n = snprintf(text, sizeof(text), "%d %s\n", status, status_get(status)->text);

    log_often(LOG_INFO, "visitor refused status=%d peer=%s", status, v->client->peer);
    visitor_answer(v, status, "text/plain; charset=utf-8", span_of(text, (size_t)n), head_only);
}

static void visitor_late(void *arg)
{
    visitor_refuse(arg, 408, false);
}

static void visitor_serve(struct visitor *v, const struct ws_request *q)
{
    const bool head_only = q->method == WS_METHOD_HEAD;
    struct web_file file;

    if (q->method == WS_METHOD_OTHER)
        visitor_refuse(v, 405, false);
    else if (!web_files_find(v->home->files, q->path, &file))
        visitor_refuse(v, 404, head_only);
    else if (v->home->queued + file.bytes.n > VISITORS_QUEUED_MAX)
        visitor_refuse(v, 503, head_only);
    else
        visitor_answer(v, 200, file.type, file.bytes, head_only);
}

/* From here on it is a client. E_NOMEM: it is not. */
static int visitor_upgrade(struct visitor *v, const struct ws_request *q)
{
    struct client *c = v->client;
    struct stream *s = v->stream;
    char accept[WS_ACCEPT_MAX], head[VISITOR_ANSWER];

    ws_request_accept(q->key, accept);
    const int n = snprintf(head, sizeof(head),
                           "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                           "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
                           accept);
    int r = stream_write(s, span_of(head, (size_t)n));
    if (r == 0)
        r = stream_hand(s, v->home->limits, &client_stream_ops, c);
    if (r != 0)
        return r;
    visitor_count(v, status_get(101));
    visitor_free(v);
    c->ws = true;
    client_start(c, s);
    return 0;
}

/* --- in --------------------------------------------------------------------------------------- */

static size_t visitor_data(void *arg, struct span bytes)
{
    struct visitor *v = arg;
    struct ws_request q;
    size_t used = 0;
    const int r = ws_request_read(bytes, &q, &used);

    if (r == E_SHORT)
        return 0;
    if (r != 0) {
        visitor_refuse(v, r == E_FULL ? 431 : 400, false);
        return bytes.n;
    }
    if (!span_equal(q.path, span_text(VISITOR_WS_PATH))) {
        visitor_serve(v, &q);
        return bytes.n;
    }
    int status = ws_request_refusal(&q);
    if (status == 0 && q.from && !origins_have(v->home->origins, q.origin, q.host))
        status = 403;
    if (status != 0) {
        visitor_refuse(v, status, q.method == WS_METHOD_HEAD);
        return bytes.n;
    }
    if (visitor_upgrade(v, &q) != 0) {
        visitor_leave(v);
        return bytes.n;
    }
    return used;
}

static const struct stream_ops visitor_ops = {.data = visitor_data, .closed = visitor_closed};

/* --- life ------------------------------------------------------------------------------------- */

static int visitor_create(struct visitors *home, struct client *c, int fd, struct ssl_st *seal,
                          struct visitor **out)
{
    struct visitor *v = calloc(1, sizeof(*v));

    if (!v) {
        tls_seal_free(seal);
        close(fd);
        return E_NOMEM;
    }
    *v = (struct visitor){.home = home, .client = c};
    int r =
        stream_create_sealed(home->loop, fd, seal, &visitor_limits, &visitor_ops, v, &v->stream);
    if (r == 0 && home->head_ns != 0)
        r = loop_timer_create(home->loop, visitor_late, v, &v->timer);
    if (r != 0) {
        stream_destroy(v->stream);
        free(v);
        return r;
    }
    *out = v;
    return 0;
}

/* A place for one more: of who has waited longest for nothing, so that a flood of connections that
 * say nothing holds up nobody who does. */
static bool visitors_place(struct visitors *home)
{
    struct clients *all = home->clients;

    if (clients_visit(all))
        return true;
    all->metrics->web_full++;
    for (struct visitor *v = home->first; v; v = v->next) {
        if (!v->answered) {
            log_often(LOG_WARN, "visitor dropped reason=full visitors=%d peer=%s", VISITORS_MAX,
                      v->client->peer);
            visitor_leave(v);
            return clients_visit(all);
        }
    }
    return false;
}

void visitors_take(struct visitors *home, struct client *c, int fd, struct ssl_st *seal)
{
    struct clients *all = home->clients;
    struct visitor *v;

    if (!visitors_place(home)) {
        tls_seal_free(seal);
        close(fd);
        log_often(LOG_WARN, "visitor refused reason=full visitors=%d peer=%s", VISITORS_MAX,
                  c->peer);
        clients_drop(all, c);
        return;
    }
    const int r = visitor_create(home, c, fd, seal, &v);
    if (r != 0) {
        all->metrics->refused_error++;
        log_often(LOG_WARN, "visitor refused reason=error error=\"%s\" peer=%s", err_text(r),
                  c->peer);
        clients_visit_end(all);
        clients_drop(all, c);
        return;
    }
    v->prev = home->last;
    if (v->prev)
        v->prev->next = v;
    else
        home->first = v;
    home->last = v;
    if (v->timer)
        loop_timer_arm(v->timer, home->head_ns);
}

void visitors_end(struct visitors *home)
{
    while (home->first)
        visitor_leave(home->first);
}

#else

void visitors_take(struct visitors *home, struct client *c, int fd, struct ssl_st *seal)
{
    (void)home, (void)fd, (void)seal;
    ASSERT(!c); /* without WebSocket nobody listens for any */
}

void visitors_end(struct visitors *home)
{
    (void)home;
}

#endif

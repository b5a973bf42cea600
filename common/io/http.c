/* common/io/http.c: a small HTTP/1.1 server for operators.
 *
 *   listener ─► visitor: bytes ─► common/http_head ─► route's page ──────► stream_finish ─► gone
 *                 │                     ├─ POST: its body ─► route's order ─┤
 *                 ├── too late: 408 ────┴───────────────────────────────────┘
 *                 └── a feed: stays, and is told what its route's owner sends
 *
 * evhttp was weighed: in libevent 2.1 it bounds neither how many connections there are nor how
 * long a request may trickle, and offers no way to do so from outside.
 * May touch: common, common/io. On trouble: see the header.
 */
#include "common/io/http.h"

#include "common/addr.h"
#include "common/err.h"
#include "common/http_head.h"
#include "common/io/net.h"
#include "common/io/stream.h"
#include "common/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLAIN "text/plain; charset=utf-8"

/* A visitor; one that stays is a feed. */
struct http_feed {
    struct http *owner;
    struct http_feed *prev, *next;
    struct stream *stream;
    struct loop_timer *timer; /* until the whole request is there */
    size_t answer;            /* bytes of its answer, counted among all answers */
    bool asked;               /* its request was there, or was refused */
    bool stays;
    char peer[HTTP_PEER_MAX];
};

struct http {
    struct loop *loop;
    struct net_listener *listener;
    struct http_config config; /* addr is not kept */
    struct http_feed *first;
    uint32_t visitors; /* without feeds */
    size_t answers;    /* bytes */
    struct http_counts counts;
};

/* keep_max: what is longer is refused before it is kept. */
static const struct stream_limits visitor_limits = {
    .queue_hard = HTTP_ANSWER_MAX,
    .sndbuf = HTTP_SNDBUF,
    .keep_max = HTTP_HEAD_MAX + HTTP_BODY_MAX,
};

static const char *status_text(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 408:
        return "Request Timeout";
    case 411:
        return "Length Required";
    case 413:
        return "Content Too Large";
    case 431:
        return "Request Header Fields Too Large";
    case 500:
        return "Internal Server Error";
    case 503:
        return "Service Unavailable";
    }
    return "Unknown";
}

static void leave(struct http_feed *v)
{
    if (v->prev)
        v->prev->next = v->next;
    else
        v->owner->first = v->next;
    if (v->next)
        v->next->prev = v->prev;
    v->owner->visitors -= !v->stays;
    v->owner->answers -= v->answer;
    loop_timer_destroy(v->timer);
    stream_destroy(v->stream);
    free(v);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* What a status wants beside the usual fields. */
static const char *more_fields(int status, const struct http_route *r)
{
    if (status == 401)
        return "WWW-Authenticate: Bearer\r\n";
    if (status != 405)
        return r && r->fields ? r->fields : "";
    if (r->feed)
        return "Allow: GET\r\n";
    if ((r->page || r->ask) && r->post)
        return "Allow: GET, HEAD, POST\r\n";
    return r->page || r->ask ? "Allow: GET, HEAD\r\n" : "Allow: POST\r\n";
}

struct answer {
    int status;
    const struct http_route *route; /* NULL: none was found */
    const char *type;
    struct span body;
    bool head_only;
};

/* Queue head and body, and end politely: the peer reads them, however much it still sends. E_FULL:
 * it is too long, or all that are being read together are. */
static int answer(struct http_feed *v, const struct answer *a)
{
    char head[1024];
    size_t most = HTTP_ANSWERS_MAX - v->owner->answers;

    if (a->body.n > most)
        return E_FULL;
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
                     "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                     "Connection: close\r\n\r\n",
                     a->status, status_text(a->status), a->type, a->body.n,
                     more_fields(a->status, a->route));
    ASSERT(n > 0);
    ASSERT((size_t)n < sizeof(head));
    int err = stream_write2(v->stream, span_of(head, (size_t)n),
                            a->head_only ? span_of(NULL, 0) : a->body);
    if (err != 0)
        return err;
    v->answer = a->body.n;
    v->owner->answers += v->answer;
    stream_finish(v->stream, HTTP_READ_NS);
    return 0;
}

/* `r`: the route, with 405. */
static void refuse(struct http_feed *v, int status, const struct http_route *r, bool head_only)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "%d %s\n", status, status_text(status));
    struct answer a = {status, r, PLAIN, span_of(text, (size_t)n), head_only};
    if (status != 408)
        v->owner->counts.refused++;
    /* A refusal fits in any queue; where memory has run out the peer gets an empty answer. */
    if (answer(v, &a) != 0)
        stream_finish(v->stream, HTTP_READ_NS);
}

enum manner { MANNER_GET, MANNER_HEAD, MANNER_POST, MANNER_FEED };

/* Answer with what the route wrote. */
static void give(struct http_feed *v, const struct http_route *r, int status, struct span body,
                 bool head_only)
{
    struct answer a = {status, r, r->type, body, head_only};
    bool much = body.n > HTTP_ANSWERS_MAX - v->owner->answers;

    if (answer(v, &a) != 0)
        refuse(v, much ? 503 : 500, NULL, head_only);
    else if (status >= 400 && status <= 500)
        v->owner->counts.refused++;
    else
        v->owner->counts.answered++;
}

/* It stays open: the head now, the rest as it comes. */
static void stay(struct http_feed *v, const struct http_route *r)
{
    char head[1024];
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 200 OK\r\nContent-Type: %s\r\n%sCache-Control: no-store\r\n"
                     "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
                     r->type, more_fields(200, r));
    ASSERT(n > 0);
    ASSERT((size_t)n < sizeof(head));
    v->owner->counts.answered++;
    /* Where memory has run out the peer gets no head, and what is sent next is none. */
    if (stream_write(v->stream, span_of(head, (size_t)n)) != 0)
        log_often(LOG_WARN, "admin feed without a head peer=%s: %s", v->peer, err_text(E_NOMEM));
}

/* Have the route do what was asked of it, and answer. */
static void show(struct http_feed *v, const struct http_route *r, const struct http_order *in,
                 enum manner manner)
{
    char *text = NULL;
    size_t n = 0;
    void *arg = v->owner->config.arg;
    FILE *to = open_memstream(&text, &n);
    int status = 500;

    if (to && manner == MANNER_POST)
        status = r->post(arg, in, to);
    else if (to && manner == MANNER_FEED)
        status = r->feed(arg, in, v, to);
    else if (to)
        status = r->page ? r->page(arg, to) : r->ask(arg, in, to);
    bool failed = !to || ferror(to);
    if (to && fclose(to) != 0)
        failed = true;
    if (manner == MANNER_FEED && status == 200) {
        v->stays = true;
        v->owner->visitors--;
        stay(v, r);
    } else if (failed) {
        refuse(v, 500, NULL, manner == MANNER_HEAD);
    } else {
        give(v, r, status, span_of(text, n), manner == MANNER_HEAD);
    }
    free(text);
}

static const struct http_route *route_find(const struct http *h, struct span path)
{
    for (size_t i = 0; i < h->config.n_routes; i++) {
        if (span_equal(path, span_text(h->config.routes[i].path)))
            return &h->config.routes[i];
    }
    return NULL;
}

/* How long the body is. 0, or the status that refuses it: what two readers could measure in two
 * ways is not measured. */
static int body_length(const struct http_head *head, size_t *length)
{
    struct span text;

    if (http_head_count(head, "transfer-encoding") > 0)
        return http_head_count(head, "content-length") > 0 ? 400 : 411;
    if (http_head_count(head, "content-length") > 1)
        return 400;
    if (!http_head_find(head, "content-length", &text))
        return 411;
    if (text.n == 0)
        return 400;
    *length = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return 400;
        if (*length <= HTTP_BODY_MAX)
            *length = *length * 10 + (size_t)(text.p[i] - '0');
    }
    return *length <= HTTP_BODY_MAX ? 0 : 413;
}

static struct http_order order_of(const struct http_feed *v, const struct http_head *head)
{
    return (struct http_order){.peer = v->peer, .path = head->path, .query = head->query};
}

/* A POST: `rest` is what came behind its head. False: more of its body has to come. */
static bool take_order(struct http_feed *v, const struct http_route *r,
                       const struct http_head *head, struct span rest)
{
    struct http_order in = order_of(v, head);
    size_t length = 0;
    int refused = body_length(head, &length);

    if (refused == 0 && http_head_count(head, "authorization") > 1)
        refused = 400;
    if (refused != 0) {
        refuse(v, refused, NULL, false);
        return true;
    }
    if (rest.n < length)
        return false;
    in.body = span_of(rest.p, length);
    if (!http_head_find(head, "authorization", &in.authorization))
        in.authorization = span_of(NULL, 0);
    show(v, r, &in, MANNER_POST);
    return true;
}

/* False: more of the request has to come. */
static bool respond(struct http_feed *v, const struct http_head *head, struct span rest)
{
    const struct http_route *r = route_find(v->owner, head->path);
    bool head_only = span_equal(head->method, span_text("HEAD"));
    bool get = head_only || span_equal(head->method, span_text("GET"));
    bool post = span_equal(head->method, span_text("POST"));
    struct http_order in = order_of(v, head);

    if (!r)
        refuse(v, 404, NULL, head_only);
    else if (get && (r->page || r->ask))
        show(v, r, &in, head_only ? MANNER_HEAD : MANNER_GET);
    else if (get && r->feed && !head_only)
        show(v, r, &in, MANNER_FEED);
    else if (post && r->post)
        return take_order(v, r, head, rest);
    else
        refuse(v, 405, r, head_only);
    return true;
}

/* --- visitors --------------------------------------------------------------------------------- */

static size_t on_data(void *arg, struct span bytes)
{
    struct http_feed *v = arg;
    struct http_head head;
    size_t used = 0;

    if (v->stays)
        return bytes.n; /* whatever it still says */
    int err = http_head_read(bytes, &head, &used);

    if (err == E_SHORT && bytes.n < HTTP_HEAD_MAX)
        return 0;
    if (err == E_SHORT || used > HTTP_HEAD_MAX)
        refuse(v, 431, NULL, false);
    else if (err != 0)
        refuse(v, 400, NULL, false);
    else if (!respond(v, &head, span_of(bytes.p + used, bytes.n - used)))
        return 0;
    v->asked = true;
    loop_timer_cancel(v->timer);
    /* What stands behind it is a body that nobody asked for, or a second request. */
    return bytes.n;
}

static void on_closed(void *arg, enum stream_end why)
{
    struct http_feed *v = arg;

    (void)why;
    if (v->stays)
        v->owner->config.feed_closed(v->owner->config.arg, v);
    leave(v);
}

static const struct stream_ops visitor_ops = {.data = on_data, .closed = on_closed};

static void on_late(void *arg)
{
    struct http_feed *v = arg;
    v->owner->counts.late++;
    v->asked = true;
    refuse(v, 408, NULL, false);
}

static int visitor_create(struct http *h, int fd, const char *peer)
{
    struct http_feed *v = calloc(1, sizeof(*v));
    if (!v) {
        close(fd);
        return E_NOMEM;
    }
    v->owner = h;
    snprintf(v->peer, sizeof(v->peer), "%s", peer);
    int err = stream_create(h->loop, fd, &visitor_limits, &visitor_ops, v, &v->stream);
    if (err == 0)
        err = loop_timer_create(h->loop, on_late, v, &v->timer);
    if (err != 0) {
        stream_destroy(v->stream);
        free(v);
        return err;
    }
    loop_timer_arm(v->timer, h->config.request_ns);
    v->next = h->first;
    if (v->next)
        v->next->prev = v;
    h->first = v;
    h->visitors++;
    return 0;
}

/* A place for one more: of who has waited longest without a request, or where all have asked, of
 * who has been here longest. So a crowd that says nothing, or reads nothing, keeps no operator out.
 */
static void make_place(struct http *h)
{
    struct http_feed *oldest = h->first;

    for (struct http_feed *v = h->first; v; v = v->next) {
        if (!v->stays && (oldest->stays || !v->asked || oldest->asked))
            oldest = v;
    }
    ASSERT(!oldest->stays); /* one of those that were counted */
    h->counts.full++;
    log_often(LOG_WARN, "admin connection ended reason=full peer=%s connections=%" PRIu32,
              oldest->peer, h->visitors);
    leave(oldest);
}

static void on_accepted(void *arg, int fd, const char *peer)
{
    struct http *h = arg;

    if (h->visitors >= h->config.connections)
        make_place(h);
    int err = visitor_create(h, fd, peer);

    if (err != 0) {
        h->counts.full++;
        log_often(LOG_WARN, "admin connection not taken peer=%s: %s", peer, err_text(err));
    }
}

static void on_paused(void *arg, bool on, int err)
{
    (void)arg;
    if (on)
        log_often(LOG_WARN, "admin accepting paused: %s", strerror(err));
}

static const struct net_listener_ops listener_ops = {
    .accepted = on_accepted,
    .paused = on_paused,
};

/* --- the whole -------------------------------------------------------------------------------- */

int http_addr_read(const char *text, char out[HTTP_ADDR_MAX], const char **why)
{
    struct addr a;
    const char *digits = text + (text[0] == ':');
    bool bare = digits[0] != '\0' && digits[strspn(digits, "0123456789")] == '\0';
    int n = snprintf(out, HTTP_ADDR_MAX, "%s%s", bare ? "127.0.0.1:" : "", bare ? digits : text);

    if (n < 0 || n >= HTTP_ADDR_MAX) {
        *why = "too long";
        return E_ADDR;
    }
    return addr_parse(out, &a, why);
}

int http_create(struct loop *l, const struct http_config *c, struct http **out, char *why,
                size_t why_cap)
{
    char full[HTTP_ADDR_MAX];
    const char *reason;
    int err = http_addr_read(c->addr, full, &reason);
    if (err != 0) {
        snprintf(why, why_cap, "%s: %s", c->addr, reason);
        return err;
    }
    struct http *h = calloc(1, sizeof(*h));
    if (!h) {
        snprintf(why, why_cap, "%s: %s", c->addr, err_text(E_NOMEM));
        return E_NOMEM;
    }
    h->loop = l;
    h->config = *c;
    h->config.addr = NULL;
    if (h->config.request_ns == 0)
        h->config.request_ns = HTTP_REQUEST_NS;
    if (h->config.connections == 0)
        h->config.connections = HTTP_CONNECTIONS_MAX;
    err = net_listen(l, full, &listener_ops, h, &h->listener, why, why_cap);
    if (err != 0) {
        free(h);
        return err;
    }
    *out = h;
    return 0;
}

const char *http_addr(const struct http *h)
{
    return net_listener_addr(h->listener);
}

struct http_counts http_counted(const struct http *h)
{
    return h->counts;
}

void http_destroy(struct http *h)
{
    if (!h)
        return;
    while (h->first)
        leave(h->first);
    net_listener_destroy(h->listener);
    free(h);
}

/* --- feeds ------------------------------------------------------------------------------------ */

int http_feed_send(struct http_feed *f, struct span a, struct span b)
{
    return stream_write2(f->stream, a, b);
}

size_t http_feed_queued(const struct http_feed *f)
{
    return stream_queued(f->stream);
}

void http_feed_end(struct http_feed *f)
{
    leave(f);
}

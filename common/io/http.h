/* common/io/http.h: a small HTTP/1.1 server for operators: metrics, health, questions, orders.
 * A table of paths, answered to GET and HEAD, or to POST; one request a connection. A path may keep
 * its connections open and tell them events as they come (a feed). Its own listener, beside
 * whatever the process is for. Everything is bounded: connections, the bytes and the time of a
 * request, the bytes of an answer and of all answers, the bytes queued for a feed.
 * May touch: common, common/io.
 * On trouble: 400, 404, 405, 408, 411, 413, 431 or 503, or a connection that is not taken; each is
 * counted.
 */
#pragma once

#include "common/io/loop.h"
#include "common/span.h"

#include <stdio.h>

#define HTTP_CONNECTIONS_MAX 32                   /* at once, without feeds */
#define HTTP_HEAD_MAX        8192                 /* bytes of a head with its empty line */
#define HTTP_BODY_MAX        4096                 /* bytes of a POST's body */
#define HTTP_ANSWER_MAX      (8u << 20)           /* bytes */
#define HTTP_ANSWERS_MAX     (64u << 20)          /* bytes of all that are being read */
#define HTTP_SNDBUF          262144               /* bytes that the kernel holds of an answer */
#define HTTP_PEER_MAX        64                   /* bytes of a peer's address, with its NUL */
#define HTTP_REQUEST_NS      (5 * CLOCK_NS_PER_S) /* from connecting to the whole request */
#define HTTP_READ_NS         (5 * CLOCK_NS_PER_S) /* for the answer to be read */

/* Write the page to `to`; returns the status: 200 or 503. */
typedef int http_page_fn(void *arg, FILE *to);

/* What a request brought; borrowed for the call. */
struct http_order {
    const char *peer; /* who asks, for the log */
    struct span path;
    struct span query; /* behind '?', not decoded; empty where there is none */
    struct span authorization;
    struct span body; /* of a POST */
};

/* Do as it says and write the answer to `to`; returns the status. */
typedef int http_order_fn(void *arg, const struct http_order *in, FILE *to);

/* A connection that stays open. */
struct http_feed;
/* May it stay? 200: it does, and is the callee's until http_feed_end or the config's feed_closed.
 * Else it gets this status with what was written to `to`. */
typedef int http_feed_fn(void *arg, const struct http_order *in, struct http_feed *f, FILE *to);
/* Its peer is gone; it is not to be used any more. */
typedef void http_feed_closed_fn(void *arg, struct http_feed *f);

struct http_route {
    const char *path;    /* "/metrics" */
    const char *type;    /* "text/plain; charset=utf-8" */
    http_page_fn *page;  /* GET and HEAD; NULL: see the next ones */
    http_order_fn *post; /* POST; NULL: not for that */
    http_order_fn *ask;  /* GET and HEAD, where what is behind the path counts; NULL: not so */
    http_feed_fn *feed;  /* GET; NULL: its connections do not stay */
    const char *fields;  /* lines more of each answer's head, with their CRLF; NULL: none */
};

/* Borrowed until http_create returns, all but routes and arg: those for the server's life. */
struct http_config {
    const char *addr; /* as http_addr_read takes it */
    const struct http_route *routes;
    size_t n_routes;
    void *arg;                        /* of the pages */
    int64_t request_ns;               /* from connecting to the whole request; 0: HTTP_REQUEST_NS */
    uint32_t connections;             /* at once, without feeds; 0: HTTP_CONNECTIONS_MAX */
    http_feed_closed_fn *feed_closed; /* where a route has feeds */
};

/* Since the start. */
struct http_counts {
    uint64_t answered; /* by a page, or an order that was carried out */
    uint64_t refused;  /* with 400 to 500, whoever refused */
    uint64_t late;     /* requests that did not come in time */
    uint64_t full;     /* connections ended for one more, or not taken */
};

struct http;

/* Where an operator's address points: ":9100" and "9100" mean 127.0.0.1:9100, host:port what it
 * says. Checks the form, binds nothing. 0, or E_ADDR with the reason in `*why` (static text). */
#define HTTP_ADDR_MAX 272
int http_addr_read(const char *text, char out[HTTP_ADDR_MAX], const char **why) MUST_CHECK;

/* `why` gets one line without newline on error: E_ADDR, E_IO, E_NOMEM. */
int http_create(struct loop *l, const struct http_config *c, struct http **out, char *why,
                size_t why_cap) MUST_CHECK;
/* Where it listens, with the port that the kernel chose. */
const char *http_addr(const struct http *h);
struct http_counts http_counted(const struct http *h);
void http_destroy(struct http *h); /* ends its connections at once; NULL is fine */

/* Queue bytes (copied). 0; E_FULL: more than HTTP_ANSWER_MAX would be queued; E_CLOSED: it is over,
 * and feed_closed comes; E_NOMEM. Nothing is queued where it is not 0. */
int http_feed_send(struct http_feed *f, struct span a, struct span b) MUST_CHECK;
/* Bytes that the kernel has not taken. */
size_t http_feed_queued(const struct http_feed *f);
/* End it at once; feed_closed is not called. */
void http_feed_end(struct http_feed *f);

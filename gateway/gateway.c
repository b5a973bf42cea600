/* gateway/gateway.c: composition, time, drain.
 * May touch: common, everything in gateway. On trouble: see gateway.h.
 *
 *   listener ─► clients ─► relay ─► fleet of uplinks ─► worlds
 *   ws_listener ─► visitors ─┘      (each by way of proxied, where a proxy brings somebody)
 *                  ▲ one timer of 100 ms steps both ▲
 */
#include "gateway/gateway.h"

#include "common/err.h"
#include "common/io/http.h"
#include "common/io/net.h"
#include "common/log.h"
#include "common/rng.h"
#include "gateway/client_trace.h"
#include "gateway/fleet.h"
#include "gateway/listener.h"
#include "proto/frame.h"
#include "proto/protocol.h"
#include "proto/ws_frame.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GATEWAY_STEP_NS (WHEEL_STEP_MS * CLOCK_NS_PER_MS)
/* A step that comes later than this finds a process that was stopped or starved: nobody could have
 * been heard meanwhile, so no more than this counts as silence. */
#define GATEWAY_STEP_MAX_NS (3 * GATEWAY_STEP_NS)
/* Descriptors that are not for clients, of few at most a quarter: standard streams, loop, listener,
 * link, operators. */
#define GATEWAY_DESCRIPTORS    (16 + HTTP_CONNECTIONS_MAX)
#define GATEWAY_DESCRIPTORS_TH 8       /* more for each further thread */
#define GATEWAY_READ_MAX       65536   /* bytes of one client in one turn, about */
#define GATEWAY_LINK_KEEP      262144  /* bytes of the link's queue that stay allocated */
#define GATEWAY_CLIENTS_MAX    1000000 /* with -max-clients 0 */
#define GATEWAY_FOREVER_NS     (365 * 86400 * CLOCK_NS_PER_S) /* a wait without a limit */
#define GATEWAY_LINK_FINISH_NS CLOCK_NS_PER_S /* the world's time to close its end of the link */
/* Handshakes get so much of a turn, and then rest as long: a client waits for no more of them. */
#define GATEWAY_SHAKE_NS    CLOCK_NS_PER_MS
#define GATEWAY_SHAKING_MAX 65536 /* with -max-handshakes 0 */

struct gateway {
    const struct gateway_config *config;
    struct loop *loop;
    struct gateway_metrics metrics;
    struct clients clients;
    struct fleet fleet;
    struct relay relay;
    struct listener listener;
    struct listener ws_listener; /* all zero: no -ws-listen */
    struct proxied proxied;
    struct visitors visitors;
    struct handshakes *handshakes; /* NULL: no -tls-cert */
    struct stream_limits link_limits;
    struct loop_timer *timer;
    struct loop_deferred reap;
    struct mono stepped; /* when the last step was */
    struct mono awake;   /* time in which we could listen */
    struct mono drain_end;
    struct gateway_place place;
    bool draining;
    bool over; /* drained: told once */
    char id[LINK_ID_MAX];
};

/* --- what the parts need of the process ------------------------------------------------------- */

static uint32_t gateway_now_ms(void *arg)
{
    const struct gateway *g = arg;
    return (uint32_t)(loop_now(g->loop).ns / CLOCK_NS_PER_MS);
}

static void gateway_reap_soon(void *arg)
{
    struct gateway *g = arg;
    loop_defer(g->loop, &g->reap);
}

static void gateway_reap(void *arg)
{
    struct gateway *g = arg;
    clients_reap(&g->clients);
}

static const struct clients_ops gateway_clients_ops = {
    .now_ms = gateway_now_ms,
    .reap_soon = gateway_reap_soon,
};

/* --- time ---------------------------------------------------------------------------------- */

static void gateway_over(struct gateway *g)
{
    if (g->over)
        return;
    g->over = true;
    if (g->place.over)
        g->place.over(g->place.arg);
    else
        loop_stop(g->loop);
}

static void gateway_drain_step(struct gateway *g)
{
    /* The link goes last: the world has heard of every client's end by then. */
    if (g->clients.slots.live == 0)
        fleet_finish(&g->fleet, GATEWAY_LINK_FINISH_NS);
    if (fleet_over(&g->fleet)) {
        gateway_over(g);
    } else if (!g->over && clock_since(g->stepped, g->drain_end) >= 0) {
        log_line(LOG_WARN, "drain took too long clients=%u", g->clients.slots.live);
        gateway_over(g);
    }
}

static void gateway_step(void *arg)
{
    struct gateway *g = arg;
    const struct mono now = loop_now(g->loop);
    int64_t passed_ns = clock_since(now, g->stepped);

    if (passed_ns > GATEWAY_STEP_MAX_NS)
        passed_ns = GATEWAY_STEP_MAX_NS;
    /* Whole milliseconds only, so that no fraction is lost from step to step. */
    const uint32_t passed_ms = (uint32_t)(passed_ns / CLOCK_NS_PER_MS);
    g->stepped =
        passed_ns == GATEWAY_STEP_MAX_NS ? now : clock_add(g->stepped, passed_ms * CLOCK_NS_PER_MS);
    g->awake = clock_add(g->awake, passed_ms * CLOCK_NS_PER_MS);

    fleet_step(&g->fleet, g->awake);
    clients_step(&g->clients, passed_ms);
    if (g->place.index == 0)
        addresses_step(g->place.addresses, gateway_now_ms(g));
    relay_step(&g->relay, passed_ms);
    if (g->draining)
        gateway_drain_step(g);
    loop_timer_arm(g->timer, GATEWAY_STEP_NS);
    if (g->place.stepped)
        g->place.stepped(g->place.arg);
}

/* --- drain --------------------------------------------------------------------------------- */

void gateway_drain(struct gateway *g)
{
    if (g->draining)
        return;
    g->draining = true;
    const int64_t limit_ns = g->config->drain_timeout_ns;
    g->drain_end = clock_add(loop_now(g->loop), limit_ns != 0 ? limit_ns : GATEWAY_FOREVER_NS);
    listener_stop(&g->listener);
    listener_stop(&g->ws_listener);
    proxied_end(&g->proxied);
    if (g->handshakes)
        handshakes_end(g->handshakes);
    visitors_end(&g->visitors);
    clients_bye(&g->clients, PE_SHUTTING_DOWN, CLIENT_END_DRAIN);
}

static bool gateway_accepting(const struct gateway *g)
{
    return listener_accepting(&g->listener) &&
           (!g->ws_listener.net || listener_accepting(&g->ws_listener));
}

const char *gateway_unready(const struct gateway *g)
{
    if (g->draining)
        return "draining";
    if (!gateway_accepting(g))
        return g->listener.full || g->ws_listener.full ? "full of handshakes"
                                                       : "out of descriptors";
    if (clients_open(&g->clients) >= g->clients.limits.clients_max)
        return "full";
    return fleet_ready(&g->fleet) ? NULL : "world away";
}

/* --- life ---------------------------------------------------------------------------------- */

static uint32_t gateway_limit_ms(int64_t ns)
{
    return (uint32_t)(ns / CLOCK_NS_PER_MS);
}

/* How many connections there are descriptors for; 0 descriptors: nobody knows. */
static uint64_t gateway_room(const struct gateway *g)
{
    const uint64_t descriptors = g->metrics.descriptors_max;
    const uint64_t threads = g->place.count;
    const uint64_t ours = GATEWAY_DESCRIPTORS + (threads - 1) * GATEWAY_DESCRIPTORS_TH;

    if (descriptors == 0)
        return GATEWAY_CLIENTS_MAX;
    const uint64_t few = descriptors / 4;
    return descriptors - (few < ours ? few : ours);
}

static void gateway_limits(struct gateway *g)
{
    const struct gateway_config *config = g->config;
    struct clients_limits *limits = &g->clients.limits;
    const uint64_t room = gateway_room(g);
    uint64_t clients = config->max_clients;

    if (clients == 0)
        clients = room < GATEWAY_CLIENTS_MAX ? room : GATEWAY_CLIENTS_MAX;
    else if (clients > room && g->place.index == 0)
        log_line(LOG_WARN,
                 "-max-clients is above what descriptors allow clients=%" PRIu64
                 " descriptors=%" PRIu64,
                 clients, g->metrics.descriptors_max);
    const uint64_t burst = config->rate_burst != 0 ? config->rate_burst : 2 * config->rate;

    limits->clients_max = (uint32_t)clients;
    limits->frame_max = config->max_frame != 0 ? (uint32_t)config->max_frame : PROTO_BATCH_MAX;
    limits->queue_hard = config->queue_hard;
    limits->rate = (struct rate_limit){(uint32_t)config->rate, (uint32_t)burst};
    limits->idle_ms = gateway_limit_ms(config->idle_timeout_ns);
    limits->login_ms = gateway_limit_ms(config->login_timeout_ns);
    limits->frame_ms = gateway_limit_ms(config->frame_timeout_ns);
    limits->slow_ms = gateway_limit_ms(config->slow_timeout_ns);
    limits->linger_ns = config->linger_ns != 0 ? config->linger_ns : GATEWAY_FOREVER_NS;
    limits->visitors_max = g->place.web ? VISITORS_MAX : 0;
    limits->proxied_max = config->proxy_protocol[0] != '\0' ? PROXIED_MAX : 0;
    if (g->place.tls)
        limits->handshakes_max =
            config->max_handshakes != 0 ? (uint32_t)config->max_handshakes : GATEWAY_SHAKING_MAX;
    g->link_limits = (struct stream_limits){
        .queue_soft = config->link_queue_soft,
        .queue_hard = config->link_queue_hard,
        .queue_keep = GATEWAY_LINK_KEEP,
        .keep_max = FRAME_HEAD + LINK_FRAME_MAX,
        .batch = config->io_uring == 0,
    };
}

/* By when what stands before frames must be there; 0: off. */
static int64_t gateway_head_ns(const struct gateway_config *config)
{
    return config->frame_timeout_ns != 0 ? config->frame_timeout_ns : config->login_timeout_ns;
}

static int gateway_init_tls(struct gateway *g)
{
    const struct handshakes_config config = {
        .tls = g->place.tls,
        .most = g->clients.limits.handshakes_max,
        .pending = &g->clients.total->shaking,
        .timeout_ns = g->config->handshake_timeout_ns,
        .slice_ns = GATEWAY_SHAKE_NS,
        .ops = &listener_handshake_ops,
    };
    return handshakes_create(g->loop, &config, &g->handshakes);
}

static int gateway_init_parts(struct gateway *g)
{
    struct clients *all = &g->clients;
    struct fleet *f = &g->fleet;

    all->transport = &transport_len;
    all->conn = &conn_stream;
    all->ops = &gateway_clients_ops;
    all->ops_arg = g;
    all->metrics = &g->metrics;
    all->total = g->place.total;
    all->addresses = g->place.addresses;
    int r = g->place.web ? transport_ws_reader(all->limits.frame_max, &all->ws) : 0;
    if (r == 0)
        r = clients_init(all);
    if (r == 0)
        r = proxied_init(&g->proxied, g->loop, all, g->config->proxy_protocol,
                         gateway_head_ns(g->config), listener_admit);
    if (r == 0)
        r = relay_init(&g->relay, all, &g->metrics);
    if (r == 0)
        r = loop_timer_create(g->loop, gateway_step, g, &g->timer);
    if (r == 0 && g->place.tls)
        r = gateway_init_tls(g);

    uint32_t life;
    rng_secret(&life, sizeof(life));
    const int id_bytes =
        snprintf(g->id, sizeof(g->id), "gateway-%ld-%08x", (long)getpid(), (unsigned)life);
    if (g->place.count > 1)
        snprintf(g->id + id_bytes, sizeof(g->id) - (size_t)id_bytes, "-%u", g->place.index);
    f->loop = g->loop;
    f->relay = &g->relay;
    f->metrics = &g->metrics;
    f->limits = &g->link_limits;
    f->id = all->id = span_text(g->id);
    f->keys = g->place.keys;
    f->silence_ns = g->config->link_timeout_ns;
    if (r != 0 || g->config->cluster[0] != '\0')
        return r;
    return fleet_add(f, g->config->upstream);
}

/* Listen as one flag says: at `first` if another thread does already. */
static int gateway_listen(struct gateway *g, struct listener *l, const char *flag, const char *addr,
                          const char *first, struct visitors *visitors, char *why, size_t why_cap)
{
    const struct gateway_config *config = g->config;
    const uint64_t queue_hard = config->queue_hard;
    const uint32_t head_max = visitors ? WS_FRAME_HEAD : FRAME_HEAD;
    /* The client holds the hard limit, since it still has a Bye to queue when it is reached, and a
     * frame may be larger than it; the stream's is the bound on both. */
    const struct stream_limits limits = {
        .queue_soft = config->queue_soft,
        .queue_hard = queue_hard != 0 ? queue_hard + PROTO_BATCH_MAX + CLIENT_NOTE_MAX : 0,
        .keep_max = head_max + g->clients.limits.frame_max,
        .read_max = GATEWAY_READ_MAX,
        .sndbuf = config->sndbuf < INT_MAX ? (int)config->sndbuf : INT_MAX,
    };
    const enum listener_port port = g->place.count == 1 ? LISTENER_ALONE
                                    : first             ? LISTENER_BESIDE
                                                        : LISTENER_FIRST;
    char cause[NET_TEXT_MAX + 128];
    const int r =
        listener_init(l, g->loop, &g->clients, first ? first : addr, port, &limits, gateway_room(g),
                      &g->proxied, visitors, g->handshakes, cause, sizeof(cause));
    if (r != 0)
        snprintf(why, why_cap, "-%s: %s", flag, cause);
    return r;
}

static int gateway_listen_ws(struct gateway *g, char *why, size_t why_cap)
{
    const struct gateway_config *config = g->config;

    if (!g->place.web)
        return 0;
    g->visitors = (struct visitors){
        .loop = g->loop,
        .clients = &g->clients,
        .limits = &g->ws_listener.limits,
        .files = g->place.web,
        .origins = config->ws_origins,
        .head_ns = gateway_head_ns(config),
    };
    return gateway_listen(g, &g->ws_listener, "ws-listen", config->ws_listen, g->place.ws_listen,
                          &g->visitors, why, why_cap);
}

int gateway_create(struct loop *loop, const struct gateway_config *config,
                   const struct gateway_place *place, struct gateway **out, char *why,
                   size_t why_cap)
{
    struct gateway *g = calloc(1, sizeof(*g));
    if (!g) {
        snprintf(why, why_cap, "%s", err_text(E_NOMEM));
        return E_NOMEM;
    }
    g->config = config;
    g->loop = loop;
    g->place = *place;
    if (g->place.count == 0)
        g->place.count = 1;
    g->reap = (struct loop_deferred){.fn = gateway_reap, .arg = g};
    g->metrics.descriptors_max = net_raise_descriptors();
    gateway_limits(g);
    int r = gateway_init_parts(g);
    if (r != 0) {
        snprintf(why, why_cap, "-max-clients: %s", err_text(r));
        gateway_destroy(g);
        return r;
    }

    r = gateway_listen(g, &g->listener, "listen", config->listen, place->listen, NULL, why,
                       why_cap);
    if (r == 0)
        r = gateway_listen_ws(g, why, why_cap);
    if (r != 0) {
        gateway_destroy(g);
        return r;
    }
    g->stepped = loop_now(loop);
    loop_timer_arm(g->timer, 0);
    *out = g;
    return 0;
}

void gateway_destroy(struct gateway *g)
{
    if (!g)
        return;
    listener_stop(&g->listener);
    listener_stop(&g->ws_listener);
    proxied_fini(&g->proxied);
    handshakes_destroy(g->handshakes);
    visitors_end(&g->visitors);
    clients_fini(&g->clients);
    fleet_fini(&g->fleet);
    transport_ws_reader_end(g->clients.ws);
    relay_fini(&g->relay);
    loop_timer_destroy(g->timer);
    loop_defer_cancel(g->loop, &g->reap);
    free(g);
}

const char *gateway_addr(const struct gateway *g)
{
    return net_listener_addr(g->listener.net);
}

const char *gateway_ws_addr(const struct gateway *g)
{
    return g->ws_listener.net ? net_listener_addr(g->ws_listener.net) : NULL;
}

const struct gateway_metrics *gateway_metrics_now(struct gateway *g)
{
    const struct clients_sum sum = clients_summed(&g->clients);

    g->metrics.clients_slow = sum.slow;
    g->metrics.queue_bytes = sum.queued;
    g->metrics.queue_most_bytes = sum.queued_most;
    return gateway_metrics_soon(g);
}

void gateway_worlds(struct gateway *g, const struct roster *r)
{
    const int err = fleet_keep(&g->fleet, r);

    if (err != 0)
        log_often(LOG_ERROR, "a world has no link: %s", err_text(err));
}

const char *gateway_id(const struct gateway *g)
{
    return g->id;
}

void gateway_trace(struct gateway *g, uint64_t session, uint32_t lines, uint32_t seconds)
{
    if (client_trace_begin(&g->clients, session, lines, seconds) != 0)
        log_line(LOG_WARN, "trace not begun: no such session session=%s",
                 log_session((char[LOG_SESSION_MAX]){0}, g->clients.id, session));
}

const struct gateway_metrics *gateway_metrics_soon(struct gateway *g)
{
    struct gateway_metrics *m = &g->metrics;

    m->threads = 1;
    m->accepting = gateway_accepting(g);
    m->clients = g->clients.open;
    m->clients_max = g->clients.limits.clients_max;
    m->sessions = g->relay.sessions;
    m->sessions_waiting = g->relay.n_waits;
    m->link_ready = fleet_ready(&g->fleet);
    m->worlds_up = fleet_up(&g->fleet);
    m->worlds_known = g->fleet.n;
    m->trace_lines = g->clients.trace.lines;
    m->sends_batched = stream_batched(g->loop);
    m->link_queue_bytes = fleet_queued(&g->fleet);
    m->reading_paused = g->clients.paused;
    m->tls_pending = g->handshakes ? handshakes_pending(g->handshakes) : 0;
    return m;
}

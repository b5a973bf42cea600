/* gateway/gateway_opts.c: one row for each flag.
 * May touch: common. On trouble: opts.c names the flag; this file names pairs that clash.
 */
#include "gateway/gateway_opts.h"

#include "common/err.h"
#include "common/host.h"
#include "common/io/http.h"
#include "common/nats_url.h"
#include "common/parts.h"
#include "gateway/origins.h"
#include "proto/link_proof.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(f)       offsetof(struct gateway_config, f)
#define DAY_MS         86400000.0 /* no wait is longer */
#define QUEUE_MAX      17179869184.0
#define SNDBUF_MIN     4096
#define SNDBUF_MAX     1073741824.0
#define FRAME_MIN      64
#define FRAME_MAX      1048576 /* PROTO_BATCH_MAX: what any frame may hold */
#define RATE_MAX       1000000
#define CLIENTS_MAX    1000000
#define QUEUE_MIN      1024
#define LINK_SOFT_MIN  65536
#define THREADS_MAX    64
#define ADDRESSES_MAX  16777216.0
#define HANDSHAKES_MAX 65536

#define GATEWAY_WS_ORIGINS "self"
#define GATEWAY_UPSTREAM   "127.0.0.1:19002"

/* clang-format off */
const struct opt gateway_opts[] = {
    {.name = "role", .type = OPT_CHOICE, .offset = FIELD(role), .def = "gateway", .unit = "",
     .choices = "gateway", .help = "which program to be"},
    {.name = "listen", .type = OPT_ADDR, .offset = FIELD(listen), .def = "127.0.0.1:19001",
     .unit = "", .help = "where clients connect; port 0 lets the kernel choose"},
    {.name = "upstream", .type = OPT_ADDR, .offset = FIELD(upstream), .def = GATEWAY_UPSTREAM,
     .unit = "", .help = "where the world listens; dialled until it answers"},
    {.name = "cluster", .type = OPT_TEXT, .offset = FIELD(cluster), .def = "", .unit = "",
     .help = "in place of -upstream, the worlds that this NATS knows of, as they come and go: "
             "nats://[USER:PASSWORD@]HOST:PORT, more servers behind commas"},
    {.name = "link-timeout", .type = OPT_DURATION, .offset = FIELD(link_timeout_ns), .def = "3s",
     .unit = "s", .min = 0.01, .max = DAY_MS / 1000, .zero_off = true,
     .help = "a world silent for this long counts as away; both sides ping three times in it"},
    {.name = "link-key", .type = OPT_TEXT, .offset = FIELD(link_key), .def = "", .unit = "",
     .help = "file of secrets, one a line, of which the first is shown to have to the world, which "
             "must have it too; read anew at SIGHUP"},
    {.name = "admin", .type = OPT_TEXT, .offset = FIELD(admin), .def = "", .unit = "",
     .help = "where operators find /metrics, /healthz and /readyz; a bare port is on 127.0.0.1"},
    {.name = "admin-token", .type = OPT_TEXT, .offset = FIELD(admin_token), .def = "", .unit = "",
     .help = "file whose first line operators must show to have a session traced (/api/trace); "
             "without it nobody can"},
    {.name = "ws-listen", .type = OPT_ADDR, .offset = FIELD(ws_listen), .def = "", .unit = "",
     .help = "where WebSocket clients connect, at /ws; the rest of it serves -web"},
    {.name = "ws-origins", .type = OPT_TEXT, .offset = FIELD(ws_origins), .def = GATEWAY_WS_ORIGINS,
     .unit = "",
     .help = "pages that may connect: scheme://host[:port] between commas, self for those that the "
             "port serves, * for all; clients that are no page send no Origin, and may"},
    {.name = "web", .type = OPT_TEXT, .offset = FIELD(web), .def = "", .unit = "",
     .help = "folder whose files the WebSocket port serves in place of the page that is built in, "
             "read at the start"},
    {.name = "web-maps", .type = OPT_TEXT, .offset = FIELD(web_maps), .def = "", .unit = "",
     .help = "folder of maps, called as their scenes, that the WebSocket port serves below /maps "
             "for the page to draw: its .json and .png files, as they are"},
    {.name = "proxy-protocol", .type = OPT_TEXT, .offset = FIELD(proxy_protocol), .def = "",
     .unit = "",
     .help = "addresses of proxies, ADDR or ADDR/BITS between commas, whose connections begin with "
             "a PROXY header of version 2 that says who comes"},
    {.name = "max-per-address", .type = OPT_UINT, .offset = FIELD(max_per_address), .def = "0",
     .unit = "", .min = 1, .max = CLIENTS_MAX, .zero_off = true,
     .help = "connections of one address at once, of IPv6 of one /64; one more is closed"},
    {.name = "connect-rate-address", .type = OPT_UINT, .offset = FIELD(connect_rate_address),
     .def = "0", .unit = "", .min = 1, .max = RATE_MAX, .zero_off = true,
     .help = "new connections a second of one address, twice as many at once; more are closed"},
    {.name = "login-rate-address", .type = OPT_UINT, .offset = FIELD(login_rate_address),
     .def = "0", .unit = "", .min = 1, .max = RATE_MAX, .zero_off = true,
     .help = "LoginReqs a minute of one address, as many at once; more are refused with 12"},
    {.name = "max-addresses", .type = OPT_UINT, .offset = FIELD(max_addresses), .def = "65536",
     .unit = "", .min = 16, .max = ADDRESSES_MAX,
     .help = "addresses watched at once, 120 bytes each where one of the three above is on"},
    {.name = "tls-cert", .type = OPT_TEXT, .offset = FIELD(tls_cert), .def = "", .unit = "",
     .help = "certificate in PEM, those that lead to its root behind it: -listen and -ws-listen "
             "speak TLS only; SIGHUP reads it anew"},
    {.name = "tls-key", .type = OPT_TEXT, .offset = FIELD(tls_key), .def = "", .unit = "",
     .help = "its private key in PEM, without a passphrase"},
    {.name = "handshake-timeout", .type = OPT_DURATION, .offset = FIELD(handshake_timeout_ns),
     .def = "10s", .unit = "s", .min = 0.1, .max = DAY_MS / 1000, .zero_off = true,
     .help = "a TLS handshake that is not done by then is closed"},
    {.name = "max-handshakes", .type = OPT_UINT, .offset = FIELD(max_handshakes), .def = "1024",
     .unit = "", .min = 1, .max = HANDSHAKES_MAX, .zero_off = true,
     .help = "TLS handshakes at once; for one more the one that waits longest for its client goes, "
             "or accepting pauses"},
    {.name = "max-clients", .type = OPT_UINT, .offset = FIELD(max_clients), .def = "10000",
     .unit = "", .min = 1, .max = CLIENTS_MAX, .zero_off = true,
     .help = "clients at once; one more gets Bye 13"},
    {.name = "max-frame", .type = OPT_BYTES, .offset = FIELD(max_frame), .def = "16384",
     .unit = "bytes", .min = FRAME_MIN, .max = FRAME_MAX, .zero_off = true,
     .help = "largest body that a client may send"},
    {.name = "rate", .type = OPT_UINT, .offset = FIELD(rate), .def = "60", .unit = "", .min = 1,
     .max = RATE_MAX, .zero_off = true, .help = "requests a second of one client, pings counted"},
    {.name = "rate-burst", .type = OPT_UINT, .offset = FIELD(rate_burst), .def = "0", .unit = "",
     .min = 1, .max = RATE_MAX, .zero_off = true,
     .help = "requests that may come at once; 0 is twice the rate"},
    {.name = "idle-timeout", .type = OPT_DURATION, .offset = FIELD(idle_timeout_ns), .def = "60s",
     .unit = "s", .min = 0.1, .max = DAY_MS / 1000, .zero_off = true,
     .help = "a client that sends no whole frame for this long gets Bye 15"},
    {.name = "login-timeout", .type = OPT_DURATION, .offset = FIELD(login_timeout_ns),
     .def = "60s", .unit = "s", .min = 0.1, .max = DAY_MS / 1000, .zero_off = true,
     .help = "a client that has not logged in by then gets Bye 15; does not run while the world is "
             "away"},
    {.name = "frame-timeout", .type = OPT_DURATION, .offset = FIELD(frame_timeout_ns),
     .def = "10s", .unit = "s", .min = 0.1, .max = DAY_MS / 1000, .zero_off = true,
     .help = "a frame that is not whole by then, counted from its first byte, gets Bye 15"},
    {.name = "queue-soft", .type = OPT_BYTES, .offset = FIELD(queue_soft), .def = "64KiB",
     .unit = "bytes", .min = QUEUE_MIN, .max = QUEUE_MAX, .zero_off = true,
     .help = "bytes queued for a client from which on the world pauses its batches"},
    {.name = "queue-hard", .type = OPT_BYTES, .offset = FIELD(queue_hard), .def = "1MiB",
     .unit = "bytes", .min = QUEUE_MIN, .max = QUEUE_MAX, .zero_off = true,
     .help = "bytes queued for a client at most; past it Bye 16"},
    {.name = "slow-timeout", .type = OPT_DURATION, .offset = FIELD(slow_timeout_ns), .def = "30s",
     .unit = "s", .min = 0.1, .max = DAY_MS / 1000, .zero_off = true,
     .help = "a client above the soft limit for this long gets Bye 16"},
    {.name = "sndbuf", .type = OPT_BYTES, .offset = FIELD(sndbuf), .def = "128KiB",
     .unit = "bytes", .min = SNDBUF_MIN, .max = SNDBUF_MAX, .zero_off = true,
     .help = "the kernel's send buffer of a client; 0 is the kernel's choice"},
    {.name = "linger", .type = OPT_DURATION, .offset = FIELD(linger_ns), .def = "2s", .unit = "s",
     .min = 0.01, .max = DAY_MS / 1000, .zero_off = true,
     .help = "how long a client may take to read its Bye and close"},
    {.name = "drain-timeout", .type = OPT_DURATION, .offset = FIELD(drain_timeout_ns),
     .def = "5s", .unit = "s", .min = 0.1, .max = DAY_MS / 1000, .zero_off = true,
     .help = "after SIGTERM or SIGINT, the end comes by then"},
    {.name = "link-queue-soft", .type = OPT_BYTES, .offset = FIELD(link_queue_soft),
     .def = "4MiB", .unit = "bytes", .min = LINK_SOFT_MIN, .max = QUEUE_MAX, .zero_off = true,
     .help = "bytes queued for the world from which on no client is read"},
    {.name = "link-queue-hard", .type = OPT_BYTES, .offset = FIELD(link_queue_hard),
     .def = "64MiB", .unit = "bytes", .min = LINK_SOFT_MIN, .max = QUEUE_MAX, .zero_off = true,
     .help = "bytes queued for the world at most; past it the link is closed"},
    {.name = "threads", .type = OPT_UINT, .offset = FIELD(threads), .def = "1", .unit = "",
     .min = 1, .max = THREADS_MAX,
     .help = "threads that serve clients, each with a link of its own to the world"},
    {.name = "io-uring", .type = OPT_CHOICE, .offset = FIELD(io_uring), .def = "auto",
     .unit = "", .choices = "auto|off",
     .help = "hand a batch's sends to the kernel in one call where it takes that"},
    {.name = "log-level", .type = OPT_CHOICE, .offset = FIELD(log_level), .def = "info",
     .unit = "", .choices = "debug|info|warn|error|off", .help = "least level that is written"},
    {.name = "log-format", .type = OPT_CHOICE, .offset = FIELD(log_format), .def = "text",
     .unit = "", .choices = "text|json", .help = "how a line is written"},
};
/* clang-format on */

const size_t gateway_opts_n = ARRAY_LEN(gateway_opts);

/* The port of an address whose form has been checked. */
static unsigned long gateway_opts_port(const char *addr)
{
    const char *colon = strrchr(addr, ':');
    return colon ? strtoul(colon + 1, NULL, 10) : 0;
}

/* The flag that was given although there is no -ws-listen; NULL: none. */
static const char *gateway_opts_alone(const struct gateway_config *config)
{
    if (config->ws_listen[0] != '\0')
        return NULL;
    if (config->web[0] != '\0')
        return "web";
    if (config->web_maps[0] != '\0')
        return "web-maps";
    return strcmp(config->ws_origins, GATEWAY_WS_ORIGINS) != 0 ? "ws-origins" : NULL;
}

static int gateway_opts_check_ws(const struct gateway_config *config, char *why, size_t why_cap)
{
    struct span bad;

    if (origins_check(config->ws_origins, &bad) != 0) {
        snprintf(why, why_cap,
                 "-ws-origins: \"%.*s\": must be scheme://host[:port] in small letters, self, or *",
                 bad.n < 80 ? (int)bad.n : 80, (const char *)bad.p);
        return E_RANGE;
    }
    const char *alone = gateway_opts_alone(config);
    if (alone) {
        snprintf(why, why_cap, "-%s: does nothing without -ws-listen", alone);
        return E_RANGE;
    }
#ifndef PARTS_WEBSOCKET
    if (config->ws_listen[0] != '\0') {
        snprintf(why, why_cap,
                 "-ws-listen: this program was built without libcrypto, http-parser or wslay "
                 "(-version tells which)");
        return E_MISSING;
    }
#endif
    return 0;
}

static int gateway_opts_check_edge(const struct gateway_config *config, char *why, size_t why_cap)
{
    struct host_ranges ranges;
    struct span bad;
    const int r = host_ranges_read(config->proxy_protocol, &ranges, &bad);

    if (r == E_FULL)
        snprintf(why, why_cap, "-proxy-protocol: at most %d of them", HOST_RANGES_MAX);
    else if (r != 0)
        snprintf(why, why_cap,
                 "-proxy-protocol: \"%.*s\": must be an address, or the first one of a network and "
                 "how many bits count",
                 bad.n < 80 ? (int)bad.n : 80, (const char *)bad.p);
    return r == 0 ? 0 : E_RANGE;
}

static int gateway_opts_check_tls(const struct gateway_config *config, char *why, size_t why_cap)
{
    const bool cert = config->tls_cert[0] != '\0', key = config->tls_key[0] != '\0';

    if (cert != key) {
        snprintf(why, why_cap, "-%s: needs -%s beside it", cert ? "tls-cert" : "tls-key",
                 cert ? "tls-key" : "tls-cert");
        return E_RANGE;
    }
#ifndef PARTS_TLS
    if (cert) {
        snprintf(why, why_cap,
                 "-tls-cert: this program was built without libssl or libcrypto "
                 "(-version tells which)");
        return E_MISSING;
    }
#endif
    return 0;
}

static int gateway_opts_check_worlds(const struct gateway_config *config, char *why, size_t why_cap)
{
    char shown[NATS_URL_SHOWN];
    const char *reason;

    if (gateway_opts_port(config->upstream) == 0) {
        snprintf(why, why_cap, "-upstream: \"%s\": nobody can be reached at port 0",
                 config->upstream);
        return E_RANGE;
    }
    if (config->cluster[0] == '\0')
        return 0;
    nats_url_show(config->cluster, shown);
    if (nats_url_check(config->cluster, &reason) != 0) {
        snprintf(why, why_cap, "-cluster: \"%.80s\": %s", shown, reason);
        return E_RANGE;
    }
    if (strcmp(config->upstream, GATEWAY_UPSTREAM) != 0) {
        snprintf(why, why_cap, "-cluster: \"%.80s\": stands in place of -upstream %s: give one",
                 shown, config->upstream);
        return E_RANGE;
    }
#ifndef AEGIS_PART_LIBNATS
    snprintf(why, why_cap,
             "-cluster: \"%.80s\": this program was built without libnats (-version tells)", shown);
    return E_MISSING;
#else
    return 0;
#endif
}

int gateway_opts_check(const struct gateway_config *config, char *why, size_t why_cap)
{
    char admin[HTTP_ADDR_MAX];
    const char *reason;
    int r = gateway_opts_check_worlds(config, why, why_cap);

    if (r != 0)
        return r;
    if (config->queue_hard != 0 && config->queue_hard < config->queue_soft) {
        snprintf(why, why_cap, "-queue-hard: %" PRIu64 ": must not be below -queue-soft %" PRIu64,
                 config->queue_hard, config->queue_soft);
        return E_RANGE;
    }
    if (config->link_queue_hard != 0 && config->link_queue_hard < config->link_queue_soft) {
        snprintf(why, why_cap,
                 "-link-queue-hard: %" PRIu64 ": must not be below -link-queue-soft %" PRIu64,
                 config->link_queue_hard, config->link_queue_soft);
        return E_RANGE;
    }
    if (config->admin[0] != '\0' && http_addr_read(config->admin, admin, &reason) != 0) {
        snprintf(why, why_cap, "-admin: \"%.80s\": %s", config->admin, reason);
        return E_RANGE;
    }
    if (config->admin_token[0] != '\0' && config->admin[0] == '\0') {
        snprintf(why, why_cap, "-admin-token: \"%.80s\": needs -admin", config->admin_token);
        return E_RANGE;
    }
    if (config->link_key[0] != '\0' && !link_proof_built()) {
        snprintf(why, why_cap,
                 "-link-key: this program was built without libcrypto (-version tells)");
        return E_MISSING;
    }
    if (gateway_opts_check_edge(config, why, why_cap) != 0)
        return E_RANGE;
    r = gateway_opts_check_tls(config, why, why_cap);
    return r != 0 ? r : gateway_opts_check_ws(config, why, why_cap);
}

/* tests/bench/rival.c: the programs that are measured, and one round of one of them.
 * May touch: child, crowd, upstream, proto. On trouble: see rival.h.
 */
#include "tests/bench/rival.h"

#include "common/clock.h"
#include "common/parts.h"
#include "proto/frame.h"
#include "proto/message.h"
#include "tests/bench/rival_cert.h"
#include "tests/bench/rival_conf.h"
#include "tests/ws_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SAY_CMD_AT 5  /* where the command of a request lies: after head and array */
#define SAY_SEQ_AT 7  /* and its seq, after 0xce */
#define SAY_TEXT   14 /* bytes of its text */

/* --- what clients say first --------------------------------------------------------------------
 */

/* Write a whole frame around a message. */
static size_t frame_of(uint8_t *out, size_t cap, const struct message *m)
{
    struct span_writer w = span_writer_of(out + FRAME_HEAD, cap - FRAME_HEAD);

    message_write(&w, m);
    if (w.full)
        pump_fail("no room for a message");
    frame_head(out, (uint32_t)w.len);
    return FRAME_HEAD + w.len;
}

static size_t say_login(void *arg, uint32_t i, uint8_t out[CROWD_HELLO_MAX])
{
    struct message m = {.cmd = CMD_LOGIN_REQ, .seq = i + 1};
    char name[16];
    (void)arg;

    snprintf(name, sizeof(name), "p%u", i);
    m.login_req.name = span_text(name);
    m.login_req.version = PROTO_VERSION;
    return frame_of(out, CROWD_HELLO_MAX, &m);
}

static bool is_login(void *arg, uint32_t i, struct span got)
{
    (void)arg, (void)i;
    return got.n == upstream_login_bytes();
}

#define WS_HANDSHAKE                                                               \
    "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
#define WS_ACCEPTED                                                                     \
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

static size_t say_ws_login(void *arg, uint32_t i, uint8_t out[CROWD_HELLO_MAX])
{
    struct span_writer w = span_writer_of(out, CROWD_HELLO_MAX);
    uint8_t login[CROWD_HELLO_MAX];
    const size_t n = say_login(arg, i, login);

    span_put(&w, WS_HANDSHAKE, sizeof(WS_HANDSHAKE) - 1);
    ws_bytes_frame(&w, 0x82, login + FRAME_HEAD, n - FRAME_HEAD);
    if (w.full)
        pump_fail("no room for a handshake");
    return w.len;
}

static bool is_ws_login(void *arg, uint32_t i, struct span got)
{
    const size_t accepted = sizeof(WS_ACCEPTED) - 1;
    struct span rest, body;
    uint8_t first;
    (void)arg, (void)i;

    if (got.n <= accepted || memcmp(got.p, WS_ACCEPTED, accepted) != 0)
        return false;
    rest = span_of(got.p + accepted, got.n - accepted);
    return ws_bytes_take(&rest, &first, &body) && first == 0x82 &&
           body.n == upstream_login_bytes() - FRAME_HEAD && rest.n == 0;
}

static const struct message ping = {
    .cmd = CMD_PING_REQ, .seq = 1, .ping.payload = {(const uint8_t *)"\xc0", 1}};

static size_t say_ping(void *arg, uint32_t i, uint8_t out[CROWD_HELLO_MAX])
{
    (void)arg, (void)i;
    return frame_of(out, CROWD_HELLO_MAX, &ping);
}

static bool is_pong(void *arg, uint32_t i, struct span got)
{
    uint8_t asked[CROWD_HELLO_MAX]; /* as long as its answer */
    (void)arg, (void)i;
    return got.n == frame_of(asked, sizeof(asked), &ping);
}

static size_t say_nothing(void *arg, uint32_t i, uint8_t out[CROWD_HELLO_MAX])
{
    (void)arg, (void)i, (void)out;
    return 0;
}

static bool is_byte(void *arg, uint32_t i, struct span got)
{
    (void)arg, (void)i;
    return got.n == 1;
}

void rival_request(uint8_t out[RIVAL_REQUEST], uint32_t i)
{
    char text[SAY_TEXT + 1];
    struct message m = {.cmd = CMD_SAY_REQ, .seq = UINT32_MAX};

    snprintf(text, sizeof(text), "%0*u", SAY_TEXT, i);
    m.say_req.text = span_text(text);
    if (frame_of(out, RIVAL_REQUEST, &m) != RIVAL_REQUEST)
        pump_fail("a request is not of %d bytes", RIVAL_REQUEST);
    rival_number(out, 0);
}

void rival_reply(const struct rival *rival, uint8_t out[RIVAL_REQUEST], uint32_t i)
{
    rival_request(out, i);
    if (rival->upstream == UPSTREAM_WORLD)
        out[SAY_CMD_AT] = CMD_SAY_RESP;
}

void rival_number(uint8_t request[RIVAL_REQUEST], uint32_t k)
{
    for (int b = 0; b < 4; b++)
        request[SAY_SEQ_AT + b] = (uint8_t)(k >> (24 - 8 * b));
}

/* The echo behind it answers. */
static size_t say_request(void *arg, uint32_t i, uint8_t out[CROWD_HELLO_MAX])
{
    (void)arg;
    rival_request(out, i);
    return RIVAL_REQUEST;
}

static bool is_request(void *arg, uint32_t i, struct span got)
{
    uint8_t sent[RIVAL_REQUEST];
    (void)arg;

    rival_request(sent, i);
    return span_equal(got, span_of(sent, sizeof(sent)));
}

static size_t say_subscribe(void *arg, uint32_t i, uint8_t out[CROWD_HELLO_MAX])
{
    (void)arg;
    return (size_t)snprintf((char *)out, CROWD_HELLO_MAX,
                            "CONNECT {\"verbose\":false,\"pedantic\":false}\r\n"
                            "SUB c.%07u 1\r\nPING\r\n",
                            i);
}

static bool is_subscribed(void *arg, uint32_t i, struct span got)
{
    static const char pong[] = "PONG\r\n";
    (void)arg, (void)i;
    return memmem(got.p, got.n, pong, sizeof(pong) - 1) != NULL;
}

/* --- how each is started -----------------------------------------------------------------------
 */

#define FLAG_MAX   16
#define FLAG_BYTES 512
#define WS_FLAG    "-ws-listen=127.0.0.1:0"
/* Clients that the gateway would let in: so many that its tables are mapped, and take memory only
 * where clients are; and some beyond ours. */
#define CLIENTS 100000
#define SPARE   1000

#define SPARE_LINKS 100 /* connections behind it beyond one a client: links, probes */

#define LINK_PATIENCE_MS 10000
#define LINK_STEADY_MS   20

/* Before the link is up nobody can log in. It has one, or several at about the same time. */
static bool await_link(struct rig *r)
{
    const struct mono end = clock_add(clock_mono(), LINK_PATIENCE_MS * CLOCK_NS_PER_MS);
    unsigned up = 0, before = 0;

    while (up == 0 || up != before || up != r->up.n) {
        if (!child_alive(&r->child) || clock_since(end, clock_mono()) <= 0)
            return false;
        rig_run(r, up == 0 ? 1 : LINK_STEADY_MS);
        before = up;
        up = child_logged(&r->child, "link up");
    }
    return true;
}

/* With up to three more flags, NULL: none; its address stands behind these words. */
static bool start_aegis_with(struct rig *r, const char *const flags[3], const char *words)
{
    char upstream[128], clients[64], more[FLAG_BYTES];
    const char *argv[9 + FLAG_MAX + 1] = {
        r->path,   "-role=gateway",   "-listen=127.0.0.1:0", upstream,           clients,
        "-rate=0", "-idle-timeout=0", "-login-timeout=0",    "-link-timeout=60s"};
    size_t n = 9;
    uint32_t cap = r->clients + SPARE > CLIENTS ? r->clients + SPARE : CLIENTS;

    snprintf(upstream, sizeof(upstream), "-upstream=%s", r->up.addr);
    snprintf(clients, sizeof(clients), "-max-clients=%u", cap);
    snprintf(more, sizeof(more), "%s", r->args->flags);
    char *rest = more;
    for (size_t i = 0; i < 3 && flags[i]; i++)
        argv[n++] = flags[i];
    for (const char *flag; n < 9 + FLAG_MAX && (flag = strsep(&rest, " "));) {
        if (flag[0] != '\0')
            argv[n++] = flag;
    }
    return child_start(&r->child, argv, child_cores().measured) &&
           child_await_addr(&r->child, words) && await_link(r);
}

static bool start_aegis(struct rig *r)
{
    return start_aegis_with(r, (const char *const[3]){NULL}, "listening on ");
}

static bool start_aegis_ws(struct rig *r)
{
    return start_aegis_with(r, (const char *const[3]){WS_FLAG}, "websocket on ");
}

static bool start_aegis_secure(struct rig *r, const char *flag, const char *words)
{
    const struct rival_cert *c = rival_cert_get();
    char cert[RIVAL_CERT_PATH + 16], key[RIVAL_CERT_PATH + 16];

    if (!c)
        return false;
    snprintf(cert, sizeof(cert), "-tls-cert=%s", c->cert);
    snprintf(key, sizeof(key), "-tls-key=%s", c->key);
    return start_aegis_with(r, (const char *const[3]){cert, key, flag}, words);
}

static bool start_aegis_tls(struct rig *r)
{
    return start_aegis_secure(r, NULL, "listening on ");
}

static bool start_aegis_wss(struct rig *r)
{
    return start_aegis_secure(r, WS_FLAG, "websocket on ");
}

/* NAME [UPSTREAM] CLIENTS [BYTES], as each limit program has it. */
static bool start_limit(struct rig *r)
{
    char clients[32];
    const bool dials = r->rival != &rival_fanout_alone && r->rival != &rival_idle_bare;
    const char *const argv[] = {r->path, dials ? r->up.addr : clients,
                                dials ? clients : RIVAL_FRAME_TEXT, NULL};

    snprintf(clients, sizeof(clients), "%u", r->clients);
    return child_start(&r->child, argv, child_cores().measured) &&
           child_await_addr(&r->child, "listening on ");
}

static bool start_nats(struct rig *r)
{
    const char *const argv[] = {r->path, "-a", "127.0.0.1", "-p", "-1", NULL};

    return child_start(&r->child, argv, child_cores().measured) &&
           child_await_addr(&r->child, "Listening for client connections on ");
}

static bool start_haproxy(struct rig *r)
{
    return rival_conf_start(&r->child, &rival_conf_haproxy, r->path, r->up.addr, r->clients);
}

static bool start_nginx(struct rig *r)
{
    return rival_conf_start(&r->child, &rival_conf_nginx, r->path, r->up.addr, r->clients);
}

/* --- the table ---------------------------------------------------------------------------------
 */

#define BESIDE    "./"
#define NOT_BUILT "not built: make bin/bench builds it"
#define NO_TLS    "built without what it needs, or no openssl here"

const struct rival rival_aegis = {"aegis",     "./aegis", NOT_BUILT, UPSTREAM_WORLD,
                                  start_aegis, say_login, is_login};
const struct rival rival_aegis_ping = {"aegis-no-login", "./aegis", NOT_BUILT, UPSTREAM_WORLD,
                                       start_aegis,      say_ping,  is_pong};
const struct rival rival_aegis_ws = {"aegis-ws",     "./aegis",      "built without WebSocket",
                                     UPSTREAM_WORLD, start_aegis_ws, say_ws_login,
                                     is_ws_login};
const struct rival rival_aegis_tls = {"aegis-tls",     "./aegis", NO_TLS,  UPSTREAM_WORLD,
                                      start_aegis_tls, say_login, is_login};
const struct rival rival_aegis_wss = {"aegis-wss",     "./aegis",    NO_TLS,     UPSTREAM_WORLD,
                                      start_aegis_wss, say_ws_login, is_ws_login};
const struct rival rival_other = {"other",     NULL,      "not there", UPSTREAM_WORLD,
                                  start_aegis, say_login, is_login};
const struct rival rival_fanout_alone = {
    "limit-alone", "./limit/fanout_alone", NOT_BUILT, UPSTREAM_SINK, start_limit, say_nothing,
    is_byte};
const struct rival rival_fanout_link = {
    "limit", "./limit/fanout_link", NOT_BUILT, UPSTREAM_SINK, start_limit, say_nothing, is_byte};
const struct rival rival_forward_mux = {
    "limit", "./limit/forward_mux", NOT_BUILT, UPSTREAM_ECHO, start_limit, say_nothing, is_byte};
const struct rival rival_idle_bare = {"limit",     "./limit/idle_bare", NOT_BUILT, UPSTREAM_SINK,
                                      start_limit, say_nothing,         is_byte};
const struct rival rival_haproxy = {"haproxy",     "haproxy",   "not installed", UPSTREAM_ECHO,
                                    start_haproxy, say_request, is_request};
const struct rival rival_nginx = {"nginx",     "nginx",     "not installed", UPSTREAM_ECHO,
                                  start_nginx, say_request, is_request};
const struct rival rival_nats = {"nats-server", "nats-server", "not installed", UPSTREAM_SINK,
                                 start_nats,    say_subscribe, is_subscribed};

/* Its clients speak TLS. */
static bool rival_secure(const struct rival *rival)
{
    return rival == &rival_aegis_tls || rival == &rival_aegis_wss;
}

bool rival_foreign(const struct rival *rival)
{
    return rival->program && strncmp(rival->program, BESIDE, strlen(BESIDE)) != 0;
}

bool rival_find(const struct rival *rival, const struct gate_args *a, char *path, size_t cap)
{
    char beside[1024];
    const char *program = rival->program ? rival->program : a->other;

#ifndef PARTS_WEBSOCKET
    if (rival == &rival_aegis_ws || rival == &rival_aegis_wss)
        return false;
#endif
    if (rival_secure(rival) && !rival_cert_get())
        return false;

    if (rival_foreign(rival) || !rival->program)
        return child_find(program, path, cap);
    child_beside(program + strlen(BESIDE), beside, sizeof(beside));
    return child_find(beside, path, cap);
}

/* --- a round -----------------------------------------------------------------------------------
 */

static bool rig_begin(struct rig *r, const struct rival *rival, const struct gate_args *a,
                      uint32_t clients, crowd_data_fn *data, void *arg)
{
    *r = (struct rig){.rival = rival, .args = a, .clients = clients};
    if (!rival_find(rival, a, r->path, sizeof(r->path)))
        pump_fail("%s: %s", rival->name, rival->missing);
    pump_init(&r->pump);
    upstream_init(&r->up, &r->pump, rival->upstream, RIG_LISTENER, RIG_UPSTREAM,
                  clients + SPARE_LINKS, clients);
    crowd_init(&r->crowd, &r->pump, RIG_CROWD, clients, data, arg);
    if (rival_secure(rival))
        crowd_secure(&r->crowd);
    return rival->start(r);
}

void rig_start(struct rig *r, const struct rival *rival, const struct gate_args *a,
               uint32_t clients, crowd_data_fn *data, void *arg)
{
    if (!rig_begin(r, rival, a, clients, data, arg))
        pump_fail("%s did not start", rival->name);
}

bool rig_try(const struct rival *rival, const struct gate_args *a)
{
    struct rig r;
    bool ok = rig_begin(&r, rival, a, 1, NULL, NULL);

    rig_end(&r);
    return ok;
}

void rig_connect(struct rig *r, uint32_t n)
{
    if (crowd_connect(&r->crowd, r->child.addr, n, r->rival->hello, r->rival->greeted, r))
        return;
    child_show_log(&r->child);
    pump_fail("%s: %u clients are in, and no more", r->rival->name, r->crowd.n);
}

void rig_end(struct rig *r)
{
    child_end(&r->child);
    crowd_fini(&r->crowd);
    upstream_fini(&r->up);
    pump_fini(&r->pump);
}

void rig_run(struct rig *r, int ms)
{
    const struct mono end = clock_add(clock_mono(), ms * CLOCK_NS_PER_MS);

    for (int64_t left; (left = clock_since(end, clock_mono())) > 0;)
        pump_turn(&r->pump, (int)(left / CLOCK_NS_PER_MS) + 1);
}

/* tests/raw_client.c: a client as bytes on a blocking socket. May touch: sockets, proto.
 * On trouble: the test at hand fails.
 */
#include "tests/raw_client.h"

#include "common/addr.h"
#include "common/err.h"
#include "proto/frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define NOTE_MAX (FRAME_HEAD + PROTO_FRAME_MAX)

/* --- connecting ------------------------------------------------------------------------------- */

static struct sockaddr_in address(const char *text)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct addr a;
    const char *why;

    if (addr_parse(text, &a, &why) != 0 || inet_pton(AF_INET, a.host, &in.sin_addr) != 1)
        process_fail("\"%s\" is no address", text);
    in.sin_port = htons(a.port);
    return in;
}

static int open_socket(int rcvbuf)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    if (fd < 0)
        process_fail("no socket: %s", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (rcvbuf > 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
    return fd;
}

void raw_adopt(struct raw_client *c, int fd)
{
    *c = (struct raw_client){.fd = fd, .in = malloc(RAW_IN_MAX)};
    if (!c->in || message_reader_create(PROTO_FRAME_MAX, &c->reader) != 0)
        process_fail("%s", err_text(E_NOMEM));
}

void raw_connect_narrow(struct raw_client *c, const char *addr, int rcvbuf)
{
    struct sockaddr_in in = address(addr);

    raw_adopt(c, open_socket(rcvbuf));
    if (connect(c->fd, (struct sockaddr *)&in, sizeof(in)) != 0)
        process_fail("cannot connect to %s: %s", addr, strerror(errno));
}

void raw_connect(struct raw_client *c, const char *addr)
{
    raw_connect_narrow(c, addr, 0);
}

bool raw_can_connect(const char *addr)
{
    struct sockaddr_in in = address(addr);
    int fd = open_socket(0);
    bool can = connect(fd, (struct sockaddr *)&in, sizeof(in)) == 0;

    close(fd);
    return can;
}

void raw_close(struct raw_client *c)
{
    if (!c->in)
        return;
    close(c->fd);
    free(c->in);
    message_reader_destroy(c->reader);
    *c = (struct raw_client){.fd = -1};
}

void raw_reset(struct raw_client *c)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};

    if (c->in)
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    raw_close(c);
}

/* --- listening -------------------------------------------------------------------------------- */

int raw_listen(const char *addr)
{
    struct sockaddr_in in = address(addr);
    int fd = open_socket(0), on = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&in, sizeof(in)) != 0 || listen(fd, 64) != 0)
        process_fail("cannot listen on %s: %s", addr, strerror(errno));
    return fd;
}

bool raw_accept(struct raw_client *c, int listener, int64_t ms)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};

    if (poll(&p, 1, (int)ms) <= 0)
        return false;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return false;
    raw_adopt(c, fd);
    return true;
}

/* --- out -------------------------------------------------------------------------------------- */

static unsigned digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    process_fail("'%c' is no hex digit", c);
}

size_t raw_bytes(const char *notation, uint8_t *out, size_t cap)
{
    struct span_writer w = span_writer_of(out, cap);

    for (const char *at = notation; *at;) {
        if (*at == ' ') {
            at++;
        } else if (*at == '\'') {
            const char *end = strchr(at + 1, '\'');
            if (!end)
                process_fail("a text without end: %s", notation);
            span_put(&w, at + 1, (size_t)(end - at - 1));
            at = end + 1;
        } else {
            span_put_u8(&w, (uint8_t)(digit(at[0]) << 4 | digit(at[1])));
            at += 2;
        }
    }
    if (w.full)
        process_fail("no room for: %s", notation);
    return w.len;
}

void raw_send(struct raw_client *c, struct span bytes)
{
    while (bytes.n > 0) {
        ssize_t n = send(c->fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            process_fail("cannot send: %s", strerror(errno));
        bytes.p += n;
        bytes.n -= (size_t)n;
    }
}

size_t raw_send_some(struct raw_client *c, struct span bytes)
{
    ssize_t n = send(c->fd, bytes.p, bytes.n, MSG_NOSIGNAL | MSG_DONTWAIT);
    return n > 0 ? (size_t)n : 0;
}

void raw_send_body(struct raw_client *c, struct span body)
{
    uint8_t frame[NOTE_MAX];

    if (body.n > PROTO_FRAME_MAX)
        process_fail("a body of %zu bytes", body.n);
    frame_head(frame, (uint32_t)body.n);
    if (body.n > 0)
        memcpy(frame + FRAME_HEAD, body.p, body.n);
    raw_send(c, span_of(frame, FRAME_HEAD + body.n));
}

void raw_send_text(struct raw_client *c, const char *notation)
{
    uint8_t body[PROTO_FRAME_MAX];
    raw_send_body(c, span_of(body, raw_bytes(notation, body, sizeof(body))));
}

static uint32_t next_seq(struct raw_client *c, uint32_t cmd)
{
    c->asked[++c->seq % RAW_ASKED] = cmd;
    return c->seq;
}

uint32_t raw_request(struct raw_client *c, const struct message *m)
{
    uint8_t body[PROTO_FRAME_MAX];
    struct span_writer w = span_writer_of(body, sizeof(body));
    struct message copy = *m;

    copy.seq = next_seq(c, m->cmd);
    message_write(&w, &copy);
    if (w.full)
        process_fail("a request of cmd %u does not fit", m->cmd);
    raw_send_body(c, span_written(&w));
    return copy.seq;
}

/* [cmd, seq, and what follows is the payload */
static void put_head(struct span_writer *w, uint32_t cmd, uint32_t seq)
{
    span_put_u8(w, 0x93);
    span_put_u8(w, 0xce);
    span_put_be32(w, cmd);
    span_put_u8(w, 0xce);
    span_put_be32(w, seq);
}

uint32_t raw_payload(struct raw_client *c, uint32_t cmd, const char *notation)
{
    uint8_t body[PROTO_FRAME_MAX];
    struct span_writer w = span_writer_of(body, sizeof(body));

    put_head(&w, cmd, next_seq(c, cmd));
    w.len += raw_bytes(notation, body + w.len, sizeof(body) - w.len);
    raw_send_body(c, span_written(&w));
    return c->seq;
}

uint32_t raw_nil(struct raw_client *c, uint32_t cmd)
{
    return raw_payload(c, cmd, "c0");
}

uint32_t raw_login(struct raw_client *c, const char *name)
{
    return raw_login_token(c, name, "");
}

uint32_t raw_login_token(struct raw_client *c, const char *name, const char *token)
{
    struct message m = {.cmd = CMD_LOGIN_REQ};
    m.login_req.name = span_text(name);
    m.login_req.token = span_text(token);
    m.login_req.version = PROTO_VERSION;
    return raw_request(c, &m);
}

uint32_t raw_move(struct raw_client *c, double x, double y)
{
    struct message m = {.cmd = CMD_MOVE_REQ};
    m.move_req.x = x;
    m.move_req.y = y;
    return raw_request(c, &m);
}

/* --- in --------------------------------------------------------------------------------------- */

/* One read, if anything comes before the deadline. */
static bool receive(struct raw_client *c, struct mono deadline)
{
    int64_t left_ns = clock_since(deadline, clock_mono());
    struct pollfd p = {.fd = c->fd, .events = POLLIN};

    if (c->ended || c->reset)
        return false;
    if (poll(&p, 1, left_ns > 0 ? (int)(left_ns / CLOCK_NS_PER_MS) + 1 : 0) <= 0)
        return false;
    if (c->at > 0) {
        memmove(c->in, c->in + c->at, c->len - c->at);
        c->len -= c->at;
        c->at = 0;
    }
    if (c->len == RAW_IN_MAX)
        process_fail("more came than there is room for");
    ssize_t n = recv(c->fd, c->in + c->len, RAW_IN_MAX - c->len, MSG_DONTWAIT);
    if (n > 0)
        c->len += (size_t)n;
    else if (n == 0)
        c->ended = true;
    else if (errno != EAGAIN && errno != EINTR)
        c->reset = true;
    return true;
}

struct span raw_body_within(struct raw_client *c, int64_t ms)
{
    struct mono deadline = process_deadline(ms);

    for (;;) {
        struct span body;
        size_t used;
        int r = frame_split(span_of(c->in + c->at, c->len - c->at), PROTO_BATCH_MAX, &body, &used);
        if (r == 0) {
            c->at += used;
            return body;
        }
        if (r != E_SHORT)
            process_fail("the server sent a length that is not allowed");
        if (!receive(c, deadline))
            return (struct span){0};
    }
}

struct span raw_body(struct raw_client *c)
{
    struct span body = raw_body_within(c, PROCESS_PATIENCE_MS);
    if (!body.p)
        process_fail("no frame came%s", c->reset   ? ": the connection broke"
                                        : c->ended ? ": the connection ended"
                                                   : " in time");
    return body;
}

const struct message *raw_next(struct raw_client *c)
{
    struct span body = raw_body(c);
    if (message_read(c->reader, body, &c->message) != 0)
        process_fail("a frame of cmd %u cannot be read", c->message.cmd);
    return &c->message;
}

const struct message *raw_await(struct raw_client *c, uint32_t cmd)
{
    const struct message *m;
    do {
        m = raw_next(c);
    } while (m->cmd != cmd);
    return m;
}

const struct message *raw_answer(struct raw_client *c, uint32_t seq)
{
    const struct message *m;
    do {
        m = raw_next(c);
        if (m->cmd == CMD_BYE)
            process_fail("Bye %u instead of the answer to request %u", m->bye.code, seq);
    } while (m->seq == 0);
    if (m->seq != seq)
        process_fail("an answer to request %u, not %u", m->seq, seq);
    return m;
}

static void print_hex(char *out, size_t cap, struct span bytes)
{
    size_t len = 0;
    for (size_t i = 0; i < bytes.n && len + 4 < cap; i++)
        len += (size_t)snprintf(out + len, cap - len, "%02x ", bytes.p[i]);
}

void raw_must_body(struct raw_client *c, const char *notation)
{
    uint8_t want[PROTO_FRAME_MAX];
    size_t n = raw_bytes(notation, want, sizeof(want));
    struct span body = raw_body(c);
    char hex[1024] = "";

    if (span_equal(body, span_of(want, n)))
        return;
    print_hex(hex, sizeof(hex), body);
    process_fail("came: %s\ndue:  %s", hex, notation);
}

const struct message *raw_must(struct raw_client *c, uint32_t seq, uint32_t cmd)
{
    const struct message *m = raw_answer(c, seq);
    if (m->cmd == CMD_ERROR_NOTIFY && cmd != CMD_ERROR_NOTIFY)
        process_fail("error %u where cmd %u was due", m->error_notify.code, cmd);
    if (m->cmd != cmd)
        process_fail("cmd %u where cmd %u was due", m->cmd, cmd);
    return m;
}

const struct message *raw_must_fail(struct raw_client *c, uint32_t seq, uint32_t code)
{
    const struct message *m = raw_answer(c, seq);
    if (m->cmd != CMD_ERROR_NOTIFY)
        process_fail("cmd %u where error %u was due", m->cmd, code);
    if (m->error_notify.code != code)
        process_fail("error %u where error %u was due", m->error_notify.code, code);
    if (m->error_notify.error.n == 0)
        process_fail("error %u without a sentence", code);
    if (m->error_notify.cmd != c->asked[seq % RAW_ASKED])
        process_fail("error %u names cmd %u, not %u", code, m->error_notify.cmd,
                     c->asked[seq % RAW_ASKED]);
    return m;
}

void raw_must_be_told(struct raw_client *c, uint32_t code)
{
    const struct message *m;
    do {
        m = raw_next(c);
    } while (m->cmd >= CMD_AOI_ADD && m->cmd <= CMD_SAY_NOTIFY);
    if (m->cmd != CMD_ERROR_NOTIFY || m->seq != 0)
        process_fail("cmd %u, seq %u where ErrorNotify %u was due unasked", m->cmd, m->seq, code);
    if (m->error_notify.code != code || m->error_notify.cmd != 0)
        process_fail("ErrorNotify %u for cmd %u unasked, not %u for 0", m->error_notify.code,
                     m->error_notify.cmd, code);
}

void raw_must_bye(struct raw_client *c, uint32_t code)
{
    const struct message *m = raw_await(c, CMD_BYE);

    if (m->seq != 0)
        process_fail("Bye with seq %u", m->seq);
    if (m->bye.code != code || m->bye.reason.n == 0)
        process_fail("Bye %u where Bye %u with a reason was due", m->bye.code, code);
    if (raw_body_within(c, PROCESS_PATIENCE_MS).p)
        process_fail("a frame after Bye");
    if (!c->ended)
        process_fail("after Bye the connection %s", c->reset ? "broke" : "did not end");
    raw_close(c);
}

void raw_must_serve(struct raw_client *c)
{
    raw_must(c, raw_nil(c, CMD_PING_REQ), CMD_PING_RESP);
}

void raw_must_be_quiet(struct raw_client *c, int64_t ms)
{
    struct span body = raw_body_within(c, ms);
    if (body.p)
        process_fail("a frame of %zu bytes came where none was due", body.n);
    if (c->ended || c->reset)
        process_fail("the connection ended");
}

uint32_t raw_join(struct raw_client *c, const char *addr, const char *name)
{
    raw_connect(c, addr);
    raw_must(c, raw_login(c, name), CMD_LOGIN_RESP);
    return raw_must(c, raw_nil(c, CMD_ENTER_REQ), CMD_ENTER_RESP)->enter_resp.id;
}

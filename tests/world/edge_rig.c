/* tests/world/edge_rig.c: see the header. */
#include "tests/world/edge_rig.h"

#include "common/err.h"
#include "common/log.h"
#include "proto/frame.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const struct stream_limits gate_limits = {.keep_max = GATE_KEPT_BYTES};

/* --- the world ------------------------------------------------------------------------------ */

static void secret(void *arg, void *out, size_t n)
{
    (void)arg;
    rng_secret(out, n);
}

void edge_init(struct edge *r, const char *link_timeout)
{
    char timeout[64];
    char *argv[] = {"aegis",
                    "-listen=127.0.0.1:0",
                    "-max-entities=64",
                    "-max-pairs=65536",
                    "-link-queue-soft=1MiB",
                    "-link-queue-hard=16MiB",
                    timeout};
    char why[256];
    int argc = ARRAY_LEN(argv);

    *r = (struct edge){0};
    log_init("test", LOG_OFF, LOG_TEXT);
    snprintf(timeout, sizeof(timeout), "-link-timeout=%s", link_timeout);
    cr_assert_eq(opts_parse(world_opts_table, world_opts_count, &r->options, argc, argv, &r->texts,
                            why, sizeof(why)),
                 OPTS_OK, "%s", why);
    cr_assert_eq(world_opts_check(&r->options, why, sizeof(why)), 0, "%s", why);
    cr_assert_eq(loop_create(&r->loop), 0);
    cr_assert_eq(world_link_create(r->loop, &r->options, &r->metrics, &r->link), 0);
    struct world_ops ops = {.drain = world_link_drain, .secret = secret, .arg = r->link};
    cr_assert_eq(world_create(&r->options.core, &ops, &r->world, why, sizeof(why)), 0, "%s", why);
    cr_assert_eq(world_link_listen(r->link, r->world, why, sizeof(why)), 0, "%s", why);
}

void edge_fini(struct edge *r)
{
    world_link_destroy(r->link);
    world_destroy(r->world);
    loop_destroy(r->loop);
    opts_destroy(r->texts);
}

void edge_until(struct edge *r, const uint64_t *counter, uint64_t value)
{
    struct mono until = clock_add(clock_mono(), EDGE_PATIENCE_NS);

    while (*counter != value) {
        cr_assert_lt(clock_since(clock_mono(), until), 0, "waited too long for a counter: %lu",
                     (unsigned long)*counter);
        loop_turn(r->loop, EDGE_TURN_NS);
    }
}

void edge_until_true(struct edge *r, const bool *flag)
{
    struct mono until = clock_add(clock_mono(), EDGE_PATIENCE_NS);

    while (!*flag) {
        cr_assert_lt(clock_since(clock_mono(), until), 0, "waited too long");
        loop_turn(r->loop, EDGE_TURN_NS);
    }
}

/* --- a fake gateway ------------------------------------------------------------------------- */

static size_t gate_data(void *arg, struct span bytes)
{
    struct gate *g = arg;

    if (g->careless)
        return bytes.n;
    cr_assert_leq(bytes.n, sizeof(g->kept) - g->n_kept, "the gate keeps no more");
    memcpy(g->kept + g->n_kept, bytes.p, bytes.n);
    g->n_kept += bytes.n;
    return bytes.n;
}

static void gate_closed(void *arg, enum stream_end why)
{
    struct gate *g = arg;
    (void)why;
    g->over = true;
}

static const struct stream_ops gate_ops = {.data = gate_data, .closed = gate_closed};

static void gate_dialed(void *arg, int fd, int err)
{
    struct gate *g = arg;

    cr_assert_geq(fd, 0, "%s", strerror(err));
    cr_assert_eq(stream_create(g->edge->loop, fd, &gate_limits, &gate_ops, g, &g->stream), 0);
}

struct gate *gate_dial(struct edge *r)
{
    struct gate *g = calloc(1, sizeof(*g));

    g->edge = r;
    cr_assert_eq(
        net_dial(r->loop, world_link_addr(r->link), EDGE_PATIENCE_NS, gate_dialed, g, &g->dialer),
        0);
    return g;
}

struct gate *gate_create(struct edge *r)
{
    struct gate *g = gate_dial(r);
    struct mono until = clock_add(clock_mono(), EDGE_PATIENCE_NS);

    while (!g->stream) {
        cr_assert_lt(clock_since(clock_mono(), until), 0, "no connection");
        loop_turn(r->loop, EDGE_TURN_NS);
    }
    return g;
}

void gate_destroy(struct gate *g)
{
    net_dialer_destroy(g->dialer);
    stream_destroy(g->stream);
    free(g);
}

void gate_write(struct gate *g, const void *bytes, size_t n)
{
    cr_assert_eq(stream_write(g->stream, span_of(bytes, n)), 0);
}

void gate_say_hello(struct gate *g, const char *id)
{
    uint8_t bytes[GATE_SENT_MAX];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));

    link_write_hello(&w, span_text(id), span_text(""));
    gate_write(g, w.p, w.len);
}

void gate_request(struct gate *g, uint64_t session, const struct message *m)
{
    uint8_t body[GATE_SENT_MAX], bytes[GATE_SENT_MAX];
    struct span_writer b = span_writer_of(body, sizeof(body));
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    struct span written;

    message_write(&b, m);
    written = span_written(&b);
    link_write_open(&w, session, span_text("192.0.2.1:5"));
    link_write_data(&w, session, &written, 1);
    gate_write(g, w.p, w.len);
}

void gate_wait(struct gate *g, enum link_kind kind, struct link_frame *f)
{
    struct mono until = clock_add(clock_mono(), EDGE_PATIENCE_NS);

    for (;;) {
        struct span body;
        size_t used;
        int err = frame_split(span_of(g->kept, g->n_kept), LINK_FRAME_MAX, &body, &used);

        if (err == 0) {
            memcpy(g->frame, body.p, body.n);
            body.p = g->frame;
            memmove(g->kept, g->kept + used, g->n_kept - used);
            g->n_kept -= used;
            cr_assert_eq(link_read(body, f), 0);
            if (f->kind == kind)
                return;
            continue;
        }
        cr_assert_eq(err, E_SHORT);
        cr_assert(!g->over, "closed before frame kind %d", (int)kind);
        cr_assert_lt(clock_since(clock_mono(), until), 0, "no frame of kind %d", (int)kind);
        loop_turn(g->edge->loop, EDGE_TURN_NS);
    }
}

struct gate *gate_up(struct edge *r, const char *id)
{
    struct gate *g = gate_create(r);
    struct link_frame f;

    gate_say_hello(g, id);
    gate_wait(g, LINK_HELLO, &f);
    return g;
}

void gate_enter(struct gate *g, uint64_t session, const char *name)
{
    struct link_frame f;
    struct message login = {.cmd = CMD_LOGIN_REQ, .seq = 1},
                   enter = {.cmd = CMD_ENTER_REQ, .seq = 2};
    uint8_t body[GATE_SENT_MAX], bytes[GATE_SENT_MAX];
    struct span_writer b = span_writer_of(body, sizeof(body));
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    struct span written;

    login.login_req.name = span_text(name);
    login.login_req.version = PROTO_VERSION;
    gate_request(g, session, &login);
    message_write(&b, &enter);
    written = span_written(&b);
    link_write_data(&w, session, &written, 1);
    gate_write(g, w.p, w.len);
    gate_wait(g, LINK_DATA, &f);
    gate_wait(g, LINK_DATA, &f);
}

/* tests/common/tls_rig.c: handshakes of ours in one thread with their peers. */
#include "tests/common/tls_rig.h"

#include "common/parts.h"

#ifdef PARTS_TLS

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURN_NS   CLOCK_NS_PER_MS
#define TURNS_MAX 20000

static struct tls_outcome *outcome(struct tls_rig *r, void *what)
{
    cr_assert_lt(r->n, TLS_RIG_MAX);
    struct tls_outcome *o = &r->outcomes[r->n++];
    *o = (struct tls_outcome){.what = what, .fd = -1};
    return o;
}

static void on_done(void *owner, void *what, int fd, struct ssl_st *seal)
{
    struct tls_outcome *o = outcome(owner, what);
    o->fd = fd;
    o->seal = seal;
}

static void on_failed(void *owner, void *what, enum tls_fault fault, const char *text)
{
    struct tls_outcome *o = outcome(owner, what);
    o->fault = fault;
    snprintf(o->text, sizeof(o->text), "%s", text);
}

static const struct handshake_ops rig_ops = {.done = on_done, .failed = on_failed};

static void make(struct tls_rig *r, const struct handshakes_config *c)
{
    struct handshakes_config config = c ? *c : (struct handshakes_config){0};

    config.tls = r->tls;
    config.ops = &rig_ops;
    cr_assert_eq(loop_create(&r->loop), 0);
    cr_assert_eq(handshakes_create(r->loop, &config, &r->handshakes), 0);
}

void tls_rig_make(struct tls_rig *r, const struct handshakes_config *c)
{
    struct tls_why why;

    *r = (struct tls_rig){0};
    certs_make(&r->certs, "first");
    cr_assert_eq(tls_server_create(r->certs.cert, r->certs.key, &r->tls, &why), 0, "%s", why.text);
    make(r, c);
}

void tls_rig_make_client(struct tls_rig *r, bool insecure)
{
    struct tls_why why;

    *r = (struct tls_rig){0};
    certs_make(&r->certs, "first");
    cr_assert_eq(tls_client_create(insecure ? "" : r->certs.cert, insecure, &r->tls, &why), 0, "%s",
                 why.text);
    make(r, &(struct handshakes_config){.client = true});
}

void tls_rig_end(struct tls_rig *r)
{
    handshakes_destroy(r->handshakes);
    for (int i = 0; i < r->n; i++) {
        tls_seal_free(r->outcomes[i].seal);
        if (r->outcomes[i].seal)
            close(r->outcomes[i].fd);
    }
    tls_destroy(r->tls);
    loop_destroy(r->loop);
    certs_end(&r->certs);
}

static int pair(int *ours)
{
    int fd[2];

    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd), 0);
    *ours = fd[0];
    return fd[1];
}

int tls_rig_knock(struct tls_rig *r, void *what)
{
    struct handshake *h;
    int ours;
    const int fd = pair(&ours);

    cr_assert_eq(handshakes_take(r->handshakes, ours, NULL, r, what, &h), 0);
    return fd;
}

int tls_rig_reach(struct tls_rig *r, const char *host)
{
    struct handshake *h;
    int ours;
    const int fd = pair(&ours);

    cr_assert_eq(handshakes_take(r->handshakes, ours, host, r, NULL, &h), 0);
    return fd;
}

void tls_rig_until(struct tls_rig *r, int n)
{
    for (int i = 0; i < TURNS_MAX && r->n < n; i++)
        loop_turn(r->loop, TURN_NS);
    cr_assert_geq(r->n, n);
}

void tls_rig_shake(struct tls_rig *r, struct tls_peer *p, int n)
{
    bool done = false;

    for (int i = 0; i < TURNS_MAX && (r->n < n || !done); i++) {
        done = done || tls_peer_shake(p) != 0;
        loop_turn(r->loop, r->n < n ? TURN_NS : 0);
    }
    cr_assert_geq(r->n, n);
}

struct tls_outcome *tls_rig_meet(struct tls_rig *r, struct tls_peer *p, int version,
                                 const struct tls_peer *older)
{
    const int before = r->n;

    tls_peer_client(p, tls_rig_knock(r, p), version, older);
    tls_rig_shake(r, p, r->n > before ? r->n + 1 : before + 1);
    return &r->outcomes[r->n - 1];
}

void tls_rig_pass(struct tls_rig *r, int64_t ns)
{
    const struct mono end = clock_add(clock_mono(), ns);

    for (int64_t left; (left = clock_since(end, clock_mono())) > 0;)
        loop_turn(r->loop, left);
}

#endif

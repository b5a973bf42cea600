/* gateway/fleet.c: see the header. */
#include "gateway/fleet.h"

#include "common/err.h"
#include "common/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fleet_link {
    struct fleet *fleet;
    char upstream[NET_TEXT_MAX];
    struct uplink uplink;
    struct net_dialer *dialer; /* NULL: not dialling */
};

static void fleet_dialed(void *arg, int fd, int err)
{
    struct fleet_link *l = arg;
    struct stream *s;

    net_dialer_destroy(l->dialer);
    l->dialer = NULL;
    if (fd < 0) {
        const char *why = strerrordesc_np(err);
        uplink_failed(&l->uplink, why ? why : "cannot be reached");
        return;
    }
    const int r =
        stream_create(l->fleet->loop, fd, l->fleet->limits, &uplink_stream_ops, &l->uplink, &s);
    if (r != 0)
        uplink_failed(&l->uplink, err_text(r));
    else
        uplink_connected(&l->uplink, s);
}

static int fleet_dial(void *arg)
{
    struct fleet_link *l = arg;
    return net_dial(l->fleet->loop, l->upstream, UPLINK_DIAL_TIMEOUT_NS, fleet_dialed, l,
                    &l->dialer);
}

static void fleet_dial_cancel(void *arg)
{
    struct fleet_link *l = arg;
    net_dialer_destroy(l->dialer);
    l->dialer = NULL;
}

static const struct uplink_ops fleet_uplink_ops = {
    .dial = fleet_dial,
    .dial_cancel = fleet_dial_cancel,
    .secret = rng_secret,
};

int fleet_add(struct fleet *f, const char *addr)
{
    struct relay_link *place;
    struct fleet_link *l;
    uint64_t seed;

    if (f->n == FLEET_MAX)
        return E_FULL;
    l = calloc(1, sizeof(*l));
    if (!l)
        return E_NOMEM;
    const int r = relay_link_add(f->relay, &l->uplink, (struct span){0}, &place);
    if (r != 0) {
        free(l);
        return r;
    }
    l->fleet = f;
    snprintf(l->upstream, sizeof(l->upstream), "%s", addr);
    l->uplink.upstream = l->upstream;
    l->uplink.id = f->id;
    l->uplink.keys = f->keys;
    l->uplink.silence_ns = f->silence_ns;
    l->uplink.conn_ops = &conn_stream;
    l->uplink.ops = &fleet_uplink_ops;
    l->uplink.ops_arg = l;
    l->uplink.user = &relay_uplink_user;
    l->uplink.user_arg = place;
    l->uplink.metrics = f->metrics;
    rng_secret(&seed, sizeof(seed));
    uplink_init(&l->uplink, seed);
    f->links[f->n++] = l;
    return 0;
}

void fleet_step(struct fleet *f, struct mono now)
{
    for (uint32_t i = 0; i < f->n; i++)
        uplink_step(&f->links[i]->uplink, now);
}

bool fleet_ready(const struct fleet *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        if (uplink_ready(&f->links[i]->uplink))
            return true;
    }
    return false;
}

uint64_t fleet_queued(const struct fleet *f)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < f->n; i++) {
        const struct uplink *u = &f->links[i]->uplink;
        bytes += u->conn ? stream_queued(u->conn) : 0;
    }
    return bytes;
}

void fleet_finish(struct fleet *f, int64_t linger_ns)
{
    if (f->finishing)
        return;
    f->finishing = true;
    for (uint32_t i = 0; i < f->n; i++)
        uplink_finish(&f->links[i]->uplink, linger_ns);
}

bool fleet_over(const struct fleet *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        if (!uplink_over(&f->links[i]->uplink))
            return false;
    }
    return f->finishing;
}

void fleet_fini(struct fleet *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        uplink_fini(&f->links[i]->uplink);
        free(f->links[i]);
    }
    f->n = 0;
}

/* gateway/fleet.c: see the header. */
#include "gateway/fleet.h"

#include "common/addr.h"
#include "common/err.h"
#include "common/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(ROSTER_MAX <= FLEET_MAX, "every world of a roster gets a link");

struct fleet_link {
    struct fleet *fleet;
    struct relay_link *place;
    struct claim_name id; /* of the world; empty: not known */
    uint64_t nonce;       /* of its process, where it is */
    char upstream[ADDR_HOST_MAX + 8];
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

static int fleet_join(struct fleet *f, const char *addr, const struct claim_name *id,
                      uint64_t nonce)
{
    struct fleet_link *l;
    uint64_t seed;

    if (f->n == FLEET_MAX)
        return E_FULL;
    l = calloc(1, sizeof(*l));
    if (!l)
        return E_NOMEM;
    l->id = *id;
    l->nonce = nonce;
    const int r = relay_link_add(f->relay, &l->uplink, claim_name_span(&l->id), &l->place);
    if (r != 0) {
        free(l);
        return r;
    }
    l->fleet = f;
    snprintf(l->upstream, sizeof(l->upstream), "%s", addr);
    l->uplink.upstream = l->upstream;
    l->uplink.id = f->id;
    l->uplink.expect = claim_name_span(&l->id);
    l->uplink.keys = f->keys;
    l->uplink.silence_ns = f->silence_ns;
    l->uplink.conn_ops = &conn_stream;
    l->uplink.ops = &fleet_uplink_ops;
    l->uplink.ops_arg = l;
    l->uplink.user = &relay_uplink_user;
    l->uplink.user_arg = l->place;
    l->uplink.metrics = f->metrics;
    rng_secret(&seed, sizeof(seed));
    uplink_init(&l->uplink, seed);
    f->links[f->n++] = l;
    return 0;
}

int fleet_add(struct fleet *f, const char *addr)
{
    return fleet_join(f, addr, &(struct claim_name){0}, 0);
}

/* The last one stands in its place then. */
static void fleet_leave(struct fleet *f, uint32_t i)
{
    struct fleet_link *l = f->links[i];

    f->links[i] = f->links[--f->n];
    relay_link_remove(l->place);
    uplink_fini(&l->uplink);
    free(l);
}

static bool fleet_has(const struct fleet *f, const struct claim_name *id)
{
    for (uint32_t i = 0; i < f->n; i++) {
        if (claim_name_equal(&f->links[i]->id, id))
            return true;
    }
    return false;
}

int fleet_keep(struct fleet *f, const struct roster *r)
{
    int err = 0;

    if (f->finishing)
        return 0;
    /* Who is spared is known before anybody is sent elsewhere. */
    for (uint32_t i = 0; i < f->n; i++) {
        const struct roster_world *w = roster_find(r, &f->links[i]->id);
        f->links[i]->place->spared = !w || roster_spared(w);
    }
    for (uint32_t i = f->n; i-- > 0;) {
        const struct fleet_link *l = f->links[i];
        const struct roster_world *w = roster_find(r, &l->id);
        if (!w || w->nonce != l->nonce || strcmp(w->addr, l->upstream) != 0)
            fleet_leave(f, i);
    }
    for (uint32_t i = 0; i < r->n && err == 0; i++) {
        const struct roster_world *w = &r->worlds[i];
        if (fleet_has(f, &w->id))
            continue;
        err = fleet_join(f, w->addr, &w->id, w->nonce);
        if (err == 0)
            f->links[f->n - 1]->place->spared = roster_spared(w);
    }
    return err;
}

void fleet_step(struct fleet *f, struct mono now)
{
    for (uint32_t i = 0; i < f->n; i++)
        uplink_step(&f->links[i]->uplink, now);
}

uint32_t fleet_up(const struct fleet *f)
{
    uint32_t up = 0;

    for (uint32_t i = 0; i < f->n; i++)
        up += uplink_ready(&f->links[i]->uplink);
    return up;
}

bool fleet_ready(const struct fleet *f)
{
    return fleet_up(f) > 0;
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

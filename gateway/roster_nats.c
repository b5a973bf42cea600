/* gateway/roster_nats.c: see the header. */
#include "gateway/roster_nats.h"

#include "common/err.h"
#include "common/io/nats_bus.h"
#include "common/log.h"
#include "common/nats_url.h"
#include "proto/kv_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TURN_NS       CLOCK_NS_PER_S
#define FIRST_NS      (3 * CLOCK_NS_PER_S) /* a NATS that is not there by then is said to be away */
#define MESSAGE_BYTES 4096                 /* no messages come, and none are sent */

struct roster_nats {
    struct loop *loop;
    struct loop_timer *timer;
    struct nats_bus *bus;
    roster_nats_fn *changed;
    void *arg;
    struct roster roster;
    uint64_t version; /* of the roster, as it was told */
    struct mono began;
    bool asking; /* whether NATS answers */
    bool away;   /* it does not, and that was said */
    uint64_t losses, strange, full;
    char shown[NATS_URL_SHOWN]; /* its URL */
};

static void tell(struct roster_nats *r)
{
    if (r->version == r->roster.version)
        return;
    r->version = r->roster.version;
    r->changed(r->arg, &r->roster);
}

/* --- is it there? ------------------------------------------------------------------------------
 */

static void go_away(struct roster_nats *r, const char *why)
{
    roster_away(&r->roster);
    if (r->away)
        return;
    r->away = true;
    r->losses++;
    log_line(LOG_WARN, "cluster: nats away reason=\"%s\" url=%s worlds=%u", why, r->shown,
             r->roster.n);
}

static void come_back(struct roster_nats *r)
{
    roster_back(&r->roster, loop_now(r->loop));
    if (r->away)
        log_line(LOG_INFO, "cluster: nats answers url=%s worlds=%u", r->shown, r->roster.n);
    r->away = false;
}

static void on_up(void *arg, bool up)
{
    if (!up)
        go_away(arg, "the connection is lost");
}

static void on_answer(void *arg, const struct nats_bus_answer *a)
{
    struct roster_nats *r = arg;

    r->asking = false;
    if (a->result == NATS_BUS_AWAY)
        go_away(r, "it does not answer");
    else if (r->roster.followed) /* else it is told in a moment what stands there */
        come_back(r);
}

static void on_turn(void *arg)
{
    struct roster_nats *r = arg;
    const struct mono now = loop_now(r->loop);

    if (!r->roster.there && clock_since(now, r->began) >= FIRST_NS)
        go_away(r, "it was never there");
    if (!r->asking && nats_bus_up(r->bus))
        r->asking =
            nats_bus_key(r->bus, NATS_BUS_GET, 0, span_text("gen"), (struct span){0}, 0) == 0;
    roster_turn(&r->roster, now);
    tell(r);
    loop_timer_arm(r->timer, TURN_NS);
}

/* --- what stands there -------------------------------------------------------------------------
 */

static void on_follow(void *arg)
{
    struct roster_nats *r = arg;

    come_back(r); /* it tells what stands there */
    roster_follow(&r->roster, loop_now(r->loop));
}

static void on_entry(void *arg, const struct nats_bus_entry *e)
{
    struct roster_nats *r = arg;
    const int err =
        roster_entry(&r->roster, e->key, e->value, e->revision, e->deleted, loop_now(r->loop));

    r->strange += err == E_BAD || err == E_ADDR;
    r->full += err == E_FULL;
    if (err == E_BAD)
        log_often(LOG_WARN, "cluster: a key that says nothing of a world key=%.*s", (int)e->key.n,
                  (const char *)e->key.p);
    else if (err == E_ADDR)
        log_often(LOG_WARN, "cluster: another world has the address of this one key=%.*s",
                  (int)e->key.n, (const char *)e->key.p);
    else if (err == E_FULL)
        log_often(LOG_WARN, "cluster: no room for a world worlds=%u key=%.*s", r->roster.n,
                  (int)e->key.n, (const char *)e->key.p);
    if (r->roster.followed) /* before, more is on its way */
        tell(r);
}

static void on_followed(void *arg)
{
    struct roster_nats *r = arg;

    roster_followed(&r->roster, loop_now(r->loop));
    log_line(LOG_INFO, "cluster: nats followed url=%s worlds=%u", r->shown, r->roster.n);
    r->away = false;
    tell(r);
}

static void on_message(void *arg, struct span subject, struct span bytes)
{
    (void)arg;
    (void)bytes;
    ASSERT(subject.n == 0); /* none is subscribed to */
}

static const struct nats_bus_user bus_user = {.up = on_up,
                                              .answer = on_answer,
                                              .follow = on_follow,
                                              .entry = on_entry,
                                              .followed = on_followed,
                                              .message = on_message};

/* --- life --------------------------------------------------------------------------------------
 */

int roster_nats_create(struct loop *l, const char *url, roster_nats_fn *changed, void *arg,
                       struct roster_nats **out, char *why, size_t why_cap)
{
    static const char *const follow[] = {"*.world.>", NULL};
    struct roster_nats *r = calloc(1, sizeof(*r));
    char name[64], shown[NATS_URL_SHOWN];
    const struct nats_bus_config bus = {.url = url,
                                        .name = name,
                                        .bucket = KV_BUCKET,
                                        .replicas = nats_url_replicas(url),
                                        .follow = follow,
                                        .message_bytes = MESSAGE_BYTES,
                                        .user = &bus_user,
                                        .arg = r};
    int err = E_NOMEM;

    snprintf(name, sizeof(name), "aegis-gateway-%ld", (long)getpid());
    nats_url_show(url, shown);
    if (r) {
        *r = (struct roster_nats){.loop = l, .changed = changed, .arg = arg, .began = loop_now(l)};
        memcpy(r->shown, shown, sizeof(shown));
        err = loop_timer_create(l, on_turn, r, &r->timer);
    }
    if (err == 0)
        err = nats_bus_create(l, &bus, &r->bus);
    if (err != 0) {
        snprintf(why, why_cap, "%s: %s", shown, err_text(err));
        roster_nats_destroy(r);
        return err;
    }
    loop_timer_arm(r->timer, TURN_NS);
    *out = r;
    return 0;
}

void roster_nats_destroy(struct roster_nats *r)
{
    if (!r)
        return;
    nats_bus_destroy(r->bus);
    loop_timer_destroy(r->timer);
    free(r);
}

struct roster_nats_counts roster_nats_counted(const struct roster_nats *r)
{
    struct roster_nats_counts counts = {.worlds = r->roster.n,
                                        .there = r->roster.there,
                                        .losses = r->losses,
                                        .strange = r->strange,
                                        .full = r->full};

    for (uint32_t i = 0; i < r->roster.n; i++)
        counts.spared += roster_spared(&r->roster.worlds[i]);
    return counts;
}

/* tests/gateway/test_relay_storm.c: worlds and clients that come, go, fill up and send each other
 * sessions by chance, and what must hold after every step: where each session is, who is read, and
 * that requests reach worlds in order and once, but for those that the client was told are lost.
 */
#include "common/rng.h"
#include "proto/frame.h"
#include "proto/walk.h"
#include "tests/gateway/worlds_rig.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(relay_storm, .init = wrig_setup, .fini = wrig_teardown, .timeout = 60);

#define MANY  64 /* sessions of a world, those that it has not heard the end of among them */
#define SEEDS 40
#define STEPS 5000

static struct {
    struct rng rng;
    bool there[WRIG_WORLDS]; /* it has a link, up or not */
    struct client *c[FAKE_CLIENTS];
    uint32_t born[FAKE_CLIENTS];     /* generation of the slot's last session before it came */
    uint32_t asked[FAKE_CLIENTS];    /* seq of the last request that was forwarded */
    uint32_t heard[FAKE_CLIENTS];    /* the last that a world got */
    uint32_t lost_to[FAKE_CLIENTS];  /* up to this one it was told that they may be lost */
    uint64_t got, dropped;           /* requests that worlds got, or got too late */
    uint64_t has[WRIG_WORLDS][MANY]; /* sessions of each world, as it knows; 0: none */
} t;

/* The link of a client's session; NULL: it has none. */
static const struct relay_link *link_of(const struct client *c)
{
    return c->session ? &wrig.r.links[wrig.r.at[c->slot] & ((1u << RELAY_AT_BITS) - 1)] : NULL;
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)rng_below(&t.rng, n);
}

/* --- what must hold ------------------------------------------------------------------------ */

static void validate_links(void)
{
    uint32_t sessions[RELAY_LINKS_MAX] = {0}, waits[RELAY_LINKS_MAX] = {0}, all = 0;
    const struct relay *r = &wrig.r;
    bool any = false;

    for (uint32_t i = 0; i < FAKE_CLIENTS; i++) {
        const struct client *c = t.c[i];
        if (!c)
            continue;
        all += c->session;
        if (c->session)
            sessions[link_of(c) - r->links]++;
    }
    for (uint32_t i = 0; i < r->n_waits; i++) {
        cr_assert(r->waits[i].client->waits);
        cr_assert_eq(r->ways[r->waits[i].client->slot].wait, i);
        if (r->waits[i].link != RELAY_ANY)
            waits[r->waits[i].link]++;
    }
    cr_assert_eq(r->sessions, all);
    for (uint32_t i = 0; i < r->n_links; i++) {
        cr_assert_eq(r->links[i].sessions, sessions[i]);
        cr_assert_eq(r->links[i].waits, waits[i]);
        any = any || r->links[i].ready;
    }
    cr_assert_eq(r->clients->world_up, any);
}

static void validate(void)
{
    uint32_t waiting = 0;

    validate_links();
    for (uint32_t i = 0; i < FAKE_CLIENTS; i++) {
        const struct client *c = t.c[i];
        if (!c)
            continue;
        const struct relay_link *l = link_of(c);
        waiting += c->waits;
        cr_assert(!(c->waits && c->session));
        cr_assert_eq(wrig.f.conns[i].paused, wrig.f.all.paused || c->waits || (l && l->pressed),
                     "client %u", i);
    }
    cr_assert_eq(waiting, wrig.r.n_waits);
}

/* --- what is said -------------------------------------------------------------------------- */

/* The client of a session, as its connection's number; FAKE_CLIENTS: it is gone. */
static uint32_t client_of(uint64_t session)
{
    for (uint32_t i = 0; i < FAKE_CLIENTS; i++) {
        if (t.c[i] && t.c[i]->slot == (uint32_t)session &&
            wrig.r.gen[t.c[i]->slot] == session >> 32 && t.born[i] != session >> 32)
            return i;
    }
    return FAKE_CLIENTS;
}

/* Where this world has this session in its list; MANY: it has not. */
static uint32_t place_of(uint32_t world, uint64_t session)
{
    uint32_t k = 0;

    while (k < MANY && t.has[world][k] != session)
        k++;
    return k;
}

static void has(uint32_t world, uint64_t session, bool on)
{
    const uint32_t k = place_of(world, session), spare = place_of(world, 0);

    if (on && k == MANY) {
        cr_assert_lt(spare, MANY);
        t.has[world][spare] = session;
    } else if (!on && k < MANY) {
        t.has[world][k] = 0;
    }
}

static void hear_request(uint32_t i, struct span body)
{
    struct walk_head m;

    cr_assert_eq(walk_body(body, &m), 0);
    cr_assert_gt(m.seq, t.heard[i], "twice, or out of order");
    cr_assert(m.seq == t.heard[i] + 1 || m.seq <= t.lost_to[i] + 1, "client %u: %u behind %u", i,
              m.seq, t.heard[i]);
    t.heard[i] = m.seq;
    t.got++;
}

/* The next frame that a client is told; by hand, since a reader of messages costs more than all the
 * rest here. Was it one that says that requests are lost, or an error in place of an answer? */
static bool read_loss(struct stream *s)
{
    static const char unavailable[] = "\xa4"
                                      "code\x0d";
    struct walk_head head;
    struct span body;
    size_t n;

    cr_assert_eq(
        frame_split(span_of(s->out + s->read, s->len - s->read), PROTO_BATCH_MAX, &body, &n), 0);
    s->read += n;
    cr_assert_eq(walk_body(body, &head), 0);
    return head.cmd == CMD_ERROR_NOTIFY &&
           memmem(body.p, body.n, unavailable, sizeof(unavailable) - 1);
}

/* A world reads all that was written to it. What is asked in a session that it has no more it
 * drops, and says so. */
static void drain(uint32_t world)
{
    struct span_writer w;
    struct link_frame f;

    wrig.world[world].queued = 0;
    while (t.there[world] && uplink_ready(&wrig.u[world]) &&
           fake_link_told(&wrig.world[world], &f)) {
        const uint32_t i = client_of(f.session);

        if (f.kind == LINK_OPEN || f.kind == LINK_BIND || f.kind == LINK_ATTACH)
            has(world, f.session, true);
        if (f.kind == LINK_LEFT || f.kind == LINK_CLOSE)
            has(world, f.session, false);
        if (f.kind != LINK_DATA)
            continue;
        const bool here = place_of(world, f.session) < MANY;
        for (uint32_t k = 0; here && i < FAKE_CLIENTS && k < f.n_bodies; k++)
            hear_request(i, f.bodies[k]);
        if (here)
            continue;
        t.dropped++;
        w = wrig_writer();
        link_write_close(&w, f.session, 0, (struct span){0});
        wrig_say(world, &w);
    }
}

/* Clients read all that they were told. */
static void read_all(void)
{
    for (uint32_t i = 0; i < FAKE_CLIENTS; i++) {
        struct stream *s = &wrig.f.conns[i];

        s->queued = 0;
        while (t.c[i] && s->read < s->len) {
            if (read_loss(s))
                t.lost_to[i] = t.asked[i];
        }
    }
}

/* --- what happens -------------------------------------------------------------------------- */

static void client_acts(void)
{
    const uint32_t i = below(FAKE_CLIENTS);
    struct client *c = t.c[i];

    if (!c || c->state != CLIENT_OPEN) {
        t.c[i] = fake_connect(&wrig.f, i);
        t.born[i] = wrig.r.gen[t.c[i]->slot];
        t.asked[i] = t.heard[i] = 0;
        t.lost_to[i] = 0;
    } else if (below(40) == 0) {
        client_stream_ops.closed(c, STREAM_EOF);
        clients_reap(&wrig.f.all);
        t.c[i] = NULL;
    } else if (!wrig.f.conns[i].paused) {
        fake_feed_request(c, CMD_MOVE_REQ, ++t.asked[i]);
    }
}

/* A world says something of a session that it has. */
static void world_acts(void)
{
    static const char *const ids[] = {"w0", "w1", "w2", "w9", ""};
    const uint32_t i = below(FAKE_CLIENTS);
    const struct client *c = t.c[i];
    struct message m = {.cmd = CMD_LOGIN_RESP, .seq = t.heard[i]};
    struct span_writer w = wrig_writer();
    uint32_t at = 0;

    if (!c || !c->session)
        return;
    while (!t.there[at] || wrig.links[at] != link_of(c))
        at++;
    const uint64_t session = (uint64_t)wrig.r.gen[c->slot] << 32 | c->slot;
    const char *to = ids[below(5)];
    if (place_of(at, session) == MANY)
        return; /* it has not heard of it yet */
    switch (below(6)) {
    case 0:
        wrig_say_note(at, session, below(4) ? "note" : "");
        break;
    case 1:
        m.login_resp.id = 1;
        m.login_resp.name = span_text("n");
        wrig_say_body(at, session, &m);
        break;
    case 2:
        has(at, session, false);
        link_write_close(&w, session, 0, (struct span){0});
        wrig_say(at, &w);
        break;
    case 3:
        if (wrig.r.at[c->slot] >> RELAY_AT_BITS == RELAY_ONE)
            drain(at); /* it is the login that leads to this */
        has(at, session, false);
        wrig_say_bind(at, session, to);
        break;
    default:
        if (to[0] == '\0')
            break;
        wrig_say_redirect(at, session, to);
        drain(at); /* what comes until it has left is passed on before the other world acts */
    }
}

static void link_acts(void)
{
    const uint32_t w = below(WRIG_WORLDS);

    if (!t.there[w]) {
        wrig_add(w);
        t.there[w] = true;
    } else if (!uplink_ready(&wrig.u[w])) {
        wrig_up(w);
    } else if (below(3) == 0) {
        memset(t.has[w], 0, sizeof(t.has[w]));
        wrig_down(w);
    } else if (below(2) == 0) {
        uplink_stream_ops.pressure(&wrig.u[w], !wrig.links[w]->pressed);
    } else if (below(2) == 0) {
        wrig.links[w]->spared = !wrig.links[w]->spared;
    } else {
        memset(t.has[w], 0, sizeof(t.has[w]));
        wrig_remove(w);
        t.there[w] = false;
    }
}

Test(relay_storm, whatever_happens_sessions_are_somewhere_and_requests_arrive_once_and_in_order)
{
    uint64_t got = 0, waited = 0, dropped = 0;

    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        if (seed > 0) {
            wrig_teardown();
            wrig_setup();
        }
        memset(&t, 0, sizeof(t));
        rng_init(&t.rng, seed);
        for (uint32_t w = 0; w < WRIG_WORLDS; w++)
            t.there[w] = true;
        for (uint32_t step = 0; step < STEPS; step++) {
            const uint32_t what = below(100);
            if (what < 70)
                client_acts();
            else if (what < 85)
                world_acts();
            else if (what < 88)
                link_acts();
            else
                relay_step(&wrig.r, 100);
            for (uint32_t w = 0; w < WRIG_WORLDS; w++) {
                if (below(3) == 0)
                    drain(w);
            }
            read_all();
            validate();
        }
        got += t.got;
        dropped += t.dropped;
        waited += wrig.f.metrics.redirects_waited + wrig.f.metrics.redirects_lost;
    }
    cr_assert_gt(got, SEEDS * STEPS / 10);
    cr_assert_gt(waited, SEEDS);
    cr_assert_gt(dropped, SEEDS);
    TEST_NO_LEAKS();
}

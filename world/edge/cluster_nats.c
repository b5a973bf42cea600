/* world/edge/cluster_nats.c: see the header. */
#include "world/edge/cluster_nats_own.h"

#include "common/err.h"
#include "common/log.h"
#include "common/rng.h"
#include "world/cluster/realm.h"
#include "world/command/courier.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MESSAGE_BYTES       (16u << 20) /* that wait for NATS, or for us: each is at most half a MiB */
#define TURNS               12          /* of the machines in a lease */
#define RENEWALS            4           /* in a lease */
#define GUARD_PARTS         10          /* of a lease is the guard one */
#define SETTLE_LEASES       1           /* between the last change of an owner and the next */
#define IDS_LOW             1024u       /* ids left: another block is asked for */
#define GENERATION_LOW_BITS 16          /* below the unix time in ms */

bool cluster_nats_built(void)
{
    return nats_bus_library()[0] != '\0';
}

static void on_message(void *arg, struct span from, struct span bytes)
{
    struct cluster_nats *c = arg;
    struct mono now = clock_mono();

    (void)from;
    if (!member_may_act(&c->member, now)) {
        c->barred++;
        return;
    }
    if (courier_message(c->world, bytes, now) != 0)
        log_often(LOG_WARN, "cluster: not a message of ours bytes=%zu", bytes.n);
    outbox_flush(&c->world->outbox);
}

/* --- what is listened to -----------------------------------------------------------------------
 */

static void listen_to(struct cluster_nats *c, const char *kind, struct span last, bool on)
{
    char text[NATS_BUS_SUBJECT_MAX + 1];
    struct span s = cluster_nats_subject(c, text, kind, last);
    int err = on ? nats_bus_subscribe(c->bus, s) : nats_bus_unsubscribe(c->bus, s);

    if (err != 0)
        log_often(LOG_WARN, "cluster: no room to listen subject=%s", text);
}

static void listen_to_zone(struct cluster_nats *c, uint32_t zone, bool on)
{
    char number[16];

    if (c->listens[zone] == on)
        return;
    c->listens[zone] = on;
    listen_to(c, "zone", cluster_nats_zone(number, zone), on);
}

static void listen_all(struct cluster_nats *c, bool on)
{
    if (c->generation == 0)
        return;
    listen_to(c, "all", (struct span){0}, on);
    listen_to(c, "world", span_text(c->id), on);
    for (uint32_t i = 0; i < 2 * c->world->cluster->n_zones; i++)
        listen_to_zone(c, i, on && realm_listens(c->world->cluster, i));
}

static void keep_generation(struct cluster_nats *c)
{
    if (c->generation == c->member.tables)
        return;
    listen_all(c, false);
    c->generation = c->member.tables;
    listen_all(c, true);
}

/* --- the machines ------------------------------------------------------------------------------
 */

/* A zone's owner is dead: told before the zone has another. */
static void keep_dead(struct cluster_nats *c, uint32_t zone)
{
    const struct realm *r = c->world->cluster;
    uint32_t owner = r->zones[zone].owner;
    struct claim_name had;

    if (owner == REALM_NOBODY || owner == REALM_SELF)
        return;
    had = claim_name_of(realm_world_id(r, owner));
    if (holdings_is_dead(&c->member.holdings, &c->member.lease, zone, &had))
        courier_zone_dead(c->world, zone);
}

/* Zones whose owner changed. */
static void keep_owners(struct cluster_nats *c, struct mono now)
{
    const struct claim_name *owner;
    bool any = false;
    uint64_t epoch = 0;
    uint32_t zone;

    while (holdings_next(&c->member.holdings, &zone)) {
        owner = holdings_owner(&c->member.holdings, &c->member.lease, zone, &epoch);
        keep_dead(c, zone);
        courier_zone(c->world, zone, owner ? claim_name_span(owner) : (struct span){0},
                     owner ? epoch : 0, now);
        any = true;
    }
    if (!any)
        return;
    for (uint32_t i = 0; i < 2 * c->world->cluster->n_zones; i++)
        listen_to_zone(c, i, c->generation != 0 && realm_listens(c->world->cluster, i));
    outbox_flush(&c->world->outbox);
}

/* False: it has no answer yet. */
static bool name_word(const struct name *n, struct courier_name *out)
{
    switch (n->state) {
    case NAME_HELD:
        out->word = COURIER_NAME_HELD;
        out->token = n->cell.revision;
        return true;
    case NAME_ELSEWHERE:
        out->word = COURIER_NAME_ELSEWHERE;
        out->holder = claim_name_span(&n->cell.value.world);
        return true;
    case NAME_GONE:
        out->word = COURIER_NAME_GONE;
        return true;
    case NAME_NONE:
        out->word = COURIER_NAME_FREE;
        return true;
    default:
        return false;
    }
}

/* What became of names. */
static void keep_names(struct cluster_nats *c, struct mono now)
{
    bool any = false;
    uint32_t at;

    while (names_next(&c->member.names, &at)) {
        struct courier_name n = {.place = at, .generation = c->member.tables};

        if (!name_word(&c->member.names.names[at], &n))
            continue;
        courier_name(c->world, &n, now);
        any = true;
    }
    if (any)
        outbox_flush(&c->world->outbox);
}

static void keep_ids(struct cluster_nats *c)
{
    const struct id_pool *ids = &c->world->ids;
    uint32_t first;

    while (blocks_next(&c->member.blocks, &first)) {
        id_pool_feed(&c->world->ids, first, CLUSTER_NATS_IDS);
        c->fed += CLUSTER_NATS_IDS;
    }
    if (c->fed < (uint64_t)ids->out + ids->rest_count + IDS_LOW)
        blocks_want(&c->member.blocks);
}

static void tell_state(struct cluster_nats *c, struct mono now)
{
    bool acts = member_may_act(&c->member, now), quits = c->member.lease.quits;

    if (acts == c->acts)
        return;
    c->acts = acts;
    log_line(acts || quits ? LOG_INFO : LOG_WARN,
             "cluster: this world %s world=%s "
             "generation=%016" PRIx64,
             acts    ? "acts"
             : quits ? "has given its lease up"
                     : "stands still: its lease is over",
             c->id, c->generation);
}

static void tell_quit(struct cluster_nats *c, struct mono now)
{
    loop_fn *done = c->quit_done;

    const struct lease *l = &c->member.lease;

    if (!done ||
        ((l->state <= LEASE_HELD || l->cell.turn != 0) && clock_since(now, c->quit_by) < 0))
        return;
    c->quit_done = NULL;
    done(c->quit_arg);
}

static void answer_unknown(struct cluster_nats *c, const struct kv_command *command)
{
    struct kv_result r = {.command = *command, .outcome = KV_UNKNOWN};

    member_result(&c->member, &r, clock_mono());
}

static void ask_store(struct cluster_nats *c, const struct kv_command *command)
{
    static const enum nats_bus_op ops[] = {[KV_GET] = NATS_BUS_GET,
                                           [KV_CREATE] = NATS_BUS_CREATE,
                                           [KV_UPDATE] = NATS_BUS_UPDATE,
                                           [KV_DELETE] = NATS_BUS_DELETE};
    char key[KV_TEXT_MAX + 1], value[CLAIM_BYTES_MAX];
    size_t key_n = kv_key_write(&command->key, key), value_n = 0;
    uint32_t ticket;

    if (c->n_free == 0) {
        answer_unknown(c, command);
        return;
    }
    ticket = c->free[--c->n_free];
    c->asked[ticket] = *command;
    if (command->op == KV_CREATE || command->op == KV_UPDATE)
        value_n = claim_write(&command->value, value);
    if (nats_bus_key(c->bus, ops[command->op], ticket, span_of(key, key_n), span_of(value, value_n),
                     command->revision) == 0)
        return;
    c->free[c->n_free++] = ticket;
    answer_unknown(c, command);
}

/* All that was held is void: whoever is in our zones is another's now, before anything is claimed
 * anew. */
static void keep_term(struct cluster_nats *c, struct mono now)
{
    bool ids = c->generation != c->member.tables; /* they are counted anew there */

    if (c->term == c->member.term)
        return;
    c->term = c->member.term;
    courier_term_ended(c->world, ids, now);
    if (ids)
        c->fed = 0;
    outbox_release(&c->world->outbox);
}

/* What the others see of it. */
static void tell_load(struct cluster_nats *c)
{
    const struct entities *e = &c->world->entities;

    lease_tell(&c->member.lease, e->alive_count + e->away_count - e->ghost_count, c->leaves);
}

/* Everything that the machines want done, and what they have found. News is acted on at once, so
 * that a zone that moves does so in as many round trips as it takes. */
static void settle(struct cluster_nats *c)
{
    struct kv_command command;
    struct mono now = clock_mono();
    uint16_t low;

    keep_term(c, now);
    tell_load(c);
    rng_secret(&low, sizeof(low));
    member_turn(&c->member, (uint64_t)clock_unix_ms() << GENERATION_LOW_BITS | low, now);
    while (member_next(&c->member, &command))
        ask_store(c, &command);
    keep_term(c, now);
    keep_generation(c);
    keep_owners(c, now);
    keep_names(c, now);
    keep_ids(c);
    tell_state(c, now);
    tell_quit(c, now);
}

static void on_turn(void *arg)
{
    struct cluster_nats *c = arg;

    settle(c);
    loop_timer_arm(c->timer, c->config.lease_ns / TURNS);
}

/* --- what NATS says ----------------------------------------------------------------------------
 */

static void on_up(void *arg, bool up)
{
    struct cluster_nats *c = arg;

    log_line(up ? LOG_INFO : LOG_WARN, "cluster: nats %s url=%s", up ? "up" : "away", c->shown);
    courier_keys(c->world, up);
}

static void on_answer(void *arg, const struct nats_bus_answer *a)
{
    static const enum kv_outcome outcomes[] = {[NATS_BUS_DONE] = KV_DONE,
                                               [NATS_BUS_LOST] = KV_LOST,
                                               [NATS_BUS_MISSING] = KV_MISSING,
                                               [NATS_BUS_AWAY] = KV_UNKNOWN};
    struct cluster_nats *c = arg;
    struct kv_result r = {
        .command = c->asked[a->ticket], .outcome = outcomes[a->result], .revision = a->revision};

    c->free[c->n_free++] = (uint32_t)a->ticket;
    if (r.outcome == KV_DONE && r.command.op == KV_GET && claim_read(a->value, &r.value) != 0) {
        log_often(LOG_WARN, "cluster: a key holds what is not ours key=%.*s", (int)a->key.n,
                  (const char *)a->key.p);
        r.outcome = KV_UNKNOWN;
    }
    member_result(&c->member, &r, clock_mono());
    settle(c);
}

static void on_follow(void *arg)
{
    struct cluster_nats *c = arg;

    member_follow(&c->member, clock_mono());
    settle(c);
}

static void on_entry(void *arg, const struct nats_bus_entry *e)
{
    struct cluster_nats *c = arg;
    struct kv_entry entry = {.revision = e->revision, .deleted = e->deleted};

    if (kv_key_read(e->key, &entry.key) != 0 ||
        (!e->deleted && claim_read(e->value, &entry.value) != 0)) {
        log_often(LOG_WARN, "cluster: a key that is not ours key=%.*s", (int)e->key.n,
                  (const char *)e->key.p);
        return;
    }
    member_entry(&c->member, &entry, clock_mono());
    settle(c);
}

static void on_followed(void *arg)
{
    struct cluster_nats *c = arg;

    member_followed(&c->member, clock_mono());
    settle(c);
}

static const struct nats_bus_user bus_user = {.up = on_up,
                                              .answer = on_answer,
                                              .follow = on_follow,
                                              .entry = on_entry,
                                              .followed = on_followed,
                                              .message = on_message};

/* --- life --------------------------------------------------------------------------------------
 */

int cluster_nats_create(struct loop *l, const struct cluster_nats_config *config,
                        struct cluster_nats **out, char *why, size_t why_cap)
{
    struct cluster_nats *c = calloc(1, sizeof(*c));
    int err = E_NOMEM;

    if (c) {
        c->config = *config;
        c->loop = l;
        ASSERT(config->world.n <= LINK_WORLD_MAX);
        memcpy(c->id, config->world.p, config->world.n);
        nats_url_show(config->url, c->shown);
        c->asked = calloc(NATS_BUS_KEYS_MAX, sizeof(*c->asked));
        c->free = calloc(NATS_BUS_KEYS_MAX, sizeof(*c->free));
        for (; c->free && c->n_free < NATS_BUS_KEYS_MAX; c->n_free++)
            c->free[c->n_free] = c->n_free;
        err = c->asked && c->free ? loop_timer_create(l, on_turn, c, &c->timer) : E_NOMEM;
    }
    if (err != 0) {
        snprintf(why, why_cap, "%s", err_text(err));
        cluster_nats_destroy(c);
        return err;
    }
    *out = c;
    return 0;
}

static int start_bus(struct cluster_nats *c)
{
    static const char *const follow[] = {"gen", "*.world.>", "*.zone.>", NULL};
    char name[LINK_WORLD_MAX + 16];
    struct nats_bus_config bus = {.url = c->config.url,
                                  .name = name,
                                  .bucket = KV_BUCKET,
                                  .replicas = nats_url_replicas(c->config.url),
                                  .follow = follow,
                                  .message_bytes = MESSAGE_BYTES,
                                  .user = &bus_user,
                                  .arg = c};

    snprintf(name, sizeof(name), "aegis-world-%s", c->id);
    return nats_bus_create(c->loop, &bus, &c->bus);
}

int cluster_nats_serve(struct cluster_nats *c, struct world *w, struct span address)
{
    const int64_t lease_ns = c->config.lease_ns;
    struct member_config m = {.lease = {.world = span_text(c->id),
                                        .address = address,
                                        .lease_ns = lease_ns,
                                        .guard_ns = lease_ns / GUARD_PARTS,
                                        .renew_ns = lease_ns / RENEWALS},
                              .terms = c->config.terms,
                              .zones = w->cluster->n_zones,
                              .settle_ns = SETTLE_LEASES * lease_ns,
                              .names = CLUSTER_DOOR_NAMES(w->sessions.slots.cap),
                              .ids = CLUSTER_NATS_IDS,
                              .blocks = w->ids.max / CLUSTER_NATS_IDS};
    int err;

    rng_secret(&m.lease.nonce, sizeof(m.lease.nonce));
    c->listens = calloc(2 * (size_t)w->cluster->n_zones, sizeof(*c->listens));
    if (!c->listens)
        return E_NOMEM;
    err = member_init(&c->member, &m);
    if (err != 0)
        return err;
    c->world = w;
    err = start_bus(c);
    if (err == 0)
        loop_timer_arm(c->timer, 0);
    return err;
}

void cluster_nats_leave(struct cluster_nats *c)
{
    c->leaves = true;
    loop_timer_arm(c->timer, 0);
}

uint32_t cluster_nats_others(const struct cluster_nats *c)
{
    const struct lease *l = &c->member.lease;
    const struct claim *v;
    uint32_t n = 0;

    for (uint32_t at = 0; (v = lease_living(l, &at));)
        n += !v->draining && !claim_name_equal(&v->world, &l->self);
    return n;
}

void cluster_nats_quit(struct cluster_nats *c, loop_fn *done, void *arg)
{
    c->quit_done = done;
    c->quit_arg = arg;
    c->quit_by = c->member.lease.until;
    lease_quit(&c->member.lease);
    loop_timer_arm(c->timer, 0);
}

void cluster_nats_destroy(struct cluster_nats *c)
{
    if (!c)
        return;
    nats_bus_destroy(c->bus);
    loop_timer_destroy(c->timer);
    member_fini(&c->member);
    free(c->listens);
    free(c->asked);
    free(c->free);
    free(c);
}

const struct member *cluster_nats_member(const struct cluster_nats *c)
{
    return &c->member;
}

uint32_t cluster_nats_beat(const struct cluster_nats *c, int64_t *ahead_ns)
{
    const int64_t began_ms = (int64_t)(c->generation >> GENERATION_LOW_BITS);
    const int64_t tick_ms = c->world->config.tick_ns / CLOCK_NS_PER_MS;
    const int64_t since_ms = clock_unix_ms() - began_ms;
    const int64_t ticks = since_ms > 0 ? since_ms / tick_ms : 0;

    *ahead_ns = ((ticks + 1) * tick_ms - (since_ms > 0 ? since_ms : 0)) * CLOCK_NS_PER_MS;
    return (uint32_t)(ticks + 1);
}

bool cluster_nats_may_act(const struct cluster_nats *c, struct mono now)
{
    return member_may_act(&c->member, now);
}

const char *cluster_nats_refused(const struct cluster_nats *c, const char **flag)
{
    *flag = c->member.generation.refused ? "-cluster" : "-world-id";
    return member_refused(&c->member);
}

void cluster_nats_counts(const struct cluster_nats *c, struct cluster_nats_counts *out)
{
    struct nats_bus_counts bus = {0};

    if (c->bus)
        nats_bus_counts(c->bus, &bus);
    *out = (struct cluster_nats_counts){.up = c->bus && nats_bus_up(c->bus),
                                        .connects = bus.connects,
                                        .generation_ms = c->generation >> GENERATION_LOW_BITS,
                                        .worlds = c->member.holdings.living,
                                        .given = c->member.holdings.moves,
                                        .buried = c->member.lease.burials,
                                        .zones = c->world ? holdings_owned(&c->member.holdings) : 0,
                                        .published = bus.published,
                                        .received = bus.received,
                                        .dropped_out = bus.dropped_out,
                                        .dropped_in = bus.dropped_in,
                                        .barred = c->barred,
                                        .terms = c->member.term,
                                        .keys_done = bus.done,
                                        .keys_lost = bus.lost,
                                        .keys_away = bus.keys_away};
}

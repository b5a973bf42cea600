/* world/cluster/lease.c: see the header. */
#include "world/cluster/lease.h"

#include "common/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int lease_init(struct lease *l, const struct lease_config *c)
{
    *l = (struct lease){.lease_ns = c->lease_ns,
                        .guard_ns = c->guard_ns,
                        .renew_ns = c->renew_ns,
                        .self = claim_name_of(c->world),
                        .nonce = c->nonce,
                        .peers = calloc(LEASE_PEERS_MAX, sizeof(*l->peers))};
    ASSERT(c->renew_ns < c->lease_ns);
    if (!l->peers)
        return E_NOMEM;
    l->own.world = l->self;
    l->own.nonce = c->nonce;
    claim_set_text(&l->own, c->address);
    return 0;
}

void lease_fini(struct lease *l)
{
    free(l->peers);
    *l = (struct lease){0};
}

static void lose(struct lease *l)
{
    l->epoch = 0;
    l->until = (struct mono){0};
    l->saw = 0;
    if (l->state == LEASE_HELD)
        l->state = l->quits ? LEASE_QUIT : LEASE_ASKING;
}

void lease_generation(struct lease *l, uint64_t number, struct mono now)
{
    lose(l);
    l->generation = number;
    l->cell = (struct kv_cell){.key = {.room = KV_WORLD, .generation = number, .name = l->self},
                               .seen = now};
    l->ask = true;
    l->n_peers = 0;
}

void lease_tell(struct lease *l, uint64_t load, bool draining)
{
    if (draining != l->own.draining)
        l->renewed = (struct mono){l->renewed.ns - l->renew_ns}; /* now */
    l->own.load = load;
    l->own.draining = draining;
}

/* --- the own key ------------------------------------------------------------------------------ */

static bool silent(const struct lease *l, struct mono since, struct mono now)
{
    return clock_since(now, since) >= l->lease_ns + l->guard_ns;
}

static void refuse(struct lease *l, const struct claim *v)
{
    l->state = LEASE_REFUSED;
    snprintf(l->why, sizeof(l->why), "another world of the id \"%.*s\" lives, at %.*s",
             v->world.len, v->world.p, v->text_len, v->text);
}

static void write_own(struct lease *l, struct kv_queue *q, enum kv_op op, struct mono now)
{
    struct claim v = l->own;

    v.state = l->quits ? CLAIM_BURIED : CLAIM_HELD;
    v.epoch = l->epoch;
    if (!kv_cell_ask(&l->cell, q, op, &v, now))
        return;
    l->renewed = now;
    if (l->quits)
        l->until = (struct mono){0};
}

void lease_quit(struct lease *l)
{
    l->quits = true;
    if (l->state == LEASE_ASKING)
        l->state = LEASE_QUIT;
}

/* The key is known, and not ours. */
static void claim_own(struct lease *l, struct kv_queue *q, struct mono now)
{
    const struct claim *v = &l->cell.value;

    if (v->state == CLAIM_NONE) {
        write_own(l, q, KV_CREATE, now);
    } else if (v->state != CLAIM_HELD || v->nonce == l->nonce) {
        write_own(l, q, KV_UPDATE, now);
    } else if (l->saw == 0) {
        l->saw = l->cell.revision;
        l->saw_at = now;
    } else if (l->saw != l->cell.revision) {
        refuse(l, v);
    } else if (silent(l, l->saw_at, now)) {
        write_own(l, q, KV_UPDATE, now);
    } else {
        kv_cell_ask(&l->cell, q, KV_GET, NULL, now);
        l->cell.again = clock_add(now, l->renew_ns / 2);
    }
}

static void turn_own(struct lease *l, struct kv_queue *q, struct mono now)
{
    if (l->state > LEASE_HELD || !kv_cell_idle(&l->cell, now))
        return;
    if (l->ask)
        kv_cell_ask(&l->cell, q, KV_GET, NULL, now);
    else if (l->state == LEASE_ASKING)
        claim_own(l, q, now);
    else if (l->quits || clock_since(now, l->renewed) >= l->renew_ns || !lease_may_act(l, now))
        write_own(l, q, KV_UPDATE, now);
}

/* Does what stands under the own key say that our epoch goes on? */
static bool still_ours(const struct lease *l)
{
    const struct claim *v = &l->cell.value;
    uint64_t epoch = v->epoch ? v->epoch : l->cell.revision;

    return v->state == CLAIM_HELD && v->nonce == l->nonce && epoch == l->epoch;
}

/* A write of ours was done: the lease counts from its sending. */
static void held(struct lease *l, const struct kv_result *r)
{
    struct mono until = clock_add(r->command.asked, l->lease_ns);

    if (l->state == LEASE_ASKING) {
        l->state = LEASE_HELD;
        l->epoch = r->revision;
        l->until = until;
    } else if (clock_since(until, l->until) > 0) {
        l->until = until;
    }
}

/* What the cell says of our epoch, where we have one. */
static bool settle(struct lease *l)
{
    const struct claim *v = &l->cell.value;

    if (l->state != LEASE_HELD || still_ours(l))
        return false;
    lose(l);
    if (v->state == CLAIM_HELD && v->nonce != l->nonce)
        refuse(l, v);
    return true;
}

static bool own_result(struct lease *l, const struct kv_result *r, struct mono now)
{
    if (!kv_cell_answer(&l->cell, r, now))
        return false;
    l->ask = r->outcome == KV_LOST || r->outcome == KV_UNKNOWN;
    if (l->state > LEASE_HELD)
        return false;
    if (r->outcome == KV_DONE && r->command.value.state == CLAIM_HELD) {
        held(l, r);
        return false;
    }
    if (r->outcome == KV_LOST || r->outcome == KV_UNKNOWN)
        return false;
    return settle(l);
}

/* --- the others' ------------------------------------------------------------------------------ */

static struct lease_peer *peer_of(struct lease *l, const struct kv_key *key, struct mono now)
{
    for (uint32_t i = 0; i < l->n_peers; i++) {
        if (claim_name_equal(&l->peers[i].cell.key.name, &key->name))
            return &l->peers[i];
    }
    if (l->n_peers == LEASE_PEERS_MAX) {
        l->full++;
        return NULL;
    }
    l->peers[l->n_peers] = (struct lease_peer){.cell = {.key = *key, .seen = now}};
    return &l->peers[l->n_peers++];
}

static void note(struct lease_peer *p)
{
    const struct claim *v = &p->cell.value;
    uint64_t epoch = v->epoch ? v->epoch : p->cell.revision;

    if (v->state != CLAIM_NONE && epoch > p->epoch)
        p->epoch = epoch;
}

static void turn_peer(struct lease *l, struct lease_peer *p, struct kv_queue *q, struct mono now)
{
    struct claim v = p->cell.value;

    if (v.state != CLAIM_HELD || !p->cell.known || !kv_cell_idle(&p->cell, now) ||
        !silent(l, p->cell.seen, now))
        return;
    v.state = CLAIM_BURIED;
    v.epoch = p->epoch;
    v.load = 0;
    kv_cell_ask(&p->cell, q, KV_UPDATE, &v, now);
}

static void peer_result(struct lease *l, const struct kv_result *r, struct mono now)
{
    struct lease_peer *p = peer_of(l, &r->command.key, now);

    if (!p || !kv_cell_answer(&p->cell, r, now))
        return;
    if (r->outcome == KV_DONE && r->command.op == KV_UPDATE)
        l->burials++;
    /* It renewed, or another was faster: that will be told; wait for it as if it had been seen. */
    if (r->outcome == KV_LOST)
        p->cell.seen = now;
    note(p);
}

/* --- all of it -------------------------------------------------------------------------------- */

void lease_turn(struct lease *l, struct kv_queue *q, struct mono now)
{
    if (l->generation == 0)
        return;
    turn_own(l, q, now);
    for (uint32_t i = 0; i < l->n_peers && lease_may_act(l, now) && l->synced; i++)
        turn_peer(l, &l->peers[i], q, now);
}

bool lease_result(struct lease *l, const struct kv_result *r, struct mono now)
{
    if (r->command.key.generation != l->generation)
        return false;
    if (claim_name_equal(&r->command.key.name, &l->self))
        return own_result(l, r, now);
    peer_result(l, r, now);
    return false;
}

bool lease_entry(struct lease *l, const struct kv_entry *e, struct mono now)
{
    struct lease_peer *p;

    if (e->key.generation != l->generation)
        return false;
    if (claim_name_equal(&e->key.name, &l->self)) {
        /* An answer under way knows better how the revision came about. */
        if (l->cell.turn == 0 && kv_cell_entry(&l->cell, e, now))
            return settle(l);
        return false;
    }
    p = peer_of(l, &e->key, now);
    if (p && kv_cell_entry(&p->cell, e, now))
        note(p);
    return false;
}

void lease_follow(struct lease *l, struct mono now)
{
    l->synced = false;
    l->ask = true;
    l->saw = 0;
    for (uint32_t i = 0; i < l->n_peers; i++)
        kv_cell_follow(&l->peers[i].cell, now);
}

void lease_followed(struct lease *l, struct mono now)
{
    l->synced = true;
    for (uint32_t i = 0; i < l->n_peers; i++)
        l->peers[i].cell.seen = now;
}

bool lease_is_over(const struct lease *l, const struct claim_name *world, uint64_t epoch)
{
    if (claim_name_equal(world, &l->self))
        return epoch != l->epoch && l->epoch != 0;
    for (uint32_t i = 0; i < l->n_peers; i++) {
        const struct lease_peer *p = &l->peers[i];

        if (claim_name_equal(&p->cell.key.name, world))
            return p->epoch > epoch || (p->epoch == epoch && p->cell.value.state == CLAIM_BURIED);
    }
    return false;
}

const struct claim *lease_living(const struct lease *l, uint32_t *at)
{
    while (*at < l->n_peers) {
        const struct lease_peer *p = &l->peers[(*at)++];

        if (p->cell.value.state == CLAIM_HELD)
            return &p->cell.value;
    }
    if (*at == l->n_peers && l->state == LEASE_HELD) {
        (*at)++;
        return &l->own;
    }
    return NULL;
}

const struct claim *lease_find(const struct lease *l, const struct claim_name *world)
{
    const struct claim *v;

    for (uint32_t at = 0; (v = lease_living(l, &at));) {
        if (claim_name_equal(&v->world, world))
            return v;
    }
    return NULL;
}

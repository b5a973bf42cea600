/* world/cluster/holdings.c: see the header. */
#include "world/cluster/holdings.h"

#include "common/err.h"

#include <stdlib.h>

int holdings_init(struct holdings *h, uint32_t n_zones, int64_t settle_ns)
{
    *h = (struct holdings){.n = n_zones,
                           .settle_ns = settle_ns,
                           .zones = calloc(n_zones, sizeof(*h->zones)),
                           .worlds = calloc(LEASE_PEERS_MAX + 1, sizeof(*h->worlds)),
                           .drains = calloc(LEASE_PEERS_MAX + 1, sizeof(*h->drains)),
                           .count = calloc(LEASE_PEERS_MAX + 1, sizeof(*h->count)),
                           .owner = calloc(n_zones, sizeof(*h->owner)),
                           .deal = calloc(n_zones, sizeof(*h->deal))};
    ASSERT(n_zones >= 1);
    if (!h->zones || !h->worlds || !h->drains || !h->count || !h->owner || !h->deal) {
        holdings_fini(h);
        return E_NOMEM;
    }
    return 0;
}

void holdings_fini(struct holdings *h)
{
    free(h->zones);
    free(h->worlds);
    free(h->drains);
    free(h->count);
    free(h->owner);
    free(h->deal);
    *h = (struct holdings){0};
}

void holdings_generation(struct holdings *h, uint64_t number, struct mono now)
{
    h->generation = number;
    h->changed_at = now;
    for (uint32_t i = 0; i < h->n; i++) {
        h->zones[i] = (struct holding){
            .cell = {.key = {.room = KV_ZONE, .generation = number, .number = i}, .seen = now},
            .changed = true};
    }
}

void holdings_lose(struct holdings *h)
{
    for (uint32_t i = 0; i < h->n; i++) {
        struct holding *z = &h->zones[i];

        z->changed = z->changed || z->owned;
        z->owned = z->checking = z->leaving = false;
    }
}

void holdings_follow(struct holdings *h, struct mono now)
{
    for (uint32_t i = 0; i < h->n; i++)
        kv_cell_follow(&h->zones[i].cell, now);
}

void holdings_followed(struct holdings *h)
{
    for (uint32_t i = 0; i < h->n; i++)
        h->zones[i].cell.known = true; /* of what was not told, nothing stands there */
}

/* --- what is seen ----------------------------------------------------------------------------- */

static bool is_self(const struct lease *l, const struct claim *v)
{
    return v->state == CLAIM_HELD && claim_name_equal(&v->world, &l->self) && l->epoch != 0 &&
           v->epoch == l->epoch;
}

/* The cell knows something that it did not. */
static void take(struct holdings *h, const struct lease *l, struct holding *z, struct mono now)
{
    bool ours = is_self(l, &z->cell.value);

    h->news = true;
    z->changed = true;
    h->changed_at = now;
    if (ours && !z->owned) {
        z->checking = true;
        z->since = now;
    }
    z->owned = z->owned && ours;
    z->checking = z->checking && ours;
    z->leaving = z->leaving && ours;
}

void holdings_result(struct holdings *h, const struct lease *l, const struct kv_result *r,
                     struct mono now)
{
    uint32_t zone = r->command.key.number;

    if (r->command.key.generation != h->generation || zone >= h->n ||
        !kv_cell_answer(&h->zones[zone].cell, r, now))
        return;
    h->zones[zone].ask = r->outcome == KV_LOST || r->outcome == KV_UNKNOWN;
    if (!h->zones[zone].ask)
        take(h, l, &h->zones[zone], now);
}

void holdings_entry(struct holdings *h, const struct lease *l, const struct kv_entry *e,
                    struct mono now)
{
    if (e->key.generation != h->generation || e->key.number >= h->n)
        return;
    if (kv_cell_entry(&h->zones[e->key.number].cell, e, now))
        take(h, l, &h->zones[e->key.number], now);
}

/* --- what is done ----------------------------------------------------------------------------- */

/* Is it free for anybody, or for us? */
static bool for_us(const struct lease *l, const struct holding *z, struct mono now)
{
    const struct claim *v = &z->cell.value;

    if (v->state == CLAIM_HELD)
        return lease_is_over(l, &v->world, v->epoch);
    if (v->state != CLAIM_FREE || claim_name_equal(&v->to, &l->self))
        return true;
    return !lease_find(l, &v->to) || clock_since(now, z->cell.seen) >= l->lease_ns;
}

static int by_name(const void *a, const void *b)
{
    const struct claim_name *x = &(*(const struct claim *const *)a)->world;
    const struct claim_name *y = &(*(const struct claim *const *)b)->world;
    int order = memcmp(x->p, y->p, x->len < y->len ? x->len : y->len);

    return order ? order : (int)x->len - (int)y->len;
}

/* The living worlds in the order of their names; returns how many, and which is this one. */
static uint32_t list_worlds(struct holdings *h, const struct lease *l, uint32_t *self)
{
    const struct claim *v;
    uint32_t n = 0;

    for (uint32_t at = 0; (v = lease_living(l, &at));)
        h->worlds[n++] = v;
    qsort(h->worlds, n, sizeof(*h->worlds), by_name);
    *self = BALANCE_NOBODY;
    for (uint32_t i = 0; i < n; i++) {
        h->drains[i] = h->worlds[i]->draining;
        if (h->worlds[i] == &l->own)
            *self = i;
    }
    return n;
}

static uint32_t owner_of(const struct holdings *h, const struct lease *l, const struct holding *z,
                         uint32_t n_worlds, struct mono now)
{
    if (z->cell.turn != 0 || z->ask || z->checking || z->leaving)
        return BALANCE_BUSY;
    if (for_us(l, z, now))
        return BALANCE_NOBODY;
    for (uint32_t i = 0; i < n_worlds; i++) {
        if (z->cell.value.state == CLAIM_HELD &&
            claim_name_equal(&h->worlds[i]->world, &z->cell.value.world))
            return i;
    }
    return BALANCE_BUSY;
}

static void claim_zone(struct holding *z, const struct lease *l, struct kv_queue *q,
                       struct mono now)
{
    struct claim v = {.state = CLAIM_HELD, .world = l->self, .epoch = l->epoch, .nonce = l->nonce};

    kv_cell_ask(&z->cell, q, z->cell.value.state == CLAIM_NONE ? KV_CREATE : KV_UPDATE, &v, now);
}

static void give_up(struct holding *z, const struct lease *l, struct kv_queue *q, struct mono now)
{
    struct claim v = {.state = CLAIM_FREE, .world = l->self, .to = z->to, .epoch = l->epoch};

    z->leaving = true;
    z->changed = true;
    kv_cell_ask(&z->cell, q, KV_UPDATE, &v, now);
}

/* What has to be done of single zones: look where it is not known, give up once more. */
static void mend(struct holdings *h, const struct lease *l, struct generation *g,
                 struct kv_queue *q, struct mono now)
{
    for (uint32_t i = 0; i < h->n; i++) {
        struct holding *z = &h->zones[i];

        if (z->checking && generation_checked(g, z->since)) {
            z->checking = false;
            z->owned = z->changed = true;
        }
        if (!kv_cell_idle(&z->cell, now))
            continue;
        if (z->ask)
            kv_cell_ask(&z->cell, q, KV_GET, NULL, now);
        else if (z->leaving)
            give_up(z, l, q, now);
    }
}

static void deal(struct holdings *h, const struct lease *l, struct kv_queue *q, struct mono now)
{
    uint32_t self, n = list_worlds(h, l, &self);
    struct balance b = {n, h->n, h->drains, h->owner, h->count};
    struct balance_move move;
    int64_t settle_ns;

    if (n != h->living)
        h->changed_at = now;
    h->living = n;
    for (uint32_t i = 0; i < h->n; i++)
        h->owner[i] = owner_of(h, l, &h->zones[i], n, now);
    balance_fill(&b, h->deal);
    for (uint32_t i = 0; i < h->n && self != BALANCE_NOBODY; i++) {
        struct holding *z = &h->zones[i];
        /* One that was freed for us is ours, whatever the shares. */
        bool freed = z->cell.value.state == CLAIM_FREE && h->owner[i] == BALANCE_NOBODY &&
                     claim_name_equal(&z->cell.value.to, &l->self) && !l->own.draining;

        if ((h->deal[i] == self || freed) && kv_cell_idle(&z->cell, now))
            claim_zone(z, l, q, now);
    }
    settle_ns = l->own.draining ? h->settle_ns / HOLDINGS_DRAIN_PARTS : h->settle_ns;
    if (clock_since(now, h->changed_at) < settle_ns || !balance_next(&b, &move) ||
        move.from != self)
        return;
    h->zones[move.zone].to = h->worlds[move.to]->world;
    h->moves++;
    give_up(&h->zones[move.zone], l, q, now);
}

void holdings_turn(struct holdings *h, const struct lease *l, struct generation *g,
                   struct kv_queue *q, struct mono now)
{
    if (!l->synced || !lease_may_act(l, now))
        return;
    mend(h, l, g, q, now);
    if (!h->news && clock_since(now, h->looked_at) < HOLDINGS_TURN_NS)
        return;
    h->news = false;
    h->looked_at = now;
    deal(h, l, q, now);
}

/* --- what is told ----------------------------------------------------------------------------- */

const struct claim_name *holdings_owner(const struct holdings *h, const struct lease *l,
                                        uint32_t zone, uint64_t *epoch)
{
    const struct holding *z = &h->zones[zone];
    const struct claim *v = &z->cell.value;

    *epoch = z->cell.revision;
    if (v->state != CLAIM_HELD || lease_is_over(l, &v->world, v->epoch))
        return NULL;
    if (claim_name_equal(&v->world, &l->self) && !holdings_owns(h, zone))
        return NULL;
    return &v->world;
}

bool holdings_is_dead(const struct holdings *h, const struct lease *l, uint32_t zone,
                      const struct claim_name *had)
{
    const struct claim *v = &h->zones[zone].cell.value;

    if (!lease_find(l, had))
        return true;
    return v->state == CLAIM_HELD && claim_name_equal(&v->world, had) &&
           lease_is_over(l, &v->world, v->epoch);
}

uint32_t holdings_owned(const struct holdings *h)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < h->n; i++)
        n += holdings_owns(h, i);
    return n;
}

bool holdings_next(struct holdings *h, uint32_t *zone)
{
    for (uint32_t i = 0; i < h->n; i++) {
        if (!h->zones[i].changed)
            continue;
        h->zones[i].changed = false;
        *zone = i;
        return true;
    }
    return false;
}

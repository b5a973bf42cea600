/* world/cluster/member.c: see the header. */
#include "world/cluster/member.h"

int member_init(struct member *m, const struct member_config *c)
{
    int err;

    *m = (struct member){0};
    generation_init(&m->generation, c->lease.world, c->terms,
                    c->lease.lease_ns + c->lease.guard_ns);
    blocks_init(&m->blocks, c->ids, c->blocks);
    err = kv_queue_init(&m->queue);
    if (err == 0)
        err = lease_init(&m->lease, &c->lease);
    if (err == 0)
        err = holdings_init(&m->holdings, c->zones, c->settle_ns);
    if (err == 0)
        err = names_init(&m->names, c->names);
    if (err != 0)
        member_fini(m);
    return err;
}

void member_fini(struct member *m)
{
    names_fini(&m->names);
    holdings_fini(&m->holdings);
    lease_fini(&m->lease);
    kv_queue_fini(&m->queue);
    *m = (struct member){0};
}

/* All that was held is void. */
static void lose(struct member *m)
{
    m->term++;
    holdings_lose(&m->holdings);
    names_lose(&m->names, m->tables);
    generation_doubt(&m->generation);
}

static void keep_tables(struct member *m, uint64_t number, struct mono now)
{
    if (number <= m->tables)
        return;
    m->tables = number;
    lease_generation(&m->lease, number, now);
    holdings_generation(&m->holdings, number, now);
    blocks_generation(&m->blocks, number);
    lose(m);
}

const char *member_refused(const struct member *m)
{
    if (m->generation.refused)
        return m->generation.why;
    return m->lease.state == LEASE_REFUSED ? m->lease.why : NULL;
}

void member_turn(struct member *m, uint64_t proposal, struct mono now)
{
    struct generation *g = &m->generation;
    bool present = !g->refused && g->number != 0 && g->number == m->tables;

    if (present)
        lease_turn(&m->lease, &m->queue, now);
    if (present && g->open) {
        holdings_turn(&m->holdings, &m->lease, g, &m->queue, now);
        names_turn(&m->names, &m->lease, g, &m->queue, now);
        blocks_turn(&m->blocks, &m->lease, g, &m->queue, now);
    }
    generation_turn(g, &m->queue, proposal,
                    now); /* last: what the others want of it is asked now */
}

bool member_next(struct member *m, struct kv_command *out)
{
    return kv_queue_next(&m->queue, out);
}

/* A world was heard of: whose its zones are may have changed. */
static void heard_of(struct member *m, const struct claim_name *world)
{
    for (uint32_t i = 0; i < m->holdings.n; i++) {
        struct holding *z = &m->holdings.zones[i];

        if (z->cell.value.state == CLAIM_HELD && claim_name_equal(&z->cell.value.world, world))
            z->changed = true;
    }
}

void member_result(struct member *m, const struct kv_result *r, struct mono now)
{
    switch (r->command.key.room) {
    case KV_GENERATION:
        if (generation_result(&m->generation, r, now))
            keep_tables(m, m->generation.number, now);
        if (m->generation.refused) {
            lease_generation(&m->lease, 0, now);
            lose(m);
        }
        break;
    case KV_WORLD:
        if (lease_result(&m->lease, r, now))
            lose(m);
        heard_of(m, &r->command.key.name);
        break;
    case KV_ZONE:
        holdings_result(&m->holdings, &m->lease, r, now);
        break;
    case KV_NAME:
        names_result(&m->names, &m->lease, r, now);
        break;
    case KV_IDS:
        blocks_result(&m->blocks, r, now);
        break;
    default:
        break;
    }
}

void member_entry(struct member *m, const struct kv_entry *e, struct mono now)
{
    if (e->key.room != KV_GENERATION && e->key.generation > m->tables) {
        keep_tables(m, e->key.generation, now);
        generation_heard(&m->generation, e->key.generation);
    }
    if (e->key.room == KV_GENERATION && generation_entry(&m->generation, e, now))
        keep_tables(m, m->generation.number, now);
    if (e->key.room == KV_WORLD) {
        if (lease_entry(&m->lease, e, now))
            lose(m);
        heard_of(m, &e->key.name);
    }
    if (e->key.room == KV_ZONE)
        holdings_entry(&m->holdings, &m->lease, e, now);
}

void member_follow(struct member *m, struct mono now)
{
    generation_doubt(&m->generation);
    lease_follow(&m->lease, now);
    holdings_follow(&m->holdings, now);
}

void member_followed(struct member *m, struct mono now)
{
    lease_followed(&m->lease, now);
    holdings_followed(&m->holdings);
}

/* world/cluster/generation.c: see the header. */
#include "world/cluster/generation.h"

#include <stdio.h>

void generation_init(struct generation *g, struct span self, struct span terms, int64_t wait_ns)
{
    ASSERT(terms.n <= CLAIM_TEXT_MAX);
    *g = (struct generation){.cell = {.key = {.room = KV_GENERATION}},
                             .ask = true,
                             .wait_ns = wait_ns,
                             .self = claim_name_of(self),
                             .terms_len = (uint8_t)terms.n};
    memcpy(g->terms, terms.p, terms.n);
}

void generation_doubt(struct generation *g)
{
    g->ask = true;
}

void generation_heard(struct generation *g, uint64_t number)
{
    if (number > g->floor)
        g->floor = number;
    if (number > g->number)
        g->ask = true;
}

bool generation_checked(struct generation *g, struct mono since)
{
    if (g->open && clock_since(g->checked, since) >= 0)
        return true;
    g->wanted = true;
    return false;
}

static struct claim value_of(const struct generation *g, enum claim_state state, uint64_t number)
{
    struct claim v = {.state = state, .world = g->self, .epoch = number};

    claim_set_text(&v, span_of(g->terms, g->terms_len));
    return v;
}

void generation_turn(struct generation *g, struct kv_queue *q, uint64_t proposal, struct mono now)
{
    struct claim v;

    if (g->refused || !kv_cell_idle(&g->cell, now))
        return;
    if (g->ask || g->wanted) {
        g->wanted = false;
        /* The revisions of a store that was wiped are lower than those seen. */
        g->cell.revision = 0;
        g->cell.known = false;
        kv_cell_ask(&g->cell, q, KV_GET, NULL, now);
    } else if (g->cell.value.state == CLAIM_NONE || g->cell.value.epoch < g->floor) {
        v = value_of(g, CLAIM_CLOSED, proposal > g->floor ? proposal : g->floor + 1);
        kv_cell_ask(&g->cell, q, g->cell.value.state == CLAIM_NONE ? KV_CREATE : KV_UPDATE, &v,
                    now);
    } else if (!g->open && clock_since(now, g->closed_at) >= g->wait_ns) {
        v = value_of(g, CLAIM_OPEN, g->number);
        kv_cell_ask(&g->cell, q, KV_UPDATE, &v, now);
    }
}

static void refuse(struct generation *g, const struct claim *v)
{
    g->refused = true;
    snprintf(g->why, sizeof(g->why), "the cluster has \"%.*s\", and this world \"%.*s\"",
             v->text_len, v->text, g->terms_len, g->terms);
}

/* What the cell knows now. */
static bool take(struct generation *g, struct mono now)
{
    const struct claim *v = &g->cell.value;
    bool other = v->epoch != g->number;

    if ((v->state != CLAIM_CLOSED && v->state != CLAIM_OPEN) || v->epoch < g->floor)
        return false;
    if (!span_equal(claim_text(v), span_of(g->terms, g->terms_len))) {
        refuse(g, v);
        g->open = false;
        return false;
    }
    if (other) {
        g->number = g->floor = v->epoch;
        g->closed_at = now;
        g->open = false;
    }
    if (v->state == CLAIM_OPEN)
        g->open = true;
    return other;
}

bool generation_result(struct generation *g, const struct kv_result *r, struct mono now)
{
    bool other;

    if (!kv_cell_answer(&g->cell, r, now))
        return false;
    g->ask = r->outcome == KV_LOST || r->outcome == KV_UNKNOWN;
    other = r->outcome == KV_DONE && take(g, now);
    if (r->outcome == KV_DONE && r->command.op == KV_GET && g->open &&
        g->cell.value.epoch == g->number)
        g->checked = r->command.asked;
    return other;
}

bool generation_entry(struct generation *g, const struct kv_entry *e, struct mono now)
{
    if (e->deleted || e->value.epoch != g->number) {
        g->ask = true; /* late news of the one before, or another store: the store knows */
        return false;
    }
    if (!kv_cell_entry(&g->cell, e, now))
        return false;
    return take(g, now);
}

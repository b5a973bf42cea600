/* world/cluster/names.c: see the header. */
#include "world/cluster/names.h"

#include "common/err.h"

#include <stdlib.h>

int names_init(struct names *n, uint32_t cap)
{
    *n = (struct names){.names = calloc(cap, sizeof(*n->names)),
                        .cap = cap,
                        .work = calloc(cap, sizeof(*n->work)),
                        .news = calloc(cap, sizeof(*n->news))};
    ASSERT(cap >= 1);
    if (!n->names || !n->work || !n->news) {
        names_fini(n);
        return E_NOMEM;
    }
    return 0;
}

void names_fini(struct names *n)
{
    free(n->names);
    free(n->work);
    free(n->news);
    *n = (struct names){0};
}

static void become(struct names *n, uint32_t at, enum name_state state)
{
    struct name *m = &n->names[at];

    m->state = state;
    if (m->changed)
        return;
    m->changed = true;
    n->news[(n->news_head + n->n_news++) % n->cap] = at;
}

bool names_next(struct names *n, uint32_t *at)
{
    if (n->n_news == 0)
        return false;
    *at = n->news[n->news_head];
    n->news_head = (n->news_head + 1) % n->cap;
    n->n_news--;
    n->names[*at].changed = false;
    return true;
}

void names_lose(struct names *n, uint64_t generation)
{
    n->generation = generation;
    for (uint32_t i = 0; i < n->fresh; i++) {
        struct name *m = &n->names[i];

        m->cell.turn = 0;
        if (m->state == NAME_RELEASING)
            become(n, i, NAME_NONE);
        else if (m->state != NAME_NONE && m->state != NAME_GONE)
            become(n, i, NAME_GONE);
    }
}

static struct name *begin(struct names *n, uint32_t at, enum name_state state)
{
    struct name *m = &n->names[at];

    ASSERT(at < n->cap);
    if (at >= n->fresh)
        n->fresh = at + 1;
    m->state = state;
    m->cell.turn = 0;
    m->cell.again = (struct mono){0};
    if (!m->listed)
        n->work[n->n_work++] = at;
    m->listed = true;
    return m;
}

static struct name *begin_new(struct names *n, uint32_t at, enum name_state state, struct span name)
{
    struct name *m;

    ASSERT(n->names[at].state == NAME_NONE || n->names[at].state == NAME_ELSEWHERE ||
           n->names[at].state == NAME_GONE);
    m = begin(n, at, state);
    m->cell = (struct kv_cell){.key = {.room = KV_NAME,
                                       .generation = n->generation,
                                       .number = at,
                                       .name = claim_name_of(name)}};
    return m;
}

void names_claim(struct names *n, uint32_t at, struct span name)
{
    begin_new(n, at, NAME_ASKING, name);
}

void names_take(struct names *n, uint32_t at, struct span name, uint64_t revision)
{
    struct name *m = begin_new(n, at, NAME_TAKING, name);

    m->from = m->cell.revision = revision;
    m->cell.known = true;
}

void names_take_back(struct names *n, uint32_t at)
{
    struct name *m = begin(n, at, NAME_TAKING);

    m->from = m->cell.revision;
    m->cell.known = true;
}

void names_release(struct names *n, uint32_t at)
{
    ASSERT(n->names[at].state == NAME_HELD);
    begin(n, at, NAME_RELEASING);
}

void names_forget(struct names *n, uint32_t at)
{
    n->names[at].cell.turn = 0;
    n->names[at].state = NAME_NONE;
}

/* --- asking ----------------------------------------------------------------------------------- */

static bool is_ours(const struct lease *l, const struct claim *v)
{
    return v->state == CLAIM_HELD && claim_name_equal(&v->world, &l->self) && v->epoch == l->epoch;
}

static void ask(struct names *n, uint32_t at, const struct lease *l, struct kv_queue *q,
                struct mono now)
{
    struct name *m = &n->names[at];
    struct claim v = {.state = CLAIM_HELD, .world = l->self, .epoch = l->epoch, .nonce = l->nonce};

    if (!m->cell.known)
        kv_cell_ask(&m->cell, q, KV_GET, NULL, now);
    else if (m->state == NAME_RELEASING)
        kv_cell_ask(&m->cell, q, KV_DELETE, NULL, now);
    else if (m->state == NAME_ASKING && m->cell.value.state == CLAIM_NONE)
        kv_cell_ask(&m->cell, q, KV_CREATE, &v, now);
    else
        kv_cell_ask(&m->cell, q, KV_UPDATE, &v, now);
}

static bool has_work(const struct name *m)
{
    return m->state == NAME_ASKING || m->state == NAME_CHECKING || m->state == NAME_TAKING ||
           m->state == NAME_RELEASING;
}

void names_turn(struct names *n, const struct lease *l, struct generation *g, struct kv_queue *q,
                struct mono now)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n->n_work; i++) {
        uint32_t at = n->work[i];
        struct name *m = &n->names[at];

        m->listed = has_work(m);
        if (!m->listed)
            continue;
        n->work[kept++] = at;
        if (m->state == NAME_CHECKING && generation_checked(g, m->since))
            become(n, at, NAME_HELD);
        else if (m->state != NAME_CHECKING && lease_may_act(l, now) && kv_cell_idle(&m->cell, now))
            ask(n, at, l, q, now);
    }
    n->n_work = kept;
}

/* --- hearing ---------------------------------------------------------------------------------- */

/* What stands under the key is known. */
static void judge(struct names *n, uint32_t at, const struct lease *l, struct mono now)
{
    struct name *m = &n->names[at];
    const struct claim *v = &m->cell.value;

    switch (m->state) {
    case NAME_ASKING:
        if (v->state == CLAIM_NONE)
            return;
        if (is_ours(l, v)) {
            m->state = NAME_CHECKING;
            m->since = now;
        } else if (v->state == CLAIM_HELD && !lease_is_over(l, &v->world, v->epoch)) {
            become(n, at, NAME_ELSEWHERE);
        }
        return;
    case NAME_TAKING:
        if (v->state != CLAIM_NONE && m->cell.revision == m->from)
            return; /* not yet taken by anybody: once more */
        become(n, at, is_ours(l, v) ? NAME_HELD : NAME_GONE);
        return;
    case NAME_RELEASING:
        if (!is_ours(l, v))
            become(n, at, NAME_NONE);
        return;
    default:
        return;
    }
}

void names_result(struct names *n, const struct lease *l, const struct kv_result *r,
                  struct mono now)
{
    uint32_t at = r->command.key.number;
    struct name *m;

    if (at >= n->cap || r->command.key.generation != n->generation)
        return;
    m = &n->names[at];
    if (r->command.op == KV_GET)
        m->cell.known = false; /* what was known before says nothing */
    if (!kv_cell_answer(&m->cell, r, now))
        return;
    if (r->outcome == KV_LOST || r->outcome == KV_UNKNOWN)
        m->cell.known = false;
    if (m->cell.known)
        judge(n, at, l, now);
}

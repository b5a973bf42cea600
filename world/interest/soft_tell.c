/* world/interest/soft_tell.c: what a viewer is told now, and what waits, in soft sight.
 * Where the tick's bytes do not suffice for all records, those with the earliest deadlines go, the
 * tick's bytes counted as if each took the most it can; what that leaves is saved for the next
 * tick. Removes and adds go whatever they take, and use bytes of later ticks.
 *
 * Why nobody starves: a deadline is at most SOFT_SLACK ticks after the wait began, and who goes
 * begins anew, with a later one. So from SOFT_SLACK ticks on those before it are the ones that
 * waited already, each once; and at least a quarter of the budget is there in every tick.
 * May touch: what soft.h may.
 */
#include "world/interest/batch.h"
#include "world/interest/soft_work.h"
#include "world/interest/wire.h"

#include <string.h>

#define DEADLINES   1024 /* ticks from the earliest one that are told apart */
#define HEAD_BYTES  25   /* of an AoiMove's body */
#define LEAST_SHARE 4    /* a tick's records get this part of the budget, whatever is owed */

/* --- bytes ----------------------------------------------------------------------------------- */

/* Bytes a tick; 0: as many as it takes. */
static int64_t budget_of(const struct soft *s, const struct soft_viewer *v)
{
    uint64_t all = s->rules.viewer_bytes;

    if (v->drain > 0 && (all == 0 || v->drain < all))
        all = v->drain;
    return (int64_t)all;
}

/* The bytes that this tick's records may take. */
static uint32_t allowance(struct soft_viewer *v, int64_t budget)
{
    int64_t least = budget / LEAST_SHARE;

    v->credit += budget;
    if (v->credit > SOFT_SAVED_TICKS * budget)
        v->credit = SOFT_SAVED_TICKS * budget;
    if (least < HEAD_BYTES + AOI_MOVE_RECORD_MAX)
        least = HEAD_BYTES + AOI_MOVE_RECORD_MAX;
    return (uint32_t)(v->credit > least ? v->credit : least);
}

static void spend(struct soft_viewer *v, int64_t budget, uint64_t bytes)
{
    v->credit -= (int64_t)bytes;
    if (v->credit < -SOFT_OWED_TICKS * budget)
        v->credit = -SOFT_OWED_TICKS * budget;
}

/* --- who goes -------------------------------------------------------------------------------- */

/* Which of the earliest deadlines go as a whole, and how many bytes are left for the next one. */
static uint32_t last_deadline(const struct soft_work *k, uint32_t first, uint32_t bytes,
                              uint32_t *left)
{
    uint32_t sum[DEADLINES] = {0}, at = 0;

    for (uint32_t i = 0; i < k->n_records; i++) {
        uint32_t after = k->records[i].deadline - first;

        sum[after < DEADLINES ? after : DEADLINES - 1] += k->records[i].bytes;
    }
    while (at < DEADLINES - 1 && sum[at] <= bytes)
        bytes -= sum[at++];
    *left = bytes;
    return at;
}

/* Choose among too many. */
static void choose(struct soft_work *k, uint32_t bytes)
{
    uint32_t first = k->records[0].deadline, last, left;

    for (uint32_t i = 1; i < k->n_records; i++) {
        if ((int32_t)(k->records[i].deadline - first) < 0)
            first = k->records[i].deadline;
    }
    last = last_deadline(k, first, bytes, &left);
    for (uint32_t i = 0; i < k->n_records; i++) {
        struct soft_record *r = &k->records[i];
        uint32_t after = r->deadline - first;

        if (after >= DEADLINES)
            after = DEADLINES - 1;
        r->goes = after < last || (after == last && r->bytes <= left);
        if (r->goes && after == last)
            left -= r->bytes;
    }
}

/* A record that has to wait. */
static void postpone(struct world *w, uint32_t viewer, const struct soft_record *r)
{
    struct soft *s = w->sight.soft;
    uint32_t waited = w->tick - r->since + 1;

    soft_list_mark(s, viewer, r->place, SOFT_WAIT);
    s->told[s->viewers[viewer].at + r->place].since = r->since;
    s->bytes_waited += r->bytes;
    if (waited > s->worst_wait)
        s->worst_wait = waited;
}

/* Choose who goes in a tick with a budget. */
static void choose_within(struct world *w, uint32_t viewer, int64_t budget)
{
    struct soft *s = w->sight.soft;
    struct soft_work *k = s->work;
    uint32_t most = allowance(&s->viewers[viewer], budget);
    uint64_t sum = HEAD_BYTES;
    bool limited = false;

    for (uint32_t i = 0; i < k->n_records; i++)
        sum += k->records[i].bytes;
    if (sum <= most)
        return;
    choose(k, most - HEAD_BYTES);
    for (uint32_t i = 0; i < k->n_records; i++) {
        if (k->records[i].goes)
            continue;
        postpone(w, viewer, &k->records[i]);
        limited = true;
    }
    s->n_limited += limited;
}

/* --- the batch ------------------------------------------------------------------------------- */

static inline size_t varint_bytes(uint64_t v)
{
    size_t n = 1;

    for (; v >= 0x80; v >>= 7)
        n++;
    return n;
}

/* How old is what the viewer is told now? For one that waited for bytes, since then. */
static inline uint32_t age_of(uint32_t tick, const struct soft_body *b,
                              const struct soft_told *told, const struct soft_record *r)
{
    uint32_t first = told->since + 1;

    if (r->since != tick)
        return tick - r->since;
    return tick - (b->run > first ? b->run : first);
}

/* A record of the viewer's own. Returns its bytes. */
static uint64_t put_record(struct world *w, struct batch_records *out, uint64_t at,
                           const struct soft_record *r)
{
    struct soft *s = w->sight.soft;
    const struct soft_body *b = &s->bodies[r->slot];
    struct soft_told *told = &s->told[at + r->place];
    struct aoi_move_tail tail = r->tell ? wire_tail(&b->wire, r->tell) : b->tail;
    uint32_t id = known_id(s->keys[at + r->place]);
    uint64_t bytes = varint_bytes((uint64_t)(id - out->previous) << 2) + tail.len;

    ages_add(&w->ages, r->tier, r->tell ? age_of(w->tick, b, told, r) : 0, 1);
    if (r->tell)
        *told = (struct soft_told){.qx = b->wire.qx,
                                   .qy = b->wire.qy,
                                   .since = w->tick,
                                   .gen = told->gen,
                                   .dir = b->wire.dir,
                                   .speed = b->wire.speed};
    batch_records_put(out, id, &tail);
    return bytes;
}

/* Returns the bytes of the viewer's own records, if any. */
static uint64_t put_records(struct world *w, uint32_t viewer)
{
    struct soft *s = w->sight.soft;
    const struct soft_work *k = s->work;
    struct batch_records out = {.w = w};
    const uint64_t at = s->viewers[viewer].at;
    uint64_t bytes = 0;
    uint32_t j = 0;

    batch_records_begin(&out, k->n_records + k->n_shared);
    for (uint32_t i = 0; i <= k->n_records; i++) {
        uint32_t until = i < k->n_records ? k->records[i].place : UINT32_MAX;

        for (; j < k->n_shared && k->shared[j].place < until; j++)
            batch_records_put(&out, known_id(s->keys[at + k->shared[j].place]),
                              &s->bodies[k->shared[j].slot].tail);
        if (i < k->n_records && k->records[i].goes)
            bytes += put_record(w, &out, at, &k->records[i]);
    }
    batch_records_end(&out);
    if (k->n_shared > 0)
        ages_add(&w->ages, 0, 0, k->n_shared);
    w->metrics.aoi_moves += out.n;
    return bytes > 0 ? bytes + HEAD_BYTES : 0;
}

/* Those who are told by remove and add are among both. */
static void join_far(struct soft_work *k)
{
    memcpy(k->gone + k->n_gone, k->far, k->n_far * sizeof(*k->far));
    memcpy(k->added + k->n_added, k->far, k->n_far * sizeof(*k->far));
    k->n_gone += k->n_far;
    k->n_added += k->n_far;
    soft_work_sort(k, k->gone, k->n_gone);
    soft_work_sort(k, k->added, k->n_added);
}

static void put_adds(struct world *w, struct soft_viewer *v)
{
    const struct soft_work *k = w->sight.soft->work;

    if (v->hidden != v->hidden_told)
        batch_adds_hidden(w, k->added, k->n_added, v->hidden);
    else
        batch_adds(w, k->added, k->n_added);
    v->hidden_told = v->hidden;
}

void soft_tell(struct world *w, uint32_t viewer)
{
    struct soft *s = w->sight.soft;
    struct soft_work *k = s->work;
    struct soft_viewer *v = &s->viewers[viewer];
    const struct world_route *route = &w->routes[viewer];
    int64_t budget = budget_of(s, v);
    uint64_t bytes;

    if (budget > 0)
        choose_within(w, viewer, budget);
    join_far(k);
    if (k->n_gone + k->n_added + k->n_records + k->n_shared == 0 && v->hidden == v->hidden_told)
        return;
    outbox_begin(&w->outbox, route->link, route->sid);
    if (k->n_gone > 0)
        batch_removes(w, k->gone, k->n_gone);
    put_adds(w, v);
    bytes = (uint64_t)k->n_gone * 3 + (uint64_t)k->n_added * 64; /* about */
    bytes += put_records(w, viewer);
    outbox_end(&w->outbox);
    if (budget > 0)
        spend(v, budget, bytes);
}

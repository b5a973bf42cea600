/* tests/world/store_set.c: see the header. */
#include "tests/world/store_set.h"

#include "common/err.h"
#include "common/log.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE_NS (20 * CLOCK_NS_PER_S)
#define MANY        3000

static void on_answer(void *arg, const struct store_answer *a)
{
    struct store_run *r = arg;

    if (r->n < ARRAY_LEN(r->answers)) {
        r->data_n[r->n] = a->data.n;
        r->answers[r->n] = *a;
        r->answers[r->n].data = span_of(NULL, 0);
    }
    r->n++;
}

static void on_stored(void *arg, const struct store_settle *what)
{
    struct store_run *r = arg;

    cr_assert_lt(what->place, STORE_RUN_PLACES);
    cr_assert_eq(what->number, what->place + 7, "as it was given");
    r->told[what->place]++;
    r->n_told++;
}

void store_run_begin(struct store_run *r, const struct store_db_ops *db, void *db_arg,
                     int64_t delay_ns, uint32_t pending_max)
{
    struct store_worker_config c = {.db = db,
                                    .db_arg = db_arg,
                                    .pending_max = pending_max,
                                    .delay_ns = delay_ns,
                                    .answer = on_answer,
                                    .stored = on_stored,
                                    .arg = r};

    log_init("test", LOG_OFF, LOG_TEXT);
    memset(r, 0, sizeof(*r));
    cr_assert_eq(loop_create(&r->loop), 0);
    cr_assert_eq(store_worker_create(r->loop, &c, &r->worker), 0);
}

void store_run_end(struct store_run *r)
{
    store_worker_destroy(r->worker);
    loop_destroy(r->loop);
}

struct store_character store_character_of(const char *name, double x)
{
    struct store_character c = {.x = x, .y = -x, .dir = 0.5, .scene_len = 4};

    c.name_len = (uint8_t)strlen(name);
    memcpy(c.name, name, c.name_len);
    memcpy(c.scene, "open", 4);
    return c;
}

void store_run_save(struct store_run *r, const char *name, double x)
{
    store_run_save_as(r, name, x, (struct store_fence){0});
}

void store_run_save_as(struct store_run *r, const char *name, double x, struct store_fence fence)
{
    struct store_character c = store_character_of(name, x);
    struct mono until = clock_add(clock_mono(), PATIENCE_NS);

    c.fence = fence;
    while (store_worker_ops.save(r->worker, &c) != 0) {
        cr_assert_lt(clock_since(clock_mono(), until), 0, "the store takes nothing");
        loop_turn(r->loop, CLOCK_NS_PER_MS);
    }
}

const struct store_answer *store_run_load(struct store_run *r, const char *name)
{
    struct store_ticket ticket = {{1, 1}, r->n + 100};
    struct mono until = clock_add(clock_mono(), PATIENCE_NS);
    uint32_t before = r->n;

    cr_assert_eq(store_worker_ops.load(r->worker, ticket, span_text(name)), 0);
    while (r->n == before) {
        cr_assert_lt(clock_since(clock_mono(), until), 0, "no answer");
        loop_turn(r->loop, 10 * CLOCK_NS_PER_MS);
    }
    if (before >= ARRAY_LEN(r->answers))
        return NULL;
    cr_assert_eq(r->answers[before].ticket.number, ticket.number);
    return &r->answers[before];
}

void store_run_settle(struct store_run *r)
{
    struct mono until = clock_add(clock_mono(), PATIENCE_NS);

    store_worker_hurry(r->worker);
    while (!store_worker_settled(r->worker, NULL)) {
        cr_assert_lt(clock_since(clock_mono(), until), 0, "it does not settle");
        loop_turn(r->loop, 2 * CLOCK_NS_PER_MS);
    }
}

int store_run_ask_stored(struct store_run *r, uint32_t place, const char *name)
{
    struct store_settle what = {place, place + 7};

    return store_worker_ops.settle(r->worker, what, span_text(name));
}

void store_run_await_told(struct store_run *r, uint32_t n)
{
    struct mono until = clock_add(clock_mono(), PATIENCE_NS);

    while (r->n_told < n) {
        cr_assert_lt(clock_since(clock_mono(), until), 0, "told of %u of %u", r->n_told, n);
        loop_turn(r->loop, 10 * CLOCK_NS_PER_MS);
    }
    cr_assert_eq(r->n_told, n);
}

static void begin(struct store_run *r, const struct store_set *s)
{
    store_run_begin(r, s->db, s->open(s->arg), 0, 65536);
}

static void must_be(struct store_run *r, const char *name, double x)
{
    const struct store_answer *a = store_run_load(r, name);

    cr_assert_eq(a->result, STORE_FOUND, "%s", name);
    cr_assert(span_equal(span_of(a->character.name, a->character.name_len), span_text(name)));
    cr_assert(span_equal(span_of(a->character.scene, a->character.scene_len), span_text("open")));
    cr_assert_eq(a->character.x, x, "%s stands at %.17g", name, a->character.x);
    cr_assert_eq(a->character.y, -x);
    cr_assert_eq(a->character.dir, 0.5);
    cr_assert_gt(a->character.seen_s, 1600000000);
}

void store_set_keeps(const struct store_set *s)
{
    struct store_run r;

    begin(&r, s);
    cr_assert_eq(store_run_load(&r, "alpha")->result, STORE_UNKNOWN);
    store_run_save(&r, "alpha", 0.1);
    store_run_settle(&r);
    store_run_end(&r);
    begin(&r, s);
    must_be(&r, "alpha", 0.1);
    cr_assert_eq(store_run_load(&r, "Alpha")->result, STORE_UNKNOWN, "case counts");
    store_run_end(&r);
}

void store_set_last_wins(const struct store_set *s)
{
    struct edge_metrics m = {0};
    struct store_run r;

    begin(&r, s);
    for (int i = 1; i <= 500; i++) {
        store_run_save(&r, "alpha", i);
        if (i % 100 == 0)
            store_run_save(&r, "beta", i);
    }
    store_run_settle(&r);
    store_worker_gauges(r.worker, &m);
    cr_assert_eq(m.store_stored + m.store_coalesced, 505);
    cr_assert_gt(m.store_coalesced, 0);
    store_run_end(&r);
    begin(&r, s);
    must_be(&r, "alpha", 500);
    must_be(&r, "beta", 500);
    store_run_end(&r);
}

void store_set_load_behind(const struct store_set *s)
{
    struct store_run r;

    begin(&r, s);
    for (int i = 1; i <= 50; i++) {
        store_run_save(&r, "alpha", i);
        must_be(&r, "alpha", i);
    }
    store_run_end(&r);
}

void store_set_many(const struct store_set *s)
{
    struct edge_metrics m = {0};
    struct store_run r;
    char name[16];

    begin(&r, s);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        store_run_save(&r, name, i);
    }
    store_run_settle(&r);
    store_worker_gauges(r.worker, &m);
    cr_assert_eq(m.store_stored, MANY);
    cr_assert_geq(m.store_groups, MANY / STORE_GROUP);
    cr_assert_leq(m.store_groups, 60, "in groups");
    cr_assert_eq(m.store_pending, 0);
    store_run_end(&r);
    begin(&r, s);
    for (int i = 0; i < MANY; i += 100) {
        snprintf(name, sizeof(name), "n%d", i);
        must_be(&r, name, i);
    }
    store_run_end(&r);
}

void store_set_names(const struct store_set *s)
{
    static const char *const names[] = {
        "'; DROP TABLE character; --",      "\"", "%_",  "\xc3\x84\xe2\x82\xac",
        "01234567890123456789012345678901", " ",  "NULL"};
    struct store_run r;

    begin(&r, s);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        store_run_save(&r, names[i], (double)i);
    store_run_settle(&r);
    store_run_end(&r);
    begin(&r, s);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        must_be(&r, names[i], (double)i);
    store_run_end(&r);
}

/* Saves of one name, each behind the other's commit, and whether they are taken. */
static const struct {
    struct store_fence fence;
    bool taken;
} fences[] = {
    {{0, 0, 0}, true},  {{2, 5, 1}, true},  {{2, 5, 1}, true},          {{2, 5, 0}, false},
    {{2, 4, 9}, false}, {{1, 9, 9}, false}, {{0, 0, 0}, false},         {{2, 5, 2}, true},
    {{2, 6, 0}, true},  {{3, 0, 0}, true},  {{3, 0, 1ull << 62}, true}, {{2, 7, 7}, false},
};

void store_set_fence(const struct store_set *s)
{
    struct edge_metrics m = {0};
    struct store_run r;
    double stands = 0;
    uint64_t refused = 0;

    begin(&r, s);
    for (size_t i = 0; i < ARRAY_LEN(fences); i++) {
        store_run_save_as(&r, "alpha", (double)(i + 1), fences[i].fence);
        store_run_save(&r, "beta", (double)(i + 1)); /* beside it, in one group */
        store_run_settle(&r);
        refused += !fences[i].taken;
        stands = fences[i].taken ? (double)(i + 1) : stands;
        must_be(&r, "alpha", stands);
        must_be(&r, "beta", (double)(i + 1));
        store_worker_gauges(r.worker, &m);
        cr_assert_eq(m.store_refused, refused, "save %zu", i);
        cr_assert_eq(m.store_stored, 2 * (i + 1) - refused);
    }
    const struct store_answer *a = store_run_load(&r, "alpha");
    cr_assert_eq(a->character.fence.generation, 3);
    cr_assert_eq(a->character.fence.count, 1ull << 62);
    store_run_end(&r);
}

/* The worker is ended as soon as it has told, and what it had not stored by then would be lost. */
void store_set_stored(const struct store_set *s)
{
    struct store_run r;
    char name[16];

    begin(&r, s);
    cr_assert_eq(store_run_ask_stored(&r, 0, "nobody"), 0);
    cr_assert_eq(r.n_told, 0, "never from inside of the call");
    store_run_await_told(&r, 1);
    for (uint32_t i = 1; i <= MANY; i++) {
        snprintf(name, sizeof(name), "n%u", i);
        store_run_save(&r, name, i);
        cr_assert_eq(store_run_ask_stored(&r, i, name), 0);
    }
    store_run_await_told(&r, MANY + 1);
    store_run_end(&r);
    for (uint32_t i = 0; i <= MANY; i++)
        cr_assert_eq(r.told[i], 1, "n%u", i);
    begin(&r, s);
    for (uint32_t i = 1; i <= MANY; i += 100) {
        snprintf(name, sizeof(name), "n%u", i);
        must_be(&r, name, i);
    }
    store_run_save_as(&r, "n1", 9, (struct store_fence){2, 1, 0});
    cr_assert_eq(store_run_ask_stored(&r, 0, "n1"), 0);
    store_run_await_told(&r, 1);
    store_run_save_as(&r, "n1", 8, (struct store_fence){1, 5, 0});
    cr_assert_eq(store_run_ask_stored(&r, 1, "n1"), 0);
    store_run_await_told(&r, 2); /* refused is an end too */
    store_run_end(&r);
    begin(&r, s);
    must_be(&r, "n1", 9);
    store_run_end(&r);
}

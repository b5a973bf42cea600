/* tests/world/test_store_worker.c: the store's thread over a database of the test's own, which is
 * slow or fails as it is told.
 * May touch: tests/world/store_set.
 */
#include "common/err.h"
#include "tests/leak.h"
#include "tests/world/store_set.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define ROWS 4096

/* In memory, with transactions. */
struct ledger {
    struct store_character rows[ROWS], before[ROWS];
    uint32_t n, n_before;
    _Atomic int fails; /* at begin 1, save 2, commit 3; load 4 */
    _Atomic uint32_t groups, tried;
    enum store_trouble trouble;
    bool closed;
    struct store_refused refused; /* of the group at hand */
};

static int ledger_load(void *db, struct span name, struct store_character *out, uint8_t *data,
                       size_t *data_n)
{
    struct ledger *l = db;
    if (l->fails == 4)
        return E_IO;
    for (uint32_t i = 0; i < l->n; i++) {
        if (span_equal(span_of(l->rows[i].name, l->rows[i].name_len), name)) {
            *out = l->rows[i];
            memcpy(data, "game", 4);
            *data_n = 4;
            return 0;
        }
    }
    return E_MISSING;
}

static int ledger_begin(void *db)
{
    struct ledger *l = db;
    l->tried++;
    l->refused = (struct store_refused){0};
    memcpy(l->before, l->rows, sizeof(l->rows));
    l->n_before = l->n;
    return l->fails == 1 ? E_IO : 0;
}

static int ledger_save(void *db, const struct store_character *c)
{
    struct ledger *l = db;
    uint32_t i = 0;
    if (l->fails == 2)
        return E_IO;
    while (i < l->n && !span_equal(span_of(l->rows[i].name, l->rows[i].name_len),
                                   span_of(c->name, c->name_len)))
        i++;
    cr_assert_lt(i, ROWS);
    if (i < l->n && store_fence_below(&c->fence, &l->rows[i].fence)) {
        store_refused_add(&l->refused, c);
        return 0;
    }
    l->rows[i] = *c;
    l->n += i == l->n;
    return 0;
}

static int ledger_commit(void *db, struct store_refused *refused)
{
    struct ledger *l = db;
    *refused = l->refused;
    if (l->fails == 3)
        return E_IO;
    l->groups++;
    return 0;
}

static void ledger_rollback(void *db)
{
    struct ledger *l = db;
    memcpy(l->rows, l->before, sizeof(l->rows));
    l->n = l->n_before;
}

static enum store_trouble ledger_trouble(void *db, char why[STORE_WHY_MAX])
{
    struct ledger *l = db;
    snprintf(why, STORE_WHY_MAX, "as the test wants it");
    return l->trouble;
}

static void ledger_close(void *db)
{
    struct ledger *l = db;
    l->closed = true;
}

static const struct store_db_ops ledger_ops = {ledger_load,   ledger_begin,    ledger_save,
                                               ledger_commit, ledger_rollback, ledger_trouble,
                                               ledger_close};
static struct ledger ledger;

static void *open_ledger(void *arg)
{
    return arg;
}

static const struct store_set set = {&ledger_ops, open_ledger, &ledger};

Test(store_worker, the_set)
{
    store_set_keeps(&set);
    store_set_last_wins(&set);
    ledger.n = 0;
    store_set_load_behind(&set);
    ledger.n = 0;
    store_set_many(&set);
    ledger.n = 0;
    store_set_names(&set);
    ledger.n = 0;
    store_set_fence(&set);
    ledger.n = 0;
    store_set_stored(&set);
    cr_assert(ledger.closed);
    TEST_NO_LEAKS();
}

Test(store_worker, while_it_is_held_answers_wait_and_then_come_in_their_order)
{
    const struct store_ticket tickets[] = {{{1, 1}, 1}, {{1, 1}, 2}, {{1, 1}, 3}};
    struct mono until = clock_add(clock_mono(), 20 * CLOCK_NS_PER_S);
    struct store_run r;

    memset(&ledger, 0, sizeof(ledger));
    store_run_begin(&r, &ledger_ops, &ledger, 0, 65536);
    store_run_save(&r, "alpha", 1);
    store_run_settle(&r);
    store_worker_hold(r.worker, true);
    for (size_t i = 0; i < ARRAY_LEN(tickets); i++)
        cr_assert_eq(store_worker_ops.load(r.worker, tickets[i], span_text("alpha")), 0);
    for (int i = 0; i < 20; i++)
        loop_turn(r.loop, 10 * CLOCK_NS_PER_MS);
    cr_assert_eq(r.n, 0);
    store_worker_hold(r.worker, false);
    while (r.n < ARRAY_LEN(tickets)) {
        cr_assert_lt(clock_since(clock_mono(), until), 0, "no answers");
        loop_turn(r.loop, 10 * CLOCK_NS_PER_MS);
    }
    for (size_t i = 0; i < ARRAY_LEN(tickets); i++)
        cr_assert_eq(r.answers[i].ticket.number, tickets[i].number);
    store_run_end(&r);
    TEST_NO_LEAKS();
}

static void until_failing(struct store_run *r, bool want)
{
    char why[STORE_WHY_MAX];
    for (int i = 0; store_worker_trouble(r->worker, why) != want; i++) {
        cr_assert_lt(i, 2000, "it does not %s", want ? "fail" : "mend");
        loop_turn(r->loop, 10 * CLOCK_NS_PER_MS);
    }
    if (want)
        cr_assert_str_eq(why, "as the test wants it");
}

Test(store_worker, what_cannot_be_stored_stays_is_told_and_is_stored_when_it_can)
{
    struct edge_metrics m = {0};
    struct store_run r;
    for (int at = 1; at <= 3; at++) {
        memset(&ledger, 0, sizeof(ledger));
        ledger.trouble = STORE_FULL;
        store_run_begin(&r, &ledger_ops, &ledger, 0, 65536);
        ledger.fails = at;
        store_run_save(&r, "alpha", 1);
        store_run_save(&r, "beta", 1);
        until_failing(&r, true);
        store_run_save(&r, "alpha", 2);
        cr_assert_eq(store_run_load(&r, "alpha")->character.x, 2, "the newest, though not stored");
        cr_assert_eq(ledger.n, 0);
        ledger.fails = 0;
        until_failing(&r, false);
        store_run_settle(&r);
        cr_assert_eq(ledger.n, 2);
        cr_assert_eq(ledger.rows[0].x, 2);
        store_worker_gauges(r.worker, &m);
        cr_assert_geq(m.store_failed_full, 1);
        cr_assert_eq(m.store_failing, 0);
        store_run_end(&r);
    }
    TEST_NO_LEAKS();
}

Test(store_worker, while_it_fails_names_are_taken_up_to_the_bound_and_then_saves_are_refused)
{
    struct store_run r;
    struct edge_metrics m = {0};
    char name[16];
    uint32_t taken = 0;
    memset(&ledger, 0, sizeof(ledger));
    ledger.fails = 1;
    store_run_begin(&r, &ledger_ops, &ledger, 0, 100);
    for (; taken < 3 * STORE_REQUESTS; taken++) {
        snprintf(name, sizeof(name), "n%u", taken % 1000);
        struct store_character c = store_character_of(name, 1);
        if (store_worker_ops.save(r.worker, &c) != 0)
            break;
    }
    cr_assert_lt(taken, 3 * STORE_REQUESTS, "there is a bound");
    cr_assert_geq(taken, STORE_REQUESTS);
    store_worker_gauges(r.worker, &m);
    cr_assert_geq(m.store_full, 1);
    cr_assert_eq(m.store_pending, 100);
    ledger.fails = 0;
    store_run_settle(&r);
    cr_assert_eq(ledger.n, 1000);
    store_run_end(&r);
    TEST_NO_LEAKS();
}

Test(store_worker, a_load_that_fails_says_so_and_one_behind_a_save_does_not_need_the_database)
{
    struct store_run r;
    memset(&ledger, 0, sizeof(ledger));
    ledger.fails = 4;
    store_run_begin(&r, &ledger_ops, &ledger, 0, 100);
    cr_assert_eq(store_run_load(&r, "alpha")->result, STORE_FAILED);
    ledger.fails = 0;
    cr_assert_eq(store_run_load(&r, "alpha")->result, STORE_UNKNOWN);
    store_run_save(&r, "alpha", 3);
    store_run_settle(&r);
    cr_assert_eq(store_run_load(&r, "alpha")->character.x, 3);
    cr_assert_eq(r.data_n[r.n - 1], 4, "the game's data came along");
    store_run_end(&r);
    TEST_NO_LEAKS();
}

Test(store_worker, a_slow_database_gets_few_large_groups)
{
    struct store_run r;
    char name[16];
    memset(&ledger, 0, sizeof(ledger));
    store_run_begin(&r, &ledger_ops, &ledger, 20 * CLOCK_NS_PER_MS, 65536);
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        store_run_save(&r, name, i);
    }
    store_run_settle(&r);
    cr_assert_eq(ledger.n, 2000);
    cr_assert_leq(ledger.groups, 40);
    store_run_end(&r);
    TEST_NO_LEAKS();
}

Test(store_worker, ending_it_with_answers_under_way_leaks_nothing)
{
    struct store_run r;
    memset(&ledger, 0, sizeof(ledger));
    store_run_begin(&r, &ledger_ops, &ledger, 0, 100);
    store_run_save(&r, "alpha", 3);
    store_run_settle(&r);
    for (uint32_t i = 0; i < 32; i++)
        cr_assert_eq(
            store_worker_ops.load(r.worker, (struct store_ticket){{0}, i}, span_text("alpha")), 0);
    store_run_end(&r);
    TEST_NO_LEAKS();
}

Test(store_worker, so_many_loads_may_be_open_and_no_more)
{
    struct store_run r;
    uint32_t asked = 0;
    memset(&ledger, 0, sizeof(ledger));
    store_run_begin(&r, &ledger_ops, &ledger, 0, 100);
    while (asked < STORE_ANSWERS) /* the ring may be full for a moment */
        asked += store_worker_ops.load(r.worker, (struct store_ticket){{0}, asked},
                                       span_text("alpha")) == 0;
    cr_assert_eq(store_worker_ops.load(r.worker, (struct store_ticket){{0}, 0}, span_text("beta")),
                 E_FULL);
    for (int i = 0; r.n < STORE_ANSWERS; i++) {
        uint32_t before = r.n;
        cr_assert_lt(i, 20000, "not all are answered");
        loop_turn(r.loop, 10 * CLOCK_NS_PER_MS);
        cr_assert_leq(r.n - before, 1024, "a tick may run between handfuls");
    }
    cr_assert_null(store_run_load(&r, "beta"));
    cr_assert_eq(r.n, STORE_ANSWERS + 1, "it is answered again");
    store_run_end(&r);
    TEST_NO_LEAKS();
}

Test(store_worker, a_save_is_told_as_stored_when_it_is_and_not_while_the_database_is_away)
{
    struct store_run r;
    memset(&ledger, 0, sizeof(ledger));
    ledger.fails = 3;
    store_run_begin(&r, &ledger_ops, &ledger, 0, 100);
    store_run_save(&r, "alpha", 1);
    cr_assert_eq(store_run_ask_stored(&r, 1, "alpha"), 0);
    cr_assert_eq(store_run_ask_stored(&r, 2, "beta"), 0);
    until_failing(&r, true);
    store_run_await_told(&r, 1);
    cr_assert_eq(r.told[2], 1, "of beta nothing waits");
    store_run_save(&r, "alpha", 2);
    cr_assert_eq(store_run_ask_stored(&r, 3, "alpha"), 0);
    for (uint32_t tried = ledger.tried; ledger.tried == tried;)
        loop_turn(r.loop, 10 * CLOCK_NS_PER_MS);
    cr_assert_eq(r.n_told, 1);
    cr_assert(!store_worker_settled(r.worker, NULL));
    ledger.fails = 0;
    store_run_await_told(&r, 3);
    cr_assert_eq(ledger.rows[0].x, 2);
    cr_assert_eq(r.told[1] + r.told[3], 2);
    store_run_end(&r);
    TEST_NO_LEAKS();
}

Test(store_worker, a_save_behind_the_question_is_not_waited_for)
{
    struct store_run r;
    uint32_t settled = 0;
    memset(&ledger, 0, sizeof(ledger));
    store_run_begin(&r, &ledger_ops, &ledger, 0, 100);
    for (uint32_t i = 0; i < 200; i++) { /* one name, always about to be stored */
        store_run_save(&r, "alpha", i);
        cr_assert_eq(store_run_ask_stored(&r, i, "alpha"), 0);
        loop_turn(r.loop, 2 * CLOCK_NS_PER_MS);
        settled = r.n_told > settled ? r.n_told : settled;
    }
    cr_assert_gt(settled, 0, "the first ones do not wait for the last");
    store_run_await_told(&r, 200);
    store_run_end(&r);
    TEST_NO_LEAKS();
}

Test(store_worker, so_many_may_ask_whether_they_are_stored_and_no_more)
{
    struct store_run r;
    uint32_t asked = 0;
    memset(&ledger, 0, sizeof(ledger));
    ledger.fails = 1;
    store_run_begin(&r, &ledger_ops, &ledger, 0, 100);
    store_run_save(&r, "alpha", 1);
    while (asked < STORE_SETTLES) /* the ring may be full for a moment */
        asked += store_run_ask_stored(&r, asked % STORE_RUN_PLACES, "alpha") == 0;
    cr_assert_eq(store_run_ask_stored(&r, 0, "alpha"), E_FULL);
    cr_assert_eq(store_run_ask_stored(&r, 0, "beta"), E_FULL);
    cr_assert_eq(store_run_load(&r, "alpha")->result, STORE_FOUND,
                 "loads have places of their own");
    ledger.fails = 0;
    for (int i = 0; r.n_told < STORE_SETTLES; i++) {
        uint32_t before = r.n_told;
        cr_assert_lt(i, 20000, "not all are told");
        loop_turn(r.loop, 10 * CLOCK_NS_PER_MS);
        cr_assert_leq(r.n_told - before, 1024, "a tick may run between handfuls");
    }
    cr_assert_eq(store_run_ask_stored(&r, 0, "beta"), 0);
    store_run_await_told(&r, STORE_SETTLES + 1);
    store_run_end(&r);
    TEST_NO_LEAKS();
}

Test(store_worker, ending_it_while_somebody_waits_to_be_told_leaks_nothing)
{
    struct store_run r;
    memset(&ledger, 0, sizeof(ledger));
    ledger.fails = 1;
    store_run_begin(&r, &ledger_ops, &ledger, 0, 100);
    store_run_save(&r, "alpha", 3);
    for (uint32_t i = 0; i < 32; i++)
        cr_assert_eq(store_run_ask_stored(&r, i, i % 2 == 0 ? "alpha" : "beta"), 0);
    until_failing(&r, true);
    store_run_end(&r);
    TEST_NO_LEAKS();
}

/* tests/world/test_lease.c: when a lease is held, how long, and what its owner makes of answers.
 * May touch: world/cluster/lease.
 */
#include "world/cluster/lease.h"

#include "tests/leak.h"

#include <string.h>

#define MS    CLOCK_NS_PER_MS
#define LEASE (1000 * MS)
#define GUARD (100 * MS)
#define RENEW (250 * MS)

struct desk {
    struct lease l;
    struct kv_queue q;
    struct mono now;
};

static void open_desk(struct desk *d)
{
    struct lease_config c = {.world = span_text("w1"),
                             .address = span_text("here"),
                             .nonce = 7,
                             .lease_ns = LEASE,
                             .guard_ns = GUARD,
                             .renew_ns = RENEW};

    memset(d, 0, sizeof(*d));
    d->now = (struct mono){5000 * CLOCK_NS_PER_S};
    cr_assert_eq(kv_queue_init(&d->q), 0);
    cr_assert_eq(lease_init(&d->l, &c), 0);
    lease_generation(&d->l, 3, d->now);
    d->l.synced = true;
}

static void close_desk(struct desk *d)
{
    lease_fini(&d->l);
    kv_queue_fini(&d->q);
    TEST_NO_LEAKS();
}

static void pass(struct desk *d, int64_t ms)
{
    d->now = clock_add(d->now, ms * MS);
}

/* The one command that a turn leaves. */
static struct kv_command turn(struct desk *d, enum kv_op op)
{
    struct kv_command c = {.op = KV_GET}, more;

    lease_turn(&d->l, &d->q, d->now);
    cr_assert(kv_queue_next(&d->q, &c));
    cr_assert_eq(c.op, op);
    cr_assert(!kv_queue_next(&d->q, &more));
    return c;
}

static bool quiet(struct desk *d)
{
    lease_turn(&d->l, &d->q, d->now);
    return d->q.count == 0;
}

static bool answer(struct desk *d, const struct kv_command *c, enum kv_outcome outcome,
                   uint64_t revision, const struct claim *value)
{
    struct kv_result r = {.command = *c, .outcome = outcome, .revision = revision};

    if (value)
        r.value = *value;
    return lease_result(&d->l, &r, d->now);
}

/* Held from revision 11 on, sent now. */
static void hold(struct desk *d)
{
    struct kv_command c = turn(d, KV_GET);

    answer(d, &c, KV_MISSING, 0, NULL);
    c = turn(d, KV_CREATE);
    cr_assert_eq(c.value.state, CLAIM_HELD);
    cr_assert_eq(c.value.epoch, 0);
    answer(d, &c, KV_DONE, 11, NULL);
    cr_assert_eq(d->l.epoch, 11);
}

Test(lease, it_counts_from_the_sending_not_from_the_answer)
{
    struct desk d;
    struct kv_command c;

    open_desk(&d);
    c = turn(&d, KV_GET);
    answer(&d, &c, KV_MISSING, 0, NULL);
    c = turn(&d, KV_CREATE);
    pass(&d, 400);
    answer(&d, &c, KV_DONE, 11, NULL);
    cr_assert(lease_may_act(&d.l, clock_add(d.now, 600 * MS - 1)));
    cr_assert(!lease_may_act(&d.l, clock_add(d.now, 600 * MS)));
    close_desk(&d);
}

Test(lease, a_renewal_is_conditional_and_carries_the_epoch)
{
    struct desk d;
    struct kv_command c;

    open_desk(&d);
    hold(&d);
    pass(&d, 249);
    cr_assert(quiet(&d));
    pass(&d, 1);
    c = turn(&d, KV_UPDATE);
    cr_assert_eq(c.revision, 11);
    cr_assert_eq(c.value.epoch, 11);
    answer(&d, &c, KV_DONE, 15, NULL);
    cr_assert_eq(d.l.epoch, 11);
    pass(&d, 250);
    c = turn(&d, KV_UPDATE);
    cr_assert_eq(c.revision, 15);
    close_desk(&d);
}

Test(lease, an_unknown_outcome_is_read_and_gives_no_time)
{
    struct desk d;
    struct kv_command c;
    struct claim v;

    open_desk(&d);
    hold(&d);
    pass(&d, 900);
    c = turn(&d, KV_UPDATE);
    v = c.value;
    answer(&d, &c, KV_UNKNOWN, 0, NULL);
    pass(&d, 60);
    c = turn(&d, KV_GET);
    cr_assert(!answer(&d, &c, KV_DONE, 19, &v)); /* it was done */
    pass(&d, 40);
    cr_assert(!lease_may_act(&d.l, d.now)); /* and counts for nothing */
    c = turn(&d, KV_UPDATE);
    cr_assert_eq(c.revision, 19);
    answer(&d, &c, KV_DONE, 20, NULL);
    cr_assert(lease_may_act(&d.l, d.now)); /* in the same epoch */
    cr_assert_eq(d.l.epoch, 11);
    close_desk(&d);
}

Test(lease, a_buried_owner_learns_that_its_epoch_is_over)
{
    struct desk d;
    struct kv_command c;
    struct claim v = {.state = CLAIM_BURIED, .epoch = 11, .nonce = 7};

    open_desk(&d);
    hold(&d);
    pass(&d, 2000);
    c = turn(&d, KV_UPDATE);
    cr_assert(!answer(&d, &c, KV_LOST, 0, NULL));
    c = turn(&d, KV_GET);
    cr_assert(answer(&d, &c, KV_DONE, 30, &v));
    cr_assert_eq(d.l.epoch, 0);
    cr_assert_eq(d.l.state, LEASE_ASKING);
    c = turn(&d, KV_UPDATE);
    cr_assert_eq(c.revision, 30);
    cr_assert_eq(c.value.epoch, 0);
    answer(&d, &c, KV_DONE, 31, NULL);
    cr_assert_eq(d.l.epoch, 31);
    close_desk(&d);
}

Test(lease, an_answer_to_what_was_given_up_is_not_listened_to)
{
    struct desk d;
    struct kv_command old, c;

    open_desk(&d);
    hold(&d);
    pass(&d, 250);
    old = turn(&d, KV_UPDATE);
    answer(&d, &old, KV_UNKNOWN, 0, NULL);
    pass(&d, 60);
    c = turn(&d, KV_GET);
    answer(&d, &old, KV_DONE, 19, NULL);
    cr_assert_eq(clock_since(d.l.until, d.now), LEASE - 310 * MS);
    answer(&d, &c, KV_MISSING, 0, NULL); /* wiped */
    cr_assert_eq(d.l.epoch, 0);
    close_desk(&d);
}

static void entry(struct desk *d, const char *world, uint64_t revision, enum claim_state state,
                  uint64_t epoch, uint64_t nonce)
{
    struct kv_entry e = {
        .key = {.room = KV_WORLD, .generation = 3, .name = claim_name_of(span_text(world))},
        .revision = revision,
        .value = {.state = state,
                  .world = claim_name_of(span_text(world)),
                  .epoch = epoch,
                  .nonce = nonce}};

    claim_set_text(&e.value, span_text("there"));
    lease_entry(&d->l, &e, d->now);
}

Test(lease, who_was_silent_for_lease_and_guard_is_buried_at_the_revision_seen)
{
    struct desk d;
    struct kv_command c;
    struct claim_name w2 = claim_name_of(span_text("w2"));

    open_desk(&d);
    hold(&d);
    entry(&d, "w2", 12, CLAIM_HELD, 0, 9);
    cr_assert(lease_find(&d.l, &w2));
    pass(&d, 240);
    entry(&d, "w2", 13, CLAIM_HELD, 12, 9);
    for (int i = 0; i < 4; i++) {
        pass(&d, 250);
        c = turn(&d, KV_UPDATE);
        cr_assert_eq(c.key.name.p[1], '1');
        answer(&d, &c, KV_DONE, 20 + (uint64_t)i, NULL);
    }
    pass(&d, 99);
    cr_assert(quiet(&d)); /* 1099 ms after it was seen */
    pass(&d, 1);
    c = turn(&d, KV_UPDATE);
    cr_assert_eq(c.key.name.p[1], '2');
    cr_assert_eq(c.revision, 13);
    cr_assert_eq(c.value.state, CLAIM_BURIED);
    cr_assert_eq(c.value.epoch, 12);
    cr_assert(!lease_is_over(&d.l, &w2, 12));
    answer(&d, &c, KV_DONE, 30, NULL);
    cr_assert(lease_is_over(&d.l, &w2, 12));
    cr_assert(!lease_is_over(&d.l, &w2, 31));
    cr_assert_null(lease_find(&d.l, &w2));
    close_desk(&d);
}

Test(lease, after_a_lost_connection_all_get_a_whole_lease_to_renew)
{
    struct desk d;
    struct kv_command c;

    open_desk(&d);
    hold(&d);
    entry(&d, "w2", 12, CLAIM_HELD, 0, 9);
    pass(&d, 5000);
    lease_follow(&d.l, d.now);
    entry(&d, "w2", 12, CLAIM_HELD, 0, 9);
    lease_followed(&d.l, d.now);
    c = turn(&d, KV_GET);
    answer(&d, &c, KV_UNKNOWN, 0, NULL);
    pass(&d, 1000);
    lease_turn(&d.l, &d.q, d.now);
    while (kv_queue_next(&d.q, &c))
        cr_assert_eq(c.key.name.p[1], '1', "the other is buried too soon");
    close_desk(&d);
}

Test(lease, a_foreign_world_under_the_own_id_is_waited_for_and_refuses_us_if_it_renews)
{
    struct desk d;
    struct kv_command c;
    struct claim v = {.state = CLAIM_HELD, .world = claim_name_of(span_text("w1")), .nonce = 9};

    open_desk(&d);
    claim_set_text(&v, span_text("there"));
    c = turn(&d, KV_GET);
    answer(&d, &c, KV_DONE, 5, &v);
    cr_assert(quiet(&d));
    c = turn(&d, KV_GET);
    pass(&d, 250);
    answer(&d, &c, KV_DONE, 6, &v);
    cr_assert(quiet(&d));
    cr_assert_eq(d.l.state, LEASE_REFUSED);
    cr_assert_str_eq(d.l.why, "another world of the id \"w1\" lives, at there");
    close_desk(&d);
}

Test(lease, who_quits_does_not_act_from_the_sending_on)
{
    struct desk d;
    struct kv_command c;

    open_desk(&d);
    hold(&d);
    lease_quit(&d.l);
    cr_assert(lease_may_act(&d.l, d.now));
    c = turn(&d, KV_UPDATE);
    cr_assert_eq(c.value.state, CLAIM_BURIED);
    cr_assert_eq(c.value.epoch, 11);
    cr_assert(!lease_may_act(&d.l, d.now));
    cr_assert(answer(&d, &c, KV_DONE, 12, NULL));
    cr_assert_eq(d.l.state, LEASE_QUIT);
    cr_assert(quiet(&d));
    close_desk(&d);
}

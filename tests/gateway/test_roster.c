/* tests/gateway/test_roster.c: which worlds a gateway believes in, from keys alone. */
#include "gateway/roster.h"

#include "common/err.h"
#include "proto/kv_key.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define GEN 0x0123456789abcdefULL

static struct {
    struct roster r;
    struct mono now;
    uint64_t revision;
} t;

static void setup(void)
{
    memset(&t, 0, sizeof(t));
    t.now = (struct mono){CLOCK_NS_PER_S};
    roster_follow(&t.r, t.now);
    roster_followed(&t.r, t.now);
}

TestSuite(roster, .init = setup);

static struct claim held(const char *id, const char *addr)
{
    struct claim c = {
        .state = CLAIM_HELD, .world = claim_name_of(span_text(id)), .nonce = 7, .load = 1};

    claim_set_text(&c, span_text(addr));
    return c;
}

static struct span key_of(uint64_t generation, const char *id, char out[KV_TEXT_MAX + 1])
{
    struct kv_key k = {
        .room = KV_WORLD, .generation = generation, .name = claim_name_of(span_text(id))};

    return span_of(out, kv_key_write(&k, out));
}

static int tell_in(uint64_t generation, const char *id, const struct claim *c, uint64_t revision)
{
    char key[KV_TEXT_MAX + 1], value[CLAIM_BYTES_MAX];
    size_t n = c->state == CLAIM_NONE ? 0 : claim_write(c, value);

    return roster_entry(&t.r, key_of(generation, id, key), span_of(value, n), revision,
                        c->state == CLAIM_NONE, t.now);
}

static int tell(const char *id, const struct claim *c)
{
    return tell_in(GEN, id, c, ++t.revision);
}

static void lives(const char *id, const char *addr)
{
    struct claim c = held(id, addr);

    cr_assert_eq(tell(id, &c), 0);
}

static const struct roster_world *there(const char *id)
{
    struct claim_name name = claim_name_of(span_text(id));

    return roster_find(&t.r, &name);
}

static void pass(int64_t ns)
{
    t.now = clock_add(t.now, ns);
    roster_turn(&t.r, t.now);
}

Test(roster, a_held_key_is_a_world_at_its_address)
{
    lives("w1", "127.0.0.1:19002");
    lives("w2", "[::1]:5");
    cr_assert_eq(t.r.n, 2);
    cr_assert_str_eq(there("w1")->addr, "127.0.0.1:19002");
    cr_assert_str_eq(there("w2")->addr, "[::1]:5");
    cr_assert(!roster_spared(there("w1")));
    cr_assert_eq(t.r.generation, GEN);
}

Test(roster, a_renewal_that_says_the_same_changes_nothing)
{
    lives("w1", "127.0.0.1:19002");
    const uint64_t version = t.r.version;
    for (uint32_t i = 0; i < 1000; i++) {
        pass(CLOCK_NS_PER_S);
        lives("w1", "127.0.0.1:19002");
    }
    cr_assert_eq(t.r.version, version);
    cr_assert_eq(t.r.n, 1);
}

Test(roster, a_key_that_is_buried_free_or_deleted_is_a_world_no_more)
{
    static const enum claim_state ends[] = {CLAIM_BURIED, CLAIM_FREE, CLAIM_CLOSED, CLAIM_OPEN,
                                            CLAIM_NONE};

    for (uint32_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct claim c = held("w1", "127.0.0.1:19002");

        lives("w1", "127.0.0.1:19002");
        lives("w2", "127.0.0.1:19003");
        const uint64_t version = t.r.version;
        c.state = ends[i];
        cr_assert_eq(tell("w1", &c), 0);
        cr_assert_null(there("w1"));
        cr_assert_not_null(there("w2"));
        cr_assert_gt(t.r.version, version);
    }
}

Test(roster, one_that_was_buried_comes_again)
{
    struct claim c = held("w1", "127.0.0.1:19002");

    lives("w1", "127.0.0.1:19002");
    c.state = CLAIM_BURIED;
    cr_assert_eq(tell("w1", &c), 0);
    lives("w1", "127.0.0.1:19002");
    cr_assert_not_null(there("w1"));
}

Test(roster, a_world_that_drains_is_spared)
{
    struct claim c = held("w1", "127.0.0.1:19002");

    lives("w1", "127.0.0.1:19002");
    const uint64_t version = t.r.version;
    c.draining = true;
    cr_assert_eq(tell("w1", &c), 0);
    cr_assert(roster_spared(there("w1")));
    cr_assert_gt(t.r.version, version);
    lives("w1", "127.0.0.1:19002");
    cr_assert(!roster_spared(there("w1")));
}

Test(roster, another_address_or_process_is_news)
{
    struct claim c = held("w1", "127.0.0.1:4");

    lives("w1", "127.0.0.1:3");
    uint64_t version = t.r.version;
    cr_assert_eq(tell("w1", &c), 0);
    cr_assert_str_eq(there("w1")->addr, "127.0.0.1:4");
    cr_assert_gt(t.r.version, version);
    version = t.r.version;
    c.nonce = 8;
    cr_assert_eq(tell("w1", &c), 0);
    cr_assert_eq(there("w1")->nonce, 8);
    cr_assert_gt(t.r.version, version);
}

Test(roster, one_that_is_never_renewed_goes_in_the_end)
{
    lives("w1", "127.0.0.1:19002");
    pass(ROSTER_SILENCE_NS - 1);
    cr_assert_not_null(there("w1"));
    pass(1);
    cr_assert_null(there("w1"));
}

Test(roster, one_that_renewed_often_goes_sooner_and_one_that_did_so_rarely_later)
{
    const int64_t often = CLOCK_NS_PER_S, rarely = 20 * CLOCK_NS_PER_S;

    lives("w1", "127.0.0.1:1");
    pass(often);
    lives("w1", "127.0.0.1:1");
    pass(ROSTER_SILENCE_MIN_NS - 1);
    cr_assert_not_null(there("w1"));
    pass(1);
    cr_assert_null(there("w1"));
    lives("w2", "127.0.0.1:1");
    pass(rarely);
    lives("w2", "127.0.0.1:1");
    pass(ROSTER_GAPS * rarely - 1);
    cr_assert_not_null(there("w2"));
    pass(1);
    cr_assert_null(there("w2"));
}

Test(roster, the_same_revision_told_again_is_no_renewal)
{
    struct claim c = held("w1", "127.0.0.1:1");

    lives("w1", "127.0.0.1:1");
    pass(CLOCK_NS_PER_S);
    lives("w1", "127.0.0.1:1");
    for (int i = 0; i < 59; i++) {
        pass(CLOCK_NS_PER_S);
        cr_assert_eq(tell_in(GEN, "w1", &c, t.revision), 0);
        cr_assert_not_null(there("w1"));
    }
    pass(CLOCK_NS_PER_S);
    cr_assert_null(there("w1"));
}

Test(roster, while_the_store_is_away_nothing_ages)
{
    struct claim c = held("w1", "127.0.0.1:1");

    lives("w1", "127.0.0.1:1");
    pass(CLOCK_NS_PER_S);
    lives("w1", "127.0.0.1:1");
    const uint64_t version = t.r.version;
    roster_away(&t.r);
    pass(10 * ROSTER_SILENCE_NS);
    cr_assert_not_null(there("w1"));
    roster_follow(&t.r, t.now);
    cr_assert_eq(tell_in(GEN, "w1", &c, t.revision), 0);
    roster_followed(&t.r, t.now);
    cr_assert_eq(t.r.version, version);
    pass(ROSTER_SILENCE_MIN_NS - 1);
    cr_assert_not_null(there("w1"), "it has its whole time again");
    pass(1);
    cr_assert_null(there("w1"));
}

Test(roster, one_whom_the_store_has_no_more_is_in_doubt_and_then_goes)
{
    struct claim c = held("w1", "127.0.0.1:1");

    lives("w1", "127.0.0.1:1");
    lives("w2", "127.0.0.1:2");
    roster_follow(&t.r, t.now);
    cr_assert_eq(tell("w1", &c), 0);
    roster_followed(&t.r, t.now);
    cr_assert(!roster_spared(there("w1")));
    cr_assert(roster_spared(there("w2")));
    pass(ROSTER_DOUBT_NS / 2);
    roster_follow(&t.r, t.now); /* asked again, it is not asked to wait longer */
    cr_assert_eq(tell("w1", &c), 0);
    roster_followed(&t.r, t.now);
    pass(ROSTER_DOUBT_NS / 2);
    cr_assert_null(there("w2"));
    cr_assert_not_null(there("w1"));
}

Test(roster, one_in_doubt_is_believed_when_it_is_told_of)
{
    lives("w1", "127.0.0.1:1");
    roster_follow(&t.r, t.now);
    roster_followed(&t.r, t.now);
    cr_assert(roster_spared(there("w1")));
    lives("w1", "127.0.0.1:1");
    cr_assert(!roster_spared(there("w1")));
    pass(ROSTER_SILENCE_MIN_NS - 1);
    cr_assert_not_null(there("w1"));
}

Test(roster, a_newer_generation_puts_all_in_doubt_who_are_not_of_it_yet)
{
    struct claim c = held("w1", "127.0.0.1:1");

    lives("w1", "127.0.0.1:1");
    lives("w2", "127.0.0.1:2");
    cr_assert_eq(tell_in(GEN + 1, "w1", &c, 1), 0);
    cr_assert_eq(t.r.generation, GEN + 1);
    cr_assert(!roster_spared(there("w1")));
    cr_assert(roster_spared(there("w2")));
    lives("w2", "127.0.0.1:2"); /* late, of the one before */
    cr_assert(roster_spared(there("w2")));
    pass(ROSTER_DOUBT_NS);
    cr_assert_null(there("w2"));
    cr_assert_not_null(there("w1"));
    lives("w2", "127.0.0.1:2");
    cr_assert_null(there("w2"));
    c = held("w2", "127.0.0.1:2");
    cr_assert_eq(tell_in(GEN + 1, "w2", &c, 2), 0);
    cr_assert(!roster_spared(there("w2")));
}

Test(roster, the_end_of_a_key_of_before_is_no_end_now)
{
    struct claim c = held("w1", "127.0.0.1:1");

    cr_assert_eq(tell_in(GEN + 1, "w1", &c, 1), 0);
    c.state = CLAIM_BURIED;
    cr_assert_eq(tell_in(GEN, "w1", &c, 2), 0);
    cr_assert_not_null(there("w1"));
}

Test(roster, a_generation_in_which_nobody_lives_puts_nobody_in_doubt)
{
    struct claim c = held("w2", "127.0.0.1:1");

    lives("w1", "127.0.0.1:1");
    c.state = CLAIM_BURIED;
    cr_assert_eq(tell_in(GEN + 1, "w2", &c, 1), 0);
    cr_assert_eq(t.r.generation, GEN);
    cr_assert(!roster_spared(there("w1")));
}

Test(roster, one_world_too_many_waits_until_another_went)
{
    struct claim c;
    char id[16];

    for (uint32_t i = 0; i < ROSTER_MAX; i++) {
        char addr[32];

        snprintf(id, sizeof(id), "w%u", i);
        snprintf(addr, sizeof(addr), "127.0.0.1:%u", i + 1);
        lives(id, addr);
    }
    c = held("late", "127.0.0.1:999");
    cr_assert_eq(tell("late", &c), E_FULL);
    cr_assert_null(there("late"));
    c = held("w3", "127.0.0.1:4");
    c.state = CLAIM_BURIED;
    cr_assert_eq(tell("w3", &c), 0);
    lives("late", "127.0.0.1:999");
    cr_assert_not_null(there("late"));
}

Test(roster, what_is_no_claim_of_a_world_is_refused_and_changes_nothing)
{
    static const char *const addresses[] = {
        "",   "nowhere", "127.0.0.1", "127.0.0.1:0",    "127.0.0.1:x",
        ":1", "a b:1",   "::1:5",     "127.0.0.1:65536"};
    char key[KV_TEXT_MAX + 1];
    struct claim c;

    lives("w1", "127.0.0.1:1");
    const struct roster before = t.r;
    for (uint32_t i = 0; i < ARRAY_LEN(addresses); i++) {
        c = held("w1", addresses[i]);
        cr_assert_eq(tell("w1", &c), E_BAD, "%s", addresses[i]);
    }
    c = held("w2", "127.0.0.1:1");
    cr_assert_eq(tell("w1", &c), E_BAD, "the claim of another");
    c = held("w 1", "127.0.0.1:1");
    c.world.p[1] = '\n';
    cr_assert_eq(tell("w\n1", &c), E_BAD, "no id that a world may have");
    cr_assert_eq(tell_in(0, "w1", &c, 9), E_BAD, "no generation");
    cr_assert_eq(roster_entry(&t.r, span_text("gen"), span_text(""), 1, true, t.now), E_BAD);
    cr_assert_eq(
        roster_entry(&t.r, span_text("0123456789abcdef.zone.1"), span_text(""), 1, true, t.now),
        E_BAD);
    cr_assert_eq(roster_entry(&t.r, key_of(GEN, "w1", key), span_text("held"), 1, false, t.now),
                 E_BAD);
    cr_assert_eq(memcmp(&t.r, &before, sizeof(before)), 0);
}

Test(roster, no_edit_of_a_key_or_value_breaks_it)
{
    char key[KV_TEXT_MAX + 1], value[CLAIM_BYTES_MAX];
    struct claim c = held("w1", "127.0.0.1:1");
    const struct span k = key_of(GEN, "w1", key);
    const size_t n = claim_write(&c, value);

    for (size_t at = 0; at < n + k.n; at++) {
        char *byte = at < n ? &value[at] : &key[at - n];
        const char was = *byte;

        for (int v = 0; v < 256; v++) {
            *byte = (char)v;
            const int err = roster_entry(&t.r, k, span_of(value, n), ++t.revision, false, t.now);
            cr_assert(err == 0 || err == E_BAD || err == E_FULL || err == E_ADDR);
            cr_assert_leq(t.r.n, ROSTER_MAX);
            for (uint32_t i = 0; i < t.r.n; i++)
                cr_assert_neq(memchr(t.r.worlds[i].addr, ':', CLAIM_TEXT_MAX), NULL);
        }
        *byte = was;
    }
}

Test(roster, of_two_worlds_at_one_address_the_later_one_is_there)
{
    struct claim early = held("w1", "127.0.0.1:1"), late = held("w2", "127.0.0.1:1");

    early.epoch = 5;
    late.epoch = 9;
    cr_assert_eq(tell("w1", &early), 0);
    lives("w0", "127.0.0.1:7");
    cr_assert_eq(tell("w2", &late), 0);
    cr_assert_null(there("w1"));
    cr_assert_not_null(there("w2"));
    cr_assert_eq(tell("w1", &early), E_ADDR);
    cr_assert_null(there("w1"));
    cr_assert_eq(t.r.n, 2);
    late.state = CLAIM_BURIED;
    cr_assert_eq(tell("w2", &late), 0);
    cr_assert_eq(tell("w1", &early), 0);
    cr_assert_not_null(there("w1"));
}

Test(roster, one_that_moves_to_the_address_of_a_later_one_is_there_no_more)
{
    struct claim early = held("w1", "127.0.0.1:1"), late = held("w2", "127.0.0.1:2");

    early.epoch = 5;
    late.epoch = 9;
    cr_assert_eq(tell("w1", &early), 0);
    cr_assert_eq(tell("w2", &late), 0);
    claim_set_text(&early, span_text("127.0.0.1:2"));
    cr_assert_eq(tell("w1", &early), E_ADDR);
    cr_assert_null(there("w1"));
    cr_assert_not_null(there("w2"));
}

Test(roster, in_another_generation_an_epoch_of_before_counts_for_nothing)
{
    struct claim before = held("w1", "127.0.0.1:1"), now = held("w2", "127.0.0.1:1");

    before.epoch = 900;
    cr_assert_eq(tell("w1", &before), 0);
    now.epoch = 3;
    cr_assert_eq(tell_in(GEN + 1, "w2", &now, 3), 0);
    cr_assert_null(there("w1"));
    cr_assert_not_null(there("w2"));
}

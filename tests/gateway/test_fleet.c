/* tests/gateway/test_fleet.c: links that keep to a roster, with real sockets. */
#include "gateway/fleet.h"

#include "common/err.h"
#include "tests/gateway/fake.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct {
    struct fake_crowd f;
    struct relay r;
    struct fleet fleet;
    struct stream_limits limits;
    struct loop *loop;
    struct roster roster;
} t;

static void setup(void)
{
    memset(&t, 0, sizeof(t));
    fake_crowd_defaults(&t.f);
    fake_crowd_init(&t.f);
    cr_assert_eq(relay_init(&t.r, &t.f.all, &t.f.metrics), 0);
    cr_assert_eq(loop_create(&t.loop), 0);
    t.limits = (struct stream_limits){.keep_max = 1 << 20};
    t.fleet = (struct fleet){.loop = t.loop,
                             .relay = &t.r,
                             .metrics = &t.f.metrics,
                             .limits = &t.limits,
                             .id = span_text("gw")};
}

static void teardown(void)
{
    fleet_fini(&t.fleet);
    fake_crowd_fini(&t.f);
    relay_fini(&t.r);
    loop_turn(t.loop, 0);
    loop_destroy(t.loop);
    TEST_NO_LEAKS();
}

TestSuite(fleet, .init = setup, .fini = teardown);

static void has(const char *id, const char *addr, uint64_t nonce, bool draining)
{
    struct roster_world *w = &t.roster.worlds[t.roster.n++];

    *w = (struct roster_world){
        .id = claim_name_of(span_text(id)), .nonce = nonce, .draining = draining};
    snprintf(w->addr, sizeof(w->addr), "%s", addr);
}

static void keep(void)
{
    cr_assert_eq(fleet_keep(&t.fleet, &t.roster), 0);
    t.roster.n = 0;
    fleet_step(&t.fleet, (struct mono){CLOCK_NS_PER_S}); /* each begins to dial */
    loop_turn(t.loop, 0);
}

/* The link to that world; NULL: none. */
static const struct relay_link *link_to(const char *id)
{
    for (uint32_t i = 0; i < t.r.n_links; i++) {
        if (t.r.links[i].uplink && strcmp(t.r.links[i].world, id) == 0)
            return &t.r.links[i];
    }
    return NULL;
}

Test(fleet, every_world_of_a_roster_gets_a_link_and_no_other)
{
    has("w1", "127.0.0.1:1", 1, false);
    has("w2", "127.0.0.1:1", 1, true);
    keep();
    cr_assert_eq(t.fleet.n, 2);
    cr_assert(!link_to("w1")->spared);
    cr_assert(link_to("w2")->spared);
    has("w2", "127.0.0.1:1", 1, false);
    has("w3", "127.0.0.1:1", 1, false);
    keep();
    cr_assert_eq(t.fleet.n, 2);
    cr_assert_null(link_to("w1"));
    cr_assert(!link_to("w2")->spared);
    cr_assert_not_null(link_to("w3"));
    keep();
    cr_assert_eq(t.fleet.n, 0);
    cr_assert(!fleet_ready(&t.fleet));
}

Test(fleet, a_world_that_says_the_same_keeps_its_link)
{
    has("w1", "127.0.0.1:1", 1, false);
    keep();
    const struct uplink *before = link_to("w1")->uplink;
    has("w1", "127.0.0.1:1", 1, true);
    keep();
    cr_assert_eq(link_to("w1")->uplink, before);
}

Test(fleet, a_world_at_another_address_or_of_another_process_is_dialled_anew)
{
    has("w1", "127.0.0.1:1", 1, false);
    keep();
    has("w1", "127.0.0.1:2", 1, false);
    keep();
    cr_assert_eq(t.fleet.n, 1);
    cr_assert_str_eq(link_to("w1")->uplink->upstream, "127.0.0.1:2");
    const uint64_t dials = t.f.metrics.dials;
    has("w1", "127.0.0.1:2", 2, false);
    keep();
    cr_assert_eq(t.fleet.n, 1);
    cr_assert_eq(t.f.metrics.dials, dials + 1);
    cr_assert_eq(t.r.n_links, 1, "and its place is the same");
}

Test(fleet, it_has_room_for_every_roster)
{
    static char ids[ROSTER_MAX][8];

    for (uint32_t i = 0; i < ROSTER_MAX; i++) {
        snprintf(ids[i], sizeof(ids[i]), "a%u", i);
        has(ids[i], "127.0.0.1:1", 1, false);
    }
    keep();
    cr_assert_eq(t.fleet.n, ROSTER_MAX);
    for (uint32_t i = 0; i < ROSTER_MAX; i++) {
        snprintf(ids[i], sizeof(ids[i]), "b%u", i);
        has(ids[i], "127.0.0.1:1", 1, false);
    }
    keep();
    cr_assert_eq(t.fleet.n, ROSTER_MAX);
    cr_assert_null(link_to("a0"));
    cr_assert_not_null(link_to("b63"));
}

Test(fleet, one_that_ends_takes_no_more_worlds)
{
    has("w1", "127.0.0.1:1", 1, false);
    keep();
    fleet_finish(&t.fleet, CLOCK_NS_PER_S);
    has("w2", "127.0.0.1:1", 1, false);
    keep();
    cr_assert_null(link_to("w2"));
    cr_assert(fleet_over(&t.fleet));
}

/* tests/gateway/test_addresses.c: connections, and what they ask, by address. */
#include "gateway/addresses.h"

#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct addresses *a;

static void make(struct addresses_limits limits)
{
    cr_assert_eq(addresses_create(&limits, 1, &a), 0);
}

static enum addresses_verdict enter(const char *peer, uint32_t now_ms, uint32_t *slot)
{
    struct host h;
    cr_assert_eq(host_read(peer, &h), 0);
    return addresses_enter(a, &h, now_ms, slot);
}

Test(addresses, without_a_limit_nothing_is_watched)
{
    uint32_t slot;

    make((struct addresses_limits){.most = 16});
    cr_assert_null(a);
    cr_assert_eq(enter("192.0.2.1:1", 0, &slot), ADDRESSES_IN);
    cr_assert_eq(slot, ADDRESSES_NONE);
    cr_assert(addresses_login(a, slot, 0));
    addresses_leave(a, slot, 0);
    addresses_step(a, 0);
    cr_assert_eq(addresses_summed(a).known, 0u);
    addresses_destroy(a);
}

Test(addresses, an_address_has_so_many_connections_whatever_their_ports)
{
    uint32_t slot, other;

    make((struct addresses_limits){.most = 16, .connections = 2});
    cr_assert_eq(enter("192.0.2.1:1", 0, &slot), ADDRESSES_IN);
    cr_assert_eq(enter("192.0.2.1:2", 0, &slot), ADDRESSES_IN);
    cr_assert_eq(enter("[::ffff:192.0.2.1]:3", 0, &other), ADDRESSES_MANY);
    cr_assert_eq(enter("192.0.2.2:1", 0, &other), ADDRESSES_IN);
    addresses_leave(a, slot, 0);
    cr_assert_eq(enter("192.0.2.1:4", 0, &slot), ADDRESSES_IN);
    cr_assert_eq(addresses_summed(a).known, 2u);
    addresses_destroy(a);
    TEST_NO_LEAKS();
}

Test(addresses, of_ipv6_a_64_is_one)
{
    uint32_t slot;

    make((struct addresses_limits){.most = 16, .connections = 1});
    cr_assert_eq(enter("[2001:db8:1:2::1]:1", 0, &slot), ADDRESSES_IN);
    cr_assert_eq(enter("[2001:db8:1:2:ffff::2]:1", 0, &slot), ADDRESSES_MANY);
    cr_assert_eq(enter("[2001:db8:1:3::1]:1", 0, &slot), ADDRESSES_IN);
    addresses_destroy(a);
    TEST_NO_LEAKS();
}

Test(addresses, who_comes_too_often_is_refused_until_time_has_passed)
{
    uint32_t slot;

    make((struct addresses_limits){.most = 16, .connects = 2});
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(enter("192.0.2.1:1", 0, &slot), ADDRESSES_IN);
        addresses_leave(a, slot, 0);
    }
    cr_assert_eq(enter("192.0.2.1:1", 0, &slot), ADDRESSES_FAST);
    cr_assert_eq(enter("192.0.2.2:1", 0, &slot), ADDRESSES_IN);
    cr_assert_eq(enter("192.0.2.1:1", 499, &slot), ADDRESSES_FAST);
    cr_assert_eq(enter("192.0.2.1:1", 500, &slot), ADDRESSES_IN);
    addresses_destroy(a);
    TEST_NO_LEAKS();
}

Test(addresses, all_connections_of_one_share_its_logins)
{
    uint32_t one, two, other;

    make((struct addresses_limits){.most = 16, .logins = 3});
    cr_assert_eq(enter("192.0.2.1:1", 0, &one), ADDRESSES_IN);
    cr_assert_eq(enter("192.0.2.1:2", 0, &two), ADDRESSES_IN);
    cr_assert_eq(enter("192.0.2.2:1", 0, &other), ADDRESSES_IN);
    cr_assert(addresses_login(a, one, 0));
    cr_assert(addresses_login(a, two, 0));
    cr_assert(addresses_login(a, one, 0));
    cr_assert_not(addresses_login(a, two, 0));
    addresses_leave(a, one, 0);
    addresses_leave(a, two, 0);
    cr_assert_eq(enter("192.0.2.1:3", 0, &one), ADDRESSES_IN);
    cr_assert_not(addresses_login(a, one, 19999), "going away does not help");
    cr_assert(addresses_login(a, one, 20000));
    cr_assert(addresses_login(a, other, 0));
    addresses_destroy(a);
    TEST_NO_LEAKS();
}

Test(addresses, a_table_full_of_who_is_here_refuses_others_and_forgets_who_is_not)
{
    uint32_t slots[16], more;
    char peer[32];

    make((struct addresses_limits){.most = 16, .connections = 8});
    for (int i = 0; i < 16; i++) {
        snprintf(peer, sizeof(peer), "192.0.2.%d:1", i);
        cr_assert_eq(enter(peer, 0, &slots[i]), ADDRESSES_IN);
    }
    cr_assert_eq(enter("198.51.100.1:1", 0, &more), ADDRESSES_FULL);
    cr_assert_eq(enter("192.0.2.3:2", 0, &more), ADDRESSES_IN);
    addresses_leave(a, slots[5], 1);
    cr_assert_eq(enter("198.51.100.1:1", 2, &more), ADDRESSES_IN);
    cr_assert_eq(addresses_summed(a).known, 16u);
    cr_assert_eq(addresses_summed(a).forgotten, 1u);
    addresses_destroy(a);
    TEST_NO_LEAKS();
}

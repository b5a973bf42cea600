/* tests/e2e/test_e2e_addresses.c: limits by address, over all threads, and behind a proxy.
 * May touch: tests/pair, tests/raw_client. On trouble: the test fails.
 */
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>

TestSuite(e2e_addresses, .fini = process_end_all, .timeout = 60);

/* As somebody at 192.0.2.`last`, by way of a proxy. */
static void connect_from(struct raw_client *c, const char *addr, uint8_t last)
{
    uint8_t head[] = {0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49,
                      0x54, 0x0a, 0x21, 0x11, 0,    12,   192,  0,    2,    last,
                      127,  0,    0,    1,    0xdf, 0x6e, 1,    0xbb};

    raw_connect(c, addr);
    raw_send(c, span_of(head, sizeof(head)));
}

static void must_be_shut(struct raw_client *c)
{
    cr_assert_null(raw_body_within(c, PROCESS_PATIENCE_MS).p);
    cr_assert(c->ended || c->reset, "it is still open");
    raw_close(c);
}

Test(e2e_addresses, connections_of_one_address_are_capped_over_all_threads)
{
    struct pair pair = pair_start(NULL, PROCESS_ARGS("-threads", "3", "-max-per-address", "4",
                                                     "-proxy-protocol", "127.0.0.0/8"));
    struct raw_client c[4], more;

    for (int i = 0; i < 4; i++) {
        connect_from(&c[i], pair.gateway->addr, 1);
        raw_must_serve(&c[i]);
    }
    for (int i = 0; i < 6; i++) { /* whichever thread they meet */
        connect_from(&more, pair.gateway->addr, 1);
        must_be_shut(&more);
    }
    process_await_log(pair.gateway, "client refused reason=address_many peer=192.0.2.1:57198", 1);
    connect_from(&more, pair.gateway->addr, 2);
    raw_must_serve(&more);
    raw_close(&more);
    raw_close(&c[2]);
    const struct mono deadline = process_deadline(PROCESS_PATIENCE_MS);
    for (;;) { /* its place is free once the gateway has seen it go */
        connect_from(&c[2], pair.gateway->addr, 1);
        raw_nil(&c[2], CMD_PING_REQ);
        if (raw_body_within(&c[2], 200).p)
            break;
        raw_close(&c[2]);
        process_rest(deadline, "a place");
    }
    for (int i = 0; i < 4; i++)
        raw_close(&c[i]);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_addresses, who_comes_too_often_is_shut_and_the_proxy_itself_is_not_counted)
{
    struct pair pair = pair_start(NULL, PROCESS_ARGS("-threads", "2", "-connect-rate-address", "1",
                                                     "-proxy-protocol", "127.0.0.0/8"));
    struct raw_client c;
    uint32_t served = 0;

    for (int i = 0; i < 12; i++) {
        connect_from(&c, pair.gateway->addr, 1);
        raw_nil(&c, CMD_PING_REQ);
        served += raw_body_within(&c, PROCESS_PATIENCE_MS).p != NULL;
        raw_close(&c);
    }
    cr_assert_geq(served, 2u);
    cr_assert_lt(served, 12u, "12 in no time, at one a second");
    process_await_log(pair.gateway, "client refused reason=address_fast", 1);
    for (int i = 0; i < 12; i++) {
        raw_connect(&c, pair.gateway->addr);
        raw_send(&c, span_of("\r\n\r\n\0\r\nQUIT\n\x20\0\0\0", 16));
        raw_must_serve(&c);
        raw_close(&c);
    }
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_addresses, logins_of_one_address_are_refused_with_12_whatever_their_names)
{
    struct pair pair = pair_start(
        NULL, PROCESS_ARGS("-login-rate-address", "3", "-proxy-protocol", "127.0.0.0/8"));
    struct raw_client a, b, other;

    connect_from(&a, pair.gateway->addr, 1);
    raw_must(&a, raw_login(&a, "a"), CMD_LOGIN_RESP);
    raw_must_fail(&a, raw_login(&a, "a"), PE_ALREADY_LOGGED_IN);
    connect_from(&b, pair.gateway->addr, 1);
    raw_must_fail(&b, raw_login(&b, "a"), PE_NAME_IN_USE);
    raw_must_fail(&b, raw_login(&b, "b"), PE_RATE_LIMITED);
    raw_must_serve(&b);
    connect_from(&other, pair.gateway->addr, 2);
    raw_must(&other, raw_login(&other, "b"), CMD_LOGIN_RESP);
    raw_close(&a);
    raw_close(&b);
    raw_close(&other);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

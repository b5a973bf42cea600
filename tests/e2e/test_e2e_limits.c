/* tests/e2e/test_e2e_limits.c: each limit of the pair, driven full over the wire.
 * May touch: tests/pair, tests/raw_client. On trouble: the test fails.
 */
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(e2e_limits, .fini = process_end_all, .timeout = 60);

/* --- requests --------------------------------------------------------------------------------- */

Test(e2e_limits, who_asks_too_often_is_told_12_and_after_200_refusals_gets_bye_12)
{
    struct pair pair = pair_start(NULL, PROCESS_ARGS("-rate", "1", "-rate-burst", "20"));
    struct raw_client neighbour, c;
    uint32_t served = 0, refused = 0;

    raw_join(&neighbour, pair.gateway->addr, "neighbour");
    raw_connect(&c, pair.gateway->addr);
    for (int i = 0; i < 400; i++)
        raw_nil(&c, CMD_PING_REQ);
    const struct message *m;
    while ((m = raw_next(&c))->cmd != CMD_BYE) {
        served += m->cmd == CMD_PING_RESP;
        refused += m->cmd == CMD_ERROR_NOTIFY && m->error_notify.code == PE_RATE_LIMITED;
        cr_assert_eq(m->seq, served + refused, "each request has its answer, in order");
    }
    cr_assert_eq(m->bye.code, (uint32_t)PE_RATE_LIMITED);
    cr_assert(served >= 20 && served <= 24, "%u", served);
    cr_assert_eq(refused, 200u);
    raw_close(&c);
    raw_must_serve(&neighbour);
    raw_close(&neighbour);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_limits, the_world_takes_so_many_requests_of_a_session_in_one_tick)
{
    struct pair pair = pair_start(PROCESS_ARGS("-session-requests", "5", "-tick", "400"), NULL);
    struct raw_client c;

    raw_join(&c, pair.gateway->addr, "alpha");
    uint32_t refused = 0;
    for (int i = 0; i < 12; i++)
        raw_nil(&c, CMD_ENTER_REQ);
    for (int i = 0; i < 12; i++) {
        const struct message *m = raw_next(&c);
        cr_assert_eq(m->cmd, (uint32_t)CMD_ERROR_NOTIFY);
        cr_assert(m->error_notify.code == PE_ALREADY_IN_WORLD ||
                  m->error_notify.code == PE_RATE_LIMITED);
        refused += m->error_notify.code == PE_RATE_LIMITED;
    }
    /* They come in one tick, or, seldom, in two. */
    cr_assert(refused >= 2 && refused <= 9, "%u", refused);
    raw_must_be_quiet(&c, 500);
    raw_must_fail(&c, raw_nil(&c, CMD_ENTER_REQ), PE_ALREADY_IN_WORLD);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_limits, a_frame_longer_than_max_frame_is_a_bad_frame)
{
    struct pair pair = pair_start(NULL, PROCESS_ARGS("-max-frame", "64"));
    struct raw_client c;
    uint8_t body[65] = {0x93, 0x0b, 0x01, 0xc4, 59};

    raw_connect(&c, pair.gateway->addr);
    raw_send_body(&c, span_of(body, 64));
    cr_assert_eq(raw_body(&c).n, 64u);
    body[4]++;
    raw_send_body(&c, span_of(body, 65));
    raw_must_bye(&c, PE_BAD_FRAME);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- time ------------------------------------------------------------------------------------- */

/* Ping now and then for so long. */
static void stay_awake(struct raw_client *c, int64_t ms)
{
    struct mono until = process_deadline(ms);

    while (clock_since(until, clock_mono()) > 0) {
        raw_must_serve(c);
        raw_must_be_quiet(c, 50);
    }
}

Test(e2e_limits, who_sends_no_whole_frame_for_the_idle_timeout_gets_bye_15)
{
    struct pair pair = pair_start(NULL, PROCESS_ARGS("-idle-timeout", "600ms"));
    struct raw_client awake, idle, half;

    raw_join(&idle, pair.gateway->addr, "idle");
    raw_connect(&half, pair.gateway->addr);
    raw_connect(&awake, pair.gateway->addr);
    raw_send(&half, span_of("\0\0\0\4\x93", 5));
    stay_awake(&awake, 1500);
    raw_must_bye(&idle, PE_IDLE);
    raw_must_bye(&half, PE_IDLE);
    raw_must_serve(&awake);
    raw_close(&awake);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_limits, a_frame_that_trickles_gets_bye_15)
{
    struct pair pair =
        pair_start(NULL, PROCESS_ARGS("-frame-timeout", "500ms", "-idle-timeout", "0"));
    struct raw_client c;

    raw_connect(&c, pair.gateway->addr);
    raw_must_serve(&c);
    raw_send(&c, span_of("\0\0\0\x40\x93\x0b\x01\xc4\x3c", 9));
    for (int i = 0; i < 55 && !raw_body_within(&c, 50).p; i++) /* it would take 60 */
        raw_send_some(&c, span_of("z", 1));
    cr_assert_null(raw_body_within(&c, PROCESS_PATIENCE_MS).p);
    cr_assert(c.ended);
    process_await_log(pair.gateway, "slow_frame", 1);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_limits, who_does_not_log_in_gets_bye_15_but_not_while_the_world_is_away)
{
    struct pair pair = {
        .gateway = pair_gateway(process_free_port(), PROCESS_ARGS("-login-timeout", "500ms"))};
    struct raw_client c, logged;

    raw_connect(&c, pair.gateway->addr);
    stay_awake(&c, 1200);
    raw_close(&c);
    pair_end(&pair);

    pair = pair_start(NULL, PROCESS_ARGS("-login-timeout", "500ms"));
    raw_connect(&logged, pair.gateway->addr);
    raw_must(&logged, raw_login(&logged, "alpha"), CMD_LOGIN_RESP);
    raw_connect(&c, pair.gateway->addr);
    raw_must_serve(&c);
    raw_must_bye(&c, PE_IDLE);
    raw_must_serve(&logged);
    raw_close(&logged);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- numbers ---------------------------------------------------------------------------------- */

Test(e2e_limits, one_client_too_many_gets_bye_13_and_a_place_that_is_free_is_given)
{
    struct pair pair = pair_start(NULL, PROCESS_ARGS("-max-clients", "2"));
    struct raw_client a, b, c;
    struct mono deadline = process_deadline(PROCESS_PATIENCE_MS);

    raw_connect(&a, pair.gateway->addr);
    raw_must_serve(&a);
    raw_join(&b, pair.gateway->addr, "b");
    for (int i = 0; i < 5; i++) {
        raw_connect(&c, pair.gateway->addr);
        raw_must_bye(&c, PE_UNAVAILABLE);
    }
    raw_must_serve(&a);
    raw_must_serve(&b);
    raw_close(&a);
    for (bool served = false; !served;) { /* as soon as its end was noticed */
        raw_connect(&c, pair.gateway->addr);
        raw_nil(&c, CMD_PING_REQ);
        served = raw_next(&c)->cmd == CMD_PING_RESP;
        raw_close(&c);
        process_rest(deadline, "the place is free");
    }
    raw_close(&b);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- readers ---------------------------------------------------------------------------------- */

static void ask_for_much(struct raw_client *c, int times)
{
    static uint8_t body[PROTO_FRAME_MAX];
    size_t n = raw_bytes("93 0b 01 c5 3ffa", body, sizeof(body));

    memset(body + n, 0, sizeof(body) - n);
    for (int i = 0; i < times; i++)
        raw_send_body(c, span_of(body, sizeof(body)));
}

/* What it was sent before it was cut off comes, whole frames only, then the end. */
static void must_end_in_order(struct raw_client *c)
{
    while (raw_body_within(c, PROCESS_PATIENCE_MS).p)
        ;
    cr_assert(c->ended || c->reset);
    raw_close(c);
}

Test(e2e_limits, who_does_not_read_is_cut_at_the_hard_limit_and_nobody_else_notices)
{
    struct pair pair = pair_start(NULL, PROCESS_ARGS("-rate", "0", "-queue-hard", "256KiB"));
    struct raw_client deaf, neighbour;

    raw_join(&neighbour, pair.gateway->addr, "neighbour");
    raw_connect_narrow(&deaf, pair.gateway->addr, 4096);
    ask_for_much(&deaf, 60);
    process_await_log(pair.gateway, "slow_hard", 1);
    raw_must_serve(&neighbour);
    must_end_in_order(&deaf);
    raw_close(&neighbour);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_limits, who_stays_above_the_soft_limit_too_long_reads_bye_16_if_it_reads_at_last)
{
    struct pair pair =
        pair_start(NULL, PROCESS_ARGS("-rate", "0", "-slow-timeout", "500ms", "-linger", "10s"));
    struct raw_client slow, neighbour;

    raw_join(&neighbour, pair.gateway->addr, "neighbour");
    raw_connect_narrow(&slow, pair.gateway->addr, 4096);
    ask_for_much(&slow, 40);
    process_await_log(pair.gateway, "slow_soft", 1);
    raw_must_serve(&neighbour);
    raw_must_bye(&slow, PE_SLOW);
    raw_close(&neighbour);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

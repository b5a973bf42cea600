/* tests/e2e/test_e2e_stranger.c: at either end of the link, somebody who is not what he should be.
 * May touch: tests/pair, tests/raw_client, tests/e2e/stage. On trouble: the test fails.
 */
#include "proto/link.h"
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <unistd.h>

TestSuite(e2e_stranger, .fini = process_end_all, .timeout = 60);

/* --- no world, but something listens ---------------------------------------------------------- */

enum manner { SAYS_NOTHING, CLOSES, TALKS_HTTP };

#define MANNER_MS 3000

/* For a while, be that to whoever connects. Returns how many came. */
static uint32_t receive_gateway(int listener, enum manner manner)
{
    struct mono until = process_deadline(MANNER_MS);
    struct raw_client c[64];
    uint32_t n = 0;

    for (int64_t left; (left = clock_since(until, clock_mono())) > 0 && n < ARRAY_LEN(c);) {
        if (!raw_accept(&c[n], listener, left / CLOCK_NS_PER_MS + 1))
            continue;
        if (manner == TALKS_HTTP)
            raw_send(&c[n], span_text("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"));
        else if (manner == CLOSES)
            raw_close(&c[n]);
        n++;
    }
    for (uint32_t i = 0; i < n; i++)
        raw_close(&c[i]);
    return n;
}

/* The gateway goes on serving what it can, dials with measure, logs with measure, and is back
 * within two seconds once a real world listens. */
static void must_bear(enum manner manner, const char *reason)
{
    const char *addr = process_free_port();
    char kept[PROCESS_ADDR_MAX];
    struct pair pair;
    struct raw_client c;

    strcpy(kept, addr);
    int listener = raw_listen(kept);
    pair.gateway = pair_gateway(kept, PROCESS_ARGS("-link-timeout", "300ms"));
    raw_connect(&c, pair.gateway->addr);
    uint32_t dials = receive_gateway(listener, manner);
    cr_assert_geq(dials, 2u);
    cr_assert_leq(dials, 12u, "%u dials", dials);
    raw_must_fail(&c, raw_login(&c, "alpha"), PE_UNAVAILABLE);
    raw_must_serve(&c);
    process_await_log(pair.gateway, reason, 1);
    cr_assert_leq(process_logged(pair.gateway, "world away"), 3u);
    close(listener);

    pair.world = process_start("aegis", PROCESS_ARGS("-role=world", "-listen", kept));
    process_await_addr(pair.world);
    struct mono up = clock_mono();
    pair_await_link(pair.gateway, 1);
    raw_must(&c, raw_login(&c, "alpha"), CMD_LOGIN_RESP);
    cr_assert_lt(clock_since(clock_mono(), up), (process_sanitized() ? 4 : 2) * CLOCK_NS_PER_S);
    raw_close(&c);
    pair_end(&pair);
}

Test(e2e_stranger, a_world_that_accepts_and_says_nothing_is_away)
{
    must_bear(SAYS_NOTHING, "no hello");
    TEST_NO_LEAKS();
}

Test(e2e_stranger, a_world_that_closes_at_once_is_away)
{
    must_bear(CLOSES, "world away"); /* closed or reset: whether the hello was read is chance */
    TEST_NO_LEAKS();
}

Test(e2e_stranger, something_that_is_no_world_is_away)
{
    must_bear(TALKS_HTTP, "not a link frame");
    TEST_NO_LEAKS();
}

/* --- a world that lies ------------------------------------------------------------------------ */

/* Take the gateway's connection and exchange hellos with it. */
static void be_a_world(struct raw_client *w, int listener)
{
    uint8_t bytes[128];
    struct span_writer out = span_writer_of(bytes, sizeof(bytes));
    struct link_frame f;

    cr_assert(raw_accept(w, listener, PROCESS_PATIENCE_MS));
    cr_assert_eq(link_read(raw_body(w), &f), 0);
    cr_assert_eq(f.kind, LINK_HELLO);
    cr_assert_eq(f.version, (uint32_t)LINK_VERSION);
    cr_assert_gt(f.id.n, 0u);
    link_write_hello(&out, span_text("liar"), (struct span){0});
    raw_send(w, span_written(&out));
}

/* The next frame that is no ping. */
static struct link_frame link_next(struct raw_client *w)
{
    struct link_frame f;
    do {
        cr_assert_eq(link_read(raw_body(w), &f), 0);
    } while (f.kind == LINK_PING || f.kind == LINK_PONG);
    return f;
}

Test(e2e_stranger, a_gateway_drops_what_a_world_says_of_sessions_that_are_not_there)
{
    char kept[PROCESS_ADDR_MAX];
    uint8_t bytes[1024];
    struct span_writer out = span_writer_of(bytes, sizeof(bytes));
    struct raw_client w, c;
    struct span body = span_of("\x93\x02\x01\xc0", 4);

    strcpy(kept, process_free_port());
    int listener = raw_listen(kept);
    struct pair pair = {.gateway = pair_gateway(kept, NULL)};
    be_a_world(&w, listener);
    raw_connect(&c, pair.gateway->addr);
    raw_login(&c, "alpha");
    uint64_t session = link_next(&w).session;
    cr_assert_eq(link_next(&w).kind, LINK_DATA);

    link_write_data(&out, session + (1ULL << 32), &body, 1); /* a later generation */
    link_write_data(&out, 77, &body, 1);
    link_write_data(&out, UINT64_MAX, &body, 1);
    link_write_close(&out, 78, PE_KICKED, span_text("nobody"));
    link_write_data_many(&out, (const uint64_t[]){79, session, 80}, 3, body);
    raw_send(&w, span_written(&out));
    raw_must_body(&c, "93 02 01 c0"); /* the one that is */
    for (int i = 0; i < 5; i++)
        cr_assert_eq(link_next(&w).kind, LINK_CLOSE, "the world is told to forget the others");
    raw_must_serve(&c);
    raw_close(&c);
    cr_assert_eq(link_next(&w).kind, LINK_CLOSE);
    close(listener);
    process_signal(pair.gateway, SIGTERM);
    cr_assert_null(raw_body_within(&w, PROCESS_PATIENCE_MS).p);
    raw_close(&w);
    process_await_exit(pair.gateway, PROCESS_PATIENCE_MS, 0);
    process_check_all();
    TEST_NO_LEAKS();
}

/* What follows a world's hello and is no link frame of a world. */
static const char *const world_lies[] = {
    "00000000",          "ffffffff",        "00000001 c0",
    "00000003 920901", /* no such kind */
    "00000004 93010180", "00000003 9105c3", "00000008'GET / HT'",
};

Test(e2e_stranger, a_gateway_leaves_a_world_that_talks_nonsense_and_tells_its_clients)
{
    char kept[PROCESS_ADDR_MAX];
    struct raw_client w, c;

    strcpy(kept, process_free_port());
    int listener = raw_listen(kept);
    struct pair pair = {.gateway = pair_gateway(kept, NULL)};
    raw_connect(&c, pair.gateway->addr);
    for (size_t i = 0; i < ARRAY_LEN(world_lies); i++) {
        uint8_t bytes[64];
        be_a_world(&w, listener);
        pair_await_link(pair.gateway, (unsigned)i + 1);
        raw_send(&w, span_of(bytes, raw_bytes(world_lies[i], bytes, sizeof(bytes))));
        raw_must_be_told(&c, PE_UNAVAILABLE);
        raw_must_serve(&c);
        raw_close(&w);
    }
    close(listener);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- no gateway, but something dials ---------------------------------------------------------- */

static const char *const no_hellos[] = {
    "'GET / HTTP/1.1' 0d0a'Host: world' 0d0a0d0a",
    "00000000",
    "ffffffff",
    "00004000 93 0b 01", /* longer than a hello may be */
    "00000001 c1",
    "00000004 930b01c0", /* a client at the wrong door */
    "00000005 9302cc01 c0",
    "00000003 920600", /* a ping before the hello */
    "00000005 94000100 a0",
    "00000005 940001a0 a0",             /* a hello without an id */
    "0000000a 94 00 cc 63 a4'gate' a0", /* and of another version */
};

/* Until the world closes this connection; what it says before does not matter. */
static void must_be_closed(struct raw_client *c)
{
    while (raw_body_within(c, PROCESS_PATIENCE_MS).p)
        ;
    if (!c->ended && !c->reset)
        process_fail("the world keeps a connection of a stranger");
    raw_close(c);
}

Test(e2e_stranger, a_world_closes_whoever_cannot_say_hello_and_goes_on)
{
    struct pair pair = pair_start(PROCESS_ARGS("-link-timeout", "500ms", "-spawn", "0,0,0"), NULL);
    struct raw_client c;
    struct stage stage;

    stage_init(&stage);
    struct player *a = stage_join(&stage, pair.gateway->addr, "a");
    struct player *b = stage_join(&stage, pair.gateway->addr, "b");
    for (size_t i = 0; i < ARRAY_LEN(no_hellos); i++) {
        uint8_t bytes[128];
        raw_connect(&c, pair.world->addr);
        raw_send(&c, span_of(bytes, raw_bytes(no_hellos[i], bytes, sizeof(bytes))));
        must_be_closed(&c);
        player_move(a, i % 2 ? 0 : 0.125, 0);
        STAGE_UNTIL(&stage, player_sees(b, a));
    }
    raw_connect(&c, pair.world->addr); /* one who says nothing */
    must_be_closed(&c);
    cr_assert_geq(process_logged(pair.world, "connection refused") +
                      process_logged(pair.world, "gateway refused"),
                  5u);
    player_ping(b);
    cr_assert_eq(a->told[PE_UNAVAILABLE] + b->told[PE_UNAVAILABLE], 0u);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* Unknown session ids are answered, not trusted. */
Test(e2e_stranger, a_gateway_that_lies_harms_nobody_elses_clients)
{
    struct pair pair = pair_start(PROCESS_ARGS("-spawn", "0,0,0"), NULL);
    struct raw_client liar;
    struct stage stage;
    struct link_frame f;
    uint8_t bytes[1024];
    struct span_writer out = span_writer_of(bytes, sizeof(bytes));
    struct span body = span_of("\x93\x05\x01\xc0", 4); /* LeaveReq */

    stage_init(&stage);
    struct player *a = stage_join(&stage, pair.gateway->addr, "a");
    struct player *b = stage_join(&stage, pair.gateway->addr, "b");
    raw_connect(&liar, pair.world->addr);
    link_write_hello(&out, span_text("liar"), (struct span){0});
    for (uint64_t slot = 0; slot < 4; slot++) { /* the ids of the honest gateway's sessions */
        link_write_data(&out, 1ULL << 32 | slot, &body, 1);
        link_write_close(&out, 1ULL << 32 | slot, 0, (struct span){0});
        link_write_congestion(&out, 1ULL << 32 | slot, true);
    }
    raw_send(&liar, span_written(&out));
    cr_assert_eq(link_read(raw_body(&liar), &f), 0);
    cr_assert_eq(f.kind, LINK_HELLO);
    for (uint64_t slot = 0; slot < 4; slot++) {
        f = link_next(&liar);
        cr_assert_eq(f.kind, LINK_CLOSE);
        cr_assert_eq(f.session, 1ULL << 32 | slot);
        cr_assert_eq(f.code, 0u);
    }
    raw_send(&liar, span_of("\0\0\0\2\x91\x09", 6)); /* no such kind */
    must_be_closed(&liar);
    STAGE_UNTIL(&stage, player_sees(a, b) && player_sees(b, a));
    player_say(a, "still here");
    STAGE_UNTIL(&stage, strcmp(b->said, "still here") == 0);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* tests/e2e/test_e2e_lost.c: a world or a gateway that is killed or ends, and comes back.
 * May touch: tests/pair, tests/raw_client, tests/e2e/stage. On trouble: the test fails.
 */
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <signal.h>

TestSuite(e2e_lost, .fini = process_end_all, .timeout = 60);

/* Everybody is born at the same place, whichever ids are free. */
#define TOGETHER PROCESS_ARGS("-spawn", "0,0,0")

/* --- the world -------------------------------------------------------------------------------- */

/* Three of them: in the world, logged in only, and a stranger. */
struct company {
    struct raw_client inside, logged, stranger;
};

static void company_come(struct company *c, const char *addr)
{
    raw_join(&c->inside, addr, "inside");
    raw_connect(&c->logged, addr);
    raw_must(&c->logged, raw_login(&c->logged, "logged"), CMD_LOGIN_RESP);
    raw_connect(&c->stranger, addr);
    raw_must_serve(&c->stranger);
}

/* Each was told 13 once; requests get 13, pings are answered. */
static void company_must_wait(struct company *c)
{
    struct raw_client *each[] = {&c->inside, &c->logged, &c->stranger};

    for (size_t i = 0; i < ARRAY_LEN(each); i++)
        raw_must_be_told(each[i], PE_UNAVAILABLE);
    for (size_t i = 0; i < ARRAY_LEN(each); i++) {
        raw_must_fail(each[i], raw_login(each[i], "again"), PE_UNAVAILABLE);
        raw_must_fail(each[i], raw_nil(each[i], CMD_ENTER_REQ), PE_UNAVAILABLE);
        raw_must_fail(each[i], raw_move(each[i], 8, 0), PE_UNAVAILABLE);
        raw_must_fail(each[i], raw_nil(each[i], CMD_LEAVE_REQ), PE_UNAVAILABLE);
        raw_must_fail(each[i], raw_payload(each[i], 99, "c0"), PE_UNAVAILABLE);
        raw_must_serve(each[i]);
    }
}

/* Who was inside is put there again, who was logged in is logged in and told nothing, the stranger
 * is one; all go on by the connection that they have, and see each other. */
static void company_must_go_on(struct company *c)
{
    struct raw_client *each[] = {&c->inside, &c->logged, &c->stranger};

    cr_assert_eq(raw_await(&c->inside, CMD_ENTER_RESP)->seq, 0u);
    raw_must_fail(&c->inside, raw_nil(&c->inside, CMD_ENTER_REQ), PE_ALREADY_IN_WORLD);
    raw_must_fail(&c->logged, raw_login(&c->logged, "logged"), PE_ALREADY_LOGGED_IN);
    raw_must_fail(&c->stranger, raw_nil(&c->stranger, CMD_ENTER_REQ), PE_NOT_LOGGED_IN);
    raw_must_fail(&c->stranger, raw_login(&c->stranger, "inside"), PE_NAME_IN_USE);
    raw_must(&c->stranger, raw_login(&c->stranger, "stranger"), CMD_LOGIN_RESP);
    raw_must(&c->logged, raw_nil(&c->logged, CMD_ENTER_REQ), CMD_ENTER_RESP);
    raw_must(&c->stranger, raw_nil(&c->stranger, CMD_ENTER_REQ), CMD_ENTER_RESP);
    for (size_t i = 0; i < ARRAY_LEN(each); i++) {
        for (uint32_t seen = 0; seen < 2;)
            seen += raw_await(each[i], CMD_AOI_ADD)->aoi_add.count;
        raw_must_serve(each[i]);
        raw_close(each[i]);
    }
}

static void world_ends_and_comes_back(void (*end)(struct process *))
{
    struct pair pair = pair_start(TOGETHER, NULL);
    struct company c;

    company_come(&c, pair.gateway->addr);
    end(pair.world);
    company_must_wait(&c);
    process_restart(pair.world);
    process_await_addr(pair.world);
    pair_await_link(pair.gateway, 2);
    company_must_go_on(&c);
    pair_end(&pair);
}

Test(e2e_lost, clients_outlive_a_world_that_is_killed_and_are_put_into_the_next_one)
{
    world_ends_and_comes_back(process_kill);
    TEST_NO_LEAKS();
}

Test(e2e_lost, clients_outlive_a_world_that_ends_and_are_put_into_the_next_one)
{
    world_ends_and_comes_back(pair_end_one);
    TEST_NO_LEAKS();
}

Test(e2e_lost, a_request_in_flight_gets_no_answer_but_the_notice)
{
    struct pair pair = pair_start(TOGETHER, NULL);
    struct raw_client c;

    raw_join(&c, pair.gateway->addr, "alpha");
    process_signal(pair.world, SIGSTOP);
    raw_move(&c, 8, 0);
    raw_must_serve(&c); /* so the gateway had the move before the world goes */
    process_kill(pair.world);
    raw_must_be_told(&c, PE_UNAVAILABLE);
    raw_must_be_quiet(&c, 200);
    raw_must_serve(&c);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_lost, a_world_that_dies_again_and_again_leaves_no_client_stuck)
{
    struct pair pair = pair_start(TOGETHER, NULL);
    struct stage stage;

    stage_init(&stage);
    struct player *a = stage_join(&stage, pair.gateway->addr, "a");
    struct player *b = stage_join(&stage, pair.gateway->addr, "b");
    for (uint32_t i = 1; i <= 4; i++) {
        STAGE_UNTIL(&stage, player_sees(a, b) && player_sees(b, a));
        process_kill(pair.world);
        STAGE_UNTIL(&stage, a->told[PE_UNAVAILABLE] == i && b->told[PE_UNAVAILABLE] == i);
        process_restart(pair.world);
        process_await_addr(pair.world);
        STAGE_UNTIL(&stage, a->got[CMD_ENTER_RESP] == 1 + i && b->got[CMD_ENTER_RESP] == 1 + i);
    }
    cr_assert_eq(a->told[PE_NOT_LOGGED_IN] + b->told[PE_NOT_LOGGED_IN], 0u);
    cr_assert(!a->closed && !b->closed);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* The name was taken by somebody at another gateway while the world was away for this one. */
Test(e2e_lost, one_whose_name_was_taken_meanwhile_is_told_to_log_in_again)
{
    struct pair pair = pair_start(TOGETHER, NULL);
    struct process *second = pair_gateway(pair.world->addr, NULL);
    struct raw_client a, thief;

    pair_await_link(second, 1);
    raw_join(&a, pair.gateway->addr, "a");
    raw_connect(&thief, second->addr);
    raw_must_serve(&thief);
    process_signal(pair.gateway, SIGSTOP); /* until the world gives it up */
    process_await_log(pair.world, "gateway lost", 1);
    raw_must(&thief, raw_login(&thief, "a"), CMD_LOGIN_RESP);
    process_signal(pair.gateway, SIGCONT);
    raw_must_be_told(&a, PE_UNAVAILABLE);
    pair_await_link(pair.gateway, 2);
    raw_must_be_told(&a, PE_NOT_LOGGED_IN);
    raw_must_fail(&a, raw_login(&a, "a"), PE_NAME_IN_USE);
    raw_must(&a, raw_login(&a, "b"), CMD_LOGIN_RESP);
    raw_must(&a, raw_nil(&a, CMD_ENTER_REQ), CMD_ENTER_RESP);
    raw_close(&a);
    raw_close(&thief);
    pair_end_one(second);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- the gateway ------------------------------------------------------------------------------ */

static void hear_each_other(struct player *a, struct player *b)
{
    STAGE_UNTIL(a->stage, player_sees(a, b) && player_sees(b, a));
    player_say(a, "from a");
    STAGE_UNTIL(a->stage, strcmp(b->said, "from a") == 0 && b->said_by == a->facts->id);
    player_say(b, "from b");
    STAGE_UNTIL(a->stage, strcmp(a->said, "from b") == 0 && a->said_by == b->facts->id);
    player_move(a, a->facts->x, a->facts->y + 0.125);
    STAGE_UNTIL(a->stage, player_sees(b, a));
}

Test(e2e_lost, clients_of_several_gateways_see_and_hear_each_other)
{
    struct pair pair = pair_start(TOGETHER, NULL);
    struct process *second = pair_gateway(pair.world->addr, NULL);
    struct process *third = pair_gateway(pair.world->addr, NULL);
    struct stage stage;

    pair_await_link(second, 1);
    pair_await_link(third, 1);
    stage_init(&stage);
    struct player *a = stage_join(&stage, pair.gateway->addr, "a");
    struct player *b = stage_join(&stage, second->addr, "b");
    struct player *c = stage_join(&stage, third->addr, "c");
    hear_each_other(a, b);
    hear_each_other(b, c);
    hear_each_other(c, a);
    cr_assert_eq(a->got[CMD_SAY_NOTIFY], 4u);
    /* A name is held in the whole world, not in one gateway. */
    struct player *d = stage_connect(&stage, second->addr);
    cr_assert_eq(player_answer(d, bot_client_login(d->client, "a")), (uint32_t)PE_NAME_IN_USE);
    /* The drain of one gateway is the end of its clients alone. */
    process_signal(second, SIGTERM);
    STAGE_UNTIL(&stage, b->closed && !player_knows(a, b->facts->id));
    process_await_exit(second, PROCESS_PATIENCE_MS, 0);
    hear_each_other(c, a);
    pair_end_one(third);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_lost, a_killed_gateways_clients_leave_the_world_and_their_names_are_free)
{
    struct pair pair = pair_start(TOGETHER, NULL);
    struct process *second = pair_gateway(pair.world->addr, NULL);
    struct stage stage;

    pair_await_link(second, 1);
    stage_init(&stage);
    struct player *stays = stage_join(&stage, second->addr, "stays");
    struct player *a = stage_join(&stage, pair.gateway->addr, "a");
    struct player *b = stage_join(&stage, pair.gateway->addr, "b");
    struct player *c = stage_login(&stage, pair.gateway->addr, "c");
    STAGE_UNTIL(&stage, player_sees(stays, a) && player_sees(stays, b));
    process_kill(pair.gateway);
    STAGE_UNTIL(&stage, a->closed && b->closed && c->closed);
    STAGE_UNTIL(&stage, player_count(stays) == 0);
    cr_assert_eq(player_last(stays, STAGE_REMOVE, a->facts->id)->tick,
                 player_last(stays, STAGE_REMOVE, b->facts->id)->tick);

    a = stage_join(&stage, second->addr, "a");
    process_restart(pair.gateway);
    process_await_addr(pair.gateway);
    pair_await_link(pair.gateway, 1);
    b = stage_join(&stage, pair.gateway->addr, "b");
    c = stage_join(&stage, pair.gateway->addr, "c");
    hear_each_other(a, b);
    hear_each_other(c, stays);
    cr_assert_not(stays->closed);
    pair_end_one(second);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* The link alone broke: within the window nobody else notices. */
Test(e2e_lost, who_waits_for_its_gateway_goes_on_where_it_was)
{
    struct pair pair = pair_start(PROCESS_ARGS("-spawn", "0,0,0", "-resume-window", "30s"), NULL);
    struct process *second = pair_gateway(pair.world->addr, NULL);
    struct stage stage;

    pair_await_link(second, 1);
    stage_init(&stage);
    struct player *stays = stage_join(&stage, second->addr, "stays");
    struct player *a = stage_join(&stage, pair.gateway->addr, "a");
    player_move(a, 0.25, 0);
    STAGE_UNTIL(&stage, player_sees(stays, a));
    uint32_t id = a->facts->id, events = stays->n_events;
    process_signal(pair.gateway, SIGSTOP);
    process_await_log(pair.world, "gateway lost", 1);
    process_signal(pair.gateway, SIGCONT);
    STAGE_UNTIL(&stage, a->got[CMD_ENTER_RESP] == 2);
    cr_assert_eq(a->facts->id, id);
    cr_assert_eq(a->facts->x, 0.25);
    STAGE_UNTIL(&stage, player_sees(a, stays));
    hear_each_other(a, stays);
    cr_assert_eq(player_events(stays, events, STAGE_ADD, id), 0u);
    cr_assert_eq(player_events(stays, events, STAGE_REMOVE, id), 0u);
    pair_end_one(second);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* Both at once, as a machine that loses power. */
Test(e2e_lost, a_pair_that_is_killed_together_serves_again_on_its_ports)
{
    struct pair pair = pair_start(TOGETHER, NULL);
    struct stage stage;

    stage_init(&stage);
    struct player *a = stage_join(&stage, pair.gateway->addr, "a");
    process_kill(pair.world);
    process_kill(pair.gateway);
    STAGE_UNTIL(&stage, a->closed);
    process_restart(pair.gateway); /* in the wrong order */
    process_await_addr(pair.gateway);
    process_restart(pair.world);
    process_await_addr(pair.world);
    pair_await_link(pair.gateway, 1);
    a = stage_join(&stage, pair.gateway->addr, "a");
    struct player *b = stage_join(&stage, pair.gateway->addr, "b");
    hear_each_other(a, b);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

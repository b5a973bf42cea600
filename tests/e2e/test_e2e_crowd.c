/* tests/e2e/test_e2e_crowd.c: many at once through two gateways, compared with where they are.
 * Seeded players walk, jump, talk, leave, come back and lose their connections; now and then all
 * rest, and every view must hold exactly who is in sight. May touch: tests/pair, tests/e2e/stage.
 * On trouble: the test fails, and says the seed.
 */
#include "common/rng.h"
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(e2e_crowd, .fini = process_end_all, .timeout = 60);

#define PLAYERS    24
#define ROUNDS     160
#define REST_EVERY 16
#define SIZE       150.0 /* of the map, each way from the middle */
#define RADIUS     30.0
#define TICK_MS    20
#define LATE_MS    1000 /* how late a tick may come on a machine that is busy with other tests */

struct crowd {
    struct pair pair;
    struct process *second;
    struct stage stage;
    struct rng rng;
    double hysteresis;
    char names[PLAYERS][8];
};

static double within(double v)
{
    return v < -SIZE ? -SIZE : v > SIZE ? SIZE : v;
}

static double spread(struct crowd *c, double width)
{
    return width * (2 * rng_unit(&c->rng) - 1);
}

static const char *some_gateway(struct crowd *c)
{
    return rng_below(&c->rng, 2) ? c->second->addr : c->pair.gateway->addr;
}

/* An older connection by the name may not have ended yet. */
static void log_in_and_enter(struct player *p, const char *name)
{
    struct mono deadline = process_deadline(PROCESS_PATIENCE_MS);

    p->name = name;
    for (;;) {
        uint32_t code = player_answer(p, bot_client_login(p->client, name));
        if (code == 0)
            break;
        cr_assert_eq(code, (uint32_t)PE_NAME_IN_USE);
        stage_turn(p->stage, deadline, "the name is free");
    }
    player_enter(p);
}

static void crowd_start(struct crowd *c, uint64_t seed, const char *hysteresis)
{
    *c = (struct crowd){.hysteresis = strtod(hysteresis, NULL)};
    rng_init(&c->rng, seed);
    c->pair = pair_start(PROCESS_ARGS("-max-speed", "100000", "-tick", "20", "-spawn", "0,0,60",
                                      "-bounds", "-150,-150,150,150", "-aoi-hysteresis", hysteresis,
                                      "-update-interval", "0"),
                         PROCESS_ARGS("-rate", "0"));
    c->second = pair_gateway(c->pair.world->addr, PROCESS_ARGS("-rate", "0"));
    pair_await_link(c->second, 1);
    stage_init(&c->stage);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        snprintf(c->names[i], sizeof(c->names[i]), "p%u", i);
        log_in_and_enter(stage_connect(&c->stage, some_gateway(c)), c->names[i]);
    }
}

static void crowd_end(struct crowd *c)
{
    stage_fini(&c->stage);
    pair_end_one(c->second);
    pair_end(&c->pair);
}

/* One thing that one player does; most are not waited for. */
static void act(struct crowd *c, uint32_t i)
{
    struct player *p = &c->stage.players[i];
    uint32_t what = (uint32_t)rng_below(&c->rng, 100);
    int rc = 0;

    if (!p->facts->in_world && p->facts->pending == 0)
        rc = bot_client_enter(p->client);
    else if (what < 60)
        rc = bot_client_move(p->client, within(p->facts->x + spread(c, 6)),
                             within(p->facts->y + spread(c, 6)));
    else if (what < 70)
        rc = bot_client_move_with(p->client, spread(c, SIZE), spread(c, SIZE), spread(c, 9), 5);
    else if (what < 76)
        rc = bot_client_say(p->client, "hello");
    else if (what < 79 && p->facts->pending == 0)
        rc = bot_client_leave(p->client);
    else if (what < 80) {
        bot_client_close(p->client, rng_below(&c->rng, 2) != 0);
        player_reconnect(p, some_gateway(c));
        log_in_and_enter(p, c->names[i]);
    }
    cr_assert_eq(rc, 0);
}

static bool all_answered(const struct stage *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->players[i].facts->pending > 0)
            return false;
    }
    return true;
}

/* What is wrong with what i knows of j; NULL: nothing. */
static const char *mistake(const struct crowd *c, uint32_t i, uint32_t j)
{
    const struct player *v = &c->stage.players[i], *p = &c->stage.players[j];
    double dx = v->facts->x - p->facts->x, dy = v->facts->y - p->facts->y;
    double d2 = dx * dx + dy * dy, far = RADIUS + c->hysteresis;
    bool knows = player_knows(v, p->facts->id);

    if (!v->facts->in_world)
        return NULL;
    if (!p->facts->in_world)
        return knows ? "somebody who left is known" : NULL;
    if (d2 <= RADIUS * RADIUS && !knows)
        return "somebody in sight is not known";
    if (d2 > far * far && knows)
        return "somebody out of sight is known";
    if (knows != player_knows(p, v->facts->id))
        return "one of two knows the other";
    return knows && !player_sees(v, p) ? "somebody is at another place" : NULL;
}

static const char *any_mistake(const struct crowd *c)
{
    const char *text = NULL;

    for (uint32_t i = 0; i < PLAYERS; i++) {
        for (uint32_t j = 0; j < PLAYERS && !text; j++)
            text = i == j ? NULL : mistake(c, i, j);
    }
    return text;
}

/* All rest; whoever is in sight must be known, at its place, and nobody else. */
static void rest_and_compare(struct crowd *c)
{
    STAGE_UNTIL(&c->stage, all_answered(&c->stage));
    stage_pass(&c->stage, 4 * TICK_MS);
    if (any_mistake(c))
        stage_pass(&c->stage, LATE_MS);
    const char *text = any_mistake(c);
    if (text)
        process_fail("%s", text);
}

static void play(struct crowd *c, uint32_t rounds)
{
    for (uint32_t round = 1; round <= rounds; round++) {
        for (uint32_t i = 0; i < PLAYERS; i++)
            act(c, i);
        stage_pass(&c->stage, TICK_MS / 2);
        if (round % REST_EVERY == 0)
            rest_and_compare(c);
    }
}

Test(e2e_crowd, every_view_is_exact_whenever_all_rest)
{
    struct crowd c;

    crowd_start(&c, 20240801, "0");
    play(&c, ROUNDS);
    crowd_end(&c);
    TEST_NO_LEAKS();
}

Test(e2e_crowd, every_view_is_exact_whenever_all_rest_with_hysteresis)
{
    struct crowd c;

    crowd_start(&c, 20240802, "7");
    play(&c, ROUNDS);
    crowd_end(&c);
    TEST_NO_LEAKS();
}

/* --- and faults in the midst of it ------------------------------------------------------------ */

/* The world is killed for the `times`th time; who was inside is put into the next one. */
static void lose_world(struct crowd *c, unsigned times)
{
    struct stage *s = &c->stage;
    uint32_t entered[PLAYERS];

    for (uint32_t i = 0; i < PLAYERS; i++)
        entered[i] = s->players[i].got[CMD_ENTER_RESP];
    process_kill(c->pair.world);
    process_restart(c->pair.world);
    process_await_addr(c->pair.world);
    pair_await_link(c->pair.gateway, times + 1);
    pair_await_link(c->second, 2); /* it was started anew since the time before */
    for (uint32_t i = 0; i < PLAYERS; i++) {
        struct player *p = &s->players[i];
        STAGE_UNTIL(s, !p->facts->in_world || p->got[CMD_ENTER_RESP] > entered[i]);
        /* Something that is answered behind all that was lost; the world may know better. */
        if (p->facts->in_world)
            player_move(p, p->facts->x, p->facts->y);
        else
            (void)player_answer(p, bot_client_enter(p->client));
        cr_assert_eq(p->told[PE_NOT_LOGGED_IN], 0u);
    }
}

/* The second gateway is killed; its clients come back through the first one. */
static void lose_gateway(struct crowd *c)
{
    struct stage *s = &c->stage;

    process_kill(c->second);
    stage_pass(s, 100);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        if (!s->players[i].closed)
            continue;
        player_reconnect(&s->players[i], c->pair.gateway->addr);
        log_in_and_enter(&s->players[i], c->names[i]);
    }
    process_restart(c->second);
    process_await_addr(c->second);
    pair_await_link(c->second, 1);
}

Test(e2e_crowd, every_view_is_exact_again_after_the_world_and_a_gateway_were_killed)
{
    struct crowd c;

    crowd_start(&c, 20240803, "3");
    for (int i = 0; i < 2; i++) {
        play(&c, 2 * REST_EVERY);
        lose_world(&c, (unsigned)i + 1);
        rest_and_compare(&c);
        play(&c, 2 * REST_EVERY);
        lose_gateway(&c);
        rest_and_compare(&c);
    }
    play(&c, 2 * REST_EVERY);
    crowd_end(&c);
    TEST_NO_LEAKS();
}

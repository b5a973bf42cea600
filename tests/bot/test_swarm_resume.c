/* tests/bot/test_swarm_resume.c: bots that lose their connection and take their entity back. */
#include "bot/swarm.h"

#include "common/log.h"
#include "tests/bot/fake_server.h"
#include "tests/leak.h"

#include <criterion/criterion.h>

#define LONG_NS (20 * CLOCK_NS_PER_S)
#define BOTS    5u

struct scene {
    struct loop *loop;
    struct message_reader *reader;
    struct fake_server server;
    struct swarm *swarm;
    uint32_t keys;    /* logins that brought one */
    uint32_t refused; /* of these, so many are still to be refused */
};

/* Gives each login a key; one that brings a key is given its entity back. */
static bool answer_keys(struct fake_peer *p, const struct message *m)
{
    struct scene *s = p->server->arg;
    struct message a = {.cmd = CMD_LOGIN_RESP, .seq = m->seq}, enter = {.cmd = CMD_ENTER_RESP};

    if (m->cmd != CMD_LOGIN_REQ)
        return false;
    bool has_key = m->login_req.resume.n > 0;
    if (has_key && s->refused > 0) {
        s->refused--;
        fake_server_error(p, PE_AUTH_FAILED, m->cmd, m->seq);
        return true;
    }
    if (has_key) {
        s->keys++;
        cr_assert(span_equal(m->login_req.resume, span_text("a key")));
    }
    a.login_resp.id = p->id;
    a.login_resp.name = m->login_req.name;
    a.login_resp.resume = span_text("a key");
    a.login_resp.resumed = has_key;
    fake_server_send(p, &a);
    if (!has_key)
        return true;
    enter.enter_resp.id = p->id;
    enter.enter_resp.scene = span_text("default");
    enter.enter_resp.tick_ms = 50;
    enter.enter_resp.radius = 30;
    enter.enter_resp.quantum = 1.0 / 64;
    enter.enter_resp.max_speed = 12;
    fake_server_send(p, &enter);
    return true;
}

static void begin(struct scene *s, double drop)
{
    *s = (struct scene){0};
    log_init("bot", LOG_OFF, LOG_TEXT);
    cr_assert_eq(loop_create(&s->loop), 0);
    cr_assert_eq(message_reader_create(PROTO_BATCH_MAX, &s->reader), 0);
    fake_server_start(&s->server, s->loop);
    s->server.arg = s;
    s->server.answer = answer_keys;
    const struct swarm_config config = {.addr = fake_server_addr(&s->server),
                                        .prefix = "test",
                                        .n = {[SWARM_WALKER] = BOTS},
                                        .rate = drop > 0 ? 10 : 0.01,
                                        .login_rate = 1000,
                                        .seed = 1,
                                        .timeout_ns = LONG_NS};
    cr_assert_eq(swarm_create(s->loop, s->reader, &config, &s->swarm), 0);
    swarm_drop(s->swarm, drop);
}

static bool run(struct scene *s, bot_client_pred_fn *pred)
{
    return bot_client_run_until(s->loop, pred, s, clock_add(clock_mono(), LONG_NS));
}

static void end(struct scene *s)
{
    swarm_destroy(s->swarm);
    fake_server_stop(&s->server);
    message_reader_destroy(s->reader);
    loop_destroy(s->loop);
    TEST_NO_LEAKS();
}

static bool all_in(void *arg)
{
    struct scene *s = arg;
    return s->swarm->in_world == BOTS;
}

static bool all_lost(void *arg)
{
    struct scene *s = arg;
    return s->swarm->in_world == 0;
}

static bool all_done(void *arg)
{
    struct scene *s = arg;
    return swarm_left(s->swarm);
}

static void lose_all(struct scene *s)
{
    uint32_t from = s->server.peers - BOTS;

    for (uint32_t i = from; i < from + BOTS; i++)
        fake_server_close(&s->server.peer[i]);
    cr_assert(run(s, all_lost));
}

Test(swarm_resume, a_lost_connection_is_resumed_with_the_key_and_says_which_way_it_faces)
{
    struct scene s;
    begin(&s, 0);
    cr_assert(run(&s, all_in));
    lose_all(&s);
    cr_assert(run(&s, all_in));
    cr_assert_eq(s.keys, BOTS);
    cr_assert_eq(s.swarm->counted.resumed, BOTS);
    cr_assert_eq(s.swarm->counted.logins, 2 * BOTS);
    cr_assert_eq(s.swarm->counted.placed, 0);
    cr_assert_eq(s.swarm->counted.breaches, 0);
    cr_assert_geq(s.swarm->counted.moves, BOTS, "nobody walks, but each turned once");
    end(&s);
}

Test(swarm_resume, a_refused_key_is_forgotten_and_it_logs_in_without)
{
    struct scene s;
    begin(&s, 0);
    cr_assert(run(&s, all_in));
    s.refused = BOTS;
    lose_all(&s);
    cr_assert(run(&s, all_in));
    cr_assert_eq(s.keys, 0);
    cr_assert_eq(s.swarm->counted.keys_refused, BOTS);
    cr_assert_eq(s.swarm->counted.resumed, 0);
    cr_assert_eq(s.swarm->counted.logins, 2 * BOTS);
    cr_assert_eq(s.server.peers, 2 * BOTS, "on the same connection");
    end(&s);
}

Test(swarm_resume, after_bye_6_14_or_19_nobody_comes_back)
{
    static const uint32_t codes[BOTS] = {PE_NAME_IN_USE, PE_AUTH_FAILED, PE_KICKED, PE_KICKED,
                                         PE_NAME_IN_USE};
    struct scene s;
    begin(&s, 0);
    cr_assert(run(&s, all_in));
    for (uint32_t i = 0; i < BOTS; i++) {
        struct message bye = {.cmd = CMD_BYE};
        bye.bye.code = codes[i];
        bye.bye.reason = span_text("go");
        fake_server_send(&s.server.peer[i], &bye);
        fake_server_close(&s.server.peer[i]);
    }
    cr_assert(run(&s, all_done));
    cr_assert_eq(s.swarm->counted.expelled, BOTS);
    cr_assert_eq(s.swarm->counted.lost, 0);
    cr_assert_eq(s.server.peers, BOTS);
    end(&s);
}

static bool cut_in_each_way(void *arg)
{
    const struct swarm_count *n = &((struct scene *)arg)->swarm->counted;
    return n->dropped_fin > 0 && n->dropped_rst > 0 && n->dropped_silent > 0 && n->resumed >= 3;
}

Test(swarm_resume, connections_are_cut_by_fin_by_rst_and_by_silence_and_resumed)
{
    struct scene s;
    begin(&s, 0.5);
    cr_assert(run(&s, cut_in_each_way));
    cr_assert_eq(s.swarm->counted.lost, 0, "it was not the server that cut them");
    cr_assert_eq(s.swarm->counted.breaches, 0);
    swarm_drop(s.swarm, 0);
    cr_assert(run(&s, all_in));
    uint32_t open = 0;
    for (uint32_t i = 0; i < s.server.peers; i++)
        open += s.server.peer[i].stream != NULL;
    cr_assert_gt(open, BOTS, "who went silent left a connection behind");
    end(&s);
}

Test(swarm_resume, while_they_rest_no_connection_is_cut)
{
    struct scene s;
    begin(&s, 1);
    swarm_drop(s.swarm, 0);
    cr_assert(run(&s, all_in));
    swarm_rest(s.swarm, true);
    swarm_drop(s.swarm, 1);
    bot_client_run_until(s.loop, NULL, NULL, clock_add(clock_mono(), 100 * CLOCK_NS_PER_MS));
    cr_assert_eq(s.swarm->in_world, BOTS);
    end(&s);
}

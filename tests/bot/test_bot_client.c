/* tests/bot/test_bot_client.c: the client against a server that a test scripts. */
#include "bot/bot_client.h"

#include "common/err.h"
#include "tests/bot/fake_server.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define LONG_NS (10 * CLOCK_NS_PER_S)

/* A client, its server, and what happened to it. */
struct scene {
    struct loop *loop;
    struct message_reader *reader;
    struct fake_server server;
    struct bot_client *client;
    const struct bot_client_facts *facts;
    char addr[NET_TEXT_MAX];
    uint32_t connected, messages, answers, breaches, closed;
    uint32_t last_cmd, last_asked;
    char breach[VIEW_BREACH_MAX];
    char why[BOT_WHY_MAX];
    uint32_t destroy_at; /* destroy the client in the callback of this cmd */
    bool again;          /* connect again when closed */
};

static void on_connected(void *arg)
{
    struct scene *s = arg;
    s->connected++;
}

static void on_message(void *arg, const struct message *m, const struct pending_request *asked)
{
    struct scene *s = arg;
    s->messages++;
    s->answers += asked != NULL;
    s->last_cmd = m->cmd;
    s->last_asked = asked ? asked->cmd : 0;
    if (s->destroy_at == m->cmd) {
        bot_client_destroy(s->client);
        s->client = NULL;
    }
}

static void on_breach(void *arg, const char *text)
{
    struct scene *s = arg;
    s->breaches++;
    snprintf(s->breach, sizeof(s->breach), "%s", text);
}

static void on_closed(void *arg, const char *why)
{
    struct scene *s = arg;
    s->closed++;
    snprintf(s->why, sizeof(s->why), "%s", why);
    if (s->again) {
        s->again = false;
        cr_assert_eq(bot_client_connect(s->client, s->addr, LONG_NS), 0);
    }
}

static const struct bot_client_ops ops = {on_connected, on_message, on_breach, on_closed};

static bool is_connected(void *arg)
{
    struct scene *s = arg;
    return s->facts->connected;
}

static bool is_closed(void *arg)
{
    struct scene *s = arg;
    return s->closed > 0;
}

static bool is_destroyed(void *arg)
{
    struct scene *s = arg;
    return s->client == NULL;
}

static bool run(struct scene *s, bot_client_pred_fn *pred)
{
    return bot_client_run_until(s->loop, pred, s, clock_add(clock_mono(), LONG_NS));
}

/* Wait until all that was asked is answered. */
static void run_answered(struct scene *s)
{
    cr_assert(bot_client_run_until(s->loop, bot_client_answered, s->client,
                                   clock_add(clock_mono(), LONG_NS)));
}

static void begin(struct scene *s)
{
    *s = (struct scene){0};
    cr_assert_eq(loop_create(&s->loop), 0);
    cr_assert_eq(message_reader_create(PROTO_BATCH_MAX, &s->reader), 0);
    fake_server_start(&s->server, s->loop);
    snprintf(s->addr, sizeof(s->addr), "%s", fake_server_addr(&s->server));
    cr_assert_eq(bot_client_create(s->loop, s->reader, &ops, s, &s->client), 0);
    s->facts = bot_client_facts(s->client);
    cr_assert_eq(bot_client_connect(s->client, s->addr, LONG_NS), 0);
    cr_assert(run(s, is_connected));
}

static void begin_in_world(struct scene *s)
{
    begin(s);
    cr_assert_eq(bot_client_login(s->client, "alpha"), 0);
    cr_assert_eq(bot_client_enter(s->client), 0);
    run_answered(s);
    cr_assert(s->facts->in_world);
}

static void end(struct scene *s)
{
    bot_client_destroy(s->client);
    fake_server_stop(&s->server);
    message_reader_destroy(s->reader);
    loop_destroy(s->loop);
    TEST_NO_LEAKS();
}

static struct message batch(uint32_t tick, struct message_entity *e)
{
    struct message m = {.cmd = CMD_AOI_ADD};
    *e = (struct message_entity){.id = 77, .name = span_text("beta"), .x = 12};
    m.aoi_add.tick = tick;
    m.aoi_add.entities = e;
    m.aoi_add.count = 1;
    return m;
}

Test(bot_client, a_session_goes_from_login_to_leave)
{
    struct scene s;
    begin_in_world(&s);
    cr_assert_eq(s.facts->id, 1);
    cr_assert_str_eq(s.facts->name, "alpha");
    cr_assert_eq(s.facts->x, 8);
    cr_assert_eq(s.facts->quantum, 1.0 / 64);
    cr_assert_eq(bot_client_move_with(s.client, 8.5, 1, -1.5707963267948966, 99), 0);
    cr_assert_eq(bot_client_ping(s.client), 0);
    cr_assert_eq(bot_client_say(s.client, "hello"), 0);
    cr_assert_eq(s.facts->pending, 3);
    run_answered(&s);
    cr_assert_eq(s.facts->x, 8.5);
    cr_assert_eq(s.facts->y, 1);
    cr_assert_float_eq(s.facts->dir, 4.71238898038469, 1e-12);
    cr_assert_eq(s.facts->speed, 12, "cut to max_speed");
    cr_assert_eq(bot_client_leave(s.client), 0);
    run_answered(&s);
    cr_assert_not(s.facts->in_world);
    cr_assert_eq(s.facts->seq, 6);
    cr_assert_eq(s.answers, 6);
    cr_assert_eq(s.breaches, 0, "%s", s.breach);
    cr_assert_eq(s.facts->frames_in, 6);
    cr_assert(bot_client_bytes(s.client).bytes_in > 0);
    end(&s);
}

Test(bot_client, what_it_is_told_stands_in_its_view)
{
    struct scene s;
    struct message_entity e;
    begin_in_world(&s);
    struct message m = batch(4, &e);
    fake_server_send(&s.server.peer[0], &m);
    cr_assert_eq(bot_client_ping(s.client), 0);
    run_answered(&s);
    cr_assert_eq(view_find_name(bot_client_view(s.client), span_text("beta"))->id, 77);
    cr_assert_eq(s.last_cmd, CMD_PING_RESP);
    end(&s);
}

Test(bot_client, frames_may_come_a_byte_at_a_time)
{
    struct scene s;
    begin_in_world(&s);
    /* SayNotify [36, 0, {id: 77, text: "hi"}] behind an AoiAdd that makes 77 known. */
    static const uint8_t say[] = {0,   0,  0,    16,  0x93, 36,  0,   0x82, 0xa2, 'i',
                                  'd', 77, 0xa4, 't', 'e',  'x', 't', 0xa2, 'h',  'i'};
    struct message_entity e;
    struct message m = batch(4, &e);
    fake_server_send(&s.server.peer[0], &m);
    for (size_t i = 0; i < sizeof(say); i++) {
        fake_server_raw(&s.server.peer[0], &say[i], 1);
        loop_turn(s.loop, 0);
        loop_turn(s.loop, 0);
    }
    cr_assert_eq(bot_client_ping(s.client), 0);
    run_answered(&s);
    cr_assert_eq(s.messages, 5);
    cr_assert_eq(s.breaches, 0, "%s", s.breach);
    end(&s);
}

static bool refuse_moves(struct fake_peer *p, const struct message *m)
{
    if (m->cmd != CMD_MOVE_REQ)
        return false;
    fake_server_error(p, PE_MOVE_SPEED, CMD_MOVE_REQ, m->seq);
    return true;
}

Test(bot_client, a_refused_move_puts_it_back_to_its_last_legal_place)
{
    struct scene s;
    begin_in_world(&s);
    s.server.answer = refuse_moves;
    cr_assert_eq(bot_client_move(s.client, 9999, 0), 0);
    run_answered(&s);
    cr_assert_eq(s.last_cmd, CMD_ERROR_NOTIFY);
    cr_assert_eq(s.last_asked, CMD_MOVE_REQ);
    cr_assert_eq(s.facts->error_code, PE_MOVE_SPEED);
    cr_assert_eq(s.facts->error_cmd, CMD_MOVE_REQ);
    cr_assert_eq(s.facts->x, 8);
    end(&s);
}

Test(bot_client, a_walk_is_known_by_its_goal_until_a_move_says_where_it_looks)
{
    struct scene s;
    begin_in_world(&s);
    cr_assert_eq(bot_client_walk(s.client, 11, -2, true), 0);
    run_answered(&s);
    cr_assert_eq(s.last_cmd, CMD_WALK_RESP);
    cr_assert(s.facts->x == 11 && s.facts->y == -2 && s.facts->speed == 0 && s.facts->walked);
    cr_assert_eq(bot_client_move(s.client, 11, -2), 0);
    run_answered(&s);
    cr_assert(s.facts->walked);
    cr_assert_eq(bot_client_move_with(s.client, 11, -2, 1, 2), 0);
    run_answered(&s);
    cr_assert_not(s.facts->walked);
    end(&s);
}

Test(bot_client, an_unasked_not_logged_in_makes_it_log_in_anew_on_the_same_connection)
{
    struct scene s;
    begin_in_world(&s);
    fake_server_error(&s.server.peer[0], PE_NOT_LOGGED_IN, 0, 0);
    cr_assert_eq(bot_client_ping(s.client), 0);
    run_answered(&s);
    cr_assert_not(s.facts->logged_in);
    cr_assert_not(s.facts->in_world);
    cr_assert_eq(bot_client_login(s.client, "alpha"), 0);
    run_answered(&s);
    cr_assert(s.facts->logged_in);
    cr_assert_eq(s.breaches, 0, "%s", s.breach);
    end(&s);
}

Test(bot_client, bye_is_the_reason_of_the_end)
{
    struct scene s;
    struct message m = {.cmd = CMD_BYE};
    begin_in_world(&s);
    m.bye.code = PE_SHUTTING_DOWN;
    m.bye.reason = span_text("going");
    fake_server_send(&s.server.peer[0], &m);
    fake_server_close(&s.server.peer[0]);
    cr_assert(run(&s, is_closed));
    cr_assert_not_null(strstr(s.why, "Bye 17 shutting_down"));
    cr_assert_not(s.facts->connected);
    cr_assert_eq(bot_client_ping(s.client), E_CLOSED);
    end(&s);
}

Test(bot_client, a_frame_after_bye_is_a_breach)
{
    struct scene s;
    struct message m = {.cmd = CMD_BYE};
    begin_in_world(&s);
    m.bye.code = PE_KICKED;
    m.bye.reason = span_text("out");
    fake_server_send(&s.server.peer[0], &m);
    fake_server_send(&s.server.peer[0], &m);
    fake_server_close(&s.server.peer[0]);
    cr_assert(run(&s, is_closed));
    cr_assert_eq(s.breaches, 1);
    cr_assert_str_eq(s.breach, "a frame after Bye");
    end(&s);
}

Test(bot_client, what_breaks_the_contract_is_told_and_it_goes_on)
{
    struct scene s;
    struct message_entity e;
    begin(&s);
    struct message m = batch(4, &e);
    fake_server_send(&s.server.peer[0], &m);
    static const uint8_t junk[] = {0, 0, 0, 3, 0x93, 1, 2};
    fake_server_raw(&s.server.peer[0], junk, sizeof(junk));
    cr_assert_eq(bot_client_ping(s.client), 0);
    run_answered(&s);
    cr_assert_eq(s.breaches, 2);
    cr_assert_not_null(strstr(s.breach, "cannot be read"));
    cr_assert_eq(s.facts->breaches, 2);
    cr_assert(s.facts->connected);
    end(&s);
}

Test(bot_client, a_length_that_is_not_allowed_ends_the_connection)
{
    struct scene s;
    begin(&s);
    static const uint8_t head[] = {0, 16, 0, 1};
    fake_server_raw(&s.server.peer[0], head, sizeof(head));
    cr_assert(run(&s, is_closed));
    cr_assert_str_eq(s.why, "the server's framing is broken");
    cr_assert_eq(s.breaches, 1);
    end(&s);
}

Test(bot_client, it_may_be_destroyed_inside_its_callbacks)
{
    struct scene s;
    begin(&s);
    s.destroy_at = CMD_LOGIN_RESP;
    cr_assert_eq(bot_client_login(s.client, "alpha"), 0);
    cr_assert_eq(bot_client_enter(s.client), 0);
    cr_assert(run(&s, is_destroyed));
    loop_turn(s.loop, 0);
    cr_assert_eq(s.messages, 1, "nothing is told after the end");
    end(&s);
}

Test(bot_client, it_may_connect_again_inside_closed_and_starts_anew)
{
    struct scene s;
    begin_in_world(&s);
    s.again = true;
    fake_server_close(&s.server.peer[0]);
    cr_assert(run(&s, is_closed));
    cr_assert_str_eq(s.why, "the server closed the connection");
    cr_assert(run(&s, is_connected));
    cr_assert_eq(s.connected, 2);
    cr_assert_eq(s.facts->seq, 0);
    cr_assert_not(s.facts->in_world);
    cr_assert_eq(bot_client_login(s.client, "alpha"), 0);
    run_answered(&s);
    cr_assert_eq(s.facts->seq, 1);
    cr_assert_eq(s.facts->id, 2);
    cr_assert_eq(s.breaches, 0, "%s", s.breach);
    end(&s);
}

Test(bot_client, a_server_that_is_not_there_is_told_as_closed)
{
    struct scene s;
    begin(&s);
    bot_client_close(s.client, true);
    fake_server_deaf(&s.server);
    cr_assert_eq(bot_client_connect(s.client, s.addr, LONG_NS), 0);
    cr_assert(run(&s, is_closed));
    cr_assert_not_null(strstr(s.why, "cannot connect"));
    end(&s);
}

static bool say_nothing(struct fake_peer *p, const struct message *m)
{
    (void)p;
    (void)m;
    return true;
}

Test(bot_client, no_more_requests_wait_than_its_bound)
{
    struct scene s;
    begin(&s);
    s.server.answer = say_nothing;
    for (int i = 0; i < PENDING_MAX; i++)
        cr_assert_eq(bot_client_ping(s.client), 0);
    cr_assert_eq(bot_client_ping(s.client), E_FULL);
    cr_assert_eq(s.facts->seq, PENDING_MAX);
    bool answered = bot_client_run_until(s.loop, bot_client_answered, s.client,
                                         clock_add(clock_mono(), 20 * CLOCK_NS_PER_MS));
    cr_assert_not(answered, "a deadline ends the waiting");
    end(&s);
}

Test(bot_client, held_requests_leave_byte_by_byte)
{
    struct scene s;
    begin_in_world(&s);
    bot_client_hold(s.client, true);
    cr_assert_eq(bot_client_ping(s.client), 0);
    cr_assert_eq(s.facts->held, 4 + 4);
    for (int i = 0; i < 7; i++) {
        bot_client_drip(s.client, 1);
        loop_turn(s.loop, 0);
        loop_turn(s.loop, 0);
    }
    cr_assert_eq(s.server.peer[0].requests, 2);
    bot_client_drip(s.client, 99);
    run_answered(&s);
    cr_assert_eq(s.server.peer[0].requests, 3);
    cr_assert_eq(s.facts->held, 0);
    end(&s);
}

Test(bot_client, a_request_larger_than_a_frame_is_refused)
{
    static char text[PROTO_FRAME_MAX + 1];
    struct scene s;
    begin(&s);
    memset(text, 'a', sizeof(text) - 1);
    cr_assert_eq(bot_client_say(s.client, text), E_RANGE);
    cr_assert_eq(s.facts->pending, 0);
    end(&s);
}

static bool give_key(struct fake_peer *p, const struct message *m)
{
    struct message a = {.cmd = CMD_LOGIN_RESP, .seq = m->seq};

    if (m->cmd != CMD_LOGIN_REQ)
        return false;
    if (span_equal(m->login_req.resume, span_text("bad"))) {
        fake_server_error(p, PE_AUTH_FAILED, m->cmd, m->seq);
        return true;
    }
    a.login_resp.id = p->id;
    a.login_resp.name = m->login_req.name;
    a.login_resp.resume = span_text(m->login_req.resume.n > 0 ? "bad" : "good");
    a.login_resp.resumed = m->login_req.resume.n > 0;
    fake_server_send(p, &a);
    return true;
}

Test(bot_client, the_key_outlives_the_connection_until_it_is_refused)
{
    struct scene s;
    begin(&s);
    s.server.answer = give_key;
    cr_assert_eq(bot_client_resume(s.client, "alpha"), 0);
    run_answered(&s);
    cr_assert_str_eq(s.facts->key, "good");
    cr_assert_not(s.facts->resumed);
    bot_client_close(s.client, true);
    cr_assert_eq(bot_client_connect(s.client, s.addr, LONG_NS), 0);
    cr_assert(run(&s, is_connected));
    cr_assert_eq(bot_client_resume(s.client, "alpha"), 0);
    run_answered(&s);
    cr_assert(s.facts->resumed);
    cr_assert_str_eq(s.facts->key, "bad");
    cr_assert_eq(bot_client_resume(s.client, "alpha"), 0);
    run_answered(&s);
    cr_assert_eq(s.facts->error_code, PE_AUTH_FAILED);
    cr_assert_str_eq(s.facts->key, "");
    end(&s);
}

static bool is_gone(void *arg)
{
    struct scene *s = arg;
    return s->server.peer[0].stream == NULL;
}

Test(bot_client, an_abandoned_connection_stays_open_until_it_is_buried)
{
    struct scene s;
    begin(&s);
    bot_client_abandon(s.client);
    cr_assert_not(s.facts->connected);
    cr_assert_eq(bot_client_connect(s.client, s.addr, LONG_NS), 0);
    cr_assert(run(&s, is_connected));
    cr_assert_eq(bot_client_login(s.client, "alpha"), 0);
    run_answered(&s);
    cr_assert_eq(s.server.peers, 2);
    cr_assert_not(is_gone(&s));
    bot_client_bury(s.client);
    cr_assert(run(&s, is_gone));
    cr_assert_eq(s.closed, 0);
    end(&s);
}

Test(bot_client, an_error_reads_as_a_sentence)
{
    struct message m = {.cmd = CMD_ERROR_NOTIFY};
    char text[BOT_WHY_MAX];
    m.error_notify.code = PE_NAME_IN_USE;
    m.error_notify.cmd = CMD_LOGIN_REQ;
    bot_client_error_text(&m, text, sizeof(text));
    cr_assert_str_eq(text, "LoginReq refused: name_in_use (6), the name has a live connection");
}

/* tests/bot/test_swarm.c: many bots come in, walk, are thrown out, come back and leave. */
#include "bot/swarm.h"

#include "common/log.h"
#include "proto/aoi_move.h"
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
    uint64_t want_moves;
    uint32_t refusals; /* logins that are still to be refused */
};

static bool all_in(void *arg)
{
    struct scene *s = arg;
    return s->swarm->in_world == BOTS;
}

static bool has_moved(void *arg)
{
    struct scene *s = arg;
    return s->swarm->counted.moves_ok >= s->want_moves;
}

static bool all_lost(void *arg)
{
    struct scene *s = arg;
    return s->swarm->in_world == 0;
}

static bool run(struct scene *s, bot_client_pred_fn *pred)
{
    return bot_client_run_until(s->loop, pred, s, clock_add(clock_mono(), LONG_NS));
}

static void begin(struct scene *s)
{
    *s = (struct scene){0};
    log_init("bot", LOG_OFF, LOG_TEXT);
    cr_assert_eq(loop_create(&s->loop), 0);
    cr_assert_eq(message_reader_create(PROTO_BATCH_MAX, &s->reader), 0);
    fake_server_start(&s->server, s->loop);
    s->server.arg = s;
}

static void start(struct scene *s)
{
    const struct swarm_config config = {.addr = fake_server_addr(&s->server),
                                        .prefix = "test",
                                        .n = {[SWARM_WALKER] = BOTS},
                                        .rate = 50,
                                        .login_rate = 1000,
                                        .seed = 1,
                                        .timeout_ns = LONG_NS};
    cr_assert_eq(swarm_create(s->loop, s->reader, &config, &s->swarm), 0);
}

static void end(struct scene *s)
{
    swarm_destroy(s->swarm);
    fake_server_stop(&s->server);
    message_reader_destroy(s->reader);
    loop_destroy(s->loop);
    TEST_NO_LEAKS();
}

Test(swarm, all_come_in_walk_and_leave)
{
    struct scene s;
    struct swarm_told told;
    begin(&s);
    start(&s);
    s.want_moves = 10 * BOTS;
    cr_assert(run(&s, all_in));
    cr_assert(run(&s, has_moved));
    cr_assert_eq(s.swarm->counted.logins, BOTS);
    cr_assert_eq(s.swarm->counted.breaches, 0);
    cr_assert_eq(s.swarm->counted.errors, 0);
    swarm_sum(s.swarm, &told);
    cr_assert(told.frames >= 12 * BOTS);
    cr_assert(told.bytes_in > told.frames);
    swarm_leave(s.swarm);
    cr_assert(bot_client_run_until(s.loop, swarm_left, s.swarm, clock_add(clock_mono(), LONG_NS)));
    cr_assert_eq(s.swarm->in_world, 0);
    end(&s);
}

Test(swarm, while_they_rest_nobody_moves)
{
    struct scene s;
    begin(&s);
    start(&s);
    s.want_moves = BOTS;
    cr_assert(run(&s, all_in));
    cr_assert(run(&s, has_moved));
    swarm_rest(s.swarm, true);
    uint64_t moves = s.swarm->counted.moves;
    bot_client_run_until(s.loop, NULL, NULL, clock_add(clock_mono(), 100 * CLOCK_NS_PER_MS));
    cr_assert_eq(s.swarm->counted.moves, moves);
    swarm_rest(s.swarm, false);
    s.want_moves = moves + BOTS;
    cr_assert(run(&s, has_moved));
    end(&s);
}

Test(swarm, a_lost_session_is_made_anew_on_the_same_connection)
{
    struct scene s;
    begin(&s);
    start(&s);
    cr_assert(run(&s, all_in));
    for (uint32_t i = 0; i < BOTS; i++)
        fake_server_error(&s.server.peer[i], PE_NOT_LOGGED_IN, 0, 0);
    cr_assert(run(&s, all_lost));
    cr_assert(run(&s, all_in));
    cr_assert_eq(s.server.peers, BOTS);
    cr_assert_eq(s.swarm->counted.logins, 2 * BOTS);
    cr_assert_eq(s.swarm->counted.error[PE_NOT_LOGGED_IN], BOTS);
    cr_assert_eq(s.swarm->counted.breaches, 0);
    end(&s);
}

Test(swarm, a_lost_connection_is_made_anew)
{
    struct scene s;
    begin(&s);
    start(&s);
    cr_assert(run(&s, all_in));
    for (uint32_t i = 0; i < BOTS; i++)
        fake_server_close(&s.server.peer[i]);
    cr_assert(run(&s, all_lost));
    cr_assert(run(&s, all_in));
    cr_assert_eq(s.server.peers, 2 * BOTS);
    cr_assert_eq(s.swarm->counted.lost, BOTS);
    end(&s);
}

static bool refuse_logins(struct fake_peer *p, const struct message *m)
{
    struct scene *s = p->server->arg;
    if (m->cmd != CMD_LOGIN_REQ || s->refusals == 0)
        return false;
    s->refusals--;
    fake_server_error(p, s->refusals % 2 ? PE_UNAVAILABLE : PE_NAME_IN_USE, m->cmd, m->seq);
    return true;
}

Test(swarm, a_refused_login_is_tried_again)
{
    struct scene s;
    begin(&s);
    s.server.answer = refuse_logins;
    s.refusals = 2 * BOTS;
    start(&s);
    cr_assert(run(&s, all_in));
    cr_assert_eq(s.server.peers, BOTS);
    cr_assert_eq(s.swarm->counted.errors, 2 * BOTS);
    end(&s);
}

/* Answers a bot's move, and tells the first bot of it when it is not its own. */
static bool show_to_first(struct fake_peer *p, const struct message *m)
{
    struct fake_peer *first = &p->server->peer[0];
    static bool told;
    if (m->cmd != CMD_MOVE_REQ || p == first || told || first->requests < 2)
        return false;
    told = true;
    struct message_entity e = {.id = p->id, .name = span_text("x"), .x = p->x, .y = p->y + 90};
    struct message add = {.cmd = CMD_AOI_ADD};
    add.aoi_add.tick = 1;
    add.aoi_add.entities = &e;
    add.aoi_add.count = 1;
    fake_server_send(first, &add);
    uint8_t record[AOI_MOVE_RECORD_MAX];
    struct aoi_move_tail t =
        aoi_move_tail(aoi_move_quantise(m->move_req.x, 1.0 / 64),
                      aoi_move_quantise(m->move_req.y, 1.0 / 64), false, 0, false, 0);
    struct message move = {.cmd = CMD_AOI_MOVE};
    move.aoi_move.tick = 2;
    move.aoi_move.moves = span_of(record, aoi_move_put(record, p->id, 0, &t));
    fake_server_send(first, &move);
    return false;
}

static bool has_latency(void *arg)
{
    struct scene *s = arg;
    return s->swarm->latency.count > 0;
}

Test(swarm, the_time_from_a_move_to_a_neighbours_notice_is_measured)
{
    struct scene s;
    begin(&s);
    s.server.answer = show_to_first;
    start(&s);
    cr_assert(run(&s, has_latency));
    cr_assert_eq(s.swarm->latency.count, 1);
    cr_assert(s.swarm->latency.max < (uint64_t)LONG_NS);
    cr_assert_eq(s.swarm->counted.breaches, 0);
    end(&s);
}

/* --- those who do not behave ------------------------------------------------------------------ */

static void start_kinds(struct scene *s, uint32_t deaf, uint32_t drip, uint32_t churn)
{
    const struct swarm_config config = {.addr = fake_server_addr(&s->server),
                                        .prefix = "test",
                                        .n = {0, deaf, drip, churn},
                                        .rate = 50,
                                        .login_rate = 0,
                                        .seed = 1,
                                        .timeout_ns = LONG_NS};
    cr_assert_eq(swarm_create(s->loop, s->reader, &config, &s->swarm), 0);
}

static bool deaf_is_cut(void *arg)
{
    struct scene *s = arg;
    return s->swarm->counted.deaf_cut == 1;
}

static bool one_in(void *arg)
{
    struct scene *s = arg;
    return s->swarm->in_world == 1;
}

Test(swarm, a_deaf_one_notices_its_end_when_it_listens_again_and_stays_out)
{
    struct scene s;
    struct message bye = {.cmd = CMD_BYE};
    begin(&s);
    start_kinds(&s, 1, 0, 0);
    cr_assert(run(&s, one_in));
    swarm_deafen(s.swarm);
    bye.bye.code = PE_SLOW;
    bye.bye.reason = span_text("slow");
    fake_server_send(&s.server.peer[0], &bye);
    fake_server_close(&s.server.peer[0]);
    bot_client_run_until(s.loop, NULL, NULL, clock_add(clock_mono(), 50 * CLOCK_NS_PER_MS));
    cr_assert_eq(s.swarm->in_world, 1, "it does not know yet");
    swarm_hear(s.swarm);
    cr_assert(run(&s, deaf_is_cut));
    cr_assert_eq(s.swarm->counted.deaf_slow, 1);
    cr_assert_eq(s.swarm->counted.lost, 0);
    cr_assert_eq(s.swarm->bots[0].state, SWARM_DONE);
    end(&s);
}

Test(swarm, one_who_drips_walks_all_the_same)
{
    struct scene s;
    begin(&s);
    start_kinds(&s, 0, 1, 0);
    s.want_moves = 2;
    cr_assert(run(&s, has_moved));
    cr_assert_eq(s.swarm->latency.count, 0);
    cr_assert_eq(s.swarm->counted.breaches, 0);
    end(&s);
}

static bool has_churned(void *arg)
{
    struct scene *s = arg;
    return s->swarm->counted.churned >= 3 && s->swarm->counted.logins >= 6;
}

Test(swarm, those_who_churn_come_and_go)
{
    struct scene s;
    begin(&s);
    start_kinds(&s, 0, 0, 3);
    cr_assert(run(&s, has_churned));
    cr_assert_eq(s.swarm->counted.breaches, 0);
    cr_assert_eq(s.swarm->counted.lost, 0);
    end(&s);
}

static bool settled(void *arg)
{
    struct scene *s = arg;
    return swarm_settled(s->swarm);
}

Test(swarm, it_is_settled_when_all_is_answered_and_touching_changes_nothing)
{
    struct scene s;
    begin(&s);
    start(&s);
    cr_assert(run(&s, all_in));
    swarm_rest(s.swarm, true);
    cr_assert(run(&s, settled));
    double x = s.swarm->bots[0].facts->x;
    uint32_t seq = s.swarm->bots[0].facts->seq;
    swarm_touch(s.swarm);
    cr_assert_not(swarm_settled(s.swarm));
    cr_assert(run(&s, settled));
    cr_assert_eq(s.swarm->bots[0].facts->x, x);
    cr_assert_eq(s.swarm->bots[0].facts->seq, seq + 1);
    end(&s);
}

Test(swarm, while_the_world_is_away_it_is_not_settled)
{
    struct scene s;
    begin(&s);
    start(&s);
    cr_assert(run(&s, all_in));
    swarm_rest(s.swarm, true);
    cr_assert(run(&s, settled));
    fake_server_error(&s.server.peer[0], PE_UNAVAILABLE, 0, 0);
    bot_client_run_until(s.loop, NULL, NULL, clock_add(clock_mono(), 50 * CLOCK_NS_PER_MS));
    cr_assert_not(swarm_settled(s.swarm));
    swarm_rest(s.swarm, false);
    s.want_moves = s.swarm->counted.moves_ok + 10 * BOTS;
    cr_assert(run(&s, has_moved));
    swarm_rest(s.swarm, true);
    cr_assert(run(&s, settled), "it moves again, so the world is back");
    end(&s);
}

Test(swarm, a_bot_is_found_by_its_id_and_by_its_name)
{
    struct scene s;
    begin(&s);
    start(&s);
    cr_assert(run(&s, all_in));
    const struct swarm_bot *b = &s.swarm->bots[3];
    cr_assert_str_eq(b->name, "test-w-4");
    cr_assert_eq(swarm_find(s.swarm, b->id), b);
    cr_assert_null(swarm_find(s.swarm, 4000000000u));
    cr_assert_eq(swarm_find_name(s.swarm, span_text("test-w-4")), b);
    cr_assert_null(swarm_find_name(s.swarm, span_text("test-w-6")));
    cr_assert_null(swarm_find_name(s.swarm, span_text("test-d-4")));
    cr_assert_null(swarm_find_name(s.swarm, span_text("test-w-04")));
    cr_assert_null(swarm_find_name(s.swarm, span_text("test-w-")));
    cr_assert_null(swarm_find_name(s.swarm, span_text("somebody")));
    end(&s);
}

Test(swarm, of_a_crowd_every_seventh_notice_is_timed)
{
    struct scene s;
    begin(&s);
    const struct swarm_config config = {.addr = fake_server_addr(&s.server),
                                        .prefix = "test",
                                        .n = {[SWARM_WALKER] = 300},
                                        .timeout_ns = LONG_NS};
    cr_assert_eq(swarm_create(s.loop, s.reader, &config, &s.swarm), 0);
    struct swarm_bot *mover = &s.swarm->bots[1];
    const struct view *v = bot_client_view(s.swarm->bots[0].client);
    const struct view_entity e = {.id = 7, .qx = 30, .qy = 40};
    swarm_enlist(s.swarm, mover, 7);
    mover->sent[mover->sent_next++] = (struct swarm_sent){30, 40, 1};
    for (int i = 0; i < 70; i++)
        v->moved(v->moved_arg, &e);
    cr_assert_eq(s.swarm->latency.count, 10);
    end(&s);
}

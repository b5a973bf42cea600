/* tests/bot/test_pending.c: answers are paired with requests (PROTOCOL.md, Framing). */
#include "bot/pending.h"

#include "common/err.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct mono now = {1000};

static void ask(struct pending *p, uint32_t cmd, uint32_t seq)
{
    struct message m = {.cmd = cmd, .seq = seq};
    cr_assert_eq(pending_add(p, &m, now), 0);
}

/* The server's message; what it answers, 0: nothing. */
static const char *told(struct pending *p, uint32_t cmd, uint32_t seq, uint32_t *answers)
{
    struct message m = {.cmd = cmd, .seq = seq};
    struct pending_request asked;
    bool found;
    const char *breach = pending_take(p, &m, &asked, &found);
    *answers = found ? asked.seq : 0;
    return breach;
}

static const char *refused(struct pending *p, uint32_t code, uint32_t cmd, uint32_t seq)
{
    struct message m = {.cmd = CMD_ERROR_NOTIFY, .seq = seq};
    struct pending_request asked;
    bool found;
    m.error_notify.code = code;
    m.error_notify.cmd = cmd;
    return pending_take(p, &m, &asked, &found);
}

Test(pending, answers_in_the_order_of_the_requests_are_right)
{
    struct pending p = {0};
    uint32_t seq;
    ask(&p, CMD_LOGIN_REQ, 1);
    ask(&p, CMD_ENTER_REQ, 2);
    cr_assert_null(told(&p, CMD_LOGIN_RESP, 1, &seq));
    cr_assert_eq(seq, 1);
    cr_assert_null(told(&p, CMD_ENTER_RESP, 2, &seq));
    cr_assert_eq(seq, 2);
    cr_assert_eq(p.count, 0);
}

Test(pending, a_request_is_remembered_with_what_it_asked)
{
    struct pending p = {0};
    struct message m = {.cmd = CMD_MOVE_REQ, .seq = 4};
    struct pending_request asked;
    bool found;
    m.move_req.x = 1.5;
    m.move_req.y = -2;
    m.move_req.has_dir = true;
    m.move_req.dir = 3;
    cr_assert_eq(pending_add(&p, &m, now), 0);
    m = (struct message){.cmd = CMD_MOVE_RESP, .seq = 4};
    cr_assert_null(pending_take(&p, &m, &asked, &found));
    cr_assert(found);
    cr_assert_eq(asked.x, 1.5);
    cr_assert_eq(asked.y, -2);
    cr_assert(asked.has_dir);
    cr_assert_not(asked.has_speed);
    cr_assert_eq(asked.sent.ns, 1000);
}

Test(pending, what_the_gateway_answers_may_overtake)
{
    struct pending p = {0};
    uint32_t seq;
    ask(&p, CMD_MOVE_REQ, 1);
    ask(&p, CMD_PING_REQ, 2);
    ask(&p, CMD_MOVE_REQ, 3);
    ask(&p, CMD_MOVE_REQ, 4);
    cr_assert_null(told(&p, CMD_PING_RESP, 2, &seq));
    cr_assert_null(refused(&p, PE_RATE_LIMITED, CMD_MOVE_REQ, 4));
    cr_assert_null(told(&p, CMD_MOVE_RESP, 1, &seq));
    cr_assert_null(told(&p, CMD_MOVE_RESP, 3, &seq));
    cr_assert_eq(p.count, 0);
}

Test(pending, what_the_world_answers_may_not_overtake)
{
    struct pending p = {0};
    uint32_t seq;
    ask(&p, CMD_MOVE_REQ, 1);
    ask(&p, CMD_MOVE_REQ, 2);
    ask(&p, CMD_MOVE_REQ, 3);
    const char *breach = told(&p, CMD_MOVE_RESP, 2, &seq);
    cr_assert_not_null(breach);
    cr_assert_not_null(strstr(breach, "MoveReq 2 is answered before MoveReq 1"));
    cr_assert_not_null(refused(&p, PE_MOVE_SPEED, CMD_MOVE_REQ, 3));
}

Test(pending, an_answer_to_nothing_is_a_breach)
{
    struct pending p = {0};
    uint32_t seq;
    ask(&p, CMD_MOVE_REQ, 1);
    cr_assert_null(told(&p, CMD_MOVE_RESP, 1, &seq));
    cr_assert_not_null(told(&p, CMD_MOVE_RESP, 1, &seq), "the second answer");
    cr_assert_eq(seq, 0);
    cr_assert_not_null(told(&p, CMD_MOVE_RESP, 0, &seq), "a response has a seq");
    cr_assert_not_null(refused(&p, PE_MOVE_SPEED, CMD_MOVE_REQ, 77));
}

Test(pending, an_answer_of_another_kind_is_a_breach)
{
    struct pending p = {0};
    uint32_t seq;
    ask(&p, CMD_MOVE_REQ, 1);
    ask(&p, CMD_SAY_REQ, 2);
    cr_assert_not_null(told(&p, CMD_SAY_RESP, 1, &seq));
    cr_assert_not_null(refused(&p, PE_BAD_PAYLOAD, CMD_MOVE_REQ, 2));
}

Test(pending, what_comes_unasked_has_seq_0)
{
    struct pending p = {0};
    uint32_t seq;
    cr_assert_null(told(&p, CMD_AOI_ADD, 0, &seq));
    cr_assert_not_null(told(&p, CMD_AOI_ADD, 3, &seq));
    cr_assert_null(told(&p, CMD_ENTER_RESP, 0, &seq), "put somewhere afresh");
    cr_assert_null(told(&p, CMD_BYE, 0, &seq));
    cr_assert_null(refused(&p, PE_NOT_LOGGED_IN, 0, 0));
}

Test(pending, requests_lost_with_the_world_may_stay_without_an_answer)
{
    struct pending p = {0};
    uint32_t seq;
    ask(&p, CMD_MOVE_REQ, 1);
    ask(&p, CMD_MOVE_REQ, 2);
    cr_assert_null(refused(&p, PE_UNAVAILABLE, 0, 0));
    cr_assert_null(refused(&p, PE_UNAVAILABLE, CMD_MOVE_REQ, 2), "or have one");
    ask(&p, CMD_LOGIN_REQ, 3);
    cr_assert_null(told(&p, CMD_LOGIN_RESP, 3, &seq));
    cr_assert_eq(p.count, 0);
}

Test(pending, full_is_an_answer_and_what_was_lost_makes_room)
{
    struct pending p = {0};
    struct message m = {.cmd = CMD_SAY_REQ, .seq = PENDING_MAX + 1};
    for (uint32_t i = 0; i < PENDING_MAX; i++)
        ask(&p, CMD_SAY_REQ, i + 1);
    cr_assert_eq(pending_add(&p, &m, now), E_FULL);
    cr_assert_null(refused(&p, PE_UNAVAILABLE, 0, 0));
    cr_assert_eq(pending_add(&p, &m, now), 0);
}

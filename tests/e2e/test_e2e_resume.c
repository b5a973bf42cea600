/* tests/e2e/test_e2e_resume.c: lost connections over real sockets. PROTOCOL.md, "Login".
 * May touch: tests/pair, tests/raw_client, tests/e2e/stage. On trouble: the test fails.
 */
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>

TestSuite(e2e_resume, .fini = process_end_all, .timeout = 60);

#define WINDOW(time) PROCESS_ARGS("-spawn", "0,0,0", "-resume-window", time)

/* One who watches by a gateway of its own, and one who is watched. */
struct watch {
    struct pair pair;
    struct process *second;
    struct stage stage;
    struct player *watcher, *a;
    uint32_t id, events; /* of a; of the watcher so far */
};

static void watch_begin(struct watch *w, const char *window)
{
    w->pair = pair_start(WINDOW(window), NULL);
    w->second = pair_gateway(w->pair.world->addr, NULL);
    pair_await_link(w->second, 1);
    stage_init(&w->stage);
    w->watcher = stage_join(&w->stage, w->second->addr, "watcher");
    w->a = stage_join(&w->stage, w->pair.gateway->addr, "a");
    player_move(w->a, 0.125, 0);
    STAGE_UNTIL(&w->stage, player_sees(w->watcher, w->a) && player_sees(w->a, w->watcher));
    w->id = w->a->facts->id;
    w->events = w->watcher->n_events;
}

static void watch_end(struct watch *w)
{
    pair_end_one(w->second);
    stage_fini(&w->stage);
    pair_end(&w->pair);
    TEST_NO_LEAKS();
}

/* The same client, by this gateway: it has its entity back where it was, sees at once, and the
 * watcher was told nothing of it. */
static void comes_back(struct watch *w, const char *addr)
{
    uint32_t enters = w->a->got[CMD_ENTER_RESP];

    player_reconnect(w->a, addr);
    cr_assert_eq(player_answer(w->a, bot_client_resume(w->a->client, "a")), 0u);
    cr_assert(w->a->facts->resumed);
    STAGE_UNTIL(&w->stage, w->a->got[CMD_ENTER_RESP] == enters + 1);
    cr_assert_eq(w->a->facts->id, w->id);
    cr_assert_eq(w->a->facts->x, 0.125);
    STAGE_UNTIL(&w->stage, player_sees(w->a, w->watcher));
    player_say(w->a, "I am back");
    STAGE_UNTIL(&w->stage, strcmp(w->watcher->said, "I am back") == 0);
    cr_assert_eq(player_events(w->watcher, w->events, STAGE_ADD, w->id), 0u);
    cr_assert_eq(player_events(w->watcher, w->events, STAGE_REMOVE, w->id), 0u);
}

Test(e2e_resume, after_fin_rst_and_silence_the_watchers_notice_nothing)
{
    struct watch w;

    watch_begin(&w, "30s");
    for (int how = 0; how < 3; how++) {
        if (how == 2)
            bot_client_abandon(w.a->client);
        else
            bot_client_close(w.a->client, how == 1);
        if (how < 2)
            process_await_log(w.pair.world, " waits ", (unsigned)how + 1);
        comes_back(&w, w.pair.gateway->addr);
    }
    watch_end(&w);
}

Test(e2e_resume, after_its_gateway_was_killed_it_comes_back_by_another)
{
    struct watch w;

    watch_begin(&w, "30s");
    process_kill(w.pair.gateway);
    STAGE_UNTIL(&w.stage, w.a->closed);
    process_await_log(w.pair.world, " waits ", 1);
    comes_back(&w, w.second->addr);
    watch_end(&w);
}

Test(e2e_resume, the_end_of_the_window_is_the_end_of_the_key)
{
    struct watch w;

    watch_begin(&w, "300ms");
    bot_client_close(w.a->client, false);
    STAGE_UNTIL(&w.stage, !player_knows(w.watcher, w.id));
    player_reconnect(w.a, w.second->addr);
    cr_assert_eq(player_answer(w.a, bot_client_resume(w.a->client, "a")), (uint32_t)PE_AUTH_FAILED);
    player_login(w.a, "a"); /* without the key, afresh */
    player_enter(w.a);
    cr_assert_neq(w.a->facts->id, w.id);
    watch_end(&w);
}

/* LoginReq with this name and key. */
static uint32_t send_resume(struct raw_client *c, const char *name, const char *key)
{
    struct message m = {.cmd = CMD_LOGIN_REQ};
    m.login_req.name = span_text(name);
    m.login_req.resume = span_text(key);
    m.login_req.version = PROTO_VERSION;
    return raw_request(c, &m);
}

static void take_key(const struct message *m, char *key, size_t cap)
{
    snprintf(key, cap, "%.*s", (int)m->login_resp.resume.n, (const char *)m->login_resp.resume.p);
}

Test(e2e_resume, a_key_takes_over_once_and_the_older_connection_reads_bye_6)
{
    struct pair pair = pair_start(WINDOW("30s"), NULL);
    struct raw_client old, next, late;
    char key[64], second[64];

    raw_connect(&old, pair.gateway->addr);
    take_key(raw_must(&old, raw_login(&old, "a"), CMD_LOGIN_RESP), key, sizeof(key));
    raw_must(&old, raw_nil(&old, CMD_ENTER_REQ), CMD_ENTER_RESP);
    raw_connect(&next, pair.gateway->addr);
    raw_connect(&late, pair.gateway->addr);
    const struct message *m = raw_must(&next, send_resume(&next, "a", key), CMD_LOGIN_RESP);
    cr_assert(m->login_resp.resumed);
    take_key(m, second, sizeof(second));
    cr_assert_str_neq(key, second);
    cr_assert_eq(raw_await(&next, CMD_ENTER_RESP)->seq, 0u);
    raw_must_bye(&old, PE_NAME_IN_USE);
    raw_must_fail(&late, send_resume(&late, "a", key), PE_AUTH_FAILED);
    raw_must_fail(&late, send_resume(&late, "b", second), PE_AUTH_FAILED);
    raw_must_fail(&late, raw_login(&late, "a"), PE_NAME_IN_USE);
    raw_must(&next, raw_move(&next, 0, 0.0625), CMD_MOVE_RESP);
    raw_must_fail(&late, send_resume(&late, "a", "no key"), PE_AUTH_FAILED);
    raw_must_bye(&late, PE_AUTH_FAILED);
    raw_close(&next);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_resume, a_plain_login_in_the_window_begins_afresh)
{
    struct watch w;

    watch_begin(&w, "30s");
    bot_client_close(w.a->client, true);
    process_await_log(w.pair.world, " waits ", 1);
    player_reconnect(w.a, w.second->addr);
    player_login(w.a, "a");
    player_enter(w.a);
    cr_assert_neq(w.a->facts->id, w.id);
    STAGE_UNTIL(&w.stage, player_sees(w.watcher, w.a) && player_count(w.watcher) == 1);
    cr_assert_eq(player_events(w.watcher, w.events, STAGE_REMOVE, w.id), 1u);
    watch_end(&w);
}

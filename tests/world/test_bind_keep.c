/* tests/world/test_bind_keep.c: binds and lost connections in a world with a store.
 * May touch: tests/world/shelf.
 */
#include "tests/leak.h"
#include "tests/world/shelf.h"

static struct shelf shelf;

static struct rig *kept_rig(void)
{
    struct world_config c = rig_config();
    c.save_every_ns = 30 * CLOCK_NS_PER_S;
    c.login_wait_ns = 10 * CLOCK_NS_PER_S;
    c.resume_window_ns = 30 * CLOCK_NS_PER_S;
    return shelf_rig(&shelf, &c);
}

static uint32_t join(struct rig *r, const char *name)
{
    uint32_t s = rig_open(r, 0);
    rig_send_login(r, s, name);
    shelf_answer_all(&shelf);
    rig_enter(r, s);
    return s;
}

/* A note of one who is inside, from another world. */
static struct span note_from(uint8_t *out, const char *name)
{
    struct world_config c = rig_config();
    c.resume_window_ns = 30 * CLOCK_NS_PER_S;
    struct rig *before = rig_create(&c);
    uint32_t s = rig_join(before, name);
    uint32_t n = before->sessions[s].note_bytes;
    memcpy(out, before->sessions[s].note, n);
    rig_destroy(before);
    return span_of(out, n);
}

Test(bind_keep, one_enters_where_the_store_says)
{
    uint8_t note[LINK_NOTE_MAX];
    struct span alpha = note_from(note, "alpha");
    struct rig *r = kept_rig();
    shelf_put(&shelf, "alpha", "open", 300, 7, 1);
    uint32_t s = rig_bind(r, 0, alpha);
    cr_assert_eq(r->sessions[s].count, 0, "it waits for the store");
    rig_send_move(r, s, 300.1, 7); /* and so does what it asks */
    cr_assert_eq(r->sessions[s].count, 0);
    shelf_answer(&shelf);
    const struct message *m = rig_take(r, s);
    cr_assert_eq(m->cmd, (uint32_t)CMD_ENTER_RESP);
    cr_assert_eq(m->seq, 0);
    cr_assert_eq(m->enter_resp.x, 300);
    cr_assert_eq(m->enter_resp.y, 7);
    cr_assert_eq(rig_take(r, s)->cmd, (uint32_t)CMD_MOVE_RESP);
    cr_assert_eq(r->world->metrics.binds_entered, 1);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(bind_keep, whom_the_store_cannot_tell_of_logs_in_again)
{
    uint8_t note[LINK_NOTE_MAX];
    struct span alpha = note_from(note, "alpha");
    struct rig *r = kept_rig();
    uint32_t s = rig_bind(r, 0, alpha);
    shelf_fail(&shelf);
    cr_assert(r->sessions[s].closed);
    cr_assert_eq(r->sessions[s].close_code, 0);
    shelf.load_full = true;
    uint32_t t = rig_bind(r, 0, alpha);
    cr_assert(r->sessions[t].closed);
    cr_assert_eq(r->world->metrics.binds_refused, 2);
    shelf.load_full = false;
    uint32_t u = join(r, "alpha");
    cr_assert_eq(r->sessions[u].x, 8, "and its name is free");
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(bind_keep, nobody_takes_over_one_who_still_waits_for_the_store)
{
    uint8_t note[LINK_NOTE_MAX];
    struct span alpha = note_from(note, "alpha");
    struct rig *r = kept_rig();
    uint32_t s = rig_bind(r, 0, alpha), t = rig_bind(r, 0, alpha);
    cr_assert(r->sessions[t].closed);
    shelf_answer(&shelf);
    cr_assert_eq(rig_take(r, s)->cmd, (uint32_t)CMD_ENTER_RESP);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(bind_keep, a_lost_connection_saves_the_place_and_the_windows_end_again)
{
    struct rig *r = kept_rig();
    uint32_t a = join(r, "alpha");
    rig_tick(r, 1);
    rig_place(r, a, 9, 2);
    rig_close(r, a);
    cr_assert_eq(shelf_find(&shelf, "alpha")->y, 2);
    uint32_t saves = shelf.n_saved;
    rig_pass(r, 30 * CLOCK_NS_PER_S);
    rig_tick(r, 1);
    cr_assert_eq(r->world->entities.alive_count, 0);
    cr_assert_geq(shelf.n_saved, saves);
    cr_assert_eq(shelf_find(&shelf, "alpha")->y, 2);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(bind_keep, a_plain_login_in_the_window_finds_the_place_of_the_one_who_waited)
{
    struct rig *r = kept_rig();
    uint32_t a = join(r, "alpha");
    rig_tick(r, 1);
    rig_place(r, a, 9, 2);
    rig_close(r, a);
    uint32_t b = join(r, "alpha");
    cr_assert_eq(r->sessions[b].x, 9);
    cr_assert_eq(r->sessions[b].y, 2);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(bind_keep, a_store_that_is_full_while_connections_are_lost_loses_nothing)
{
    struct rig *r = kept_rig();
    uint32_t a = join(r, "alpha");
    rig_tick(r, 1);
    rig_place(r, a, 9, 2);
    shelf.save_full = true;
    rig_close(r, a);
    rig_pass(r, 30 * CLOCK_NS_PER_S);
    rig_tick(r, 1);
    cr_assert_eq(r->world->entities.alive_count, 0);
    shelf.save_full = false;
    rig_tick(r, 1);
    cr_assert_eq(shelf_find(&shelf, "alpha")->y, 2);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

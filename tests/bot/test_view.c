/* tests/bot/test_view.c: the view holds what it is told against "What a client may rely on".
 * Each rule is broken once, and streams that keep them all pass.
 */
#include "bot/view.h"

#include "common/rng.h"
#include "proto/aoi_move.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define QUANTUM   (1.0 / 64)
#define MAX_SPEED 12.0
#define SELF      5u
#define SMALL     100u /* bytes of a body that needed no split */

static const char *enter(struct view *v, uint32_t seq)
{
    struct message m = {.cmd = CMD_ENTER_RESP, .seq = seq};
    m.enter_resp.id = SELF;
    m.enter_resp.tick_ms = 50;
    m.enter_resp.radius = 30;
    m.enter_resp.quantum = QUANTUM;
    m.enter_resp.max_speed = MAX_SPEED;
    return view_apply(v, &m, SMALL);
}

static struct message_entity entity(uint32_t id, double x, double y)
{
    return (struct message_entity){.id = id, .name = span_text("somebody"), .x = x, .y = y};
}

static const char *add_many(struct view *v, uint32_t tick, const struct message_entity *e,
                            uint32_t n, size_t bytes)
{
    struct message m = {.cmd = CMD_AOI_ADD};
    m.aoi_add.tick = tick;
    m.aoi_add.entities = e;
    m.aoi_add.count = n;
    return view_apply(v, &m, bytes);
}

static const char *add(struct view *v, uint32_t tick, uint32_t id, double x, double y)
{
    struct message_entity e = entity(id, x, y);
    return add_many(v, tick, &e, 1, SMALL);
}

static const char *remove_many(struct view *v, uint32_t tick, const uint32_t *ids, uint32_t n,
                               size_t bytes)
{
    struct message m = {.cmd = CMD_AOI_REMOVE};
    m.aoi_remove.tick = tick;
    m.aoi_remove.ids = ids;
    m.aoi_remove.count = n;
    return view_apply(v, &m, bytes);
}

static const char *remove_one(struct view *v, uint32_t tick, uint32_t id)
{
    return remove_many(v, tick, &id, 1, SMALL);
}

static const char *move_raw(struct view *v, uint32_t tick, struct span moves, size_t bytes)
{
    struct message m = {.cmd = CMD_AOI_MOVE};
    m.aoi_move.tick = tick;
    m.aoi_move.moves = moves;
    return view_apply(v, &m, bytes);
}

/* One record with a place only. */
static const char *move_one(struct view *v, uint32_t tick, uint32_t id, double x, double y)
{
    uint8_t bytes[AOI_MOVE_RECORD_MAX];
    struct aoi_move_tail t = aoi_move_tail(aoi_move_quantise(x, QUANTUM),
                                           aoi_move_quantise(y, QUANTUM), false, 0, false, 0);
    return move_raw(v, tick, span_of(bytes, aoi_move_put(bytes, id, 0, &t)), SMALL);
}

static const char *move_turn(struct view *v, uint32_t tick, uint32_t id, double x, double y,
                             uint8_t dir, uint8_t speed)
{
    uint8_t bytes[AOI_MOVE_RECORD_MAX];
    struct aoi_move_tail t = aoi_move_tail(aoi_move_quantise(x, QUANTUM),
                                           aoi_move_quantise(y, QUANTUM), true, dir, true, speed);
    return move_raw(v, tick, span_of(bytes, aoi_move_put(bytes, id, 0, &t)), SMALL);
}

static const char *leave(struct view *v)
{
    struct message m = {.cmd = CMD_LEAVE_RESP, .seq = 9};
    m.cmd = CMD_LEAVE_RESP;
    return view_apply(v, &m, SMALL);
}

/* A view in the world that knows #2 at (10, 0) and #7 at (20, 0), told in tick 1. */
static void begin(struct view *v)
{
    struct message_entity e[] = {entity(2, 10, 0), entity(7, 20, 0)};
    view_init(v, NULL, NULL);
    cr_assert_null(enter(v, 2));
    cr_assert_null(add_many(v, 1, e, 2, SMALL));
}

static void end(struct view *v)
{
    view_fini(v);
    TEST_NO_LEAKS();
}

#define BREACH(text, words)                                                             \
    do {                                                                                \
        const char *t_ = (text);                                                        \
        cr_assert_not_null(t_, "no breach was seen: %s", words);                        \
        cr_assert_not_null(strstr(t_, words), "\"%s\" says nothing of: %s", t_, words); \
    } while (0)

/* --- what is right ---------------------------------------------------------------------------- */

Test(view, remove_add_and_move_in_one_tick_are_taken_in_that_order)
{
    struct view v;
    begin(&v);
    cr_assert_null(remove_one(&v, 2, 2));
    cr_assert_null(add(&v, 2, 9, 5.3, -7.25));
    cr_assert_null(move_one(&v, 2, 7, 21, 0.5));
    cr_assert_eq(v.count, 2);
    cr_assert_null(view_find(&v, 2));
    const struct view_entity *e = view_find(&v, 7);
    cr_assert_not_null(e);
    cr_assert_eq(e->x, 21);
    cr_assert_eq(e->y, 0.5);
    e = view_find(&v, 9);
    cr_assert_not_null(e);
    cr_assert_eq(e->x, 5.3, "an added place is exact");
    cr_assert_str_eq(view_name_of(&v, e)->text, "somebody");
    cr_assert_eq(v.counted.adds, 3);
    cr_assert_eq(v.counted.removes, 1);
    cr_assert_eq(v.counted.moves, 1);
    end(&v);
}

Test(view, a_name_in_sight_is_found)
{
    struct view v;
    begin(&v);
    struct message_entity e = entity(3, 1, 1);
    e.name = span_text("beta");
    cr_assert_null(add_many(&v, 2, &e, 1, SMALL));
    cr_assert_eq(view_find_name(&v, span_text("beta"))->id, 3);
    cr_assert_null(view_find_name(&v, span_text("bet")));
    end(&v);
}

Test(view, a_place_wraps_to_the_one_nearest_to_the_last)
{
    struct view v;
    begin(&v);
    cr_assert_null(add(&v, 2, 9, 5000, -5000));
    cr_assert_null(move_one(&v, 3, 9, 5011.5, -5200));
    cr_assert_eq(view_find(&v, 9)->x, 5011.5);
    cr_assert_eq(view_find(&v, 9)->y, -5200);
    end(&v);
}

Test(view, dir_and_speed_stay_as_last_told_where_a_record_has_none)
{
    struct view v;
    begin(&v);
    cr_assert_null(move_turn(&v, 2, 7, 20, 0, 64, 200));
    cr_assert_null(move_one(&v, 3, 7, 21, 0));
    cr_assert_eq(view_find(&v, 7)->dir, 64);
    cr_assert_eq(view_find(&v, 7)->speed, 200);
    end(&v);
}

Test(view, a_far_jump_is_the_one_remove_and_add_of_an_id_in_one_tick)
{
    struct view v;
    begin(&v);
    cr_assert_null(remove_one(&v, 2, 7));
    cr_assert_null(add(&v, 2, 7, 20 + 256, 0));
    cr_assert_eq(view_find(&v, 7)->x, 276);
    end(&v);
}

Test(view, a_second_batch_of_a_kind_is_right_after_one_that_was_split)
{
    struct view v;
    begin(&v);
    uint32_t last = 7;
    struct message_entity e = entity(9, 1, 1), later = entity(11, 1, 1);
    cr_assert_null(remove_many(&v, 2, (const uint32_t[]){2}, 1, PROTO_BATCH_MAX));
    cr_assert_null(remove_many(&v, 2, &last, 1, SMALL));
    cr_assert_null(add_many(&v, 2, &e, 1, PROTO_BATCH_MAX / 2));
    cr_assert_null(add_many(&v, 2, &later, 1, SMALL));
    end(&v);
}

Test(view, ticks_may_be_left_out_and_a_new_entering_starts_them_anew)
{
    struct view v;
    begin(&v);
    cr_assert_null(move_one(&v, 900, 7, 21, 0));
    cr_assert_null(leave(&v));
    cr_assert_eq(v.count, 0);
    cr_assert_null(enter(&v, 12));
    cr_assert_null(add(&v, 3, 7, 1, 1));
    end(&v);
}

Test(view, an_unasked_enter_forgets_everybody)
{
    struct view v;
    begin(&v);
    cr_assert_null(enter(&v, 0));
    cr_assert_eq(v.count, 0);
    cr_assert_null(add(&v, 1, 7, 1, 1));
    end(&v);
}

Test(view, an_unasked_not_logged_in_ends_the_stay)
{
    struct view v;
    struct message m = {.cmd = CMD_ERROR_NOTIFY};
    begin(&v);
    m.error_notify.code = PE_NOT_LOGGED_IN;
    cr_assert_null(view_apply(&v, &m, SMALL));
    cr_assert_not(v.in_world);
    cr_assert_eq(v.count, 0);
    BREACH(add(&v, 2, 9, 1, 1), "outside the world");
    end(&v);
}

Test(view, an_add_without_entities_may_tell_how_many_are_hidden)
{
    struct view v;
    struct message m = {.cmd = CMD_AOI_ADD};
    begin(&v);
    m.aoi_add.tick = 2;
    m.aoi_add.has_hidden = true;
    m.aoi_add.hidden = 44;
    cr_assert_null(view_apply(&v, &m, SMALL));
    cr_assert_eq(v.hidden, 44);
    end(&v);
}

Test(view, a_say_of_somebody_known_is_right)
{
    struct view v;
    struct message m = {.cmd = CMD_SAY_NOTIFY};
    begin(&v);
    m.say_notify.id = 7;
    m.say_notify.text = span_text("hello");
    cr_assert_null(view_apply(&v, &m, SMALL));
    m.say_notify.id = 0; /* the operator */
    cr_assert_null(view_apply(&v, &m, SMALL));
    m.say_notify.id = 8;
    BREACH(view_apply(&v, &m, SMALL), "SayNotify of #8");
    end(&v);
}

/* --- what is wrong ---------------------------------------------------------------------------- */

Test(view, nothing_comes_before_entering)
{
    struct view v;
    view_init(&v, NULL, NULL);
    BREACH(add(&v, 1, 2, 1, 1), "outside the world");
    BREACH(remove_one(&v, 1, 2), "outside the world");
    BREACH(move_one(&v, 1, 2, 1, 1), "outside the world");
    cr_assert_eq(v.count, 0);
    end(&v);
}

Test(view, nothing_comes_after_leaving)
{
    struct view v;
    begin(&v);
    cr_assert_null(leave(&v));
    BREACH(remove_one(&v, 2, 2), "outside the world");
    BREACH(leave(&v), "not in the world");
    end(&v);
}

Test(view, the_kinds_of_a_tick_keep_their_order)
{
    struct view v;
    begin(&v);
    cr_assert_null(move_one(&v, 2, 7, 21, 0));
    BREACH(add(&v, 2, 9, 1, 1), "AoiAdd of tick 2 after a later kind");
    BREACH(remove_one(&v, 2, 2), "AoiRemove of tick 2 after a later kind");
    end(&v);
}

Test(view, one_batch_of_each_kind_is_enough_for_what_is_small)
{
    struct view v;
    begin(&v);
    cr_assert_null(move_one(&v, 2, 2, 11, 0));
    BREACH(move_one(&v, 2, 7, 21, 0), "a second AoiMove in tick 2");
    struct message_entity e = entity(8, 1, 1), later = entity(9, 1, 1);
    cr_assert_null(add_many(&v, 3, &e, 1, PROTO_BATCH_MAX / 2 - 1));
    BREACH(add_many(&v, 3, &later, 1, SMALL), "a second AoiAdd in tick 3");
    end(&v);
}

Test(view, ids_ascend_in_each_kind_also_across_a_split)
{
    struct view v;
    begin(&v);
    BREACH(remove_many(&v, 2, (const uint32_t[]){7, 2}, 2, SMALL), "#2 after #7");
    struct message_entity e[] = {entity(20, 1, 1), entity(20, 1, 1)};
    BREACH(add_many(&v, 3, e, 2, PROTO_BATCH_MAX), "#20 after #20");
    struct message_entity lower = entity(19, 1, 1);
    BREACH(add_many(&v, 3, &lower, 1, SMALL), "#19 after #20");
    end(&v);
}

Test(view, a_record_run_that_does_not_ascend_is_malformed)
{
    struct view v;
    uint8_t bytes[2 * AOI_MOVE_RECORD_MAX];
    begin(&v);
    struct aoi_move_tail t = aoi_move_tail(700, 0, false, 0, false, 0);
    size_t n = aoi_move_put(bytes, 2, 0, &t);
    BREACH(move_raw(&v, 2, span_of(bytes, n - 1), SMALL), "malformed");
    memset(bytes + n, 0, AOI_MOVE_RECORD_MAX);
    BREACH(move_raw(&v, 3, span_of(bytes, n + 5), SMALL), "malformed");
    end(&v);
}

Test(view, nobody_is_removed_or_moved_who_was_not_added)
{
    struct view v;
    begin(&v);
    BREACH(remove_one(&v, 2, 3), "AoiRemove of #3, which was not known");
    BREACH(move_one(&v, 3, 8, 1, 1), "AoiMove of #8, which is not known");
    cr_assert_eq(v.count, 2);
    end(&v);
}

Test(view, nobody_is_added_twice)
{
    struct view v;
    begin(&v);
    BREACH(add(&v, 2, 7, 4, 4), "#7, which is known already");
    cr_assert_eq(v.count, 2);
    cr_assert_eq(view_find(&v, 7)->x, 4);
    end(&v);
}

Test(view, it_never_learns_of_itself)
{
    struct view v;
    begin(&v);
    BREACH(add(&v, 2, SELF, 1, 1), "itself");
    BREACH(remove_one(&v, 3, SELF), "itself");
    BREACH(move_one(&v, 4, SELF, 1, 1), "itself");
    end(&v);
}

Test(view, an_id_is_in_one_of_the_three_in_a_tick)
{
    struct view v;
    begin(&v);
    cr_assert_null(add(&v, 2, 9, 1, 1));
    BREACH(move_one(&v, 2, 9, 2, 2), "told twice");
    cr_assert_null(remove_one(&v, 3, 7));
    BREACH(move_one(&v, 3, 7, 21, 0), "not known");
    end(&v);
}

Test(view, a_near_jump_is_not_a_remove_and_an_add)
{
    struct view v;
    begin(&v);
    cr_assert_null(remove_one(&v, 2, 7));
    BREACH(add(&v, 2, 7, 20 + 256 - QUANTUM, 0), "without a far jump");
    end(&v);
}

Test(view, a_far_jump_is_not_a_move)
{
    struct view v;
    begin(&v);
    BREACH(move_one(&v, 2, 7, 20, 256), "too far");
    cr_assert_null(move_one(&v, 3, 7, 20, 512 - QUANTUM));
    end(&v);
}

Test(view, ticks_never_fall)
{
    struct view v;
    begin(&v);
    cr_assert_null(move_one(&v, 8, 7, 21, 0));
    BREACH(move_one(&v, 7, 7, 22, 0), "tick 7 after tick 8");
    end(&v);
}

Test(view, a_record_that_changes_nothing_is_not_sent)
{
    struct view v;
    begin(&v);
    BREACH(move_one(&v, 2, 7, 20, 0), "changes nothing");
    BREACH(move_one(&v, 3, 7, 20 + QUANTUM / 4, 0), "changes nothing");
    cr_assert_null(move_turn(&v, 4, 7, 20, 0, 1, 0));
    BREACH(move_turn(&v, 5, 7, 20, 0, 1, 0), "changes nothing");
    cr_assert_null(move_turn(&v, 6, 7, 20, 0, 1, 1));
    cr_assert_null(move_one(&v, 7, 7, 20 + QUANTUM, 0));
    end(&v);
}

Test(view, empty_batches_are_not_sent)
{
    struct view v;
    begin(&v);
    BREACH(remove_many(&v, 2, NULL, 0, SMALL), "without ids");
    BREACH(add_many(&v, 3, NULL, 0, SMALL), "without entities");
    BREACH(move_raw(&v, 4, span_of(NULL, 0), SMALL), "without records");
    end(&v);
}

Test(view, entities_that_cannot_be_are_refused)
{
    struct view v;
    begin(&v);
    struct message_entity e = entity(9, 1e300, 0);
    BREACH(add_many(&v, 2, &e, 1, SMALL), "a place that cannot be");
    e = entity(9, 0, 0);
    e.name = span_text("");
    BREACH(add_many(&v, 3, &e, 1, SMALL), "cannot be one");
    e.name = span_text("123456789012345678901234567890123");
    BREACH(add_many(&v, 4, &e, 1, SMALL), "cannot be one");
    e = entity(0, 0, 0);
    BREACH(add_many(&v, 5, &e, 1, SMALL), "id 0");
    e = entity(9, 0, 0);
    e.dir = 7;
    BREACH(add_many(&v, 6, &e, 1, SMALL), "dir 7");
    e.dir = 0;
    e.speed = -1;
    BREACH(add_many(&v, 7, &e, 1, SMALL), "speed -1");
    cr_assert_eq(v.count, 2);
    e = entity(9, 0, -1e9 * QUANTUM);
    BREACH(add_many(&v, 99, &e, 1, SMALL), "a place that cannot be");
    end(&v);
}

Test(view, entering_while_in_the_world_is_not_an_answer)
{
    struct view v;
    begin(&v);
    BREACH(enter(&v, 12), "in the world");
    end(&v);
}

Test(view, entering_with_numbers_that_cannot_be_is_refused)
{
    struct view v;
    struct message m = {.cmd = CMD_ENTER_RESP, .seq = 2};
    view_init(&v, NULL, NULL);
    m.enter_resp.id = SELF;
    BREACH(view_apply(&v, &m, SMALL), "quantum");
    cr_assert_not(v.in_world);
    end(&v);
}

Test(view, more_than_its_bound_is_reported_and_not_kept)
{
    static struct message_entity many[VIEW_ENTITIES_MAX + 1];
    struct view v;
    view_init(&v, NULL, NULL);
    cr_assert_null(enter(&v, 2));
    for (uint32_t i = 0; i <= VIEW_ENTITIES_MAX; i++)
        many[i] = entity(10 + i, 1, 1);
    BREACH(add_many(&v, 1, many, VIEW_ENTITIES_MAX + 1, SMALL), "more than 65536");
    cr_assert_eq(v.count, 0);
    cr_assert_null(add_many(&v, 2, many, VIEW_ENTITIES_MAX, SMALL));
    cr_assert_eq(v.count, VIEW_ENTITIES_MAX);
    end(&v);
}

/* --- a long legal stream ---------------------------------------------------------------------- */

#define CROWD 200u

struct crowd {
    struct rng rng;
    bool known[CROWD];
    int64_t x[CROWD]; /* quanta */
    bool touched[CROWD];
};

static void crowd_removes(struct crowd *c, struct view *v, uint32_t tick)
{
    uint32_t ids[CROWD], n = 0;
    for (uint32_t i = 0; i < CROWD; i++) {
        c->touched[i] = c->known[i] && rng_below(&c->rng, 8) == 0;
        if (c->touched[i]) {
            c->known[i] = false;
            ids[n++] = 10 + i;
        }
    }
    if (n > 0)
        cr_assert_null(remove_many(v, tick, ids, n, SMALL));
}

static void crowd_adds(struct crowd *c, struct view *v, uint32_t tick)
{
    struct message_entity e[CROWD];
    uint32_t n = 0;
    for (uint32_t i = 0; i < CROWD; i++) {
        if (c->known[i] || c->touched[i] || rng_below(&c->rng, 4) != 0)
            continue;
        c->known[i] = c->touched[i] = true;
        c->x[i] = (int64_t)rng_below(&c->rng, 1000000) - 500000;
        e[n] = entity(10 + i, (double)c->x[i] * QUANTUM, 0);
        e[n++].name = span_of("0123456789abcdefghijklmnopqrstuv" + i % 8, 1 + i % 24);
    }
    if (n > 0)
        cr_assert_null(add_many(v, tick, e, n, SMALL));
}

static void crowd_moves(struct crowd *c, struct view *v, uint32_t tick)
{
    uint8_t bytes[CROWD * AOI_MOVE_RECORD_MAX];
    uint32_t previous = 0;
    size_t len = 0;
    for (uint32_t i = 0; i < CROWD; i++) {
        if (!c->known[i] || c->touched[i] || rng_below(&c->rng, 2) == 0)
            continue;
        c->x[i] += 1 + (int64_t)rng_below(&c->rng, PROTO_WRAP_QUANTA - 1);
        struct aoi_move_tail t = aoi_move_tail(c->x[i], 0, false, 0, false, 0);
        len += aoi_move_put(bytes + len, 10 + i, previous, &t);
        previous = 10 + i;
    }
    if (len > 0)
        cr_assert_null(move_raw(v, tick, span_of(bytes, len), SMALL));
}

Test(view, a_long_legal_stream_is_followed_exactly)
{
    struct crowd c = {0};
    struct view v;
    rng_init(&c.rng, 7);
    view_init(&v, NULL, NULL);
    cr_assert_null(enter(&v, 2));
    for (uint32_t tick = 1; tick <= 2000; tick++) {
        crowd_removes(&c, &v, tick);
        crowd_adds(&c, &v, tick);
        crowd_moves(&c, &v, tick);
        uint32_t known = 0;
        for (uint32_t i = 0; i < CROWD; i++) {
            const struct view_entity *e = view_find(&v, 10 + i);
            cr_assert_eq(e != NULL, c.known[i]);
            known += c.known[i];
            if (!e)
                continue;
            cr_assert_eq(e->qx, c.x[i]);
            cr_assert_eq(view_name_of(&v, e)->len, 1 + i % 24);
            cr_assert_eq(view_name_of(&v, e)->text[0], "01234567"[i % 8]);
        }
        cr_assert_eq(v.count, known);
    }
    cr_assert_eq(v.counted.breaches, 0);
    end(&v);
}

static void count_moved(void *arg, const struct view_entity *e)
{
    uint32_t *n = arg;
    cr_assert_eq(e->id, 7);
    (*n)++;
}

Test(view, each_record_is_told_to_who_watches)
{
    uint32_t told = 0;
    struct view v;
    view_init(&v, count_moved, &told);
    cr_assert_null(enter(&v, 2));
    cr_assert_null(add(&v, 1, 7, 1, 1));
    cr_assert_null(move_one(&v, 2, 7, 2, 1));
    cr_assert_eq(told, 1);
    end(&v);
}

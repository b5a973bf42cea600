/* tests/bot/test_witness.c: views held against where others are while all walk. */
#include "bot/witness.h"

#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>

#define RADIUS 30.0
#define TICK   (50 * CLOCK_NS_PER_MS)

/* Two of them: V stands at (0, 0) and looks, P walks along x. Ticks are heard by both. */
enum { V, P };

struct scene {
    struct witness w;
    struct view view; /* V's, of P */
    struct view_entity known[1];
    uint32_t pending[2], tick;
    struct mono now;
};

static void begin_at(struct scene *s, double x, double hysteresis, uint32_t late)
{
    *s = (struct scene){.tick = 70, .view = {.has_tick = true, .radius = RADIUS}};
    s->view.known = s->known;
    cr_assert_eq(witness_init(&s->w, 2, hysteresis, late), 0);
    witness_entered(&s->w, V, 1, 0, 0, &s->pending[V]);
    witness_entered(&s->w, P, 2, x, 0, &s->pending[P]);
}

static void end(struct scene *s)
{
    witness_fini(&s->w);
    TEST_NO_LEAKS();
}

static void ticks(struct scene *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        s->now = clock_add(s->now, TICK);
        s->tick++;
        witness_heard(&s->w, V, s->tick);
        witness_heard(&s->w, P, s->tick);
    }
}

/* Between two ticks P goes there. */
static void goes(struct scene *s, double x)
{
    witness_answered(&s->w, P, s->now, true, x, 0);
}

/* V looks: P is believed at x. */
static void sees(struct scene *s, double x)
{
    s->known[0] = (struct view_entity){.id = 2, .x = x};
    s->view.count = 1;
    witness_look(&s->w, V, &s->view, s->now);
}

static void sees_nobody(struct scene *s)
{
    s->view.count = 0;
    witness_look(&s->w, V, &s->view, s->now);
}

static uint32_t breaches(struct scene *s)
{
    uint32_t n;

    ticks(s, 30);
    n = witness_judge(&s->w, s->now);
    cr_assert_eq(n, s->w.counted.breaches);
    return n;
}

Test(witness, a_view_that_keeps_step_is_right_at_every_tick)
{
    struct scene s;

    begin_at(&s, 25, 0, 0);
    ticks(&s, 3);
    for (int i = 0; i < 20; i++) {
        double x = 25 + 0.5 * i;
        goes(&s, x);
        ticks(&s, 1);
        if (x <= RADIUS)
            sees(&s, x);
        else
            sees_nobody(&s);
    }
    cr_assert_eq(breaches(&s), 0);
    cr_assert_eq(s.w.counted.views, 20);
    cr_assert_eq(s.w.counted.pairs, 20);
    cr_assert_eq(s.w.counted.late[0], 20);
    end(&s);
}

Test(witness, one_tick_late_is_a_breach_where_none_is_allowed_and_none_where_one_is)
{
    for (uint32_t allowed = 0; allowed < 2; allowed++) {
        struct scene s;
        begin_at(&s, 10, 0, allowed);
        ticks(&s, 3);
        goes(&s, 12);
        ticks(&s, 1);
        sees(&s, 10);
        cr_assert_eq(breaches(&s), 1 - allowed);
        cr_assert_eq(s.w.counted.late[1], 1);
        end(&s);
    }
}

/* Of two worlds one may be a tick ahead, and what it says of the other's is of that tick. */
Test(witness, one_tick_early_counts_as_one_tick_late)
{
    for (uint32_t allowed = 0; allowed < 2; allowed++) {
        struct scene s;
        begin_at(&s, 10, 0, allowed);
        ticks(&s, 3);
        sees(&s, 12);
        goes(&s, 12);
        cr_assert_eq(breaches(&s), 1 - allowed);
        cr_assert_eq(s.w.counted.late[1], 1);
        end(&s);
    }
}

Test(witness, who_is_still_known_past_the_radius_is_so_by_as_many_ticks)
{
    struct scene s;

    begin_at(&s, 29.9, 0, 1);
    ticks(&s, 3);
    goes(&s, 30.1);
    ticks(&s, 3);
    sees(&s, 29.9);
    cr_assert_eq(breaches(&s), 1);
    cr_assert_eq(s.w.counted.late[3], 1);
    cr_assert_not_null(strstr(s.w.why, "3 ticks late"));
    end(&s);
}

Test(witness, who_is_not_known_in_sight_and_who_is_known_where_it_never_was_are_breaches)
{
    struct scene s;

    begin_at(&s, 10, 0, WITNESS_LATE_MAX);
    ticks(&s, 20);
    sees_nobody(&s);
    sees(&s, 11);
    cr_assert_eq(breaches(&s), 2);
    cr_assert_not_null(strstr(s.w.why, "as it never was"));
    end(&s);
}

Test(witness, with_hysteresis_one_may_be_known_or_not_in_between)
{
    struct scene s;

    begin_at(&s, 31, 2, 0);
    ticks(&s, 3);
    sees(&s, 31);
    sees_nobody(&s);
    goes(&s, 32.5);
    ticks(&s, 1);
    sees(&s, 32.5);
    cr_assert_eq(breaches(&s), 1, "past radius and hysteresis");
    end(&s);
}

/* P heard tick 73 before its answer and 76 after it. */
Test(witness, a_move_counts_from_any_of_the_ticks_between_which_it_was_answered)
{
    struct scene s;

    begin_at(&s, 10, 0, 0);
    ticks(&s, 3);
    goes(&s, 12);
    for (int i = 0; i < 3; i++) {
        s.now = clock_add(s.now, TICK);
        witness_heard(&s.w, V, ++s.tick);
        sees(&s, i < 1 ? 10 : 12);
    }
    witness_heard(&s.w, P, s.tick);
    ticks(&s, 1);
    sees(&s, 10);
    cr_assert_eq(breaches(&s), 1, "the last one alone");
    cr_assert_eq(s.w.counted.late[0], 3);
    end(&s);
}

Test(witness, nothing_is_said_of_one_whose_answers_are_not_here_or_who_is_gone)
{
    struct scene s;

    begin_at(&s, 10, 0, 0);
    ticks(&s, 3);
    s.pending[P] = 1; /* asked before V looked */
    sees_nobody(&s);
    cr_assert_eq(breaches(&s), 0);
    cr_assert_eq(s.w.counted.unsure, 1);
    s.pending[P] = 0;
    sees_nobody(&s);
    witness_gone(&s.w, P);
    cr_assert_eq(breaches(&s), 0);
    cr_assert_eq(s.w.counted.unsure, 2);
    end(&s);
}

Test(witness, a_bot_that_came_in_afresh_is_not_held_to_what_was_before)
{
    struct scene s;

    begin_at(&s, 10, 0, 2);
    ticks(&s, 5);
    witness_entered(&s.w, P, 2, 40, 0, &s.pending[P]);
    ticks(&s, 1);
    sees(&s, 10);
    ticks(&s, 1);
    sees(&s, 10);
    ticks(&s, 1);
    sees(&s, 10);
    cr_assert_eq(breaches(&s), 1, "two ticks after it is known where it was then");
    end(&s);
}

Test(witness, a_newcomer_who_is_not_told_of_in_time_is_late_by_the_ticks_since_it_came)
{
    struct scene s;

    begin_at(&s, 10, 0, 1);
    ticks(&s, 1); /* since this one it is here */
    sees_nobody(&s);
    ticks(&s, 1);
    sees_nobody(&s);
    ticks(&s, 1);
    sees_nobody(&s);
    cr_assert_eq(breaches(&s), 2, "one tick late is allowed");
    cr_assert_eq(s.w.counted.late[1], 1);
    cr_assert_eq(s.w.counted.late[2], 1);
    cr_assert_eq(s.w.counted.late[3], 1);
    end(&s);
}

Test(witness, views_beyond_what_is_remembered_are_left_out_and_counted)
{
    struct scene s;

    begin_at(&s, 10, 0, 0);
    ticks(&s, 3);
    for (uint32_t i = 0; i < s.w.looks_cap + 5; i++)
        sees(&s, 10);
    cr_assert_eq(s.w.counted.left_out, 5);
    cr_assert_eq(breaches(&s), 0);
    cr_assert_eq(s.w.counted.views, s.w.looks_cap);
    end(&s);
}

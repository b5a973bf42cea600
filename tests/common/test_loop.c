/* tests/common/test_loop.c: turns, deferred calls, timers, signals. */
#include "common/io/loop.h"

#include "tests/leak.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define LONG_WAIT (10 * CLOCK_NS_PER_S)

struct trace {
    struct loop *loop;
    char text[64];
    size_t len;
    struct loop_deferred a, b, c;
    struct loop_timer *timer;
};

static void note(struct trace *t, char c)
{
    cr_assert_lt(t->len, sizeof(t->text) - 1);
    t->text[t->len++] = c;
}

static void note_a(void *arg)
{
    note(arg, 'a');
}

static void note_b(void *arg)
{
    note(arg, 'b');
}

static void note_c_and_defer_a(void *arg)
{
    struct trace *t = arg;
    note(t, 'c');
    loop_defer(t->loop, &t->a);
}

static void make(struct trace *t)
{
    *t = (struct trace){0};
    cr_assert_eq(loop_create(&t->loop), 0);
    t->a = (struct loop_deferred){.fn = note_a, .arg = t};
    t->b = (struct loop_deferred){.fn = note_b, .arg = t};
    t->c = (struct loop_deferred){.fn = note_c_and_defer_a, .arg = t};
}

Test(loop, deferred_calls_run_once_in_the_order_they_were_made)
{
    struct trace t;
    make(&t);
    loop_defer(t.loop, &t.b);
    loop_defer(t.loop, &t.a);
    loop_defer(t.loop, &t.b);
    cr_assert(t.a.queued);
    loop_turn(t.loop, 0);
    loop_turn(t.loop, 0);
    cr_assert_str_eq(t.text, "ba");
    cr_assert_not(t.a.queued);
    loop_destroy(t.loop);
    TEST_NO_LEAKS();
}

Test(loop, what_a_deferred_call_defers_runs_in_the_same_turn)
{
    struct trace t;
    make(&t);
    loop_defer(t.loop, &t.c);
    loop_defer(t.loop, &t.b);
    loop_turn(t.loop, 0);
    cr_assert_str_eq(t.text, "cba");
    loop_destroy(t.loop);
    TEST_NO_LEAKS();
}

Test(loop, deferred_work_keeps_the_turn_from_waiting)
{
    struct trace t;
    make(&t);
    loop_defer(t.loop, &t.a);
    struct mono before = clock_mono();
    loop_turn(t.loop, LONG_WAIT);
    cr_assert_lt(clock_since(clock_mono(), before), LONG_WAIT / 2);
    cr_assert_str_eq(t.text, "a");
    loop_destroy(t.loop);
    TEST_NO_LEAKS();
}

Test(loop, a_cancelled_call_does_not_run_wherever_it_stands)
{
    for (int which = 0; which < 3; which++) {
        struct trace t;
        make(&t);
        struct loop_deferred d[3];
        for (int i = 0; i < 3; i++) {
            d[i] = (struct loop_deferred){.fn = i == 1 ? note_b : note_a, .arg = &t};
            loop_defer(t.loop, &d[i]);
        }
        loop_defer_cancel(t.loop, &d[which]);
        loop_defer_cancel(t.loop, &d[which]);
        cr_assert_not(d[which].queued);
        loop_defer(t.loop, &t.b);
        loop_turn(t.loop, 0);
        cr_assert_str_eq(t.text, which == 0 ? "bab" : which == 1 ? "aab" : "abb");
        loop_destroy(t.loop);
    }
    TEST_NO_LEAKS();
}

Test(loop, the_end_of_a_loop_runs_what_is_still_deferred)
{
    struct trace t;
    make(&t);
    loop_defer(t.loop, &t.c);
    loop_destroy(t.loop);
    cr_assert_str_eq(t.text, "ca");
    loop_destroy(NULL);
    TEST_NO_LEAKS();
}

static void on_timer(void *arg)
{
    struct trace *t = arg;
    note(t, 't');
    loop_defer(t->loop, &t->a);
    loop_stop(t->loop);
}

Test(loop, a_timer_fires_once_for_each_arming_and_before_what_it_defers)
{
    struct trace t;
    make(&t);
    cr_assert_eq(loop_timer_create(t.loop, on_timer, &t, &t.timer), 0);
    cr_assert_not(loop_timer_armed(t.timer));
    loop_timer_arm(t.timer, 0);
    cr_assert(loop_timer_armed(t.timer));
    loop_run(t.loop);
    cr_assert(loop_stopped(t.loop));
    cr_assert_not(loop_timer_armed(t.timer));
    cr_assert_str_eq(t.text, "ta");
    loop_turn(t.loop, 0);
    cr_assert_str_eq(t.text, "ta");
    loop_timer_arm(t.timer, -5);
    loop_turn(t.loop, LONG_WAIT);
    cr_assert_str_eq(t.text, "tata");
    loop_timer_destroy(t.timer);
    loop_destroy(t.loop);
    TEST_NO_LEAKS();
}

Test(loop, a_timer_is_never_early_and_the_later_arming_counts)
{
    struct trace t;
    make(&t);
    cr_assert_eq(loop_timer_create(t.loop, on_timer, &t, &t.timer), 0);
    int64_t delay = 3 * CLOCK_NS_PER_MS + 1;
    loop_timer_arm(t.timer, LONG_WAIT);
    struct mono before = clock_mono();
    loop_timer_arm(t.timer, delay);
    loop_run(t.loop);
    cr_assert_geq(clock_since(loop_now(t.loop), before), delay);
    cr_assert_lt(clock_since(loop_now(t.loop), before), LONG_WAIT / 2);
    loop_timer_destroy(t.timer);
    loop_destroy(t.loop);
    TEST_NO_LEAKS();
}

Test(loop, a_wait_is_rounded_up_to_a_microsecond)
{
    static const struct {
        int64_t ns;
        time_t s;
        suseconds_t us;
    } rows[] = {{-5, 0, 0},   {0, 0, 0},    {1, 0, 1},          {999, 0, 1},
                {1000, 0, 1}, {1001, 0, 2}, {1999999001, 2, 0}, {1500000000, 1, 500000}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct timeval tv = loop_timeval(rows[i].ns);
        cr_assert_eq(tv.tv_sec, rows[i].s, "%" PRId64 " ns", rows[i].ns);
        cr_assert_eq(tv.tv_usec, rows[i].us, "%" PRId64 " ns", rows[i].ns);
    }
}

Test(loop, a_cancelled_timer_does_not_fire)
{
    struct trace t;
    make(&t);
    cr_assert_eq(loop_timer_create(t.loop, on_timer, &t, &t.timer), 0);
    loop_timer_arm(t.timer, 0);
    loop_timer_cancel(t.timer);
    cr_assert_not(loop_timer_armed(t.timer));
    loop_turn(t.loop, 0);
    loop_turn(t.loop, 1);
    cr_assert_str_eq(t.text, "");
    loop_timer_destroy(t.timer);
    loop_timer_destroy(NULL);
    loop_destroy(t.loop);
    TEST_NO_LEAKS();
}

static void destroy_own_timer(void *arg)
{
    struct trace *t = arg;
    note(t, 'd');
    loop_timer_destroy(t->timer);
    t->timer = NULL;
}

Test(loop, a_timer_may_be_destroyed_in_its_own_call)
{
    struct trace t;
    make(&t);
    cr_assert_eq(loop_timer_create(t.loop, destroy_own_timer, &t, &t.timer), 0);
    loop_timer_arm(t.timer, 0);
    loop_turn(t.loop, LONG_WAIT);
    cr_assert_str_eq(t.text, "d");
    loop_destroy(t.loop);
    TEST_NO_LEAKS();
}

static void arm_again(void *arg)
{
    struct trace *t = arg;
    note(t, 't');
    if (t->len < 5)
        loop_timer_arm(t->timer, 0);
}

Test(loop, a_timer_armed_in_its_own_call_waits_for_the_next_turn)
{
    struct trace t;
    make(&t);
    cr_assert_eq(loop_timer_create(t.loop, arm_again, &t, &t.timer), 0);
    loop_timer_arm(t.timer, 0);
    loop_turn(t.loop, LONG_WAIT);
    cr_assert_str_eq(t.text, "t");
    for (int i = 0; i < 10; i++)
        loop_turn(t.loop, 1);
    cr_assert_str_eq(t.text, "ttttt");
    loop_timer_destroy(t.timer);
    loop_destroy(t.loop);
    TEST_NO_LEAKS();
}

Test(loop, a_turn_waits_at_most_as_long_as_it_was_told)
{
    struct trace t;
    make(&t);
    struct mono before = clock_mono();
    loop_turn(t.loop, 2 * CLOCK_NS_PER_MS);
    int64_t took = clock_since(clock_mono(), before);
    cr_assert(took >= 2 * CLOCK_NS_PER_MS && took < LONG_WAIT / 2);
    loop_destroy(t.loop);
    TEST_NO_LEAKS();
}

Test(loop, now_stands_still_within_a_turn_and_moves_between_turns)
{
    struct trace t;
    make(&t);
    struct mono start = loop_now(t.loop);
    cr_assert_eq(loop_now(t.loop).ns, start.ns);
    loop_turn(t.loop, CLOCK_NS_PER_MS);
    cr_assert_geq(clock_since(loop_now(t.loop), start), CLOCK_NS_PER_MS);
    loop_destroy(t.loop);
    TEST_NO_LEAKS();
}

static void on_signal(void *arg, int signo)
{
    struct trace *t = arg;
    note(t, signo == SIGUSR1 ? '1' : '2');
    loop_stop(t->loop);
}

Test(loop, a_signal_comes_as_a_call_of_the_loop_and_may_stop_it)
{
    struct trace t;
    struct loop_signal *one, *two;
    make(&t);
    cr_assert_eq(loop_signal_create(t.loop, SIGUSR1, on_signal, &t, &one), 0);
    cr_assert_eq(loop_signal_create(t.loop, SIGUSR2, on_signal, &t, &two), 0);
    kill(getpid(), SIGUSR2);
    loop_run(t.loop);
    cr_assert_str_eq(t.text, "2");
    kill(getpid(), SIGUSR1);
    loop_turn(t.loop, LONG_WAIT);
    cr_assert_str_eq(t.text, "21");
    loop_signal_destroy(one);
    loop_signal_destroy(two);
    loop_signal_destroy(NULL);
    loop_destroy(t.loop);
    TEST_NO_LEAKS();
}

Test(loop, writing_to_a_closed_pipe_does_not_end_the_process)
{
    struct loop *l;
    int fd[2];
    cr_assert_eq(loop_create(&l), 0);
    cr_assert_eq(pipe(fd), 0);
    close(fd[0]);
    cr_assert_eq(write(fd[1], "x", 1), -1);
    close(fd[1]);
    loop_destroy(l);
    TEST_NO_LEAKS();
}

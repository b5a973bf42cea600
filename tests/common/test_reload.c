/* tests/common/test_reload.c: SIGHUP, and who reads what anew. */
#include "common/io/reload.h"

#include "common/err.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct part {
    char *order; /* of calls, a letter each */
    char letter;
    int err;
};

static int on_reload(void *arg, char *why, size_t why_cap)
{
    struct part *p = arg;
    const size_t n = strlen(p->order);

    p->order[n] = p->letter;
    p->order[n + 1] = '\0';
    snprintf(why, why_cap, "as it pleases");
    return p->err;
}

Test(reload, all_who_joined_are_called_in_order_whatever_one_says)
{
    char order[8] = "";
    struct part a = {order, 'a', E_IO}, b = {order, 'b', 0};
    struct reload r;
    struct loop *loop;

    cr_assert_eq(loop_create(&loop), 0);
    reload_init(&r, loop);
    cr_assert_eq(reload_join(&r, "a", on_reload, &a), 0);
    cr_assert_eq(reload_join(&r, "b", on_reload, &b), 0);
    for (int i = 0; i < 2; i++) {
        raise(SIGHUP);
        while (strlen(order) < 2 * (size_t)(i + 1))
            loop_turn(loop, CLOCK_NS_PER_S);
    }
    cr_assert_str_eq(order, "abab");
    reload_fini(&r);
    loop_destroy(loop);
    TEST_NO_LEAKS();
}

Test(reload, without_anybody_the_signal_ends_the_process, .signal = SIGHUP)
{
    struct reload r;
    struct loop *loop;

    cr_assert_eq(loop_create(&loop), 0);
    reload_init(&r, loop);
    signal(SIGHUP, SIG_DFL);
    raise(SIGHUP);
    reload_fini(&r);
}

static void on_hangup(void *arg, int signo)
{
    int *calls = arg;

    cr_assert_eq(signo, SIGHUP);
    (*calls)++;
}

Test(reload, without_anybody_something_else_may_be_done_unless_the_signal_is_ignored)
{
    struct reload r;
    struct loop *loop;
    int calls = 0;

    cr_assert_eq(loop_create(&loop), 0);
    reload_init(&r, loop);
    signal(SIGHUP, SIG_IGN);
    cr_assert_eq(reload_otherwise(&r, on_hangup, &calls), 0);
    raise(SIGHUP);
    loop_turn(loop, 0);
    cr_assert_eq(calls, 0);
    signal(SIGHUP, SIG_DFL);
    cr_assert_eq(reload_otherwise(&r, on_hangup, &calls), 0);
    raise(SIGHUP);
    while (calls == 0)
        loop_turn(loop, CLOCK_NS_PER_S);
    reload_fini(&r);
    loop_destroy(loop);
    TEST_NO_LEAKS();
}

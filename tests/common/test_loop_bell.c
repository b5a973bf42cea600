/* tests/common/test_loop_bell.c: a loop that another thread wakes. */
#include "common/io/loop.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <pthread.h>

#define LONG_WAIT (10 * CLOCK_NS_PER_S)
#define RINGS     1000

struct ringing {
    struct loop *loop;
    struct loop_bell *bell;
    int calls;
    int written; /* by the ringer, before each ring */
    int seen;    /* of it, by the one who hears */
};

static void on_ring(void *arg)
{
    struct ringing *r = arg;
    r->calls++;
    r->seen = r->written;
}

static void make(struct ringing *r)
{
    *r = (struct ringing){0};
    cr_assert_eq(loop_create(&r->loop), 0);
    cr_assert_eq(loop_bell_create(r->loop, on_ring, r, &r->bell), 0);
}

static void end(struct ringing *r)
{
    loop_bell_destroy(r->bell);
    loop_bell_destroy(NULL);
    loop_destroy(r->loop);
}

Test(loop_bell, a_ring_is_one_call_and_no_ring_is_none)
{
    struct ringing r;
    make(&r);
    loop_turn(r.loop, 0);
    cr_assert_eq(r.calls, 0);
    loop_bell_ring(r.bell);
    cr_assert_eq(r.calls, 0, "not in the ringer's call");
    loop_turn(r.loop, LONG_WAIT);
    loop_turn(r.loop, 0);
    cr_assert_eq(r.calls, 1);
    end(&r);
    TEST_NO_LEAKS();
}

static void *ring_once(void *arg)
{
    struct ringing *r = arg;
    r->written = 1;
    loop_bell_ring(r->bell);
    return NULL;
}

Test(loop_bell, another_thread_ends_the_wait_and_what_it_wrote_is_seen)
{
    struct ringing r;
    pthread_t thread;
    make(&r);
    const struct mono from = clock_mono();
    cr_assert_eq(pthread_create(&thread, NULL, ring_once, &r), 0);
    while (r.calls == 0 && clock_since(clock_mono(), from) < LONG_WAIT)
        loop_turn(r.loop, LONG_WAIT);
    cr_assert_eq(r.calls, 1);
    cr_assert_eq(r.seen, 1);
    pthread_join(thread, NULL);
    end(&r);
    TEST_NO_LEAKS();
}

static void *ring_often(void *arg)
{
    for (int i = 0; i < RINGS; i++)
        loop_bell_ring(arg);
    return NULL;
}

Test(loop_bell, many_rings_are_heard_at_least_once_after_the_last)
{
    struct ringing r;
    pthread_t thread[2];
    make(&r);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, ring_often, r.bell), 0);
    for (int i = 0; i < 100; i++)
        loop_turn(r.loop, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    const int before = r.calls;
    loop_bell_ring(r.bell);
    loop_turn(r.loop, LONG_WAIT);
    cr_assert_gt(r.calls, before);
    cr_assert_leq(r.calls, 2 * RINGS + 1);
    end(&r);
    TEST_NO_LEAKS();
}

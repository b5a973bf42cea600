/* tests/world/test_world_link_limits.c: each limit at the world's edge, driven full and counted.
 * Source: DESIGN.md, "Limits that really fire".
 */
#include "tests/leak.h"
#include "tests/world/edge_rig.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

Test(world_link, a_gateway_that_does_not_read_is_pressed_and_then_closed_alone)
{
    struct edge r;
    struct link_frame f;
    size_t n = 1u << 20;
    uint8_t *bytes = calloc(1, n);
    uint8_t ping[64];
    struct span_writer w = span_writer_of(ping, sizeof(ping));

    edge_init(&r, "30s");
    struct gate *deaf = gate_up(&r, "gate-1");
    struct link_ref ref = {0};
    cr_assert(sessions_link_named(&r.world->sessions, span_text("gate-1"), &ref));
    struct gate *other = gate_up(&r, "gate-2");
    stream_read_pause(deaf->stream, true);
    loop_turn(r.loop, 0);
    /* More than the kernel takes on top of the hard limit. */
    for (int i = 0; i < 64 && r.metrics.link_bytes_lost == 0; i++) {
        world_link_drain(r.link, ref, span_of(bytes, n));
        cr_assert_eq(r.metrics.ended_queue_full, 0, "nothing ends inside a drain");
        if (i % 8 == 7)
            loop_turn(r.loop, 0);
    }
    cr_expect_eq(r.metrics.link_presses, 1);
    cr_expect_eq(r.metrics.links_pressed, 1);
    world_link_gauges(r.link);
    cr_expect_gt(r.metrics.link_queue_bytes, r.options.link_queue_soft);
    cr_expect_leq(r.metrics.link_queue_most, r.options.link_queue_hard);
    edge_until(&r, &r.metrics.ended_queue_full, 1);
    cr_expect_eq(r.metrics.links_pressed, 0);
    /* What the core still makes for it is dropped, and counted. */
    uint64_t lost = r.metrics.link_bytes_lost;
    world_link_drain(r.link, ref, span_of(bytes, 10));
    cr_expect_eq(r.metrics.link_bytes_lost, lost + 10);

    link_write_ping(&w, 1);
    gate_write(other, w.p, w.len);
    gate_wait(other, LINK_PONG, &f);
    gate_destroy(deaf);
    gate_destroy(other);
    edge_fini(&r);
    free(bytes);
    TEST_NO_LEAKS();
}

Test(world_link, viewers_of_a_gateway_that_does_not_read_pause_until_it_does)
{
    struct edge r;
    size_t n = 1u << 20;
    uint8_t *bytes = calloc(1, n);
    struct link_ref ref = {0};

    edge_init(&r, "30s");
    struct gate *slow = gate_up(&r, "gate-1");
    struct gate *other = gate_up(&r, "gate-2");
    gate_enter(slow, 1, "alpha");
    gate_enter(slow, 2, "beta");
    gate_enter(other, 1, "gamma");
    cr_assert(sessions_link_named(&r.world->sessions, span_text("gate-1"), &ref));
    stream_read_pause(slow->stream, true);
    loop_turn(r.loop, 0);
    while (r.metrics.links_pressed == 0 && r.metrics.link_bytes_lost == 0) {
        world_link_drain(r.link, ref, span_of(bytes, n));
        loop_turn(r.loop, 0);
    }
    cr_expect_eq(r.metrics.link_presses, 1);
    cr_expect_eq(r.world->n_paused, 2, "and not the other gateway's");

    slow->careless = true;
    stream_read_pause(slow->stream, false);
    struct mono until = clock_add(clock_mono(), EDGE_PATIENCE_NS);
    while (r.metrics.links_pressed > 0) {
        cr_assert_lt(clock_since(clock_mono(), until), 0);
        loop_turn(r.loop, EDGE_TURN_NS);
    }
    cr_expect_eq(r.world->n_paused, 0);
    cr_expect_eq(r.metrics.ended_queue_full, 0);
    gate_destroy(slow);
    gate_destroy(other);
    edge_fini(&r);
    free(bytes);
    TEST_NO_LEAKS();
}

Test(world_link, a_crowd_that_says_no_hello_holds_up_no_gateway)
{
    struct edge r;
    static struct gate *strangers[WORLD_LINK_CONNECTIONS - 1];

    edge_init(&r, "30s");
    struct gate *before = gate_up(&r, "before");
    for (size_t i = 0; i < ARRAY_LEN(strangers); i++)
        strangers[i] = gate_create(&r);
    edge_until(&r, &r.metrics.connections, WORLD_LINK_CONNECTIONS);
    cr_expect_eq(r.metrics.ended_crowded, 0);

    struct gate *late = gate_up(&r, "late");
    cr_expect_eq(r.metrics.ended_crowded, 1);
    edge_until_true(&r, &strangers[0]->over); /* who has waited longest */
    cr_expect_not(strangers[1]->over);
    cr_expect_eq(r.metrics.connections, WORLD_LINK_CONNECTIONS);
    cr_expect_eq(r.world->sessions.links_slots.live, 2);
    gate_enter(before, 1, "alpha"); /* a link is none of those */
    gate_enter(late, 1, "beta");
    for (size_t i = 0; i < ARRAY_LEN(strangers); i++)
        gate_destroy(strangers[i]);
    gate_destroy(before);
    gate_destroy(late);
    edge_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, gateways_that_the_world_has_no_place_for_are_closed_after_their_hello)
{
    struct edge r;
    static struct gate *gates[SESSION_LINKS_MAX];
    char id[16];

    edge_init(&r, "30s");
    for (size_t i = 0; i < ARRAY_LEN(gates); i++) {
        snprintf(id, sizeof(id), "gate-%zu", i);
        gates[i] = gate_up(&r, id);
    }
    struct gate *late = gate_create(&r);
    gate_say_hello(late, "late");
    edge_until(&r, &r.metrics.ended_full, 1);
    edge_until_true(&r, &late->over);
    cr_expect_eq(r.world->metrics.links_full, 1);
    gate_destroy(late);

    gate_destroy(gates[0]);
    edge_until(&r, &r.metrics.ended_eof, 1);
    gates[0] = gate_up(&r, "late");
    for (size_t i = 0; i < ARRAY_LEN(gates); i++)
        gate_destroy(gates[i]);
    edge_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, without_descriptors_accepting_pauses_and_goes_on_by_itself) /* CASES D05 */
{
    struct edge r;
    struct rlimit limit;

    edge_init(&r, "30s");
    struct gate *before = gate_up(&r, "gate-1");
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlim_t most = limit.rlim_cur;
    struct gate *late = gate_dial(&r);
    const int spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    limit.rlim_cur = (rlim_t)spare; /* no room for one more */
    close(spare);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    edge_until(&r, &r.metrics.accept_pauses, 1);
    cr_expect_eq(r.metrics.accepted, 1);
    gate_enter(before, 1, "alpha"); /* nobody else notices */

    limit.rlim_cur = most;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    edge_until(&r, &r.metrics.accepted, 2);
    gate_destroy(before);
    gate_destroy(late);
    edge_fini(&r);
    TEST_NO_LEAKS();
}

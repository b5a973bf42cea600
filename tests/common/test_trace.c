/* tests/common/test_trace.c: a trace's bounds, and the name of a session in logs. */
#include "common/trace.h"

#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct trace_frame frame = {
    .way = "to_world", .name = "MoveReq", .cmd = 7, .seq = 3, .bytes = 26};

Test(trace, it_has_as_many_lines_as_were_asked_for)
{
    struct trace t = {0};

    cr_assert_not(trace_on(&t));
    trace_begin(&t, "g/1", 3, 60);
    for (int i = 0; i < 3; i++) {
        cr_assert(trace_on(&t));
        trace_frame(&t, &frame);
    }
    cr_assert_not(trace_on(&t));
    cr_assert_eq(t.lines, 3);
    trace_end(&t, "again"); /* nothing */
    cr_assert_eq(t.lines, 3);
    TEST_NO_LEAKS();
}

Test(trace, past_its_time_it_ends_without_a_line)
{
    struct trace t = {0};

    trace_begin(&t, "g/1", 3, 60);
    t.until = clock_add(t.start, -1);
    trace_frame(&t, &frame);
    cr_assert_not(trace_on(&t));
    cr_assert_eq(t.lines, 0);
    TEST_NO_LEAKS();
}

Test(trace, another_takes_the_place_of_the_one_before)
{
    struct trace t = {0};

    trace_begin(&t, "g/1", 3, 60);
    trace_frame(&t, &frame);
    trace_begin(&t, "g/2", 1, 60);
    cr_assert_str_eq(t.session, "g/2");
    trace_frame(&t, &frame);
    cr_assert_not(trace_on(&t));
    cr_assert_eq(t.lines, 2);
    TEST_NO_LEAKS();
}

Test(trace, counts_are_whole_numbers_within_their_bounds)
{
    uint32_t n = 0;

    cr_assert(trace_count("1", 600, &n) && n == 1);
    cr_assert(trace_count("600", 600, &n) && n == 600);
    const char *const bad[] = {"", "0", "601", "-1", "1.5", "x", "99999999999999999999"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_assert_not(trace_count(bad[i], 600, &n), "%s", bad[i]);
    TEST_NO_LEAKS();
}

Test(trace, a_session_is_named_by_its_gateway_and_a_number)
{
    char out[LOG_SESSION_MAX], longest[200];

    cr_assert_str_eq(log_session(out, span_text("gateway-1-a"), 0x100000002),
                     "gateway-1-a/100000002");
    memset(longest, 'x', sizeof(longest));
    log_session(out, span_of(longest, sizeof(longest)), UINT64_MAX);
    cr_assert_eq(strlen(out), LOG_SESSION_MAX - 1);
    cr_assert_str_eq(out + LOG_SESSION_MAX - 1 - 17, "/ffffffffffffffff");
    TEST_NO_LEAKS();
}

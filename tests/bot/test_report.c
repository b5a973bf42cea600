/* tests/bot/test_report.c: what a load run found, for people and for machines. */
#include "bot/report.h"

#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* What `print` writes of `r`; the caller frees it. */
static char *printed(const struct report *r, void (*print)(const struct report *, FILE *))
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    cr_assert_not_null(f);
    print(r, f);
    cr_assert_eq(fclose(f), 0);
    return text;
}

static struct report sample(struct hist *latency)
{
    struct report r = {.bots = {100, 2, 0, 3}, .entered = 105, .seconds = 10, .walked_seconds = 9};
    hist_clear(latency);
    hist_add(latency, 25000000);
    r.latency = latency;
    r.count.moves = 9000;
    r.count.errors = 3;
    r.count.error[PE_MOVE_SPEED] = 2;
    r.count.error[SWARM_CODE_MAX] = 1;
    r.told.adds = 10;
    r.told.removes = 20;
    r.told.moves = 70;
    r.told.bytes_in = 10500;
    r.rests.done = 2;
    r.rests.views = 200;
    r.rests.seen = 3000;
    return r;
}

Test(report, the_text_has_what_was_measured)
{
    struct hist latency;
    struct report r = sample(&latency);
    char *text = printed(&r, report_text);
    cr_assert_not_null(strstr(text, "moves       9000 (1000/s)"));
    cr_assert_not_null(strstr(text, "updates     100 (10/s): 10 adds, 20 removes, 70 moves"));
    cr_assert_not_null(strstr(text, "(10 a player and second)"));
    cr_assert_not_null(strstr(text, "max=25.0ms of 1 notices"));
    cr_assert_not_null(strstr(text, "errors      3 move_speed=2 others=1;"));
    cr_assert_not_null(strstr(text, "15.0 neighbours each"));
    cr_assert_not_null(strstr(text, "deaf        2, 0 cut"));
    cr_assert_not_null(strstr(text, "breaches    0\n"));
    free(text);
    TEST_NO_LEAKS();
}

Test(report, the_json_is_one_object_on_one_line)
{
    struct hist latency;
    struct report r = sample(&latency);
    char *text = printed(&r, report_json);
    int depth = 0;
    for (const char *p = text; *p; p++) {
        depth += (*p == '{') - (*p == '}');
        cr_assert(depth > 0 || p[1] == '\n' || *p == '\n');
    }
    cr_assert_eq(depth, 0);
    cr_assert_eq(strchr(text, '\n'), text + strlen(text) - 1);
    cr_assert_not_null(strstr(text, "\"errors\":{\"move_speed\":2,\"others\":1},\"lost\":0"));
    cr_assert_not_null(strstr(text, "\"errors_all\":3,"));
    cr_assert_not_null(strstr(text, "\"latency_ms\":{\"count\":1,\"p50\":25.000,"));
    cr_assert_not_null(strstr(text, "\"neighbours\":15.00"));
    free(text);
    TEST_NO_LEAKS();
}

Test(report, what_was_seen_while_all_walked_is_told_by_ticks_of_lateness)
{
    struct hist latency;
    struct report r = sample(&latency);
    struct witness_count seen = {.views = 9, .pairs = 80, .late = {6, 2, 1}, .silence = 4};
    r.witness = &seen;
    char *text = printed(&r, report_text), *json = printed(&r, report_json);
    cr_assert_not_null(strstr(text, "walking     9 views of 80 pairs judged"));
    cr_assert_not_null(strstr(text, "by ticks late: 0: 6 1: 2 2: 1; 0 breaches"));
    cr_assert_not_null(strstr(json, "\"silence\":4,\"late\":[6,2,1]}"));
    cr_assert_not(report_is_bad(&r));
    seen.breaches = 1;
    cr_assert(report_is_bad(&r));
    free(text);
    free(json);
    TEST_NO_LEAKS();
}

Test(report, a_breach_and_a_wrong_view_are_bad_and_a_late_one_is_not)
{
    struct report r = {.rests.late = 4};
    cr_assert_not(report_is_bad(&r));
    r.rests.wrong = 1;
    cr_assert(report_is_bad(&r));
    r.rests.wrong = 0;
    r.count.breaches = 1;
    cr_assert(report_is_bad(&r));
}

Test(report, a_run_of_nothing_divides_by_nothing)
{
    struct hist latency;
    struct report r = {.latency = &latency};
    hist_clear(&latency);
    char *text = printed(&r, report_json);
    cr_assert_null(strstr(text, "nan"));
    cr_assert_null(strstr(text, "inf"));
    free(text);
    TEST_NO_LEAKS();
}

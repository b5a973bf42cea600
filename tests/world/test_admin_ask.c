/* tests/world/test_admin_ask.c: the parameters of an operator's request.
 */
#include "world/edge/admin_ask.h"

#include "common/log.h"
#include "common/trace.h"

#include <criterion/criterion.h>
#include <string.h>

#define ALL 0x1fffu

static int take(const char *query, unsigned may, unsigned must, struct admin_ask *out)
{
    const char *why = NULL;
    int err = admin_ask_read(span_text(query), may, must, out, &why);

    cr_expect_eq(err != 0, why != NULL, "%s", query);
    return err;
}

Test(admin_ask, all_that_is_said_is_taken)
{
    struct admin_ask a;

    cr_assert_eq(take("who=12&viewer=@bo%20b&subject=@%40&scene=town&kind=npc&prefix=a&"
                      "box=-1,-2,3.5,4&after=7&limit=1000&to=1e3,-5&level=warn&"
                      "lines=10000&seconds=600",
                      ALL, ALL, &a),
                 0);
    cr_expect_eq(a.has, ALL);
    cr_expect_eq(a.who.id, 12);
    cr_expect_eq(a.viewer.id, 0);
    cr_expect_str_eq(a.viewer.name, "bo b");
    cr_expect_str_eq(a.subject.name, "@");
    cr_expect_str_eq(a.scene, "town");
    cr_expect_eq(a.kind, 1);
    cr_expect_str_eq(a.prefix, "a");
    cr_expect_eq(a.box[2], 3.5);
    cr_expect_eq(a.after, 7);
    cr_expect_eq(a.limit, 1000);
    cr_expect_eq(a.to[1], -5);
    cr_expect_eq(a.level, LOG_WARN);
    cr_expect_eq(a.lines, 10000);
    cr_expect_eq(a.seconds, 600);
}

Test(admin_ask, what_is_not_said_has_its_default)
{
    struct admin_ask a;

    cr_assert_eq(take("", ALL, 0, &a), 0);
    cr_expect_eq(a.has, 0);
    cr_expect_eq(a.limit, ADMIN_ASK_LIMIT);
    cr_expect_eq(a.lines, TRACE_LINES);
    cr_expect_eq(a.seconds, TRACE_S);
    cr_expect_eq(take("kind=player", ALL, 0, &a), 0);
    cr_expect_eq(a.kind, 0);
}

Test(admin_ask, only_what_the_path_takes_each_once_and_nothing_missing)
{
    struct admin_ask a;

    cr_expect_eq(take("who=1", ADMIN_ASK_SCENE, 0, &a), E_BAD);
    cr_expect_eq(take("who=1&who=1", ADMIN_ASK_WHO, 0, &a), E_BAD);
    cr_expect_eq(take("scene=a", ADMIN_ASK_WHO | ADMIN_ASK_SCENE, ADMIN_ASK_WHO, &a), E_BAD);
    cr_expect_eq(take("Who=1", ADMIN_ASK_WHO, 0, &a), E_BAD);
}

Test(admin_ask, values_out_of_their_bounds_are_refused)
{
    static const char *const bad[] = {
        "who=",
        "who=0",
        "who=-1",
        "who=4294967296",
        "who=x",
        "who=@",
        "scene=",
        "kind=",
        "kind=NPC",
        "prefix=",
        "box=1,2,3",
        "box=2,0,1,0",
        "box=0,2,0,1",
        "box=0,0,0,2e9",
        "after=x",
        "limit=0",
        "limit=1001",
        "to=1",
        "to=1,nan",
        "to=2e9,0",
        "level=",
        "level=loud",
        "lines=0",
        "lines=10001",
        "seconds=0",
        "seconds=601",
        "viewer=@%00",
        "who=@a%",
        "after=4294967296",
        "who=@123456789012345678901234567890123",
        "prefix=123456789012345678901234567890123",
        "scene=12345678901234567890123456789012345678901234567890123456789012345",
    };
    struct admin_ask a;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(take(bad[i], ALL, 0, &a), E_BAD, "%s", bad[i]);
    cr_expect_eq(take("who=@12345678901234567890123456789012", ALL, 0, &a), 0);
}

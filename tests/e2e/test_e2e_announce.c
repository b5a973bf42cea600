/* tests/e2e/test_e2e_announce.c: an operator's announcement, from HTTP to the clients of two
 * gateways. May touch: tests/pair, tests/e2e. On trouble: the test fails.
 */
#include "tests/e2e/probe.h"
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

TestSuite(e2e_announce, .fini = process_end_all, .timeout = 60);

#define TOKEN "a-token-of-a-test"

static bool said(const struct player *p, uint32_t times, const char *text)
{
    return p->got[CMD_SAY_NOTIFY] == times && p->said_by == 0 && strcmp(p->said, text) == 0;
}

static void expect_told(const struct process *world, const char *query, const char *text,
                        unsigned told)
{
    char path[128], want[64];

    snprintf(path, sizeof(path), "/announce%s", query);
    snprintf(want, sizeof(want), "\r\n\r\n{\"told\":%u}\n", told);
    const char *answer = probe_post(world, path, TOKEN, text);
    cr_assert(strstr(answer, want), "%s", answer);
}

Test(e2e_announce, it_reaches_whom_it_is_for_and_nobody_else)
{
    char file[] = "/tmp/aegis-test-token-XXXXXX";
    int fd = mkstemp(file);
    struct stage stage;

    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, TOKEN "\n", sizeof(TOKEN)), (ssize_t)sizeof(TOKEN));
    close(fd);
    struct pair pair =
        pair_start(PROCESS_ARGS("-max-speed=100000", "-tick=20", PROBE_ADMIN, "-admin-token", file),
                   PROCESS_ARGS("-rate=0"));
    struct process *second = pair_gateway(pair.world->addr, PROCESS_ARGS("-rate=0"));
    pair_await_link(second, 1);
    stage_init(&stage);
    struct player *near = stage_join(&stage, pair.gateway->addr, "near");
    struct player *far = stage_join(&stage, second->addr, "far");
    struct player *out = stage_login(&stage, second->addr, "out");
    player_move(far, 500, 0);

    expect_told(pair.world, "", "to all", 3);
    STAGE_UNTIL(&stage,
                said(near, 1, "to all") && said(far, 1, "to all") && said(out, 1, "to all"));
    expect_told(pair.world, "?scene=open", "to the scene", 2);
    STAGE_UNTIL(&stage, said(near, 2, "to the scene") && said(far, 2, "to the scene"));
    expect_told(pair.world, "?rect=400,-10,600,10", "to the far", 1);
    STAGE_UNTIL(&stage, said(far, 3, "to the far"));
    expect_told(pair.world, "?at=499,1", "to the cell", 1);
    STAGE_UNTIL(&stage, said(far, 4, "to the cell"));
    expect_told(pair.world, "?rect=-900,-900,-800,-800", "to nobody", 0);
    const char *answer = probe_post(pair.world, "/announce", "another-token-of-a-test", "x");
    cr_assert(strstr(answer, "HTTP/1.1 401 "), "%s", answer);
    player_ping(near);
    player_ping(out);
    cr_assert_eq(near->got[CMD_SAY_NOTIFY], 2u);
    cr_assert_eq(out->got[CMD_SAY_NOTIFY], 1u);
    cr_assert_eq(probe_metric(pair.world, "aegis_world_announces_total"), 5u);
    cr_assert_eq(probe_metric(pair.world, "aegis_world_announce_notifies_total"), 7u);
    cr_assert_eq(process_logged(pair.world, TOKEN), 0u);
    stage_fini(&stage);
    unlink(file);
    pair_end_one(second);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

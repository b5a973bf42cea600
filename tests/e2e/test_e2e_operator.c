/* tests/e2e/test_e2e_operator.c: an operator's day: finding somebody, saying why one does not see
 * another, announcing, putting elsewhere, kicking, draining; and live maps that nobody reads.
 * May touch: tests/pair, tests/e2e. On trouble: the test fails.
 */
#include "tests/e2e/probe.h"
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

TestSuite(e2e_operator, .fini = process_end_all, .timeout = 60);

#define TOKEN "a-token-of-a-test"
#define MAPS  50

static json_t *body_of(const char *answer, const char *status, const char *what)
{
    const char *body = strstr(answer, "\r\n\r\n");
    json_t *v = body ? json_loads(body, 0, NULL) : NULL;

    cr_assert(strncmp(answer + strlen("HTTP/1.1 "), status, strlen(status)) == 0, "%s: %s", what,
              answer);
    cr_assert(v, "%s: %s", what, answer);
    return v;
}

static json_t *ask(const struct process *world, const char *path)
{
    return body_of(probe_get(world, path), "200 ", path);
}

static void act(const struct process *world, const char *path, const char *body, const char *status)
{
    json_decref(body_of(probe_post(world, path, TOKEN, body), status, path));
}

/* What is explained of `viewer` seeing `subject`, as a word. */
static void expect_why(const struct process *world, const char *viewer, const char *subject,
                       const char *why)
{
    char path[128];

    snprintf(path, sizeof(path), "/api/explain?viewer=@%s&subject=@%s", viewer, subject);
    json_t *v = ask(world, path), *sight = json_object_get(v, "sight");
    cr_expect_str_eq(json_string_value(json_object_get(sight, "why")), why, "%s: %s", path,
                     json_string_value(json_object_get(sight, "text")));
    json_decref(v);
}

static const char *token_file(char file[static 64])
{
    int fd;

    snprintf(file, 64, "%s", "/tmp/aegis-test-token-XXXXXX");
    fd = mkstemp(file);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, TOKEN "\n", sizeof(TOKEN)), (ssize_t)sizeof(TOKEN));
    close(fd);
    return file;
}

Test(e2e_operator, an_operators_day)
{
    char file[64], path[128];
    struct stage stage;
    struct pair pair = pair_start(PROCESS_ARGS("-max-speed=100000", "-tick=20", "-npcs=1",
                                               PROBE_ADMIN, "-admin-token", token_file(file)),
                                  PROCESS_ARGS("-rate=0"));
    stage_init(&stage);
    struct player *near = stage_join(&stage, pair.gateway->addr, "near");
    struct player *far = stage_join(&stage, pair.gateway->addr, "far away");
    player_move(far, 500, 0);
    player_move(near, 0, 0);

    /* Find a player. */
    json_t *v = ask(pair.world, "/api/entities?kind=player&prefix=fa");
    cr_assert_eq(json_array_size(json_object_get(v, "entities")), 1u);
    json_t *row = json_array_get(json_object_get(v, "entities"), 0);
    cr_expect_eq(json_integer_value(json_object_get(row, "id")), (json_int_t)far->facts->id);
    cr_expect_eq(json_number_value(json_object_get(row, "x")), 500);
    json_decref(v);
    /* Why does the other one not see it? */
    expect_why(pair.world, "near", "far%20away", "too_far");
    /* Say something to all. */
    act(pair.world, "/announce", "look here", "200 ");
    STAGE_UNTIL(&stage, near->got[CMD_SAY_NOTIFY] == 1 && far->got[CMD_SAY_NOTIFY] == 1);
    /* Bring the two together: they see each other, and that is explained too. */
    snprintf(path, sizeof(path), "/api/teleport?who=%" PRIu32 "&to=3,4", far->facts->id);
    act(pair.world, path, "", "200 ");
    STAGE_UNTIL(&stage, player_knows(near, far->facts->id) && player_knows(far, near->facts->id));
    expect_why(pair.world, "near", "far%20away", "in_radius");
    /* An NPC has nobody behind it. */
    act(pair.world, "/api/kick?who=@npc-1", "", "400 ");
    /* Kick one: Bye 19, and it is gone for the other. */
    act(pair.world, "/api/kick?who=@near", "be kind", "200 ");
    STAGE_UNTIL(&stage, near->closed);
    cr_expect_eq(near->facts->bye_code, (uint32_t)PE_KICKED);
    STAGE_UNTIL(&stage, player_count(far) == 0);
    act(pair.world, "/api/kick?who=@near", "", "404 ");
    cr_expect_eq(probe_metric(pair.world, "aegis_world_kicks_total{reason=\"operator\"}"), 1u);
    /* Drain: the answer comes, and the world ends by itself. */
    act(pair.world, "/api/log?level=warn", "", "200 ");
    act(pair.world, "/api/log?level=info", "", "200 ");
    act(pair.world, "/api/drain", "", "200 ");
    process_await_exit(pair.world, PROCESS_PATIENCE_MS, 0);
    process_await_log(pair.world, "kicked name=\"near\"", 1);
    process_await_log(pair.world, "teleported id=", 1);
    process_await_log(pair.world, "log level is changed from=info to=warn peer=127.", 1);
    process_await_log(pair.world, "drain asked for peer=127.", 1);
    cr_expect_eq(process_logged(pair.world, TOKEN), 0u);
    stage_fini(&stage);
    unlink(file);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* A connection to the operators' address that asks for this, and reads nothing. */
static int deaf(const struct process *world, const char *path)
{
    struct sockaddr_in in = probe_admin(world);
    char request[128];
    int small = 2048, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    cr_assert_eq(connect(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n\r\n", path);
    cr_assert_gt(send(fd, request, strlen(request), MSG_NOSIGNAL), 0);
    return fd;
}

Test(e2e_operator, fifty_maps_and_a_scraper_that_read_nothing_leave_the_world_alone)
{
    int fds[MAPS + 1];
    struct stage stage;

    process_measure_memory();
    struct pair pair = pair_start(
        PROCESS_ARGS("-tick=20", "-npcs=300", "-map-rate=50", "-map-viewers=50", PROBE_ADMIN),
        PROCESS_ARGS("-rate=0"));
    stage_init(&stage);
    struct player *one = stage_join(&stage, pair.gateway->addr, "one");
    for (int i = 0; i < MAPS; i++)
        fds[i] = deaf(pair.world, "/map/feed");
    fds[MAPS] = deaf(pair.world, "/metrics");
    probe_await_least(pair.world, "aegis_world_map_viewers", MAPS, PROCESS_PATIENCE_MS);
    json_decref(body_of(probe_get(pair.world, "/map/feed"), "503 ", "one map too many"));
    probe_await_least(pair.world, "aegis_world_map_frames_total{result=\"skipped\"}", 5 * MAPS,
                      PROCESS_PATIENCE_MS);
    uint64_t before = process_memory(pair.world);
    for (int i = 0; i < 20; i++) {
        player_move(one, one->facts->x + 0.01, 0);
        stage_pass_ticks(one, 2);
    }
    cr_expect_lt(process_memory(pair.world), before + (8u << 20), "nothing grows");
    for (int i = 0; i <= MAPS; i++)
        close(fds[i]);
    probe_await_most(pair.world, "aegis_world_map_viewers", 0, PROCESS_PATIENCE_MS);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

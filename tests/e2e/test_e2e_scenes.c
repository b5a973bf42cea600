/* tests/e2e/test_e2e_scenes.c: several scenes in one world, between real processes: who is in one
 * is nobody's neighbour in another, and portals lead from one to the other.
 * May touch: tests/pair, tests/raw_client, tests/e2e, files of its own. On trouble: the test fails.
 */
#include "common/parts.h"
#include "tests/e2e/probe.h"
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef AEGIS_PART_JANSSON /* maps can be read */

TestSuite(e2e_scenes, .fini = process_end_all, .timeout = 60);

/* A free map of 60 by 60 tiles with a spawn at 8, 8 and a portal from 30, 0 to 34, 60. */
#define MAP(scene, x, y)                                                                  \
    "{\"type\":\"map\",\"orientation\":\"orthogonal\",\"infinite\":false,"                \
    "\"width\":60,\"height\":60,\"tilewidth\":16,\"tileheight\":16,\"tilesets\":[],"      \
    "\"layers\":[{\"type\":\"objectgroup\",\"name\":\"o\",\"objects\":["                  \
    "{\"id\":1,\"type\":\"spawn\",\"name\":\"s\",\"point\":true,\"x\":128,\"y\":128},"    \
    "{\"id\":2,\"type\":\"portal\",\"name\":\"the gate\",\"x\":480,\"y\":0,\"width\":64," \
    "\"height\":960,\"properties\":["                                                     \
    "{\"name\":\"scene\",\"type\":\"string\",\"value\":\"" scene "\"},"                   \
    "{\"name\":\"x\",\"type\":\"float\",\"value\":" #x "},"                               \
    "{\"name\":\"y\",\"type\":\"float\",\"value\":" #y "}]}]}]}"

/* What -map takes of a map. */
struct map_file {
    char path[64], flag[96];
};

static void put_map(struct map_file *f, const char *name, const char *json)
{
    snprintf(f->path, sizeof(f->path), "/tmp/aegis-test-scene-XXXXXX");
    int fd = mkstemp(f->path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, json, strlen(json)), (ssize_t)strlen(json));
    close(fd);
    snprintf(f->flag, sizeof(f->flag), "%s=%s", name, f->path);
}

/* Two maps, from the first a gate to the second, from there one to open ground. */
static struct pair start(struct map_file maps[2])
{
    put_map(&maps[0], "hall", MAP("yard", 10, 20));
    put_map(&maps[1], "yard", MAP("open", -5, -6));
    return pair_start(PROCESS_ARGS("-max-speed=100000", "-tick=20", PROBE_ADMIN, "-map",
                                   maps[0].flag, "-map", maps[1].flag),
                      PROCESS_ARGS("-rate=0"));
}

static void end(const struct pair *pair, struct map_file maps[2])
{
    unlink(maps[0].path);
    unlink(maps[1].path);
    pair_end(pair);
    TEST_NO_LEAKS();
}

static struct player *join_scene(struct stage *s, const char *addr, const char *name,
                                 const char *scene)
{
    struct player *p = stage_login(s, addr, name);
    cr_assert_eq(player_answer(p, bot_client_enter_scene(p->client, scene)), 0u);
    cr_assert_str_eq(p->facts->scene, scene);
    return p;
}

Test(e2e_scenes, two_in_different_scenes_at_the_same_place_never_see_each_other)
{
    struct map_file maps[2];
    struct pair pair = start(maps);
    struct stage stage;

    stage_init(&stage);
    struct player *hall = join_scene(&stage, pair.gateway->addr, "hall", "hall");
    struct player *yard = join_scene(&stage, pair.gateway->addr, "yard", "yard");
    struct player *open = join_scene(&stage, pair.gateway->addr, "open", "open");
    struct player *mate = join_scene(&stage, pair.gateway->addr, "mate", "yard");
    cr_assert(hall->facts->x == 8 && hall->facts->y == 8 && yard->facts->x == 8);
    for (double x = 9; x < 29; x++) { /* side by side, but for the walls between worlds */
        player_move(hall, x, 9);
        player_move(yard, x, 9);
        player_move(open, x, 9);
        player_move(mate, x, 10);
    }
    STAGE_UNTIL(&stage, player_sees(yard, mate) && player_sees(mate, yard));
    player_say(yard, "hello");
    STAGE_UNTIL(&stage, mate->got[CMD_SAY_NOTIFY] == 1);
    stage_pass_ticks(hall, 3);
    cr_assert_eq(hall->n_events + open->n_events, 0u);
    cr_assert_eq(hall->got[CMD_SAY_NOTIFY] + open->got[CMD_SAY_NOTIFY], 0u);
    cr_assert_eq(player_count(yard) + player_count(mate), 2u);
    cr_assert_eq(player_answer(hall, bot_client_enter_scene(hall->client, "yard")),
                 (uint32_t)PE_ALREADY_IN_WORLD);
    player_leave(hall);
    cr_assert_eq(player_answer(hall, bot_client_enter_scene(hall->client, "moon")),
                 (uint32_t)PE_NO_SUCH_SCENE);
    cr_assert_eq(probe_metric(pair.world, "aegis_world_scene_entities{scene=\"yard\"}"), 2u);
    cr_assert_eq(probe_metric(pair.world, "aegis_world_scene_entities{scene=\"hall\"}"), 0u);
    stage_fini(&stage);
    end(&pair, maps);
}

/* The next message, which is no answer. */
static const struct message *unasked(struct raw_client *c)
{
    const struct message *m;
    do
        m = raw_next(c);
    while (m->seq != 0);
    return m;
}

Test(e2e_scenes, a_portal_is_told_by_an_enter_resp_before_the_first_aoi_frame_there)
{
    struct map_file maps[2];
    struct pair pair = start(maps);
    struct stage stage;
    struct raw_client c;

    stage_init(&stage);
    struct player *behind = join_scene(&stage, pair.gateway->addr, "behind", "hall");
    struct player *ahead = join_scene(&stage, pair.gateway->addr, "ahead", "yard");
    raw_connect(&c, pair.gateway->addr);
    raw_must(&c, raw_login(&c, "walker"), CMD_LOGIN_RESP);
    uint32_t id =
        raw_must(&c, raw_payload(&c, CMD_ENTER_REQ, "81 a5'scene' a4'hall'"), CMD_ENTER_RESP)
            ->enter_resp.id;
    cr_assert_eq(raw_await(&c, CMD_AOI_ADD)->aoi_add.entities[0].id, behind->facts->id);
    STAGE_UNTIL(&stage, player_knows(behind, id));

    raw_must(&c, raw_move(&c, 29.5, 8), CMD_MOVE_RESP);
    raw_must(&c, raw_move(&c, 31, 8), CMD_MOVE_RESP); /* into the gate */
    const struct message *m = unasked(&c);
    while (m->cmd == CMD_AOI_MOVE) /* of a tick between the two steps */
        m = unasked(&c);
    cr_assert_eq(m->cmd, (uint32_t)CMD_ENTER_RESP);
    cr_assert(span_equal(m->enter_resp.scene, span_text("yard")));
    cr_assert_eq(m->enter_resp.id, id);
    cr_assert(m->enter_resp.x == 10 && m->enter_resp.y == 20);
    m = unasked(&c);
    cr_assert_eq(m->cmd, (uint32_t)CMD_AOI_ADD, "whom it knew it forgot by itself");
    cr_assert_eq(m->aoi_add.count, 1u);
    cr_assert_eq(m->aoi_add.entities[0].id, ahead->facts->id);
    STAGE_UNTIL(&stage, player_knows(ahead, id) && !player_knows(behind, id));
    cr_assert_eq(probe_metric(pair.world, "aegis_world_portals_passed_total"), 1u);

    raw_must(&c, raw_move(&c, 31, 20), CMD_MOVE_RESP); /* and on, to open ground */
    m = raw_await(&c, CMD_ENTER_RESP);
    cr_assert(span_equal(m->enter_resp.scene, span_text("open")));
    cr_assert(m->enter_resp.x == -5 && m->enter_resp.y == -6);
    STAGE_UNTIL(&stage, !player_knows(ahead, id));
    raw_close(&c);
    stage_fini(&stage);
    end(&pair, maps);
}

Test(e2e_scenes, scenes_that_do_not_go_together_end_the_start_with_one_line)
{
    struct map_file hall;
    put_map(&hall, "hall", MAP("cellar", 1, 1));
    const struct {
        const char *flag, *value, *line;
    } cases[] = {
        {"-log-level=error", "-log-format=text",
         "portal \"the gate\" to 1, 1 of \"cellar\" leads to no scene that is there\n"},
        {"-map", hall.flag, "there is a scene \"hall\" already\n"},
        {"-scene", "cellar", "-scene: \"cellar\": no such scene\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct process *p = process_start(
            "aegis", PROCESS_ARGS("-role=world", "-listen", "127.0.0.1:0", "-log-level=error",
                                  "-map", hall.flag, cases[i].flag, cases[i].value));
        process_await_exit(p, PROCESS_PATIENCE_MS, 1);
        cr_assert_eq(process_logged(p, cases[i].line), 1u, "%.*s", (int)process_log(p).n,
                     (const char *)process_log(p).p);
        cr_assert_eq(process_logged(p, hall.path), i < 2);
        cr_assert_eq(process_logged(p, "\n"), 1u);
    }
    unlink(hall.path);
    TEST_NO_LEAKS();
}

#endif

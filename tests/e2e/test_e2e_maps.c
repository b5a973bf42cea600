/* tests/e2e/test_e2e_maps.c: worlds that start with maps, and those that do not.
 * Run from the root of the tree. May touch: tests/pair, files under TMPDIR.
 */
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(e2e_maps, .fini = process_end_all, .timeout = 60);

/* Reading a bad map takes no longer than refusing a flag. */
#define REFUSE_MS (process_sanitized() ? 3000 : 1000)

#ifdef AEGIS_PART_JANSSON

#define HEAD                                                                           \
    "{\"orientation\":\"orthogonal\",\"width\":4096,\"height\":4096,\"tilewidth\":16," \
    "\"tileheight\":16,\"layers\":["

static const struct bad_map {
    const char *text, *line; /* what stands behind the file's name */
} bad_maps[] = {
    {"", "line 1: "},
    {"{\"orientation\":", "line 1: "},
    {"{\"orientation\":\"orthogonal\",\"infinite\":true}", "infinite: must be false"},
    {"{\"orientation\":\"orthogonal\",\"width\":65536,\"height\":65536}", "width: 65536"},
    {HEAD
     "{\"type\":\"tilelayer\",\"name\":\"lies\",\"width\":4096,\"height\":4096,\"data\":[1]}]}",
     "layer \"lies\": data: 1 tiles, and the layer has 16777216"},
    {HEAD "{\"type\":\"tilelayer\",\"name\":\"lies\",\"width\":1,\"height\":1,\"data\":[1]}]}",
     "layer \"lies\": width: 1: must be 4096"},
    {HEAD "{\"type\":\"objectgroup\",\"name\":\"o\",\"objects\":[{\"id\":7,\"name\":\"out\","
          "\"type\":\"portal\",\"x\":0,\"y\":0,\"width\":16,\"height\":16}]}]}",
     "layer \"o\": object 7 \"out\": a portal needs the properties scene, x and y"},
};

/* It ends with 1, and the only line names the flag, the file and the place. */
static void must_end(const char *spec, const char *path, const char *line)
{
    struct process *p =
        process_start("aegis", PROCESS_ARGS("-role=world", "-listen", "127.0.0.1:0", "-map", spec));
    char want[512];
    process_await_exit(p, REFUSE_MS, 1);
    struct span log = process_log(p);
    snprintf(want, sizeof want, "aegis: -map: %s: %s", path, line);
    cr_assert(log.n > strlen(want) && memcmp(log.p, want, strlen(want)) == 0, "\"%s\": %.*s", want,
              (int)log.n, (const char *)log.p);
    cr_assert_eq(memchr(log.p, '\n', log.n), (void *)(uintptr_t)(log.p + log.n - 1), "one line");
    process_forget(p);
}

Test(e2e_maps, a_hostile_map_ends_the_start_with_one_line_that_names_file_and_place)
{
    char path[] = "/tmp/aegis-test-map-XXXXXX", spec[64];
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    snprintf(spec, sizeof spec, "town=%s", path);
    for (size_t i = 0; i < ARRAY_LEN(bad_maps); i++) {
        size_t n = strlen(bad_maps[i].text);
        cr_assert_eq(ftruncate(fd, 0), 0);
        cr_assert_eq(pwrite(fd, bad_maps[i].text, n, 0), (ssize_t)n);
        must_end(spec, path, bad_maps[i].line);
    }
    close(fd);
    unlink(path);
    must_end(spec, path, "No such file or directory");
    must_end("/dev/zero", "/dev/zero", "not an ordinary file");
    process_check_all();
    TEST_NO_LEAKS();
}

#ifdef AEGIS_PART_ZLIB
/* Refused with this code, and where it stands is told. */
static void must_stay(struct raw_client *c, double x, double y, uint32_t code, double at_x,
                      double at_y)
{
    const struct message *m = raw_must_fail(c, raw_move(c, x, y), code);
    cr_assert(m->error_notify.has_place);
    cr_assert(m->error_notify.x == at_x && m->error_notify.y == at_y, "%g, %g is told",
              m->error_notify.x, m->error_notify.y);
}

Test(e2e_maps, one_goes_round_a_house_of_the_shipped_town_and_not_through_it)
{
    struct pair pair =
        pair_start(PROCESS_ARGS("-map", "deploy/maps/town.json", "-map", "deploy/maps/wild.json",
                                "-scene", "town", "-max-speed", "1000000"),
                   NULL);
    struct raw_client c;

    raw_join(&c, pair.gateway->addr, "alpha");
    raw_must(&c, raw_move(&c, 34.5, 22.5), CMD_MOVE_RESP);  /* on the square */
    must_stay(&c, 31.5, 24.5, PE_MOVE_BLOCKED, 34.5, 22.5); /* into the well */
    must_stay(&c, 64.5, 24.5, PE_MOVE_BOUNDS, 34.5, 22.5);
    raw_must(&c, raw_move(&c, 23.5, 22.5), CMD_MOVE_RESP);
    must_stay(&c, 8.5, 13.5, PE_MOVE_BLOCKED, 23.5, 22.5); /* through a wall */
    raw_must(&c, raw_move(&c, 12.5, 21.5), CMD_MOVE_RESP);
    raw_must(&c, raw_move(&c, 12.5, 11.5), CMD_MOVE_RESP); /* up the alley */
    must_stay(&c, 10.5, 15.5, PE_MOVE_BLOCKED, 12.5, 11.5);
    raw_must(&c, raw_move(&c, 12.5, 17.5), CMD_MOVE_RESP);
    raw_must(&c, raw_move(&c, 8.5, 17.5), CMD_MOVE_RESP); /* by the door */
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_maps, the_shipped_maps_are_a_world)
{
    struct process *p = pair_world(PROCESS_ARGS("-map", "deploy/maps/town.json",
                                                "-map=wild=deploy/maps/wild.json", "-scene=town"));
    process_await_log(p, "map read scene=town", 1);
    process_await_log(p, "map read scene=wild", 1);
    pair_end_one(p);
    process_check_all();
    TEST_NO_LEAKS();
}
#endif

#else

Test(e2e_maps, a_world_without_jansson_says_that_it_cannot_read_maps)
{
    static const char want[] =
        "aegis: -map: a.json: this build cannot read maps: it was made without jansson\n";
    struct process *p = process_start(
        "aegis", PROCESS_ARGS("-role=world", "-listen", "127.0.0.1:0", "-map=a.json"));
    process_await_exit(p, REFUSE_MS, 1);
    cr_assert(span_equal(process_log(p), span_text(want)));
    TEST_NO_LEAKS();
}

#endif

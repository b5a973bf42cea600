/* tests/world/map_rig.c: see the header. */
#include "tests/world/map_rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define WHY_MAX 512

static char *quoted(const char *text)
{
    char *out = strdup(text);
    for (char *c = out; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return out;
}

struct map map_rig_read(const char *text, double tile_size)
{
    char why[WHY_MAX] = "";
    char *json = quoted(text);
    struct map m;
    int err = map_tiled_parse(MAP_RIG_PATH, span_text(json), tile_size, &m, why, sizeof why);
    cr_assert_eq(err, 0, "%s", why);
    free(json);
    return m;
}

void map_rig_refused_bytes(struct span text, const char *want)
{
    char why[WHY_MAX] = "";
    struct map m, zero;
    memset(&zero, 0, sizeof zero);
    int err = map_tiled_parse(MAP_RIG_PATH, text, 1, &m, why, sizeof why);
    cr_assert_lt(err, 0, "it was read: %.*s", (int)text.n, text.p);
    cr_assert_eq(strncmp(why, MAP_RIG_PATH ": ", strlen(MAP_RIG_PATH ": ")), 0, "%s", why);
    cr_assert_not_null(strstr(why, want), "\"%s\" is not in: %s", want, why);
    for (const char *c = why; *c; c++)
        cr_assert((unsigned char)*c >= 0x20 && *c != 0x7f, "a control byte in: %s", why);
    cr_assert_eq(memcmp(&m, &zero, sizeof m), 0, "nothing is kept");
}

void map_rig_refused(const char *text, const char *want)
{
    char *json = quoted(text);
    map_rig_refused_bytes(span_text(json), want);
    free(json);
}

const char *map_rig_shown(const struct map *m)
{
    static char rows[4096];
    size_t n = 0;
    for (int32_t y = 0; y < m->ground.ny; y++) {
        for (int32_t x = 0; x < m->ground.nx; x++)
            rows[n++] = ground_blocked(&m->ground, x, y) ? '#' : '.';
        rows[n++] = '\n';
    }
    rows[n] = '\0';
    return rows;
}

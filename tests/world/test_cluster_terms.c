/* tests/world/test_cluster_terms.c: what all worlds of a cluster must agree on, as text. */
#include "world/edge/cluster_terms.h"

#include "tests/leak.h"
#include "tests/world/plain_map.h"

#include <criterion/criterion.h>
#include <string.h>

#define FLAGS_MAX 12

/* The terms of a world with this flag, and with the map beside the open ground where there is one.
 */
static void terms(const char *flag, const struct map *map, char out[CLAIM_TEXT_MAX + 1])
{
    char program[] = "aegis", text[256], why[256];
    char *argv[] = {program, text};
    struct world_options o;
    struct opts *owner;

    snprintf(text, sizeof(text), "%s", flag);
    cr_assert_eq(
        opts_parse(world_opts_table, world_opts_count, &o, 2, argv, &owner, why, sizeof(why)),
        OPTS_OK, "%s", why);
    size_t n = cluster_terms_write(&o, map, map != NULL, out);
    cr_assert_eq(n, strlen(out));
    opts_destroy(owner);
}

Test(cluster_terms, are_a_line_that_an_operator_can_read)
{
    char text[CLAIM_TEXT_MAX + 1];
    const char *const known = "zones=3x1,radius=30,hysteresis=0,margin=5,tick=50,"
                              "quantum=0.015625,rules=";

    terms("-zones=3x1", NULL, text);
    cr_assert_eq(strncmp(text, known, strlen(known)), 0, "%s", text);
    cr_assert_null(strchr(text, ' '));
}

Test(cluster_terms, differ_with_every_rule_that_a_client_could_notice)
{
    static const char *const differs[] = {"-zones=2x4",        "-aoi-radius=30.0000001",
                                          "-aoi-hysteresis=1", "-aoi-tiers=30:2",
                                          "-zone-margin=6",    "-tick=51",
                                          "-quantum=1/32",     "-bounds=-1,-1,1,1",
                                          "-max-speed=12.5",   "-move-burst=2s",
                                          "-walk=tile",        "-walk-speed=3",
                                          "-walk-step=501",    "-tile-ms=321",
                                          "-walk-max-tiles=3", "-npcs=1",
                                          "-spawn=uniform",    "-scene=open"};
    static const char *const same[] = {
        "-aoi-index=nine",   "-aoi-max=7",         "-max-entities=5", "-seed=9",
        "-resume-window=1s", "-listen=[::1]:7",    "-world-id=b",     "-link-timeout=9s",
        "-login-rate=4",     "-cluster-lease=10s", "-save-every=1s",  "-log-format=json"};
    char plain[CLAIM_TEXT_MAX + 1], other[CLAIM_TEXT_MAX + 1];

    terms("-role=world", NULL, plain);
    for (size_t i = 0; i < ARRAY_LEN(differs); i++) {
        terms(differs[i], NULL, other);
        cr_expect_str_neq(plain, other, "%s", differs[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        terms(same[i], NULL, other);
        cr_expect_str_eq(plain, other, "%s", same[i]);
    }
    TEST_NO_LEAKS();
}

Test(cluster_terms, fit_where_every_number_is_as_long_as_it_can_be)
{
    char program[] = "aegis", why[256], text[CLAIM_TEXT_MAX + 1];
    char zones[] = "-zones=32x32", radius[] = "-aoi-radius=123456.789",
         hysteresis[] = "-aoi-hysteresis=0.000123456789", margin[] = "-zone-margin=1.23456789e-4",
         tick[] = "-tick=9999.123456ms", quantum[] = "-quantum=0.0152587890625";
    char *argv[] = {program, zones, radius, hysteresis, margin, tick, quantum};
    struct world_options o;
    struct opts *owner;

    margin[strlen(margin) - 1] = '1'; /* ...e-1 */
    cr_assert_eq(opts_parse(world_opts_table, world_opts_count, &o, ARRAY_LEN(argv), argv, &owner,
                            why, sizeof(why)),
                 OPTS_OK, "%s", why);
    cr_assert_leq(cluster_terms_write(&o, NULL, 0, text), CLAIM_TEXT_MAX);
    opts_destroy(owner);
}

Test(cluster_terms, a_blocked_tile_or_the_name_of_a_scene_is_part_of_them)
{
    char one[CLAIM_TEXT_MAX + 1], two[CLAIM_TEXT_MAX + 1];
    struct map map = plain_map_open("town", 0, 0, 1, 8, 4);

    terms("-role=world", NULL, one);
    terms("-role=world", &map, two);
    cr_expect_str_neq(one, two);
    terms("-role=world", &map, one);
    cr_expect_str_eq(one, two);
    ground_block(&map.ground, 7, 3, true);
    terms("-role=world", &map, one);
    cr_expect_str_neq(one, two);
    ground_block(&map.ground, 7, 3, false);
    map.name[0] = 'T';
    terms("-role=world", &map, one);
    cr_expect_str_neq(one, two);
    map_fini(&map);
    TEST_NO_LEAKS();
}

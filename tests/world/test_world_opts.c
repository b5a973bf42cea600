/* tests/world/test_world_opts.c: the world's flags: what DESIGN fixes, and what is refused.
 * Source: DESIGN, "Flags that are fixed"; CASES F02.
 */
#include "world/world_opts.h"

#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>

#define ARGS_MAX 4
#define WHY_MAX  256

/* Parse up to ARGS_MAX flags and check the rules between them. True where the world would start;
 * else `why` has the line. */
static bool starts_with(struct world_options *o, const char *const flags[ARGS_MAX],
                        char why[WHY_MAX])
{
    char text[ARGS_MAX][128];
    char *argv[ARGS_MAX + 1] = {text[0]};
    struct opts *owner = NULL;
    int argc = 1;
    bool good;

    strcpy(text[0], "aegis");
    for (int i = 0; i < ARGS_MAX - 1 && flags[i]; i++) {
        snprintf(text[argc], sizeof(text[argc]), "%s", flags[i]);
        argv[argc] = text[argc];
        argc++;
    }
    good = opts_parse(world_opts_table, world_opts_count, o, argc, argv, &owner, why, WHY_MAX) ==
           OPTS_OK;
    if (good)
        good = world_opts_check(o, why, WHY_MAX) == 0;
    opts_destroy(owner);
    return good;
}

/* The flag is refused, in one line that names it. */
static void expect_refused(const char *flag, const char *name)
{
    struct world_options o;
    char why[WHY_MAX];

    cr_assert(!starts_with(&o, (const char *const[ARGS_MAX]){flag}, why), "%s was taken", flag);
    cr_expect(strstr(why, name), "%s: \"%s\" does not name %s", flag, why, name);
    cr_expect_null(strchr(why, '\n'), "%s: more than a line", flag);
}

static void expect_taken(const char *flag)
{
    struct world_options o;
    char why[WHY_MAX];

    cr_expect(starts_with(&o, (const char *const[ARGS_MAX]){flag}, why), "%s: %s", flag, why);
}

Test(world_opts, the_defaults_are_those_of_the_table_of_fixed_flags)
{
    struct world_options o;
    char why[WHY_MAX];

    cr_assert(starts_with(&o, (const char *const[ARGS_MAX]){NULL}, why), "%s", why);
    cr_expect_str_eq(o.listen, "127.0.0.1:19002");
    cr_expect_eq(o.link_timeout_ns, 3 * CLOCK_NS_PER_S);
    cr_expect_eq(o.log_level, LOG_INFO);
    cr_expect_eq(o.log_format, LOG_TEXT);
    cr_expect_eq(o.core.aoi_radius, 30.0);
    cr_expect_eq(o.core.aoi_hysteresis, 0.0);
    cr_expect_eq(o.core.tick_ns, 50 * CLOCK_NS_PER_MS);
    cr_expect_eq(o.core.max_speed, 12.0);
    cr_expect_eq(o.core.move_burst_ns, CLOCK_NS_PER_S);
    cr_expect_eq(o.core.update_interval, 2);
    cr_expect_eq(o.core.move_epsilon, 0.05);
    cr_expect_eq(o.core.dir_epsilon, 1.0);
    cr_expect_eq(o.core.quantum, 1.0 / 64);
    cr_expect_str_eq(o.core.spawn, "line");
    cr_expect_eq(o.core.bounds[0], -16384.0);
    cr_expect_eq(o.core.bounds[1], -16384.0);
    cr_expect_eq(o.core.bounds[2], 16384.0);
    cr_expect_eq(o.core.bounds[3], 16384.0);
    cr_expect_eq(o.core.max_entities, 65536);
    cr_expect_eq(o.link_queue_soft, 8u << 20);
    cr_expect_eq(o.link_queue_hard, 64u << 20);
    cr_expect_eq(o.core.resume_window_ns, 30 * CLOCK_NS_PER_S);
    cr_expect_eq(o.status_ns, 0);
    cr_expect_str_eq(o.admin, "");
    TEST_NO_LEAKS();
}

Test(world_opts, f02_a_value_out_of_range_is_refused_by_name)
{
    static const struct {
        const char *flag, *name;
    } cases[] = {
        {"-aoi-radius=nan", "-aoi-radius"},
        {"-aoi-radius=-1", "-aoi-radius"},
        {"-aoi-radius=1e9", "-aoi-radius"},
        {"-aoi-radius=0", "-aoi-radius"},
        {"-aoi-radius=inf", "-aoi-radius"},
        {"-aoi-hysteresis=-0.5", "-aoi-hysteresis"},
        {"-aoi-tiers=30", "-aoi-tiers"},
        {"-aoi-tiers=30:1,", "-aoi-tiers"},
        {"-aoi-tiers=30:1,20:4", "-aoi-tiers"},
        {"-aoi-tiers=30:4,100:1", "-aoi-tiers"},
        {"-aoi-tiers=30:0", "-aoi-tiers"},
        {"-aoi-tiers=0:1", "-aoi-tiers"},
        {"-aoi-tiers=-3:1", "-aoi-tiers"},
        {"-aoi-tiers=nan:1", "-aoi-tiers"},
        {"-aoi-tiers=30:1.5", "-aoi-tiers"},
        {"-aoi-tiers=30:1:2", "-aoi-tiers"},
        {"-aoi-tiers=30 :1", "-aoi-tiers"},
        {"-aoi-tiers=30:1,256:4", "-aoi-tiers"},
        {"-aoi-tiers=30:126,100:126", "-aoi-tiers"},
        {"-aoi-tiers=1:1,2:1,3:1,4:1,5:1,6:1,7:1,8:1,9:1", "-aoi-tiers"},
        {"-aoi-refresh=0", "-aoi-refresh"},
        {"-aoi-refresh=72001", "-aoi-refresh"},
        {"-aoi-max=-1", "-aoi-max"},
        {"-aoi-max=1048577", "-aoi-max"},
        {"-viewer-bytes=63", "-viewer-bytes"},
        {"-viewer-bytes=17MiB", "-viewer-bytes"},
        {"-tick=0", "-tick"},
        {"-tick=0.5", "-tick"},
        {"-tick=10001", "-tick"},
        {"-tick=11s", "-tick"},
        {"-max-speed=inf", "-max-speed"},
        {"-max-speed=0", "-max-speed"},
        {"-quantum=0", "-quantum"},
        {"-quantum=1/0", "-quantum"},
        {"-bounds=0,0,0,10", "-bounds"},
        {"-bounds=0,0,10", "-bounds"},
        {"-spawn=nowhere", "-spawn"},
        {"-spawn=1,2,-3", "-spawn"},
        {"-max-entities=1048577", "-max-entities"},
        {"-max-entities=-1", "-max-entities"},
        {"-status=1ms", "-status"},
        {"-zones=", "-zones"},
        {"-zones=4", "-zones"},
        {"-zones=0x1", "-zones"},
        {"-zones=33x1", "-zones"},
        {"-zones=4X2", "-zones"},
        {"-zone-margin=0", "-zone-margin"},
        {"-zone-margin=nan", "-zone-margin"},
        {"-cluster-lease=0", "-cluster-lease"},
        {"-cluster-lease=11m", "-cluster-lease"},
        {"-advertise=10.0.0.1", "-advertise"},
        {"-world-id=w1", "-world-id"}, /* without -cluster */
        {"-link-queue-hard=1MiB", "-link-queue-hard"},
        {"-admin=abc", "-admin"},
        {"-admin=65536", "-admin"},
        {"-admin=1.2.3:80", "-admin"},
        {"-role=gateway", "-role"},
        {"-upstream=127.0.0.1:1", "-upstream"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect_refused(cases[i].flag, cases[i].name);
    TEST_NO_LEAKS();
}

Test(world_opts, f02_a_port_that_is_none_is_refused_by_name)
{
    static const char *const ports[] = {"abc", "", "3001x", "-1", "65536", "4294974296"};
    char flag[64];

    for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
        snprintf(flag, sizeof(flag), "-listen=127.0.0.1:%s", ports[i]);
        expect_refused(flag, "-listen");
    }
}

Test(world_opts, the_ends_of_the_ranges_are_taken)
{
    static const char *const flags[] = {
        "-tick=1",
        "-tick=10s",
        "-aoi-radius=255.9",
        "-aoi-hysteresis=0",
        "-aoi-tiers=",
        "-aoi-tiers=30:1,100:4,240:20",
        "-aoi-tiers=0.5:1,255.9:249",
        "-aoi-tiers=1:1,2:1,3:1,4:1,5:1,6:1,7:1,8:1",
        "-aoi-refresh=1",
        "-aoi-refresh=100",
        "-aoi-max=0",
        "-aoi-max=1",
        "-viewer-bytes=0",
        "-viewer-bytes=64",
        "-viewer-bytes=1200",
        "-move-burst=0",
        "-move-epsilon=0",
        "-dir-epsilon=0",
        "-dir-epsilon=180",
        "-max-entities=1",
        "-session-requests=0",
        "-link-timeout=0",
        "-link-queue-soft=0",
        "-link-queue-hard=0",
        "-drain-timeout=0",
        "-status=100ms",
        "-spawn=uniform",
        "-spawn=10,-20,5.5",
        "-bounds=-1,-2,3,4",
        "-admin=9100",
        "-admin=:9100",
        "-admin=0.0.0.0:0",
        "-admin=",
        "-listen=127.0.0.1:0",
        "-listen=[::1]:65535",
        "--seed=18446744073709551615",
    };

    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        expect_taken(flags[i]);
}

/* PROTOCOL.md, AoiMove: R + H stays below 16,384 quanta. */
Test(world_opts, a_sight_that_the_packed_records_cannot_carry_is_refused)
{
    struct world_options o;
    char why[WHY_MAX];

    expect_refused("-aoi-radius=256", "-aoi-radius");
    cr_expect(!starts_with(
        &o, (const char *const[ARGS_MAX]){"-aoi-radius=200", "-aoi-hysteresis=56"}, why));
    cr_expect(
        starts_with(&o, (const char *const[ARGS_MAX]){"-aoi-radius=256", "-quantum=1/32"}, why),
        "%s", why);
}

Test(world_opts, the_resume_window_is_off_or_from_ten_milliseconds_to_a_day)
{
    expect_taken("-resume-window=0");
    expect_taken("-resume-window=10ms");
    expect_taken("-resume-window=1440m");
    expect_refused("-resume-window=9ms", "-resume-window");
    expect_refused("-resume-window=1441m", "-resume-window");
    expect_refused("-resume-window=-1", "-resume-window");
}

Test(world_opts, a_hard_queue_limit_below_the_soft_one_is_refused)
{
    struct world_options o;
    char why[WHY_MAX];

    cr_assert(!starts_with(
        &o, (const char *const[ARGS_MAX]){"-link-queue-soft=65MiB", "-link-queue-hard=64MiB"},
        why));
    cr_expect(strstr(why, "-link-queue-hard"), "%s", why);
    cr_expect(
        starts_with(
            &o, (const char *const[ARGS_MAX]){"-link-queue-soft=65MiB", "-link-queue-hard=0"}, why),
        "%s", why);
}

Test(world_opts, a_token_for_operators_needs_their_listener)
{
    struct world_options o;
    char why[WHY_MAX];

    expect_refused("-admin-token=/etc/token", "-admin-token");
    cr_expect(
        starts_with(&o, (const char *const[ARGS_MAX]){"-admin=0", "-admin-token=/etc/token"}, why),
        "%s", why);
}

Test(world_opts, a_store_that_this_program_does_not_know_is_refused)
{
    expect_taken("-store=none");
    expect_taken("-store=sqlite:world.db");
    expect_taken("-store=sqlite:/var/lib/aegis-world/world.db");
    expect_refused("-store=", "-store");
    expect_refused("-store=sqlite", "-store");
    expect_refused("-store=sqlite:", "-store");
    expect_refused("-store=None", "-store");
#ifdef AEGIS_PART_LIBPQ
    expect_refused("-store=postgres://db:port/aegis", "not a URL as libpq reads it");
#else
    expect_refused("-store=postgres://db/aegis", "built without libpq");
#endif
}

Test(world_opts, a_check_needs_a_store_to_look_at)
{
    struct world_options o;
    char why[WHY_MAX];

    expect_refused("-store-check", "-store-check");
    cr_assert(starts_with(
        &o, (const char *const[ARGS_MAX]){"-store-check", "-store=sqlite:world.db"}, why));
    cr_assert(o.store_check);
}

Test(world_opts, saving_and_admission_have_their_defaults_and_bounds)
{
    struct world_options o;
    char why[WHY_MAX];

    cr_assert(starts_with(&o, (const char *const[ARGS_MAX]){NULL}, why), "%s", why);
    cr_assert_str_eq(o.store, "none");
    cr_assert_eq(o.core.save_every_ns, 30 * CLOCK_NS_PER_S);
    cr_assert_eq(o.core.login_rate, 0);
    cr_assert_eq(o.core.login_wait_ns, 10 * CLOCK_NS_PER_S);
    cr_assert_eq(o.store_delay_ns, 0);
    expect_taken("-save-every=0");
    expect_taken("-login-wait=0");
    expect_refused("-save-every=10ms", "-save-every");
    expect_refused("-login-rate=-1", "-login-rate");
    expect_refused("-login-rate=1000001", "-login-rate");
    expect_refused("-login-wait=50ms", "-login-wait");
    expect_refused("-store-delay=61s", "-store-delay");
}

Test(world_opts, walking_has_the_classic_defaults_and_its_bounds)
{
    static const char *const bad[][2] = {
        {"-walk=hop", "-walk"},
        {"-walk-speed=-1", "-walk-speed"},
        {"-walk-speed=12.5", "-walk-speed"}, /* above -max-speed */
        {"-walk-step=0", "-walk-step"},
        {"-walk-step=61s", "-walk-step"},
        {"-tile-ms=0", "-tile-ms"},
        {"-walk-max-tiles=0", "-walk-max-tiles"},
        {"-walk-max-tiles=1025", "-walk-max-tiles"},
        {"-path-budget=0", "-path-budget"},
        {"-path-queue=1", "-path-queue"},
        {"-npcs=-1", "-npcs"},
        {"-npcs=1048577", "-npcs"},
    };
    struct world_options o;
    char why[WHY_MAX];

    cr_assert(starts_with(&o, (const char *const[ARGS_MAX]){NULL}, why), "%s", why);
    cr_expect_eq(o.core.walk, WALKERS_STRAIGHT);
    cr_expect_eq(o.core.walk_speed, 0.0);
    cr_expect_eq(o.core.walk_step_ns, 500 * CLOCK_NS_PER_MS);
    cr_expect_eq(o.core.tile_ns, 320 * CLOCK_NS_PER_MS);
    cr_expect_eq(o.core.walk_max_tiles, 2);
    cr_expect_eq(o.core.path_budget, 8000);
    cr_expect_eq(o.core.path_queue, 1024);
    cr_expect_eq(o.core.npcs, 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        expect_refused(bad[i][0], bad[i][1]);
    expect_taken("-walk-speed=12");
    expect_taken("-walk=tile");
    expect_taken("-tile-ms=1");
    TEST_NO_LEAKS();
}

/* With these three it is refused, in one line that has `text`. */
static void expect_refused_with(const char *a, const char *b, const char *c, const char *text)
{
    struct world_options o;
    char why[WHY_MAX];

    cr_assert(!starts_with(&o, (const char *const[ARGS_MAX]){a, b, c}, why), "%s %s %s", a, b, c);
    cr_expect(strstr(why, text), "%s %s %s: \"%s\" has no \"%s\"", a, b, c, why, text);
    cr_expect_null(strchr(why, '\n'));
    cr_expect_null(strstr(why, "secret"), "\"%s\" shows a password", why);
}

#ifdef AEGIS_PART_LIBNATS

Test(world_opts, a_world_of_a_cluster_has_an_id_and_an_address_of_its_own)
{
    const char *url = "-cluster=nats://aegis:secret@127.0.0.1:4222,nats://nats-2";
    struct world_options o;
    char why[WHY_MAX];

    cr_assert(starts_with(&o, (const char *const[ARGS_MAX]){url, "-world-id=w-1_A"}, why), "%s",
              why);
    cr_expect_eq(o.cluster_lease_ns, 5 * CLOCK_NS_PER_S);
    cr_expect_eq(o.zone_margin, 5.0);
    cr_expect_str_eq(o.zones, "4x2");
    cr_expect_str_eq(o.advertise, "");
    expect_refused_with(url, NULL, NULL, "-world-id: missing");
    expect_refused_with(url, "-world-id=a.b", NULL, "-world-id: \"a.b\"");
    expect_refused_with("-cluster=nats://u:secret@", "-world-id=a", NULL, "-cluster: \"nats://\"");
    expect_refused_with("-cluster=http://u:secret@h", "-world-id=a", NULL, "-cluster: \"h\"");
    expect_refused_with(url, "-world-id=a", "-store=sqlite:x.db", "-store: \"sqlite:x.db\"");
    expect_refused_with(url, "-world-id=a", "-advertise=0.0.0.0:19002", "-advertise: \"0.0.0.0");
    expect_refused_with(url, "-world-id=a", "-advertise=host:0", "-advertise: \"host:0\"");
    expect_refused_with(url, "-world-id=a", "-advertise=[::]:1", "-advertise: \"[::]:1\"");
    cr_expect(starts_with(
        &o, (const char *const[ARGS_MAX]){url, "-world-id=a", "-advertise=w1.example:19002"}, why));
    TEST_NO_LEAKS();
}

Test(world_opts, a_world_that_listens_everywhere_says_where_it_is_found)
{
    char text[4][64] = {"aegis", "-insecure", "-listen=0.0.0.0:0", "-cluster=nats://127.0.0.1"};
    char id[] = "-world-id=a", advertise[] = "-advertise=10.0.0.7:19002", why[WHY_MAX];
    char *argv[] = {text[0], text[1], text[2], text[3], id, advertise};
    struct world_options o;
    struct opts *owner;

    for (int argc = 5; argc <= 6; argc++) {
        cr_assert_eq(
            opts_parse(world_opts_table, world_opts_count, &o, argc, argv, &owner, why, WHY_MAX),
            OPTS_OK);
        cr_expect_eq(world_opts_check(&o, why, WHY_MAX) == 0, argc == 6);
        if (argc == 5)
            cr_expect(strstr(why, "-advertise: missing"), "%s", why);
        opts_destroy(owner);
    }
    TEST_NO_LEAKS();
}

#else

Test(world_opts, a_cluster_needs_the_library_of_nats)
{
    expect_refused_with("-cluster=nats://u:secret@h", "-world-id=a", NULL, "built without libnats");
}

#endif

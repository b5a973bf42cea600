/* tests/world/test_no_malloc.c: neither a tick nor a request asks the allocator for anything.
 * May touch: tests/world_rig, tests/world/alloc_count.
 */
#include "tests/leak.h"
#include "tests/world/alloc_count.h"
#include "tests/world/plain_map.h"
#include "tests/world_rig.h"

#include "common/log.h"
#include "common/rng.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PEOPLE 500

static void *volatile keep; /* so that the compiler does not take a pair of calls away */

/* --- does it count? -------------------------------------------------------------------------- */

Test(no_malloc, the_counter_sees_each_way_to_memory)
{
    void *p = NULL;
    alloc_count_begin();
    keep = malloc(10);
    cr_assert_eq(alloc_count_end(), 1);
    alloc_count_begin();
    keep = realloc(keep, 100000);
    cr_assert_geq(alloc_count_end(), 1);
    alloc_count_begin();
    free(keep);
    cr_assert_geq(alloc_count_end(), 1);
    alloc_count_begin();
    keep = calloc(3, 7);
    cr_assert_eq(alloc_count_end(), 1);
    free(keep);
    alloc_count_begin();
    int err = posix_memalign(&p, 64, 128);
    cr_assert_eq(alloc_count_end(), 1);
    cr_assert_eq(err, 0);
    free(p);
    alloc_count_begin();
    keep = aligned_alloc(64, 128);
    cr_assert_eq(alloc_count_end(), 1);
    free(keep);
    alloc_count_begin();
    keep = strdup("somewhere in libc");
    cr_assert_eq(alloc_count_end(), 1);
    free(keep);
    alloc_count_begin();
    p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_eq(alloc_count_end(), alloc_count_sees_mmap());
    munmap(p, 4096);
    alloc_count_begin();
    cr_assert_eq(alloc_count_end(), 0);
    TEST_NO_LEAKS();
}

/* --- the world ------------------------------------------------------------------------------- */

struct tally {
    uint64_t calls, entries;
};

static void core(void *arg, bool inside)
{
    struct tally *t = arg;
    if (inside) {
        t->entries++;
        alloc_count_begin();
    } else {
        t->calls += alloc_count_end();
    }
}

/* Another scene, which portals lead to and from. */
static struct map cellar;

static struct rig *world_with_cellar(const struct world_config *c)
{
    cellar = plain_map_open("cellar", -500, -500, 50, 20, 20);
    plain_map_portal(&cellar, (double[4]){-5, -5, 5, 5}, SCENE_OPEN, 0, 0);
    plain_map_portal(&cellar, (double[4]){50, 50, 90, 90}, "cellar", 1, 1);
    return rig_create_maps(c, &cellar, 1);
}

/* One of everything that a client may do, legal or not, and what the world may do with it. */
static void one_act(struct rig *r, uint32_t s, struct rng *rng, double area)
{
    double x = (rng_unit(rng) - 0.5) * area, y = (rng_unit(rng) - 0.5) * area;
    switch (rng_below(rng, 30)) {
    case 0:
        rig_send_say(r, s, "a line of text that everybody around is going to read");
        break;
    case 1:
        rig_send_nil(r, s, CMD_LEAVE_REQ);
        rig_send_nil(r, s, CMD_ENTER_REQ);
        break;
    case 2:
        rig_send_move(r, s, 1e308, -1e308);
        break;
    case 3:
        rig_send_move(r, s, x * 1000, y);
        break;
    case 4:
        rig_send_payload(r, s, CMD_MOVE_REQ, RIG_BYTES("\x93\x01\x02\x03"));
        break;
    case 5:
        rig_send_login(r, s, "again");
        break;
    case 6:
        rig_send_turn(r, s, x, y, x, y * y);
        break;
    case 7:
        rig_congestion(r, s, rng_below(rng, 3) == 0);
        break;
    case 8:
        (void)rig_teleport(r, s, (uint32_t)rng_below(rng, 3), x, y);
        break;
    default:
        rig_send_move(r, s, x, y);
    }
}

static void enter_all(struct rig *r, uint32_t *s)
{
    char name[16];
    for (uint32_t i = 0; i < PEOPLE; i++) {
        snprintf(name, sizeof name, "p%u", i);
        s[i] = rig_open(r, i % 2);
        rig_send_login(r, s[i], name);
        rig_send_nil(r, s[i], CMD_ENTER_REQ);
    }
}

/* A life of 500, crowded into `area` for some of it, with lines in the log if asked. */
static struct tally live(const struct world_config *like, double area, uint32_t ticks,
                         enum log_level level)
{
    struct tally t = {0};
    struct rng rng;
    struct world_config c = *like;
    c.max_entities = PEOPLE;
    c.max_sessions = PEOPLE + 10;
    c.max_speed = 20000;
    struct rig *r = world_with_cellar(&c);
    uint32_t s[PEOPLE];
    rng_init(&rng, 9);
    rig_link_up(r, "gw-1");
    log_init("world", level, LOG_TEXT);
    log_line(LOG_INFO, "the first line, for which libc reads the time zone");
    r->deaf = true;
    r->core = core;
    r->arg = &t;
    enter_all(r, s);
    for (uint32_t tick = 0; tick < ticks; tick++) {
        for (uint32_t i = 0; i < PEOPLE; i++)
            one_act(r, s[i], &rng, tick % 10 < 5 ? area : 10 * area);
        if (tick % 7 == 0) {
            uint32_t at = (uint32_t)rng_below(&rng, PEOPLE);
            rig_close(r, s[at]);
            s[at] = rig_open(r, 0);
            rig_send_login(r, s[at], "newcomer");
            rig_send_nil(r, s[at], CMD_ENTER_REQ);
        }
        rig_tick(r, 1);
    }
    rig_link_down(r, 1);
    rig_tick(r, 1);
    r->core = NULL;
    rig_balance(r);
    cr_assert_gt(r->bytes, 1000000, "there was something to tell");
    cr_assert_gt(r->world->metrics.portals_passed, 10);
    rig_destroy(r);
    map_fini(&cellar);
    return t;
}

static void costs_nothing(double area, uint32_t ticks, double hysteresis, enum log_level level)
{
    struct world_config c = rig_config();
    c.aoi_hysteresis = hysteresis;
    struct tally t = live(&c, area, ticks, level);
    cr_assert_gt(t.entries, ticks * PEOPLE / 2);
    cr_assert_eq(t.calls, 0, "%llu calls", (unsigned long long)t.calls);
}

Test(no_malloc, a_crowd_of_five_hundred_costs_no_allocation, .timeout = 120)
{
    costs_nothing(20, 40, 0, LOG_OFF);
    costs_nothing(20, 40, 2, LOG_OFF);
    TEST_NO_LEAKS();
}

#define LOST 60

Test(no_malloc, lost_resumed_and_bound_connections_cost_no_allocation)
{
    struct world_config c = rig_config();
    struct tally t = {0};
    uint32_t s[LOST], link = 0;
    char name[16];
    c.resume_window_ns = CLOCK_NS_PER_S;
    struct rig *r = rig_create(&c);
    r->core = core;
    r->arg = &t;
    for (uint32_t i = 0; i < LOST; i++) {
        snprintf(name, sizeof name, "p%u", i);
        s[i] = rig_join(r, name);
    }
    for (uint32_t round = 0; round < 4; round++) {
        rig_tick(r, 1);
        for (uint32_t i = 0; i < LOST; i++) { /* lost, or taken over */
            uint32_t old = s[i];
            if (i % 2)
                rig_close(r, old);
            s[i] = rig_open(r, link);
            snprintf(name, sizeof name, "p%u", i);
            rig_resume(r, s[i], name, r->sessions[old].key);
        }
        rig_tick(r, 1);
        rig_link_down(r, link);
        link = rig_link_up(r, "gw-0");
        for (uint32_t i = 0; i < LOST; i++) {
            uint32_t old = s[i];
            char key[RIG_KEY_BYTES + 1];
            memcpy(key, r->sessions[old].key, sizeof key);
            s[i] = rig_bind(r, link, span_of(r->sessions[old].note, r->sessions[old].note_bytes));
            memcpy(r->sessions[s[i]].key, key, sizeof key);
        }
    }
    rig_link_down(r, link);
    rig_pass(r, CLOCK_NS_PER_S);
    rig_tick(r, 1);
    cr_assert_eq(r->world->metrics.waits_over, LOST);
    r->core = NULL;
    cr_assert_eq(t.calls, 0, "%llu calls", (unsigned long long)t.calls);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(no_malloc, five_hundred_spread_out_cost_no_allocation, .timeout = 120)
{
    costs_nothing(180, 80, 0, LOG_OFF);
    costs_nothing(180, 80, 2, LOG_OFF);
    TEST_NO_LEAKS();
}

Test(no_malloc, nor_do_they_with_tiers_caps_and_budgets, .timeout = 120)
{
    for (int way = 0; way < 3; way++) {
        struct world_config c = rig_config();
        c.aoi_tiers = "8:1,20:3,40:10";
        c.aoi_max = way == 1 ? 60 : 0;
        c.aoi_refresh = way == 2 ? 7 : 1;
        c.viewer_bytes = 600;
        struct tally t = live(&c, 60, 60, LOG_OFF);
        cr_assert_gt(t.entries, 60 * PEOPLE / 2);
        cr_assert_eq(t.calls, 0, "%llu calls", (unsigned long long)t.calls);
    }
    TEST_NO_LEAKS();
}

Test(no_malloc, lines_in_the_log_cost_no_allocation, .timeout = 120)
{
    int nowhere = open("/dev/null", O_WRONLY);
    cr_assert_geq(nowhere, 0);
    cr_assert_geq(dup2(nowhere, STDERR_FILENO), 0);
    close(nowhere);
    costs_nothing(180, 40, 0, LOG_DEBUG);
}

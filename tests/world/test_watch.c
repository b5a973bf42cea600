/* tests/world/test_watch.c: live maps: what they are sent, how often, and what a slow one costs.
 */
#include "world/edge/watch.h"

#include "common/err.h"
#include "tests/leak.h"
#include "tests/world/admin_rig.h"
#include "world/edge/watch_copy.h"
#include "world/edge/watch_page.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEARD_MAX 65536

/* One map: what it was told so far. */
struct live_map {
    int fd;
    size_t n;
    char text[HEARD_MAX];
};

static void turns(struct admin_rig *r, int64_t ms)
{
    struct mono until = clock_add(clock_mono(), ms * CLOCK_NS_PER_MS);

    while (clock_since(clock_mono(), until) < 0)
        loop_turn(r->edge.loop, CLOCK_NS_PER_MS);
}

static void map_open(struct admin_rig *r, struct live_map *m, const char *query)
{
    char request[128];

    *m = (struct live_map){.fd = http_ask_dial(world_admin_addr(r->admin))};
    snprintf(request, sizeof(request), "GET /map/feed%s HTTP/1.1\r\n\r\n", query);
    http_ask_say(m->fd, request);
}

static void map_hear(struct live_map *m)
{
    ssize_t got;

    while ((got = recv(m->fd, m->text + m->n, HEARD_MAX - 1 - m->n, MSG_DONTWAIT)) > 0)
        m->n += (size_t)got;
    m->text[m->n] = '\0';
}

static uint32_t count_of(const struct live_map *m, const char *what)
{
    uint32_t n = 0;

    for (const char *at = m->text; (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

static void expect_maps(struct admin_rig *r, uint64_t n)
{
    edge_until(&r->edge, &r->edge.metrics.map_viewers, n);
}

/* Ticks, with time for what they send. */
static void ticks(struct admin_rig *r, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        admin_rig_tick(r, 1);
        turns(r, 3);
    }
}

/* world/edge/watch_copy.h's layout. */
Test(watch, a_frame_is_laid_as_it_is_drawn)
{
    static const uint8_t golden[] = {
        7,
        0,
        0,
        0,
        2,
        0,
        0,
        0,
        3,
        0,
        0,
        0, /* tick, n, total */
        1,
        0,
        0,
        0,
        0xff,
        1,
        0,
        0, /* id 1, 511 */
        0,
        0,
        0x80,
        0x3f,
        0,
        0,
        0,
        0xc0, /* x 1, -2 */
        0,
        0,
        0,
        0x3f,
        0,
        0,
        0,
        0, /* y 0.5, 0 */
        WATCH_COPY_NPC,
        WATCH_COPY_PAUSED,
        64,
        0, /* flags, dir */
    };
    uint8_t out[64];
    struct watch_copy c;

    cr_assert_eq(watch_copy_init(&c), 0);
    c.tick = 7;
    c.n = 2;
    c.total = 3;
    c.id[0] = 1;
    c.id[1] = 511;
    c.x[0] = 1;
    c.x[1] = -2;
    c.y[0] = 0.5F;
    c.y[1] = 0;
    c.flags[0] = WATCH_COPY_NPC;
    c.flags[1] = WATCH_COPY_PAUSED;
    c.dir[0] = 64;
    c.dir[1] = 0;
    cr_assert_eq(watch_copy_write(&c, out), sizeof(golden));
    cr_expect_eq(memcmp(out, golden, sizeof(golden)), 0);
    watch_copy_fini(&c);
    TEST_NO_LEAKS();
}

Test(watch, a_copy_has_all_of_its_scene_and_how_they_are)
{
    struct watch_copy c, *copies[SCENES_MAX] = {&c};
    struct admin_rig r;
    uint8_t bytes[64];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));

    admin_rig_init(&r, NULL);
    cr_assert_eq(watch_copy_init(&c), 0);
    uint32_t ann = admin_rig_join(&r, "ann", 3, -4);
    admin_rig_join(&r, "bob", 500, 0);
    link_write_congestion(&w, 2, true);
    gate_write(r.gate, w.p, w.len);
    edge_until(&r.edge, &r.edge.world->metrics.pauses, 1);
    admin_rig_tick(&r, 1);
    watch_copy_take(copies, r.edge.world);
    cr_assert_eq(c.n, 2);
    cr_expect_eq(c.total, 2);
    cr_expect_eq(c.tick, 1);
    uint32_t i = c.id[0] == ann ? 0 : 1;
    cr_expect_eq(c.x[i], 3);
    cr_expect_eq(c.y[i], -4);
    cr_expect_eq(c.flags[i], 0);
    cr_expect_eq(c.flags[1 - i], WATCH_COPY_PAUSED);
    w.len = 0;
    link_write_close(&w, 1, 0, span_text("gone"));
    gate_write(r.gate, w.p, w.len);
    edge_until(&r.edge, &r.edge.world->metrics.waits, 1);
    watch_copy_take(copies, r.edge.world);
    cr_expect_eq(c.flags[c.id[0] == ann ? 0 : 1], WATCH_COPY_WAITS);
    watch_copy_fini(&c);
    admin_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(watch, nothing_is_made_while_nobody_watches)
{
    struct admin_rig r;
    struct live_map m;

    admin_rig_init(&r, NULL);
    ticks(&r, 4);
    cr_expect_eq(r.edge.metrics.map_frames + r.edge.metrics.map_skipped, 0);
    map_open(&r, &m, "");
    expect_maps(&r, 1);
    ticks(&r, 2);
    cr_expect_gt(r.edge.metrics.map_frames, 0);
    close(m.fd);
    expect_maps(&r, 0);
    uint64_t before = r.edge.metrics.map_frames;
    ticks(&r, 4);
    cr_expect_eq(r.edge.metrics.map_frames, before);
    admin_rig_fini(&r);
    TEST_NO_LEAKS();
}

/* The rig's tick is 50 ms long. */
Test(watch, a_map_is_told_as_often_as_its_rate_says_and_numbers_once_a_second)
{
    struct admin_rig r;
    struct live_map m;

    admin_rig_init(&r, &(struct watch_rules){.rate = 5, .viewers = 1});
    admin_rig_join(&r, "ann", 0, 0);
    map_open(&r, &m, "?scene=open");
    expect_maps(&r, 1);
    ticks(&r, 20);
    map_hear(&m);
    cr_expect(strstr(m.text, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"), "%s",
              m.text);
    cr_expect_eq(count_of(&m, "event: f\ndata: "), 5, "%u frames", count_of(&m, "event: f\n"));
    cr_expect_eq(count_of(&m, "event: s\ndata: {\"tick\":"), 1);
    cr_expect_eq(r.edge.metrics.map_frames, 5);
    close(m.fd);
    admin_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(watch, one_map_too_many_is_refused_in_plain_words_and_one_that_goes_makes_room)
{
    struct admin_rig r;
    struct live_map one, two;

    admin_rig_init(&r, &(struct watch_rules){.viewers = 1});
    map_open(&r, &one, "");
    expect_maps(&r, 1);
    admin_rig_get(&r, "/map/feed");
    cr_expect(admin_rig_says(&r, "503 ", "{\"error\":\"as many live maps"), "%s", r.reply);
    cr_expect_eq(r.edge.metrics.map_full, 1);
    admin_rig_get(&r, "/map/feed?scene=none");
    cr_expect(admin_rig_says(&r, "404 ", "no such scene"), "%s", r.reply);
    admin_rig_get(&r, "/map/feed?x=1");
    cr_expect(admin_rig_says(&r, "400 ", "no such parameter"), "%s", r.reply);
    close(one.fd);
    expect_maps(&r, 0);
    map_open(&r, &two, "");
    expect_maps(&r, 1);
    close(two.fd);
    admin_rig_fini(&r);
    TEST_NO_LEAKS();
}

/* It reads nothing: what the kernel does not take is one frame at most, and then it is passed over;
 * after a while it is ended. Another one beside it misses nothing. */
Test(watch, a_map_that_stalls_holds_one_frame_delays_nobody_and_is_ended)
{
    struct admin_rig r;
    struct live_map stalled, well;
    const struct edge_metrics *m = &r.edge.metrics;
    char name[32];

    admin_rig_init(
        &r, &(struct watch_rules){.rate = 60, .viewers = 2, .stall_ns = 200 * CLOCK_NS_PER_MS});
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        admin_rig_join(&r, name, i, 0);
    }
    r.gate->careless = true;
    map_open(&r, &stalled, "");
    expect_maps(&r, 1);
    int small = 2048;
    setsockopt(stalled.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    map_open(&r, &well, "");
    expect_maps(&r, 2);
    struct mono until = clock_add(clock_mono(), EDGE_PATIENCE_NS);
    while (m->map_stalled == 0) {
        cr_assert_lt(clock_since(clock_mono(), until), 0, "it is not ended");
        admin_rig_tick(&r, 1);
        loop_turn(r.edge.loop, CLOCK_NS_PER_MS);
        map_hear(&well);
        well.n = 0;
    }
    cr_expect_gt(m->map_skipped, 0);
    cr_expect_eq(m->map_viewers, 1);
    uint64_t sent = m->map_frames, skipped = m->map_skipped;
    ticks(&r, 20);
    cr_expect_eq(m->map_frames, sent + 20, "the other one is told every time");
    cr_expect_eq(m->map_skipped, skipped);
    close(stalled.fd);
    close(well.fd);
    admin_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(watch, maps_that_are_open_at_the_end_leak_nothing)
{
    struct admin_rig r;
    struct live_map one, two;

    admin_rig_init(&r, NULL);
    map_open(&r, &one, "");
    map_open(&r, &two, "");
    expect_maps(&r, 2);
    admin_rig_tick(&r, 2);
    admin_rig_fini(&r);
    close(one.fd);
    close(two.fd);
    TEST_NO_LEAKS();
}

Test(watch, the_page_and_its_files_are_there_under_a_strict_policy)
{
#define ROW(path, type) \
    {                   \
        path, type      \
    }
    static const struct {
        const char *path, *type;
    } files[] = {WATCH_PAGE_ROUTES(ROW)};
    struct admin_rig r;
    char want[128];

    admin_rig_init(&r, NULL);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        admin_rig_get(&r, files[i].path);
        snprintf(want, sizeof(want), "\r\nContent-Type: %s\r\n", files[i].type);
        cr_expect(admin_rig_says(&r, "200 ", want), "%s: %.300s", files[i].path, r.reply);
        cr_expect(
            strstr(r.reply, "\r\nContent-Security-Policy: default-src 'none'; script-src 'self'"));
        cr_expect_gt(strlen(strstr(r.reply, "\r\n\r\n")), 100u, "%s", files[i].path);
    }
    admin_rig_get(&r, "/map/none.js");
    cr_expect(admin_rig_says(&r, "404 ", ""), "%s", r.reply);
    admin_rig_fini(&r);
    TEST_NO_LEAKS();
}

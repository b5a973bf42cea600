/* tests/world/test_world_admin.c: what operators see of a world.
 */
#include "world/edge/world_admin.h"

#include "common/err.h"
#include "common/log.h"
#include "tests/http_ask.h"
#include "tests/leak.h"
#include "world/tick.h"

#include <criterion/criterion.h>
#include <string.h>

struct rig {
    struct loop *loop;
    struct opts *texts;
    struct world_options options;
    struct edge_metrics metrics;
    struct hist tick_ns;
    struct admin_token token;
    struct world_link *link;
    struct world *world;
    struct world_admin *admin;
    char reply[HTTP_ASK_MAX];
};

static int64_t no_time(void *arg)
{
    (void)arg;
    return 0;
}

static void secret(void *arg, void *out, size_t n)
{
    (void)arg;
    rng_secret(out, n);
}

static void rig_init(struct rig *r)
{
    char *argv[] = {"aegis", "-listen=127.0.0.1:0", "-max-entities=64", "-max-pairs=1024"};
    char why[256];

    *r = (struct rig){0};
    log_init("test", LOG_OFF, LOG_TEXT);
    cr_assert_eq(opts_parse(world_opts_table, world_opts_count, &r->options, ARRAY_LEN(argv), argv,
                            &r->texts, why, sizeof(why)),
                 OPTS_OK, "%s", why);
    cr_assert_eq(loop_create(&r->loop), 0);
    cr_assert_eq(world_link_create(r->loop, &r->options, &r->metrics, &r->link), 0);
    struct world_ops ops = {
        .drain = world_link_drain, .secret = secret, .clock_ns = no_time, .arg = r->link};
    cr_assert_eq(world_create(&r->options.core, &ops, &r->world, why, sizeof(why)), 0, "%s", why);
    cr_assert_eq(world_link_listen(r->link, r->world, why, sizeof(why)), 0, "%s", why);
    struct world_admin_view view = {
        .world = r->world,
        .link = r->link,
        .metrics = &r->metrics,
        .tick_ns = &r->tick_ns,
        .token = &r->token,
    };
    cr_assert_eq(world_admin_create(r->loop, "127.0.0.1:0", &view, &r->admin, why, sizeof(why)), 0,
                 "%s", why);
}

static void rig_fini(struct rig *r)
{
    world_admin_destroy(r->admin);
    world_link_destroy(r->link);
    world_destroy(r->world);
    loop_destroy(r->loop);
    opts_destroy(r->texts);
}

static const char *get(struct rig *r, const char *path)
{
    char request[128];

    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    http_ask(r->loop, world_admin_addr(r->admin), request, r->reply);
    return r->reply;
}

/* POST /announce with this token ("": none), query ("" or "?...") and body. */
static const char *announce(struct rig *r, const char *token, const char *query, const char *body)
{
    char request[1024], field[128] = "";

    if (token[0] != '\0')
        snprintf(field, sizeof(field), "Authorization: Bearer %s\r\n", token);
    snprintf(request, sizeof(request),
             "POST /announce%s HTTP/1.1\r\n%sContent-Length: %zu\r\n\r\n%s", query, field,
             strlen(body), body);
    http_ask(r->loop, world_admin_addr(r->admin), request, r->reply);
    return r->reply;
}

static bool says(const char *reply, const char *status, const char *text)
{
    return strncmp(reply + strlen("HTTP/1.1 "), status, strlen(status)) == 0 &&
           strstr(reply, text) != NULL;
}

static void nobody(void *arg)
{
    (void)arg;
}

Test(world_admin, metrics_hold_every_row_of_both_tables_and_the_times)
{
    static const char *const hists[] = {
        "aegis_world_tick_seconds_count",
        "aegis_world_tick_phase_seconds_count{phase=\"grid\"}",
        "aegis_world_tick_phase_seconds_count{phase=\"sight\"}",
        "aegis_world_tick_phase_seconds_count{phase=\"events\"}",
        "aegis_world_tick_phase_seconds_count{phase=\"fanout\"}",
        "aegis_world_tick_pairs_count{book=\"adds\"}",
        "aegis_world_tick_pairs_count{book=\"removes\"}",
        "aegis_world_tick_pairs_count{book=\"known\"}",
    };
    struct rig r;
    char line[256];

    rig_init(&r);
    tick_run(r.world, clock_mono());
    hist_add(&r.tick_ns, 3 * CLOCK_NS_PER_MS);
    r.metrics.ticks_skipped = 7;
    const char *reply = get(&r, "/metrics");
    cr_assert_eq(strncmp(reply, "HTTP/1.1 200 ", 13), 0);
    cr_expect(strstr(reply, "\nContent-Type: text/plain; version=0.0.4"));
    for (size_t i = 0; i < world_metrics_count; i++)
        cr_expect(strstr(reply, world_metrics_table[i].name), "%s", world_metrics_table[i].name);
    for (size_t i = 0; i < edge_metrics_count; i++)
        cr_expect(strstr(reply, edge_metrics_table[i].name), "%s", edge_metrics_table[i].name);
    for (size_t i = 0; i < ARRAY_LEN(hists); i++) {
        snprintf(line, sizeof(line), "\n%s 1\n", hists[i]);
        cr_expect(strstr(reply, line), "%s", hists[i]);
    }
    cr_expect(strstr(reply, "\naegis_build_info{role=\"world\",version=\"" AEGIS_VERSION "\","));
    cr_expect(strstr(reply, "\naegis_world_told_age_seconds{tier=\"0\",quantile=\"0.99\"} 0\n"));
    cr_expect_null(strstr(reply, "tier=\"1\""), "there are no tiers");
    cr_expect(strstr(reply, "\naegis_world_ticks_total 1\n"));
    cr_expect(strstr(reply, "\naegis_world_ticks_skipped_total 7\n"));
    cr_expect(strstr(reply, "\naegis_world_tick_seconds_bucket{le=\"0.002\"} 0\n"));
    cr_expect(strstr(reply, "\naegis_world_tick_seconds_bucket{le=\"0.005\"} 1\n"));
    cr_expect(strstr(reply, "\naegis_world_scene_entities{scene=\"open\"} 0\n"));
    rig_fini(&r);
    TEST_NO_LEAKS();
}

/* One name, one HELP: rows of one name stand together in both tables. */
Test(world_admin, each_name_is_described_once)
{
    struct rig r;

    rig_init(&r);
    get(&r, "/metrics");
    for (const char *at = r.reply; (at = strstr(at, "# TYPE ")) != NULL; at++) {
        char head[128];
        size_t n = strcspn(at + 7, " ");
        snprintf(head, sizeof(head), "%.*s", (int)(n + 8), at);
        cr_expect_null(strstr(at + 1, head), "twice: %s", head);
    }
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_admin, readiness_ends_with_the_drain_and_health_does_not)
{
    struct rig r;

    rig_init(&r);
    cr_expect_eq(strncmp(get(&r, "/readyz"), "HTTP/1.1 200 ", 13), 0, "%s", r.reply);
    cr_expect_eq(strncmp(get(&r, "/healthz"), "HTTP/1.1 200 ", 13), 0, "%s", r.reply);
    world_link_finish(r.link, CLOCK_NS_PER_S, nobody, NULL);
    cr_expect_eq(strncmp(get(&r, "/readyz"), "HTTP/1.1 503 ", 13), 0, "%s", r.reply);
    cr_expect_eq(strncmp(get(&r, "/healthz"), "HTTP/1.1 200 ", 13), 0, "%s", r.reply);
    cr_expect_eq(strncmp(get(&r, "/"), "HTTP/1.1 404 ", 13), 0, "%s", r.reply);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_admin, requests_at_the_operators_listener_are_counted_too)
{
    struct rig r;

    rig_init(&r);
    get(&r, "/nothing");
    get(&r, "/healthz");
    get(&r, "/metrics");
    cr_expect(strstr(r.reply, "\naegis_world_admin_requests_total{result=\"answered\"} 1\n"));
    cr_expect(strstr(r.reply, "\naegis_world_admin_requests_total{result=\"refused\"} 1\n"));
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_admin, an_address_that_cannot_be_had_is_named)
{
    struct rig r;
    struct world_admin *second;
    char why[256];

    rig_init(&r);
    struct world_admin_view view = {.world = r.world,
                                    .link = r.link,
                                    .metrics = &r.metrics,
                                    .tick_ns = &r.tick_ns,
                                    .token = &r.token};
    cr_expect_eq(
        world_admin_create(r.loop, world_admin_addr(r.admin), &view, &second, why, sizeof(why)),
        E_IO);
    cr_expect(strstr(why, world_admin_addr(r.admin)), "%s", why);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

#define TOKEN "0123456789abcdef"

static void set_token(struct rig *r)
{
    memcpy(r->token.text, TOKEN, strlen(TOKEN));
    r->token.n = strlen(TOKEN);
}

Test(world_admin, without_a_token_nothing_can_be_changed)
{
    struct rig r;

    rig_init(&r);
    cr_expect(says(announce(&r, "", "", "hello"), "403 ", "-admin-token"), "%s", r.reply);
    cr_expect(says(announce(&r, TOKEN, "", "hello"), "403 ", "-admin-token"), "%s", r.reply);
    cr_expect_eq(r.world->metrics.announces, 0);
    cr_expect_eq(r.metrics.orders_refused, 2);
    cr_expect(says(get(&r, "/announce"), "405 ", "Allow: POST"), "%s", r.reply);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_admin, an_announcement_needs_the_right_token)
{
    struct rig r;

    rig_init(&r);
    set_token(&r);
    cr_expect(says(announce(&r, "", "", "hello"), "401 ", "WWW-Authenticate: Bearer"));
    cr_expect(says(announce(&r, "0123456789abcdeg", "", "hello"), "401 ", "the token is wrong"));
    cr_expect_eq(r.world->metrics.announces, 0);
    cr_expect(says(announce(&r, TOKEN, "", "hello"), "200 ", "\r\n\r\n{\"told\":0}\n"), "%s",
              r.reply);
    cr_expect_eq(r.world->metrics.announces, 1);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_admin, an_announcement_that_is_none_is_refused_with_a_sentence)
{
    struct rig r;

    rig_init(&r);
    set_token(&r);
    cr_expect(says(announce(&r, TOKEN, "", ""), "400 ", "1 to 512 bytes"), "%s", r.reply);
    cr_expect(says(announce(&r, TOKEN, "", "a\nb"), "400 ", "control"), "%s", r.reply);
    cr_expect(says(announce(&r, TOKEN, "?zone=1", "a"), "400 ", "scene, rect and at"), "%s",
              r.reply);
    cr_expect(says(announce(&r, TOKEN, "?rect=1,2,3", "a"), "400 ", "x0,y0,x1,y1"), "%s", r.reply);
    cr_expect(says(announce(&r, TOKEN, "?scene=none", "a"), "404 ", "no such scene"), "%s",
              r.reply);
    cr_expect_eq(r.world->metrics.announces, 0);
    cr_expect(says(announce(&r, TOKEN, "?scene=open&rect=-1,-1,1,1", "a"), "200 ", "told"));
    cr_expect(says(announce(&r, TOKEN, "?at=1e9,-1e9", "a"), "200 ", "told"));
    world_link_finish(r.link, CLOCK_NS_PER_S, nobody, NULL);
    cr_expect(says(announce(&r, TOKEN, "", "a"), "503 ", "ending"), "%s", r.reply);
    cr_expect_eq(r.metrics.orders_refused, 6);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

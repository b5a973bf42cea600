/* tests/e2e/test_e2e_cluster.c: worlds of a cluster as real processes, with a real NATS.
 * Where the build has no nats.c, or the machine no nats-server, they say so. May touch:
 * tests/nats_stand, tests/e2e/probe. On trouble: the test fails.
 */
#include "common/base64.h"
#include "tests/e2e/probe.h"
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/nats_stand.h"
#include "tests/pair.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

TestSuite(e2e_cluster, .fini = process_end_all, .timeout = 120);

#ifdef AEGIS_PART_LIBNATS

#define ZONES_METRIC "aegis_world_cluster_zones"
#define ZONES        8 /* -zones 4x2 of the one scene */
#define LEASE        "700ms"
#define LEASE_MS     700
#define TOKEN        "0123456789abcdef"

struct cluster {
    struct nats_stand nats;
    char url[160];   /* with a password, which nobody may show */
    char token[300]; /* file */
};

/* False: there is no nats-server here. */
static bool stand_up(struct cluster *c)
{
    if (!nats_stand_up(&c->nats, true))
        return false;
    snprintf(c->url, sizeof(c->url), "nats://aegis:hush-hush@%s", c->nats.addr);
    snprintf(c->token, sizeof(c->token), "%s/token", c->nats.dir);
    FILE *f = fopen(c->token, "we");
    cr_assert_not_null(f);
    fputs(TOKEN "\n", f);
    fclose(f);
    return true;
}

static struct process *world(const struct cluster *c, const char *id, const char *flag,
                             const char *value)
{
    return pair_world(PROCESS_ARGS(PROBE_ADMIN, "-cluster", c->url, "-world-id", id,
                                   "-cluster-lease", LEASE, "-spawn", "0,0,10",
                                   flag ? flag : "-log-level", flag ? value : "info"));
}

static void await_zones(const struct process *p, uint64_t zones)
{
    struct mono deadline = process_deadline(4 * PROCESS_PATIENCE_MS);

    while (probe_metric(p, ZONES_METRIC) != zones)
        process_rest(deadline, "so many zones");
}

static void must_hide(const struct process *p)
{
    cr_expect_eq(process_logged(p, "hush-hush"), 0u, "a password is in the log");
}

/* It ended with status 1, and its last line is this refusal. */
static void must_be_refused(struct process *p, const char *line)
{
    process_await_exit(p, 2 * PROCESS_PATIENCE_MS, 1);
    struct span log = process_log(p);
    const char *last = log.p ? memrchr(log.p, '\n', log.n - 1) : NULL;
    cr_assert_not_null(last);
    cr_expect_eq(strncmp(last + 1, line, strlen(line)), 0, "%s", last + 1);
    cr_expect_eq(process_logged(p, "aegis: "), 1u);
}

/* What /zones says of each zone of the world, as `owner` has it; and who lives. */
static void must_own(const struct process *asked, const char *owner, size_t zones, size_t worlds)
{
    const char *body = strstr(probe_get(asked, "/zones"), "\r\n\r\n");
    json_t *v = body ? json_loads(body, 0, NULL) : NULL, *list = json_object_get(v, "zones");
    size_t n = 0;

    cr_assert_not_null(v, "%s", body);
    cr_expect_eq(json_array_size(list), ZONES);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *zone = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(zone, "owner"));

        n += name && strcmp(name, owner) == 0;
        cr_expect_gt(json_integer_value(json_object_get(zone, "epoch")), 0);
    }
    cr_expect_eq(n, zones, "%s has %zu zones: %s", owner, n, body);
    cr_expect_eq(json_array_size(json_object_get(v, "worlds")), worlds);
    cr_expect(json_is_true(json_object_get(v, "acts")));
    json_decref(v);
}

Test(e2e_cluster, zones_are_spread_and_those_of_a_dead_world_go_to_who_lives)
{
    struct cluster c;

    if (!stand_up(&c))
        return;
    struct process *a = world(&c, "a", NULL, NULL);
    await_zones(a, ZONES);
    struct process *b = world(&c, "b", NULL, NULL);
    await_zones(b, ZONES / 2);
    await_zones(a, ZONES / 2);
    cr_expect_eq(probe_metric(a, "aegis_world_cluster_worlds"), 2u);
    cr_expect_eq(probe_metric(a, "aegis_world_cluster_zones_given_total"), ZONES / 2);
    must_own(a, "a", ZONES / 2, 2);
    must_own(a, "b", ZONES / 2, 2);
    must_own(b, "a", ZONES / 2, 2);
    process_kill(b);
    await_zones(a, ZONES);
    must_own(a, "a", ZONES, 1);
    cr_expect_eq(probe_metric(a, "aegis_world_cluster_buried_total"), 1u);
    process_restart(b); /* the same id, a new life */
    await_zones(b, ZONES / 2);
    process_signal(b, SIGTERM);
    process_await_exit(b, PROCESS_PATIENCE_MS, 0);
    cr_expect_eq(probe_metric(a, ZONES_METRIC), ZONES, "they were given before it ended");
    cr_expect_eq(process_logged(b, "unfinished"), 0u);
    cr_expect_eq(probe_metric(a, "aegis_world_cluster_buried_total"), 1u, "it said goodbye");
    must_hide(a);
    must_hide(b);
    pair_end_one(a);
    nats_stand_down(&c.nats);
    TEST_NO_LEAKS();
}

Test(e2e_cluster, who_has_an_id_that_lives_or_other_rules_is_refused_in_one_line_and_harms_nobody)
{
    struct cluster c;

    if (!stand_up(&c))
        return;
    struct process *a = world(&c, "a", NULL, NULL);
    await_zones(a, ZONES);
    must_be_refused(world(&c, "a", NULL, NULL), "aegis: -world-id: another world of the id \"a\"");
    must_be_refused(world(&c, "b", "-zones", "2x2"),
                    "aegis: -cluster: the cluster has \"zones=4x2");
    must_be_refused(world(&c, "b", "-max-speed", "7"), "aegis: -cluster: the cluster has \"zones");
    cr_expect_eq(probe_metric(a, ZONES_METRIC), ZONES);
    cr_expect_eq(probe_metric(a, "aegis_world_cluster_voided_total"), 0u);
    must_hide(a);
    pair_end_one(a);
    nats_stand_down(&c.nats);
    TEST_NO_LEAKS();
}

Test(e2e_cluster, without_nats_a_world_stands_still_says_so_and_goes_on_where_it_was)
{
    struct cluster c;

    if (!stand_up(&c))
        return;
    struct process *a = world(&c, "a", NULL, NULL);
    await_zones(a, ZONES);
    cr_expect(strstr(probe_get(a, "/readyz"), " 200 "));
    process_signal(c.nats.server, SIGSTOP);
    probe_await_most(a, "aegis_world_cluster_acts", 0, 4 * PROCESS_PATIENCE_MS);
    cr_expect(strstr(probe_get(a, "/readyz"), "its lease is over"));
    uint64_t ticks = probe_metric(a, "aegis_world_ticks_total");
    struct mono until = process_deadline(2 * LEASE_MS);
    while (clock_since(clock_mono(), until) < 0)
        process_rest(process_deadline(PROCESS_PATIENCE_MS), "time");
    cr_expect_eq(probe_metric(a, "aegis_world_ticks_total"), ticks);
    cr_expect_eq(probe_metric(a, ZONES_METRIC), ZONES, "they are still its own");
    process_signal(c.nats.server, SIGCONT);
    probe_await_least(a, "aegis_world_cluster_acts", 1, 4 * PROCESS_PATIENCE_MS);
    probe_await_least(a, "aegis_world_ticks_total", ticks + 3, PROCESS_PATIENCE_MS);
    cr_expect_eq(probe_metric(a, "aegis_world_cluster_stills_total"), 1u);
    cr_expect_eq(probe_metric(a, "aegis_world_cluster_voided_total"), 0u);
    cr_expect_lt(probe_metric(a, "aegis_world_ticks_skipped_total"), 5u, "time is not made up for");
    process_signal(c.nats.server, SIGSTOP);
    pair_end_one(a); /* who is to be told that it ends is away */
    nats_stand_down(&c.nats);
    TEST_NO_LEAKS();
}

Test(e2e_cluster, a_world_that_slept_past_its_lease_finds_its_zones_gone_and_begins_anew)
{
    struct cluster c;

    if (!stand_up(&c))
        return;
    struct process *a = world(&c, "a", NULL, NULL), *b = world(&c, "b", NULL, NULL);
    await_zones(a, ZONES / 2);
    await_zones(b, ZONES / 2);
    process_signal(b, SIGSTOP);
    await_zones(a, ZONES);
    process_signal(b, SIGCONT);
    await_zones(b, ZONES / 2); /* given back to it, one by one */
    await_zones(a, ZONES / 2);
    cr_expect_eq(probe_metric(b, "aegis_world_cluster_voided_total"), 1u);
    pair_end_one(b);
    pair_end_one(a);
    nats_stand_down(&c.nats);
    TEST_NO_LEAKS();
}
/* --- with clients ------------------------------------------------------------------------------
 */

static struct process *gateway(const struct cluster *c)
{
    struct process *p = process_start(
        "aegis", PROCESS_ARGS("-role=gateway", "-listen", process_any_port(), "-cluster", c->url));

    process_await_addr(p);
    pair_await_link(p, 1);
    return p;
}

static bool heard(const struct player *p)
{
    return strcmp(p->said, "Tea is served") == 0;
}

/* Each of them is there, is answered, and sees the others. */
static void must_be_well(struct player *const *all, size_t n)
{
    stage_pass(all[0]->stage, 100); /* so that they may move */
    for (size_t i = 0; i < n; i++) {
        cr_assert(!all[i]->closed, "%s: %s", all[i]->name, all[i]->why);
        player_move(all[i], all[i]->facts->x + 0.5, all[i]->facts->y);
        player_ping(all[i]);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++)
            STAGE_UNTIL(all[i]->stage, i == k || player_sees(all[i], all[k]));
    }
}

Test(e2e_cluster, a_world_that_ends_gives_all_in_it_to_another_and_drops_nobody)
{
    struct cluster c;
    struct stage s;
    struct player *in[4];

    if (!stand_up(&c))
        return;
    struct process *a = world(&c, "a", NULL, NULL);
    await_zones(a, ZONES);
    struct process *g = gateway(&c);
    stage_init(&s);
    in[0] = stage_join(&s, g->addr, "ann");
    in[1] = stage_join(&s, g->addr, "bob");
    in[2] = stage_join(&s, g->addr, "cay");
    in[3] = stage_join(&s, g->addr, "dan");
    struct player *outside = stage_login(&s, g->addr, "eve"),
                  *stranger = stage_connect(&s, g->addr);
    must_be_well(in, ARRAY_LEN(in));
    struct process *b = world(&c, "b", "-admin-token", c.token);
    await_zones(b, ZONES / 2); /* some of them may be handed over with it */
    must_be_well(in, ARRAY_LEN(in));
    cr_expect(strstr(probe_post(b, "/announce", TOKEN, "Tea is served"), " 200 "));
    STAGE_UNTIL(&s, heard(in[0]) && heard(in[3]) && heard(outside));
    process_signal(a, SIGTERM);
    while (!process_ended(a, 0))
        stage_pass(&s, 20);
    process_await_exit(a, PROCESS_PATIENCE_MS, 0);
    cr_expect_eq(process_logged(a, "unfinished"), 0u);
    await_zones(b, ZONES);
    must_be_well(in, ARRAY_LEN(in));
    player_enter(outside);
    player_login(stranger, "fay");
    player_enter(stranger);
    STAGE_UNTIL(&s, player_sees(stranger, outside) && player_sees(outside, stranger));
    for (size_t i = 0; i < ARRAY_LEN(in); i++)
        cr_expect_eq(in[i]->told[PE_UNAVAILABLE], 0u, "%s was told that something is lost",
                     in[i]->name);
    cr_expect_eq(probe_metric(b, "aegis_world_entities"), 6u);
    stage_fini(&s);
    pair_end_one(g);
    pair_end_one(b);
    must_hide(g);
    nats_stand_down(&c.nats);
    TEST_NO_LEAKS();
}

Test(e2e_cluster, clients_of_a_world_that_stands_still_wait_and_go_on_where_they_were)
{
    struct cluster c;
    struct stage s;
    struct player *in[2];

    if (!stand_up(&c))
        return;
    struct process *a = world(&c, "a", "-link-timeout", "500ms");
    await_zones(a, ZONES);
    struct process *g = gateway(&c);
    stage_init(&s);
    in[0] = stage_join(&s, g->addr, "ann");
    in[1] = stage_join(&s, g->addr, "bob");
    must_be_well(in, ARRAY_LEN(in));
    process_signal(c.nats.server, SIGSTOP);
    probe_await_most(a, "aegis_world_cluster_acts", 0, 4 * PROCESS_PATIENCE_MS);
    uint32_t answers = in[0]->answers;
    int rc = bot_client_move(in[0]->client, in[0]->facts->x + 0.25, in[0]->facts->y);
    stage_pass(&s, 2000); /* four times the link's patience */
    cr_expect_eq(in[0]->answers, answers, "nobody answers");
    process_signal(c.nats.server, SIGCONT);
    cr_expect_eq(player_answer(in[0], rc), 0u);
    must_be_well(in, ARRAY_LEN(in));
    cr_expect_eq(probe_metric(a, "aegis_world_link_ups_total"), 1u, "no link was lost");
    cr_expect_eq(in[0]->told[PE_UNAVAILABLE] + in[1]->told[PE_UNAVAILABLE], 0u);
    stage_fini(&s);
    pair_end_one(g);
    pair_end_one(a);
    nats_stand_down(&c.nats);
    TEST_NO_LEAKS();
}

Test(e2e_cluster, who_slept_while_another_of_its_id_came_is_refused_and_ends)
{
    struct cluster c;

    if (!stand_up(&c))
        return;
    struct process *a = world(&c, "a", NULL, NULL);
    await_zones(a, ZONES);
    process_signal(a, SIGSTOP);
    struct process *other = world(&c, "a", NULL, NULL);
    await_zones(other, ZONES);
    process_signal(a, SIGCONT);
    process_await_exit(a, 2 * PROCESS_PATIENCE_MS, 1);
    cr_expect_eq(process_logged(a, "error world cluster: this world may not take part any more"),
                 1u);
    cr_expect_eq(probe_metric(other, ZONES_METRIC), ZONES);
    pair_end_one(other);
    nats_stand_down(&c.nats);
    TEST_NO_LEAKS();
}

/* --- the live map ------------------------------------------------------------------------------
 */

static uint32_t le32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* How many entities the last whole frame of a live map has; with how many different ids. */
static uint32_t shown(const char *text, uint32_t *ids)
{
    static uint8_t frame[65536];
    const char *data = NULL, *end = NULL;
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, "event: f\ndata: ")); at++) {
        end = strstr(at, "\n\n");
        data = end ? at + strlen("event: f\ndata: ") : data;
        n = end ? (size_t)(end - data) : n;
    }
    *ids = 0;
    if (!data || !base64_read(span_of(data, n), frame, sizeof(frame), &n))
        return 0;
    for (uint32_t i = 0; i < le32(frame + 4); i++) {
        uint32_t k = 0;

        while (k < i && le32(frame + 12 + 4 * k) != le32(frame + 12 + 4 * i))
            k++;
        *ids += k == i;
    }
    return le32(frame + 4);
}

Test(e2e_cluster, the_live_map_of_any_world_shows_those_of_all)
{
    static const char request[] = "GET /map/feed HTTP/1.1\r\nHost: x\r\n\r\n";
    static char text[1 << 20];
    struct cluster c;
    struct stage s;
    struct player *all[6];
    static const char *const names[] = {"ann", "bob", "cay", "dan", "eve", "fay"};
    struct mono deadline;
    uint32_t ids = 0;

    if (!stand_up(&c))
        return;
    struct process *a = world(&c, "a", NULL, NULL), *b = world(&c, "b", NULL, NULL);
    await_zones(a, ZONES / 2);
    await_zones(b, ZONES / 2);
    struct process *g = gateway(&c);
    pair_await_link(g, 2);
    stage_init(&s);
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        all[i] = stage_join(&s, g->addr, names[i]);
    const struct process *worlds[] = {a, b};
    for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
        struct sockaddr_in to = probe_admin(worlds[i]);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        size_t n = 0;

        cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
        cr_assert_eq(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
        deadline = process_deadline(PROCESS_PATIENCE_MS);
        while (shown(text, &ids) != ARRAY_LEN(all)) {
            ssize_t got = recv(fd, text + n, sizeof(text) - 1 - n, MSG_DONTWAIT);

            n += got > 0 ? (size_t)got : 0;
            text[n] = '\0';
            stage_pass(&s, 5);
            process_rest(deadline, "a frame with all of them");
        }
        cr_expect_eq(ids, ARRAY_LEN(all), "each once");
        close(fd);
        text[0] = '\0';
    }
    stage_fini(&s);
    pair_end_one(g);
    pair_end_one(b);
    pair_end_one(a);
    nats_stand_down(&c.nats);
    TEST_NO_LEAKS();
}

#endif

/* tests/gateway/test_gateway_admin.c: what operators see of a gateway. */
#include "gateway/gateway_admin.h"

#include "common/err.h"
#include "common/io/net.h"
#include "tests/gateway/gateway_rig.h"
#include "tests/http_ask.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

static struct gateway_admin *admin;
static struct admin_token token = {.text = "0123456789abcdef", .n = 16};
static char reply[HTTP_ASK_MAX];

static void start(const char *flag)
{
    char why[256];

    rig_start(flag, NULL);
    cr_assert_eq(
        gateway_admin_create(rig.loop, "127.0.0.1:0", rig.crew, &token, &admin, why, sizeof(why)),
        0, "%s", why);
}

static void stop(void)
{
    gateway_admin_destroy(admin);
    rig_stop();
    TEST_NO_LEAKS();
}

static const char *get(const char *path)
{
    char request[128];

    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    http_ask(rig.loop, gateway_admin_addr(admin), request, reply);
    return reply;
}

static bool says(const char *path, const char *status, const char *text)
{
    const char *got = get(path);
    const char *body = strstr(got, "\r\n\r\n");

    return strncmp(got, "HTTP/1.1 ", 9) == 0 && strncmp(got + 9, status, 3) == 0 && body &&
           strcmp(body + 4, text) == 0;
}

Test(gateway_admin, metrics_hold_every_row_of_the_table)
{
    start(NULL);
    get("/metrics");
    cr_assert_eq(strncmp(reply, "HTTP/1.1 200 ", 13), 0);
    cr_expect(strstr(reply, "\nContent-Type: text/plain; version=0.0.4"));
    cr_expect(strstr(reply, "\naegis_build_info{role=\"gateway\",version=\"" AEGIS_VERSION
                            "\",libevent="));
    for (size_t i = 0; i < gateway_metrics_n; i++) {
        const struct metric *m = &gateway_metrics_table[i];
        char line[256];
        snprintf(line, sizeof(line), m->label[0] ? "\n%s{%s} " : "\n%s%s ", m->name, m->label);
        cr_expect(strstr(reply, line), "%s", line);
    }
    cr_expect(strstr(reply, "\naegis_gateway_accepting 1\n"));
    cr_expect(strstr(reply, "\naegis_gateway_clients_max 10000\n"));
    stop();
}

Test(gateway_admin, each_name_is_described_once)
{
    start(NULL);
    get("/metrics");
    for (const char *at = reply; (at = strstr(at, "# TYPE ")) != NULL; at++) {
        char head[128];
        const size_t n = strcspn(at + 7, " ");
        snprintf(head, sizeof(head), "%.*s", (int)(n + 8), at);
        cr_expect_null(strstr(at + 1, head), "twice: %s", head);
    }
    stop();
}

Test(gateway_admin, what_clients_do_is_seen)
{
    start(NULL);
    const int client = rig_connect();
    rig_until(&rig_metrics()->clients, 1);
    rig_send_request(client, CMD_PING_REQ, 1);
    rig_send_request(client, CMD_LOGIN_REQ, 2);
    rig_until(&rig_metrics()->refused_unavailable, 1);
    get("/metrics");
    cr_expect(strstr(reply, "\naegis_gateway_clients 1\n"));
    cr_expect(strstr(reply, "\naegis_gateway_client_frames_total{direction=\"in\"} 2\n"));
    cr_expect(strstr(reply, "\naegis_gateway_client_frames_total{direction=\"out\"} 2\n"));
    cr_expect(strstr(reply, "\naegis_gateway_requests_refused_total{reason=\"unavailable\"} 1\n"));
    cr_expect(strstr(reply, "\naegis_gateway_link_ready 0\n"));
    close(client);
    stop();
}

Test(gateway_admin, it_is_ready_while_the_world_is_there_and_clients_may_come)
{
    start("-max-clients=1");
    cr_expect(says("/readyz", "503", "world away\n"), "%s", reply);
    cr_expect(says("/healthz", "200", "ok\n"), "%s", reply);
    const int world = rig_world_accept();
    cr_expect(says("/readyz", "200", "ready\n"), "%s", reply);

    const int client = rig_connect();
    rig_until(&rig_metrics()->clients, 1);
    cr_expect(says("/readyz", "503", "full\n"), "%s", reply);
    close(client);
    rig_until(&rig_metrics()->closed_eof, 1);
    cr_expect(says("/readyz", "200", "ready\n"), "%s", reply);

    close(world);
    rig_until(&rig_metrics()->link_losses, 1);
    cr_expect(says("/readyz", "503", "world away\n"), "%s", reply);
    crew_drain(rig.crew);
    cr_expect(says("/readyz", "503", "draining\n"), "%s", reply);
    cr_expect(says("/healthz", "200", "ok\n"), "%s", reply);
    cr_expect_eq(strncmp(get("/"), "HTTP/1.1 404 ", 13), 0, "%s", reply);
    stop();
}

Test(gateway_admin, requests_at_the_operators_listener_are_counted_too)
{
    start(NULL);
    get("/nothing");
    get("/healthz");
    get("/metrics");
    cr_expect(strstr(reply, "\naegis_gateway_admin_requests_total{result=\"answered\"} 1\n"));
    cr_expect(strstr(reply, "\naegis_gateway_admin_requests_total{result=\"refused\"} 1\n"));
    stop();
}

Test(gateway_admin, an_address_that_cannot_be_had_is_named)
{
    struct gateway_admin *second;
    char why[256];

    start(NULL);
    cr_expect_eq(gateway_admin_create(rig.loop, gateway_admin_addr(admin), rig.crew, &token,
                                      &second, why, sizeof(why)),
                 E_IO);
    cr_expect(strstr(why, gateway_admin_addr(admin)), "%s", why);
    stop();
}

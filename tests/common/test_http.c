/* tests/common/test_http.c: the operators' HTTP server, over loopback in one loop.
 */
#include "tests/common/http_rig.h"

#include "common/err.h"
#include "common/log.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS (20 * CLOCK_NS_PER_S)
#define TURN_NS     (20 * CLOCK_NS_PER_MS)

static int page_hello(void *arg, FILE *to)
{
    struct http_rig *r = arg;
    r->calls++;
    fprintf(to, "hello\n");
    return 200;
}

static int page_away(void *arg, FILE *to)
{
    struct http_rig *r = arg;
    r->calls++;
    fprintf(to, "draining\n");
    return 503;
}

static int page_huge(void *arg, FILE *to)
{
    static const char piece[4096];
    (void)arg;
    for (size_t n = 0; n <= HTTP_ANSWER_MAX; n += sizeof(piece))
        fwrite(piece, 1, sizeof(piece), to);
    return 200;
}

static int order_echo(void *arg, const struct http_order *in, FILE *to)
{
    struct http_rig *r = arg;
    r->calls++;
    fprintf(to, "query=%.*s auth=%.*s body=%.*s.\n", (int)in->query.n, (const char *)in->query.p,
            (int)in->authorization.n, (const char *)in->authorization.p, (int)in->body.n,
            (const char *)in->body.p);
    return in->body.n > 0 && in->body.p[0] == '!' ? 401 : 200;
}

static const struct http_route routes[] = {
    {.path = "/hello", .type = "text/plain", .page = page_hello},
    {.path = "/away", .type = "text/plain", .page = page_away},
    {.path = "/huge", .type = "text/plain", .page = page_huge},
    {.path = "/echo", .type = "text/plain", .post = order_echo},
    {.path = "/both", .type = "text/plain", .page = page_hello, .post = order_echo},
};

static void init(struct http_rig *r, int64_t request_ns)
{
    http_rig_init(r, (struct http_config){
                         .routes = routes,
                         .n_routes = ARRAY_LEN(routes),
                         .request_ns = request_ns,
                     });
}

Test(http, a_page_is_answered_and_the_connection_closed)
{
    struct http_rig r;

    init(&r, 0);
    const char *reply = http_rig_ask(&r, "GET /hello?x=1 HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_expect(http_rig_begins(reply, "HTTP/1.1 200 OK\r\n"), "%s", reply);
    cr_expect(strstr(reply, "\r\nContent-Type: text/plain\r\n"));
    cr_expect(strstr(reply, "\r\nContent-Length: 6\r\n"));
    cr_expect(strstr(reply, "\r\nConnection: close\r\n"));
    cr_expect(strstr(reply, "\r\n\r\nhello\n"));
    cr_expect_eq(http_counted(r.http).answered, 1);
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, a_head_request_gets_the_head_of_the_same_answer)
{
    struct http_rig r;

    init(&r, 0);
    const char *reply = http_rig_ask(&r, "HEAD /hello HTTP/1.0\r\n\r\n");
    cr_expect(http_rig_begins(reply, "HTTP/1.1 200 OK\r\n"), "%s", reply);
    cr_expect(strstr(reply, "\r\nContent-Length: 6\r\n"));
    cr_expect_str_eq(reply + strlen(reply) - 4, "\r\n\r\n");
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, a_page_says_with_which_status)
{
    struct http_rig r;

    init(&r, 0);
    cr_expect(http_rig_begins(http_rig_ask(&r, "GET /away HTTP/1.1\r\n\r\n"),
                              "HTTP/1.1 503 Service Unavailable\r\n"));
    cr_expect(strstr(r.reply, "\r\n\r\ndraining\n"));
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, whatever_else_is_asked_is_refused_and_no_page_is_made)
{
    static const struct {
        const char *request, *reply;
    } cases[] = {
        {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "},
        {"GET /hello/ HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "},
        {"GET /%68ello HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "},
        {"POST /hello HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 405 "},
        {"POST /nothing HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 404 "},
        {"GET /echo HTTP/1.1\r\n\r\n", "HTTP/1.1 405 "},
        {"HEAD /echo HTTP/1.1\r\n\r\n", "HTTP/1.1 405 "},
        {"PUT /both HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 405 "},
        {"get /hello HTTP/1.1\r\n\r\n", "HTTP/1.1 405 "},
        {"GET /hello HTTP/3\r\n\r\n", "HTTP/1.1 400 "},
        {"GET /hello HTTP/1.1\r\nbad\r\n\r\n", "HTTP/1.1 400 "},
        {"\r\n\r\n", "HTTP/1.1 400 "},
    };
    struct http_rig r;

    init(&r, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        cr_expect(http_rig_begins(http_rig_ask(&r, cases[i].request), cases[i].reply),
                  "case %zu: %s", i, r.reply);
    cr_expect_eq(r.calls, 0);
    cr_expect_eq(http_counted(r.http).refused, ARRAY_LEN(cases));
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

#define POST "POST /echo HTTP/1.1\r\n"

Test(http, an_order_is_carried_out_with_all_that_came_with_it)
{
    struct http_rig r;

    init(&r, 0);
    const char *reply = http_rig_ask(&r, "POST /echo?a=b HTTP/1.1\r\nAuthorization: Bearer x\r\n"
                                         "Content-Length: 5\r\n\r\nhello");
    cr_expect(http_rig_begins(reply, "HTTP/1.1 200 OK\r\n"), "%s", reply);
    cr_expect(strstr(reply, "\r\n\r\nquery=a=b auth=Bearer x body=hello.\n"), "%s", reply);
    reply = http_rig_ask(&r, POST "content-length: 0005\r\n\r\nhello and more");
    cr_expect(strstr(reply, "body=hello.\n"), "%s", reply);
    reply = http_rig_ask(&r, POST "Content-Length: 0\r\n\r\n");
    cr_expect(strstr(reply, "query= auth= body=.\n"), "%s", reply);
    cr_expect(http_rig_begins(http_rig_ask(&r, "GET /both HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 "));
    cr_expect(http_rig_begins(http_rig_ask(&r, "POST /both HTTP/1.1\r\nContent-Length: 0\r\n\r\n"),
                              "HTTP/1.1 200 "));
    cr_expect_eq(r.calls, 5);
    cr_expect_eq(http_counted(r.http).answered, 5);
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, an_order_that_its_room_refuses_is_counted_as_refused)
{
    struct http_rig r;

    init(&r, 0);
    const char *reply = http_rig_ask(&r, POST "Content-Length: 1\r\n\r\n!");
    cr_expect(http_rig_begins(reply, "HTTP/1.1 401 Unauthorized\r\n"), "%s", reply);
    cr_expect(strstr(reply, "\r\nWWW-Authenticate: Bearer\r\n"));
    cr_expect(strstr(reply, "body=!.\n"), "with the room's own words");
    cr_expect_eq(http_counted(r.http).refused, 1);
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, a_405_names_what_is_allowed)
{
    struct http_rig r;

    init(&r, 0);
    cr_expect(strstr(http_rig_ask(&r, "POST /hello HTTP/1.1\r\n\r\n"), "\r\nAllow: GET, HEAD\r\n"));
    cr_expect(strstr(http_rig_ask(&r, "GET /echo HTTP/1.1\r\n\r\n"), "\r\nAllow: POST\r\n"));
    cr_expect(
        strstr(http_rig_ask(&r, "PUT /both HTTP/1.1\r\n\r\n"), "\r\nAllow: GET, HEAD, POST\r\n"));
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, an_order_whose_body_has_no_one_length_or_is_too_long_is_refused)
{
    static const struct {
        const char *request, *reply;
    } cases[] = {
        {POST "\r\nhello", "HTTP/1.1 411 "},
        {POST "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "HTTP/1.1 411 "},
        {POST "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\na", "HTTP/1.1 400 "},
        {POST "Content-Length: 1\r\nContent-Length: 1\r\n\r\na", "HTTP/1.1 400 "},
        {POST "Content-Length:\r\n\r\na", "HTTP/1.1 400 "},
        {POST "Content-Length: -1\r\n\r\na", "HTTP/1.1 400 "},
        {POST "Content-Length: +1\r\n\r\na", "HTTP/1.1 400 "},
        {POST "Content-Length: 1, 1\r\n\r\na", "HTTP/1.1 400 "},
        {POST "Content-Length: 0x1\r\n\r\na", "HTTP/1.1 400 "},
        {POST "Content-Length: 4097\r\n\r\n", "HTTP/1.1 413 "},
        {POST "Content-Length: 18446744073709551617\r\n\r\na", "HTTP/1.1 413 "},
        {POST "Authorization: a\r\nAuthorization: b\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 400 "},
    };
    struct http_rig r;

    init(&r, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        cr_expect(http_rig_begins(http_rig_ask(&r, cases[i].request), cases[i].reply),
                  "case %zu: %s", i, r.reply);
    cr_expect_eq(r.calls, 0);
    cr_expect_eq(http_counted(r.http).refused, ARRAY_LEN(cases));
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, the_longest_order_fits_beside_the_longest_head)
{
    struct http_rig r;
    static char request[HTTP_HEAD_MAX + HTTP_BODY_MAX + 64];
    int n = snprintf(request, sizeof(request), POST "Content-Length: %d\r\nX: ", HTTP_BODY_MAX);

    init(&r, 0);
    memset(request + n, 'x', (size_t)(HTTP_HEAD_MAX - 4 - n));
    memcpy(request + HTTP_HEAD_MAX - 4, "\r\n\r\n", 4);
    memset(request + HTTP_HEAD_MAX, 'b', HTTP_BODY_MAX);
    cr_expect(http_rig_begins(http_rig_ask(&r, request), "HTTP/1.1 200 "), "%.80s", r.reply);
    cr_expect_eq(r.calls, 1);
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, an_orders_body_may_come_byte_by_byte_and_is_waited_for_no_longer_than_a_head)
{
    static const char request[] = POST "Content-Length: 5\r\n\r\nhello";
    struct http_rig r;

    init(&r, 0);
    int fd = http_rig_dial(&r);
    for (const char *p = request; *p; p++) {
        char one[2] = {*p, '\0'};
        http_ask_say(fd, one);
        loop_turn(r.loop, 0);
    }
    cr_expect(strstr(http_rig_hear(&r, fd), "body=hello."), "%s", r.reply);
    cr_expect_eq(r.calls, 1);
    http_rig_fini(&r);
    init(&r, 30 * CLOCK_NS_PER_MS);
    fd = http_rig_dial(&r);
    http_ask_say(fd, POST "Content-Length: 5\r\n\r\nhell");
    cr_expect(http_rig_begins(http_rig_hear(&r, fd), "HTTP/1.1 408 "), "%s", r.reply);
    cr_expect_eq(r.calls, 0);
    cr_expect_eq(http_counted(r.http).late, 1);
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, a_request_may_come_byte_by_byte)
{
    static const char request[] = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
    struct http_rig r;

    init(&r, 0);
    int fd = http_rig_dial(&r);
    for (const char *p = request; *p; p++) {
        char one[2] = {*p, '\0'};
        http_ask_say(fd, one);
        loop_turn(r.loop, 0);
    }
    cr_expect(http_rig_begins(http_rig_hear(&r, fd), "HTTP/1.1 200 "), "%s", r.reply);
    cr_expect_eq(r.calls, 1);
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, a_second_request_on_a_connection_is_not_answered)
{
    struct http_rig r;

    init(&r, 0);
    http_rig_ask(&r, "GET /hello HTTP/1.1\r\n\r\nGET /hello HTTP/1.1\r\n\r\n");
    cr_expect_eq(r.calls, 1);
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, a_head_without_end_is_refused_at_its_limit)
{
    struct http_rig r;
    char *request = malloc(3 * HTTP_HEAD_MAX);

    init(&r, 0);
    memset(request, 'a', 3 * HTTP_HEAD_MAX - 1);
    request[3 * HTTP_HEAD_MAX - 1] = '\0';
    cr_expect(http_rig_begins(http_rig_ask(&r, request), "HTTP/1.1 431 "), "%s", r.reply);
    /* With its end, but too long all the same. */
    memcpy(request, "GET /hello HTTP/1.1\r\nX:", 23);
    strcpy(request + HTTP_HEAD_MAX, "\r\n\r\n");
    cr_expect(http_rig_begins(http_rig_ask(&r, request), "HTTP/1.1 431 "), "%s", r.reply);
    cr_expect_eq(r.calls, 0);
    http_rig_fini(&r);
    free(request);
    TEST_NO_LEAKS();
}

Test(http, a_request_that_trickles_is_ended_at_its_deadline)
{
    struct http_rig r;

    init(&r, 30 * CLOCK_NS_PER_MS);
    int fd = http_rig_dial(&r);
    http_ask_say(fd, "GET /hel");
    cr_expect(http_rig_begins(http_rig_hear(&r, fd), "HTTP/1.1 408 "), "%s", r.reply);
    cr_expect_eq(http_counted(r.http).late, 1);
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, a_page_past_the_limit_is_an_error)
{
    struct http_rig r;

    init(&r, 0);
    cr_expect(http_rig_begins(http_rig_ask(&r, "GET /huge HTTP/1.1\r\n\r\n"), "HTTP/1.1 500 "),
              "%s", r.reply);
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

/* As many as there are places. */
static void crowd(struct http_rig *r, int fds[HTTP_CONNECTIONS_MAX])
{
    for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
        fds[i] = http_rig_dial(r);
        loop_turn(r->loop, TURN_NS);
    }
    cr_expect_eq(http_counted(r->http).full, 0);
}

static void disperse(const int fds[HTTP_CONNECTIONS_MAX])
{
    for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
}

Test(http, a_crowd_that_asks_for_nothing_keeps_nobody_out)
{
    struct http_rig r;
    int fds[HTTP_CONNECTIONS_MAX];

    init(&r, 0);
    crowd(&r, fds);
    cr_expect(http_rig_begins(http_rig_ask(&r, "GET /hello HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 "),
              "%s", r.reply);
    cr_expect_eq(http_counted(r.http).full, 1);
    cr_expect_str_eq(http_rig_hear(&r, fds[0]), "", "who has waited longest went");
    http_ask_say(fds[1], "GET /hello HTTP/1.1\r\n\r\n");
    cr_expect(http_rig_begins(http_rig_hear(&r, fds[1]), "HTTP/1.1 200 "), "the others did not: %s",
              r.reply);
    fds[0] = fds[1] = -1; /* http_ask_hear closed them */
    disperse(fds);
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, a_crowd_that_never_ends_keeps_nobody_out)
{
    struct http_rig r;
    int fds[HTTP_CONNECTIONS_MAX];

    init(&r, 0);
    crowd(&r, fds);
    for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
        http_ask_say(fds[i], "GET /hello HTTP/1.1\r\n\r\n"); /* and no word more */
        loop_turn(r.loop, TURN_NS);
    }
    cr_expect_eq(r.calls, HTTP_CONNECTIONS_MAX);
    cr_expect(http_rig_begins(http_rig_ask(&r, "GET /hello HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 "),
              "%s", r.reply);
    cr_expect_eq(http_counted(r.http).full, 1);
    disperse(fds);
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, a_bare_port_means_loopback)
{
    char out[HTTP_ADDR_MAX];
    const char *why;

    cr_assert_eq(http_addr_read("9100", out, &why), 0);
    cr_expect_str_eq(out, "127.0.0.1:9100");
    cr_assert_eq(http_addr_read(":9100", out, &why), 0);
    cr_expect_str_eq(out, "127.0.0.1:9100");
    cr_assert_eq(http_addr_read("0.0.0.0:9100", out, &why), 0);
    cr_expect_str_eq(out, "0.0.0.0:9100");
    cr_assert_eq(http_addr_read("[::1]:0", out, &why), 0);
    cr_expect_str_eq(out, "[::1]:0");
}

Test(http, an_address_that_is_none_is_refused_with_a_reason)
{
    static const char *const bad[] = {"",          ":",        "65536",      ":-1",        "abc",
                                      "localhost", "::1:9100", "127.0.0.1:", "1.2.3:9100", "9100x"};
    char out[HTTP_ADDR_MAX];

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const char *why = NULL;
        cr_expect_eq(http_addr_read(bad[i], out, &why), E_ADDR, "%s", bad[i]);
        cr_expect_not_null(why, "%s", bad[i]);
    }
}

Test(http, a_port_in_use_is_named)
{
    struct http_rig r;
    struct http *second;
    char why[256];

    init(&r, 0);
    struct http_config c = {
        .addr = http_addr(r.http), .routes = routes, .n_routes = ARRAY_LEN(routes)};
    cr_assert_eq(http_create(r.loop, &c, &second, why, sizeof(why)), E_IO);
    cr_expect(strstr(why, http_addr(r.http)), "%s", why);
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, visitors_that_are_there_at_the_end_leak_nothing)
{
    struct http_rig r;

    init(&r, 0);
    int silent = http_rig_dial(&r), asking = http_rig_dial(&r);
    http_ask_say(asking, "GET /hello HTTP/1.1\r\n\r\n");
    loop_turn(r.loop, TURN_NS);
    http_rig_fini(&r);
    close(silent);
    close(asking);
    TEST_NO_LEAKS();
}

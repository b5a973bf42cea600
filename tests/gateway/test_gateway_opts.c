/* tests/gateway/test_gateway_opts.c: the flags' defaults and bounds. DESIGN.md, "Flags that are
 * fixed". */
#include "gateway/gateway_opts.h"

#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"
#include "common/parts.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>

static enum opts_result parse(struct gateway_config *config, const char *flag, char *why,
                              size_t why_cap)
{
    char *argv[] = {(char *)"aegis", (char *)"-role=gateway", (char *)flag, NULL};
    struct opts *opts = NULL;
    const enum opts_result r =
        opts_parse(gateway_opts, gateway_opts_n, config, flag ? 3 : 2, argv, &opts, why, why_cap);
    opts_destroy(opts);
    return r;
}

Test(gateway_opts, every_default_is_the_designs)
{
    struct gateway_config c;
    char why[256];

    cr_assert_eq(parse(&c, NULL, why, sizeof(why)), OPTS_OK);
    cr_assert_str_eq(c.listen, "127.0.0.1:19001");
    cr_assert_str_eq(c.upstream, "127.0.0.1:19002");
    cr_assert_str_eq(c.cluster, "");
    cr_assert_str_eq(c.admin, "");
    cr_assert_str_eq(c.ws_listen, "");
    cr_assert_str_eq(c.ws_origins, "self");
    cr_assert_str_eq(c.web, "");
    cr_assert_str_eq(c.web_maps, "");
    cr_assert_str_eq(c.tls_cert, "");
    cr_assert_str_eq(c.tls_key, "");
    cr_assert_eq(c.handshake_timeout_ns, 10 * CLOCK_NS_PER_S);
    cr_assert_eq(c.max_handshakes, 1024);
    cr_assert_eq(c.link_timeout_ns, 3 * CLOCK_NS_PER_S);
    cr_assert_eq(c.max_clients, 10000);
    cr_assert_eq(c.max_frame, 16384);
    cr_assert_eq(c.rate, 60);
    cr_assert_eq(c.rate_burst, 0);
    cr_assert_eq(c.idle_timeout_ns, 60 * CLOCK_NS_PER_S);
    cr_assert_eq(c.login_timeout_ns, 60 * CLOCK_NS_PER_S);
    cr_assert_eq(c.frame_timeout_ns, 10 * CLOCK_NS_PER_S);
    cr_assert_eq(c.queue_soft, 64 << 10);
    cr_assert_eq(c.queue_hard, 1 << 20);
    cr_assert_eq(c.slow_timeout_ns, 30 * CLOCK_NS_PER_S);
    cr_assert_eq(c.sndbuf, 128 << 10);
    cr_assert_eq(c.linger_ns, 2 * CLOCK_NS_PER_S);
    cr_assert_eq(c.drain_timeout_ns, 5 * CLOCK_NS_PER_S);
    cr_assert_eq(c.link_queue_soft, 4 << 20);
    cr_assert_eq(c.link_queue_hard, 64 << 20);
    cr_assert_eq(c.log_level, LOG_INFO);
    cr_assert_eq(c.log_format, LOG_TEXT);
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), 0);
    TEST_NO_LEAKS();
}

Test(gateway_opts, every_limit_can_be_turned_off_with_0)
{
    static const char *const flags[] = {
        "-link-timeout=0",
        "-max-clients=0",
        "-max-frame=0",
        "-rate=0",
        "-rate-burst=0",
        "-idle-timeout=0",
        "-login-timeout=0",
        "-frame-timeout=0",
        "-queue-soft=0",
        "-queue-hard=0",
        "-slow-timeout=0",
        "-sndbuf=0",
        "-linger=0",
        "-drain-timeout=0",
        "-link-queue-soft=0",
        "-link-queue-hard=0",
        "-handshake-timeout=0",
        "-max-handshakes=0",
    };
    struct gateway_config c;
    char why[256];

    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        cr_assert_eq(parse(&c, flags[i], why, sizeof(why)), OPTS_OK, "%s: %s", flags[i], why);
    cr_assert_eq(parse(&c, "-queue-hard=0", why, sizeof(why)), OPTS_OK);
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), 0);
}

Test(gateway_opts, values_that_make_no_sense_are_refused_by_name) /* CASES F02 */
{
    static const char *const flags[] = {
        "-listen=",
        "-listen=abc",
        "-listen=127.0.0.1",
        "-listen=127.0.0.1:abc",
        "-listen=127.0.0.1:3001x",
        "-listen=127.0.0.1:-1",
        "-listen=127.0.0.1:65536",
        "-listen=127.0.0.1:4294974296",
        "-upstream=127.0.0.1:65536",
        "-rate=-1",
        "-rate=nan",
        "-rate=1e99",
        "-rate=1000001",
        "-max-clients=1000001",
        "-max-clients=x",
        "-max-frame=63",
        "-max-frame=1048577",
        "-idle-timeout=-5s",
        "-idle-timeout=inf",
        "-idle-timeout=2000m",
        "-linger=5x",
        "-queue-soft=1",
        "-queue-hard=99999999999999999999999",
        "-sndbuf=1",
        "-link-timeout=nan",
        "-log-level=loud",
        "-log-format=xml",
        "-role=world",
        "-threads=0",
        "-handshake-timeout=1ms",
        "-max-handshakes=65537",
        "-nonsense=1",
    };
    struct gateway_config c;
    char why[256];

    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        char name[64];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(flags[i], "="), flags[i]);
        cr_assert_eq(parse(&c, flags[i], why, sizeof(why)), OPTS_ERROR, "%s", flags[i]);
        cr_assert(strstr(why, name), "%s: the line names the flag: %s", flags[i], why);
    }
    TEST_NO_LEAKS();
}

Test(gateway_opts, pairs_that_clash_are_refused_by_name)
{
    struct gateway_config c;
    char why[256];

    cr_assert_eq(parse(&c, "-queue-soft=2MiB", why, sizeof(why)), OPTS_OK);
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), E_RANGE);
    cr_assert(strstr(why, "-queue-hard"));
    cr_assert_eq(parse(&c, "-link-queue-soft=65MiB", why, sizeof(why)), OPTS_OK);
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), E_RANGE);
    cr_assert(strstr(why, "-link-queue-hard"));
    cr_assert_eq(parse(&c, "-upstream=127.0.0.1:0", why, sizeof(why)), OPTS_OK);
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), E_RANGE);
    cr_assert(strstr(why, "-upstream"));
    cr_assert_eq(parse(&c, "-ws-origins=https://a,b", why, sizeof(why)), OPTS_OK);
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), E_RANGE);
    cr_assert(strstr(why, "-ws-origins: \"b\": "), "%s", why);
    cr_assert_eq(parse(&c, "-ws-origins=*", why, sizeof(why)), OPTS_OK);
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), E_RANGE);
    cr_assert(strstr(why, "-ws-origins: does nothing without -ws-listen"), "%s", why);
    cr_assert_eq(parse(&c, "-web=page", why, sizeof(why)), OPTS_OK);
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), E_RANGE);
    cr_assert(strstr(why, "-web: does nothing without -ws-listen"), "%s", why);
    cr_assert_eq(parse(&c, "-web-maps=maps", why, sizeof(why)), OPTS_OK);
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), E_RANGE);
    cr_assert(strstr(why, "-web-maps: does nothing without -ws-listen"), "%s", why);
    cr_assert_eq(parse(&c, "-ws-listen=127.0.0.1:0", why, sizeof(why)), OPTS_OK);
#ifdef PARTS_WEBSOCKET
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), 0, "%s", why);
#else
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), E_MISSING);
    cr_assert(strstr(why, "-ws-listen: this program was built without"), "%s", why);
#endif
    cr_assert_eq(parse(&c, "-tls-cert=c.pem", why, sizeof(why)), OPTS_OK);
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), E_RANGE);
    cr_assert_str_eq(why, "-tls-cert: needs -tls-key beside it");
    cr_assert_eq(parse(&c, "-tls-key=k.pem", why, sizeof(why)), OPTS_OK);
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), E_RANGE);
    cr_assert_str_eq(why, "-tls-key: needs -tls-cert beside it");
    c.tls_cert = "c.pem";
#ifdef PARTS_TLS
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), 0, "%s", why);
#else
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), E_MISSING);
    cr_assert(strstr(why, "-tls-cert: this program was built without"), "%s", why);
#endif
    cr_assert_eq(parse(&c, "-admin=localhost", why, sizeof(why)), OPTS_OK);
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), E_RANGE);
    cr_assert(strstr(why, "-admin: \"localhost\": "), "%s", why);
    cr_assert_eq(parse(&c, "-admin=:9100", why, sizeof(why)), OPTS_OK);
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), 0, "%s", why);
}

Test(gateway_opts, a_cluster_stands_in_place_of_an_upstream)
{
    char *both[] = {(char *)"aegis", (char *)"-role=gateway",
                    (char *)"-cluster=nats://me:secret@10.0.0.1:4222,nats://10.0.0.2",
                    (char *)"-upstream=127.0.0.1:7", NULL};
    struct gateway_config c;
    struct opts *opts = NULL;
    char why[256];

    cr_assert_eq(opts_parse(gateway_opts, gateway_opts_n, &c, 4, both, &opts, why, sizeof(why)),
                 OPTS_OK);
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), E_RANGE);
    cr_assert(strstr(why, "-cluster: \"nats://10.0.0.1:4222"), "%s", why);
    cr_assert(strstr(why, "-upstream 127.0.0.1:7"), "%s", why);
    cr_assert_null(strstr(why, "secret"), "%s", why);
    cr_assert_null(strstr(why, "me"), "%s", why);
    opts_destroy(opts);
    opts = NULL;
    cr_assert_eq(opts_parse(gateway_opts, gateway_opts_n, &c, 3, both, &opts, why, sizeof(why)),
                 OPTS_OK);
#ifdef AEGIS_PART_LIBNATS
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), 0, "%s", why);
#else
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), E_MISSING);
    cr_assert(strstr(why, "-cluster: "), "%s", why);
    cr_assert(strstr(why, "built without libnats"), "%s", why);
#endif
    opts_destroy(opts);
    cr_assert_eq(parse(&c, "-cluster=10.0.0.1:4222", why, sizeof(why)), OPTS_OK);
    cr_assert_eq(gateway_opts_check(&c, why, sizeof(why)), E_RANGE);
    cr_assert(strstr(why, "-cluster: "), "%s", why);
    TEST_NO_LEAKS();
}

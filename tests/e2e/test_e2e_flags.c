/* tests/e2e/test_e2e_flags.c: flags and ports that cannot be, case F02; -version and -help.
 * May touch: tests/pair. On trouble: the test fails.
 */
#include "tests/leak.h"
#include "tests/pair.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/wait.h>

TestSuite(e2e_flags, .fini = process_end_all, .timeout = 60);

/* The contract says a second; the sanitizers' start counts too, beside other tests. */
#define REFUSE_MS (process_sanitized() ? 3000 : 1000)

struct bad_flag {
    const char *flag, *value;
};

static const struct bad_flag bad_ports[] = {
    {"-listen", "127.0.0.1:abc"},   {"-listen", "127.0.0.1:"},
    {"-listen", "127.0.0.1:3001x"}, {"-listen", "127.0.0.1:-1"},
    {"-listen", "127.0.0.1:65536"}, {"-listen", "127.0.0.1:4294974296"},
    {"-listen", "127.0.0.1: 80"},   {"-listen", "127.0.0.1:0x50"},
    {"-listen", "127.0.0.1"},       {"-listen", ""},
    {"-listen", ":19002"},          {"-listen", "256.0.0.1:19002"},
    {"-listen", "::1:19002"},
};

static const struct bad_flag bad_world[] = {
    {"-aoi-radius", "nan"},
    {"-aoi-radius", "-1"},
    {"-aoi-radius", "1e9"},
    {"-aoi-radius", "0"},
    {"-aoi-radius", "256"},
    {"-aoi-radius", "30m"},
    {"-aoi-hysteresis", "-1"},
    {"-aoi-hysteresis", "226"},
    {"-tick", "0"},
    {"-tick", "-50ms"},
    {"-tick", "abc"},
    {"-max-speed", "inf"},
    {"-max-speed", "0"},
    {"-max-speed", "-12"},
    {"-quantum", "0"},
    {"-quantum", "1/0"},
    {"-resume-window", "-1"},
    {"-bounds", "0,0,0,0"},
    {"-bounds", "1,2,3"},
    {"-spawn", "nowhere"},
    {"-max-entities", "-1"},
    {"-log-level", "loud"},
    {"-role", "gate"},
    {"-link-timeout", "3h"},
    {"-max-entities", "1e3"},
    {"-link-queue-soft", "104857600"},
};

static const struct bad_flag bad_gateway[] = {
    {"-upstream", "127.0.0.1:abc"},
    {"-upstream", "127.0.0.1:0"},
    {"-upstream", ""},
    {"-max-frame", "-1"},
    {"-max-frame", "1"},
    {"-rate", "sixty"},
    {"-idle-timeout", "soon"},
    {"-queue-soft", "64XB"},
    {"-max-clients", "1.5"},
    {"-log-format", "xml"},
    {"-sndbuf", "99999999999999999999"},
    {"-queue-hard", "32768"},
    {"-link-queue-hard", "1048576"},
};

static const struct bad_flag bad_bot[] = {
    {"-addr", "127.0.0.1:70000"},
    {"-mode", "sleep"},
    {"-n", "0"},
    {"-seconds", "-1"},
};

/* It ends with a status of its own and one line, which names the flag and the value. */
static void must_refuse(struct process *p, const char *flag, const char *value)
{
    if (!process_ended(p, REFUSE_MS))
        process_fail("%s %s: still runs", flag, value);
    if (!WIFEXITED(p->status) || WEXITSTATUS(p->status) == 0)
        process_fail("%s %s: status %d", flag, value, p->status);
    struct span log = process_log(p);
    if (log.n == 0 || memchr(log.p, '\n', log.n) != log.p + log.n - 1)
        process_fail("%s %s: not one line", flag, value);
    if (process_logged(p, flag) == 0 || (*value && process_logged(p, value) == 0))
        process_fail("%s %s: not named", flag, value);
    cr_assert_eq(process_out(p).n, 0u);
}

/* Each with a port that is taken: were it bound before the flags are looked at, the port would be
 * what is complained of. */
static void must_refuse_all(const char *role, const char *taken, const struct bad_flag *list,
                            size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *flag = list[i].flag, *value = list[i].value;
        struct process *p =
            process_start("aegis", PROCESS_ARGS(role, "-listen", taken, flag, value));
        must_refuse(p, flag, value);
        process_forget(p);

        char joined[128]; /* the other way to write it */
        snprintf(joined, sizeof(joined), "-%s=%s", flag, value);
        p = process_start("aegis", PROCESS_ARGS(role, "-listen", taken, joined));
        must_refuse(p, flag, value);
        process_forget(p);
    }
}

Test(e2e_flags, f02_a_port_that_is_none_is_refused_by_both_roles)
{
    struct process *holder = pair_world(NULL);

    must_refuse_all("-role=world", holder->addr, bad_ports, ARRAY_LEN(bad_ports));
    must_refuse_all("-role=gateway", holder->addr, bad_ports, ARRAY_LEN(bad_ports));
    pair_end_one(holder);
    process_check_all();
    TEST_NO_LEAKS();
}

Test(e2e_flags, f02_a_value_that_cannot_be_is_refused_by_the_world)
{
    struct process *holder = pair_world(NULL);

    must_refuse_all("-role=world", holder->addr, bad_world, ARRAY_LEN(bad_world));
    pair_end_one(holder);
    process_check_all();
    TEST_NO_LEAKS();
}

Test(e2e_flags, f02_a_value_that_cannot_be_is_refused_by_the_gateway)
{
    struct process *holder = pair_world(NULL);

    must_refuse_all("-role=gateway", holder->addr, bad_gateway, ARRAY_LEN(bad_gateway));
    pair_end_one(holder);
    process_check_all();
    TEST_NO_LEAKS();
}

Test(e2e_flags, f02_a_value_that_cannot_be_is_refused_by_the_bot)
{
    for (size_t i = 0; i < ARRAY_LEN(bad_bot); i++)
        must_refuse(process_start("bot", PROCESS_ARGS(bad_bot[i].flag, bad_bot[i].value)),
                    bad_bot[i].flag, bad_bot[i].value);
    process_check_all();
    TEST_NO_LEAKS();
}

Test(e2e_flags, f02_an_unknown_flag_is_named)
{
    must_refuse(process_start("aegis", PROCESS_ARGS("-role=world", "-lisen", "127.0.0.1:0")),
                "-lisen", "");
    must_refuse(process_start("aegis", PROCESS_ARGS("-role=gateway", "--aoi-radius=30")),
                "-aoi-radius", "");
    must_refuse(process_start("aegis", PROCESS_ARGS("-role=world", "30")), "30", "");
    must_refuse(process_start("aegis", PROCESS_ARGS("-role=world", "-tick")), "-tick", "");
    must_refuse(process_start("aegis", PROCESS_ARGS("-role=sheriff")), "-role", "sheriff");
    must_refuse(process_start("aegis", PROCESS_ARGS("-listen", "127.0.0.1:0")), "-role", "");
    must_refuse(process_start("aegis", PROCESS_ARGS("-role=world", "-config", "/no/such/file")),
                "-config", "/no/such/file");
    must_refuse(process_start("bot", PROCESS_ARGS("-mode=smoke", "-adr=x")), "-adr", "");
    process_check_all();
    TEST_NO_LEAKS();
}

Test(e2e_flags, f02_the_second_process_on_a_port_names_the_port)
{
    struct pair pair = pair_start(NULL, NULL);

    must_refuse(process_start("aegis", PROCESS_ARGS("-role=world", "-listen", pair.world->addr)),
                "-listen", pair.world->addr);
    must_refuse(
        process_start("aegis", PROCESS_ARGS("-role=gateway", "-listen", pair.gateway->addr)),
        "-listen", pair.gateway->addr);
    pair_end(&pair); /* the first ones are none the worse */
    TEST_NO_LEAKS();
}

/* Below 16,384 quanta is allowed; a larger quantum allows more. */
Test(e2e_flags, f02_the_widest_radius_depends_on_the_quantum)
{
    struct process *p = pair_world(PROCESS_ARGS("-aoi-radius", "255.9"));
    pair_end_one(p);
    p = pair_world(PROCESS_ARGS("-aoi-radius", "500", "-quantum", "1/32"));
    pair_end_one(p);
    process_check_all();
    TEST_NO_LEAKS();
}

/* --- what is asked of a program and answered at once ------------------------------------------ */

static void must_print(const char *program, const char *const *args, const char *first,
                       const char *within)
{
    struct process *p = process_start(program, args);

    process_await_exit(p, REFUSE_MS, 0);
    struct span out = process_out(p);
    cr_assert(out.n > strlen(first) && memcmp(out.p, first, strlen(first)) == 0);
    cr_assert_not_null(memmem(out.p, out.n, within, strlen(within)));
    cr_assert_eq(out.p[out.n - 1], '\n');
    cr_assert_eq(process_log(p).n, 0u);
}

Test(e2e_flags, version_and_help_print_and_exit_with_0)
{
    must_print("aegis", PROCESS_ARGS("-version"), "aegis ", ".");
    must_print("aegis", PROCESS_ARGS("-role=world", "-version"), "aegis ", ".");
    must_print("aegis", PROCESS_ARGS("--version", "-role", "gateway"), "aegis ", ".");
    must_print("bot", PROCESS_ARGS("-version"), "bot ", ".");
    must_print("aegis", PROCESS_ARGS("-role=world", "-help"), "usage: aegis -role=world",
               "-aoi-radius");
    must_print("aegis", PROCESS_ARGS("-role=gateway", "--help"), "usage: aegis -role=gateway",
               "-upstream");
    must_print("bot", PROCESS_ARGS("-help"), "usage: bot", "-mode");
    process_check_all();
    TEST_NO_LEAKS();
}

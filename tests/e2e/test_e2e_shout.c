/* tests/e2e/test_e2e_shout.c: what one client makes others hear, and how often a name logs in.
 * May touch: tests/pair, tests/raw_client. On trouble: the test fails.
 */
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>

#define TWENTY "shouting, shouting, "
#define LINE   /* of 200 bytes */ \
    "81 a4'text' d9c8'" TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY "'"

TestSuite(e2e_shout, .fini = process_end_all, .timeout = 60);

static void join(struct raw_client *c, const char *addr, const char *name)
{
    raw_connect(c, addr);
    raw_must(c, raw_login(c, name), CMD_LOGIN_RESP);
    raw_must(c, raw_nil(c, CMD_ENTER_REQ), CMD_ENTER_RESP);
    raw_await(c, CMD_AOI_ADD);
}

Test(e2e_shout, who_shouts_beyond_the_budget_is_told_so_and_goes_on_with_all_else)
{
    /* A second's worth is five lines to the one who hears them; as much again may be owed. */
    struct pair pair = pair_start(PROCESS_ARGS("-fanout-bytes", "1024"), NULL);
    struct raw_client a, b;
    unsigned said = 0;

    raw_connect(&a, pair.gateway->addr);
    raw_must(&a, raw_login(&a, "alpha"), CMD_LOGIN_RESP);
    raw_must(&a, raw_nil(&a, CMD_ENTER_REQ), CMD_ENTER_RESP);
    join(&b, pair.gateway->addr, "beta");
    while (said < 60) {
        const struct message *m = raw_answer(&a, raw_payload(&a, CMD_SAY_REQ, LINE));

        if (m->cmd == CMD_ERROR_NOTIFY) {
            cr_assert_eq(m->error_notify.code, (uint32_t)PE_RATE_LIMITED);
            break;
        }
        said++;
    }
    cr_assert_geq(said, 1u);
    cr_assert_lt(said, 60u, "nothing held it back");
    for (unsigned i = 0; i < said; i++)
        raw_await(&b, CMD_SAY_NOTIFY);
    raw_must(&a, raw_move(&a, 8.05, 0), CMD_MOVE_RESP);
    raw_must(&b, raw_payload(&b, CMD_SAY_REQ, LINE), CMD_SAY_RESP);
    raw_close(&a);
    raw_close(&b);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_shout, a_name_that_logs_in_too_often_waits_and_others_do_not)
{
    struct pair pair = pair_start(PROCESS_ARGS("-login-rate-name", "1"), NULL);
    struct raw_client c, other;
    unsigned in = 0;

    while (in < 20) {
        raw_connect(&c, pair.gateway->addr);
        const struct message *m = raw_answer(&c, raw_login(&c, "alpha"));

        if (m->cmd == CMD_ERROR_NOTIFY && m->error_notify.code == PE_RATE_LIMITED)
            break;
        /* The one before may not have gone yet. */
        cr_assert(m->cmd == CMD_LOGIN_RESP || m->error_notify.code == PE_NAME_IN_USE);
        in++;
        raw_close(&c);
    }
    cr_assert_geq(in, 1u);
    cr_assert_lt(in, 20u, "nothing held it back");
    raw_must_serve(&c);
    raw_connect(&other, pair.gateway->addr);
    raw_must(&other, raw_login(&other, "beta"), CMD_LOGIN_RESP);
    raw_close(&other);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

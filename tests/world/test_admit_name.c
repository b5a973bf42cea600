/* tests/world/test_admit_name.c: -login-rate-name.
 * May touch: tests/world_rig. Source: world/command/admit.h.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"

#include <stdio.h>

#define RATE 6 /* a minute */

static struct rig *named_rig(void)
{
    struct world_config c = rig_config();
    c.login_rate_name = RATE;
    c.resume_window_ns = 30 * CLOCK_NS_PER_S;
    return rig_create(&c);
}

/* Log in and go again, until it is refused; how often it was not. */
static uint32_t come_and_go(struct rig *r, const char *name)
{
    for (uint32_t n = 0; n < 100; n++) {
        const uint32_t s = rig_open(r, 0), seq = rig_send_login(r, s, name);
        const struct message *m = rig_answer(r, s, seq);
        const bool refused = m->cmd == CMD_ERROR_NOTIFY;

        if (refused)
            cr_assert_eq(m->error_notify.code, (uint32_t)PE_RATE_LIMITED);
        rig_close(r, s);
        rig_drop(r);
        if (refused)
            return n;
    }
    return 100;
}

Test(admit_name, a_name_logs_in_so_often_in_a_minute_and_other_names_do_not_mind)
{
    struct rig *r = named_rig();

    cr_assert_eq(come_and_go(r, "a"), (uint32_t)RATE);
    cr_assert_eq(r->world->metrics.logins_paced, 1u);
    cr_assert_eq(come_and_go(r, "b"), (uint32_t)RATE);
    rig_pass(r, 10 * CLOCK_NS_PER_S);
    cr_assert_eq(come_and_go(r, "a"), 1u, "one each ten seconds");
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(admit_name, who_finds_the_name_in_use_is_counted)
{
    struct rig *r = named_rig();
    const uint32_t a = rig_join(r, "a"), b = rig_open(r, 0);

    for (int i = 0; i < RATE - 1; i++)
        rig_refused(r, b, rig_send_login(r, b, "a"), PE_NAME_IN_USE);
    rig_refused(r, b, rig_send_login(r, b, "a"), PE_RATE_LIMITED);
    (void)rig_login(r, b, "b");
    rig_leave(r, a);
    rig_destroy(r);
}

Test(admit_name, a_resume_key_is_not_asked_and_not_counted)
{
    struct rig *r = named_rig();
    uint32_t s = rig_join(r, "a");
    char key[64];

    for (int i = 0; i < 3 * RATE; i++) {
        snprintf(key, sizeof(key), "%s", r->sessions[s].key);
        rig_close(r, s);
        rig_drop(r);
        s = rig_open(r, 0);
        (void)rig_resume(r, s, "a", key);
    }
    cr_assert_eq(r->world->metrics.logins_paced, 0u);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(admit_name, names_are_bounded_and_the_ones_unheard_of_for_longest_are_forgotten)
{
    struct rig *r = named_rig();
    struct world *w = r->world;
    char name[16];

    for (uint32_t i = 0; i < WORLD_NAMES_PACED + 1000; i++) {
        snprintf(name, sizeof(name), "n%u", i);
        cr_assert(paces_take(&w->names, paces_get(&w->names, span_text(name), 0), 0, 0));
    }
    cr_assert_eq(w->names.n, (uint32_t)WORLD_NAMES_PACED);
    cr_assert_eq(w->names.forgotten, 1000u);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

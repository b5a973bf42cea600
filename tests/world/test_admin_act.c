/* tests/world/test_admin_act.c: what operators do to a world, and what is refused to them.
 */
#include "tests/leak.h"
#include "tests/world/admin_rig.h"

#include "common/log.h"

#include <criterion/criterion.h>
#include <string.h>

#define T ADMIN_RIG_TOKEN

static uint32_t slot_of(const struct admin_rig *r, uint32_t id)
{
    const struct entities *e = &r->edge.world->entities;

    for (uint32_t i = 0; i < e->alive_count; i++) {
        if (e->id[e->alive[i]] == id)
            return e->alive[i];
    }
    return UINT32_MAX;
}

Test(admin_act, every_act_needs_the_token_and_a_post)
{
    static const char *const acts[] = {"/api/kick?who=@ann", "/api/teleport?who=@ann&to=1,1",
                                       "/api/drain", "/api/log?level=error"};
    struct admin_rig r;

    admin_rig_init(&r, NULL);
    uint32_t ann = admin_rig_join(&r, "ann", 5, 5);
    for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
        admin_rig_post(&r, acts[i], NULL, "");
        cr_expect(admin_rig_says(&r, "401 ", "{\"error\":\""), "%s", r.reply);
        admin_rig_post(&r, acts[i], "0123456789abcdeg", "");
        cr_expect(admin_rig_says(&r, "401 ", "the token is wrong"), "%s", r.reply);
        admin_rig_get(&r, acts[i]);
        cr_expect(admin_rig_says(&r, "405 ", "Allow: POST"), "%s", r.reply);
        r.token.n = 0;
        admin_rig_post(&r, acts[i], T, "");
        cr_expect(admin_rig_says(&r, "403 ", "-admin-token"), "%s", r.reply);
        r.token.n = strlen(T);
    }
    cr_expect_neq(slot_of(&r, ann), UINT32_MAX);
    cr_expect_eq(r.edge.world->entities.x[slot_of(&r, ann)], 5);
    cr_expect(!r.drained);
    cr_expect_eq(log_least(), LOG_OFF);
    cr_expect_eq(r.edge.metrics.orders_refused, 3 * ARRAY_LEN(acts));
    admin_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(admin_act, what_is_badly_asked_changes_nothing)
{
    static const char *const bad[] = {
        "/api/kick",
        "/api/kick?who=0",
        "/api/kick?who=@ann&who=@ann",
        "/api/kick?who=@ann&to=1,1",
        "/api/teleport?who=@ann",
        "/api/teleport?who=@ann&to=1",
        "/api/teleport?who=@ann&to=1,nan",
        "/api/teleport?who=@ann&to=1e8,0", /* outside */
        "/api/drain?now=1",
        "/api/log",
        "/api/log?level=loud",
    };
    struct admin_rig r;
    char longer[200];

    admin_rig_init(&r, NULL);
    uint32_t ann = admin_rig_join(&r, "ann", 5, 5);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        admin_rig_post(&r, bad[i], T, "");
        cr_expect(admin_rig_says(&r, "400 ", "{\"error\":\""), "%s: %s", bad[i], r.reply);
    }
    admin_rig_post(&r, "/api/kick?who=@bob", T, "");
    cr_expect(admin_rig_says(&r, "404 ", "nobody"), "%s", r.reply);
    admin_rig_post(&r, "/api/teleport?who=@ann&scene=none&to=1,1", T, "");
    cr_expect(admin_rig_says(&r, "404 ", "no such scene"), "%s", r.reply);
    admin_rig_post(&r, "/api/kick?who=@ann", T, "a\nb");
    cr_expect(admin_rig_says(&r, "400 ", "control"), "%s", r.reply);
    memset(longer, 'x', sizeof(longer));
    longer[129] = '\0';
    admin_rig_post(&r, "/api/kick?who=@ann", T, longer);
    cr_expect(admin_rig_says(&r, "400 ", "128"), "%s", r.reply);
    cr_expect_eq(r.edge.world->entities.x[slot_of(&r, ann)], 5);
    cr_expect(!r.drained);
    cr_expect_eq(r.edge.world->metrics.kicks_operator, 0);
    admin_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(admin_act, a_kick_ends_a_session_with_reason_19_and_the_operators_words)
{
    struct admin_rig r;
    struct link_frame f;

    admin_rig_init(&r, NULL);
    uint32_t ann = admin_rig_join(&r, "ann", 0, 0), bob = admin_rig_join(&r, "bob", 1, 0);
    admin_rig_tick(&r, 1);
    admin_rig_post(&r, "/api/kick?who=@ann", T, "be kind");
    cr_expect(admin_rig_says(&r, "200 ", "{\"done\":true}"), "%s", r.reply);
    gate_wait(r.gate, LINK_CLOSE, &f);
    cr_expect_eq(f.session, 1);
    cr_expect_eq(f.code, PE_KICKED);
    cr_expect(span_equal(f.text, span_text("be kind")));
    cr_expect_eq(slot_of(&r, ann), UINT32_MAX, "it does not wait for its client");
    char path[64];
    snprintf(path, sizeof(path), "/api/kick?who=%u", bob);
    admin_rig_post(&r, path, T, "");
    gate_wait(r.gate, LINK_CLOSE, &f);
    cr_expect(span_equal(f.text, span_text(protocol_error_text(PE_KICKED))));
    cr_expect_eq(r.edge.world->metrics.kicks_operator, 2);
    admin_rig_tick(&r, 1);
    world_validate(r.edge.world);
    admin_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(admin_act, an_entity_is_put_elsewhere_and_sees_who_is_there)
{
    struct admin_rig r;

    admin_rig_init(&r, NULL);
    uint32_t ann = admin_rig_join(&r, "ann", 0, 0);
    admin_rig_join(&r, "bob", 500, 0);
    admin_rig_tick(&r, 1);
    admin_rig_post(&r, "/api/teleport?who=@ann&to=490,-1.5", T, "");
    cr_expect(admin_rig_says(&r, "200 ", "{\"done\":true}"), "%s", r.reply);
    cr_expect_eq(r.edge.world->entities.x[slot_of(&r, ann)], 490);
    cr_expect_eq(r.edge.world->entities.y[slot_of(&r, ann)], -1.5);
    admin_rig_get(&r, "/api/explain?viewer=@ann&subject=@bob");
    cr_expect(admin_rig_says(&r, "200 ", "\"why\":\"next_tick\""), "%s", r.reply);
    admin_rig_tick(&r, 1);
    admin_rig_get(&r, "/api/explain?viewer=@ann&subject=@bob");
    cr_expect(admin_rig_says(&r, "200 ", "\"sight\":{\"sees\":true"), "%s", r.reply);
    admin_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(admin_act, a_drain_begins_after_its_answer_and_the_level_of_the_log_changes)
{
    struct admin_rig r;

    admin_rig_init(&r, NULL);
    admin_rig_post(&r, "/api/log?level=error", T, "");
    cr_expect(admin_rig_says(&r, "200 ", "done"), "%s", r.reply);
    cr_expect_eq(log_least(), LOG_ERROR);
    log_set_level(LOG_OFF);
    admin_rig_post(&r, "/api/drain", T, "");
    cr_expect(admin_rig_says(&r, "200 ", "done"), "%s", r.reply);
    edge_until_true(&r.edge, &r.drained);
    admin_rig_fini(&r);
    TEST_NO_LEAKS();
}

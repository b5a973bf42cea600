/* tests/world/test_teleport.c: scenes apart, portals, and who is put elsewhere.
 * PROTOCOL.md, "Commands" (EnterResp unasked), "Sight", "Entering", "Speed".
 * May touch: tests/world_rig, tests/world/plain_map.
 */
#include "tests/leak.h"
#include "tests/world/plain_map.h"
#include "tests/world_rig.h"
#include "world/command/teleport.h"

enum { OPEN, TOWN, WILD };

/* Two maps beside the open ground; a gate from the town's east side to the wild, which leads back
 * onto it. */
static struct map maps[2];

static struct rig *world_of(const struct world_config *c)
{
    maps[0] = plain_map_open("town", 0, 0, 1, 100, 100);
    ground_block(&maps[0].ground, 50, 50, true);
    maps[1] = plain_map_open("wild", 0, 0, 1, 200, 50);
    plain_map_portal(&maps[0], (double[4]){90, 40, 95, 60}, "wild", 10, 10);
    plain_map_spawn(&maps[1], (double[4]){1, 1, 5, 5});
    plain_map_portal(&maps[1], (double[4]){100, 0, 110, 50}, "town", 92, 50);
    return rig_create_maps(c, maps, 2);
}

static struct world_config fast(void)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    return c;
}

/* The same with sight by masks, by lists, and soft. */
enum { MASKS, LISTS, SOFT, KINDS };

static struct world_config fast_of(int kind)
{
    struct world_config c = fast();
    c.aoi_hysteresis = kind == LISTS ? 5 : 0;
    c.aoi_tiers = kind == SOFT ? "20:1,40:2" : NULL;
    return c;
}

static void end(struct rig *r)
{
    rig_balance(r);
    rig_destroy(r);
    map_fini(&maps[0]);
    map_fini(&maps[1]);
    TEST_NO_LEAKS();
}

/* Log in and stand there. */
static uint32_t join(struct rig *r, const char *name, const char *scene, double x, double y)
{
    uint32_t s = rig_open(r, 0);
    rig_login(r, s, name);
    rig_enter_scene(r, s, scene);
    rig_pass(r, CLOCK_NS_PER_S);
    rig_move(r, s, x, y);
    return s;
}

Test(teleport, the_same_place_in_two_scenes_is_nobodys_neighbour)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct world_config c = fast_of(kind);
        struct rig *r = world_of(&c);
        uint32_t a = join(r, "a", "open", 10, 10), b = join(r, "b", "town", 10, 10);
        uint32_t d = join(r, "d", "wild", 10, 10), e = join(r, "e", "town", 12, 10);
        rig_tick(r, 3);
        cr_assert(rig_knows(r, b, e) && rig_knows(r, e, b));
        cr_assert_eq(r->sessions[a].view.count + r->sessions[d].view.count, 0);
        cr_assert_eq(r->sessions[b].view.count + r->sessions[e].view.count, 2);
        rig_say(r, b, "who is there?");
        cr_assert_eq(r->sessions[e].view.hears, 1);
        cr_assert_eq(r->sessions[a].view.hears + r->sessions[d].view.hears, 0);
        end(r);
    }
}

Test(teleport, enter_names_the_scene_and_the_bounds_are_its_own)
{
    struct world_config c = fast();
    c.scene = "town";
    struct rig *r = world_of(&c);
    uint32_t s = rig_open(r, 0);
    rig_login(r, s, "a");
    const struct message *m = rig_answer(r, s, rig_send_nil(r, s, CMD_ENTER_REQ));
    cr_assert(span_equal(m->enter_resp.scene, span_text("town")));
    rig_pass(r, CLOCK_NS_PER_S);
    rig_refused(r, s, rig_send_move(r, s, 100.5, 10), PE_MOVE_BOUNDS);
    rig_refused(r, s, rig_send_move(r, s, -1, 10), PE_MOVE_BOUNDS);
    rig_leave(r, s);
    rig_enter_scene(r, s, "open");
    rig_pass(r, CLOCK_NS_PER_S);
    rig_move(r, s, -1, 10);
    end(r);
}

Test(teleport, a_hop_is_told_by_an_enter_resp_before_the_first_aoi_frame_there)
{
    struct world_config c = fast();
    struct rig *r = world_of(&c);
    uint32_t a = join(r, "a", "town", 10, 10), near = join(r, "near", "town", 11, 10);
    uint32_t there = join(r, "there", "wild", 21, 20);
    rig_tick(r, 3);
    rig_drop(r);
    uint32_t id = r->sessions[a].id;
    cr_assert_eq(rig_teleport(r, a, WILD, 20, 20), 0);
    const struct message *m = rig_take(r, a);
    cr_assert_eq(m->cmd, (uint32_t)CMD_ENTER_RESP);
    cr_assert_eq(m->seq, 0);
    cr_assert_eq(m->enter_resp.id, id);
    cr_assert(span_equal(m->enter_resp.scene, span_text("wild")));
    cr_assert(m->enter_resp.x == 20 && m->enter_resp.y == 20);
    cr_assert_null(rig_take(r, a));

    rig_tick(r, 1);
    m = rig_take(r, a);
    cr_assert_eq(m->cmd, (uint32_t)CMD_AOI_ADD, "no remove of whom it forgot");
    cr_assert_eq(m->aoi_add.count, 1);
    cr_assert_null(rig_take(r, a));
    m = rig_take(r, near);
    cr_assert_eq(m->cmd, (uint32_t)CMD_AOI_REMOVE);
    cr_assert_eq(m->aoi_remove.ids[0], id);
    m = rig_take(r, there);
    cr_assert_eq(m->cmd, (uint32_t)CMD_AOI_ADD);
    cr_assert_eq(m->aoi_add.entities[0].id, id);
    cr_assert(rig_knows(r, a, there) && rig_knows(r, there, a));
    cr_assert_not(rig_knows(r, near, a));
    cr_assert_eq(r->world->metrics.teleports, 1);
    end(r);
}

Test(teleport, within_a_scene_its_client_learns_all_anew_and_others_see_a_move)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct world_config c = fast_of(kind);
        struct rig *r = world_of(&c);
        uint32_t a = join(r, "a", "town", 10, 10), b = join(r, "b", "town", 15, 10);
        rig_tick(r, 3);
        rig_drop(r);
        cr_assert_eq(rig_teleport(r, a, TOWN, 20, 10), 0);
        cr_assert_eq(r->sessions[a].view.count, 0);
        rig_tick(r, 1);
        cr_assert_eq(rig_next(r, a, CMD_AOI_ADD)->aoi_add.count, 1);
        cr_assert_eq(rig_take(r, b)->cmd, (uint32_t)CMD_AOI_MOVE);
        cr_assert(rig_knows(r, a, b) && rig_knows(r, b, a));
        rig_tick(r, 3);
        end(r);
    }
}

Test(teleport, what_cannot_be_is_refused_and_changes_nothing)
{
    struct world_config c = fast();
    struct rig *r = world_of(&c);
    uint32_t a = join(r, "a", "town", 10, 10), out = rig_open(r, 0);
    rig_tick(r, 3);
    rig_drop(r);
    cr_assert_eq(rig_teleport(r, a, 3, 1, 1), PE_NO_SUCH_SCENE);
    cr_assert_eq(rig_teleport(r, a, TOWN, 101, 1), PE_MOVE_BOUNDS);
    cr_assert_eq(rig_teleport(r, a, TOWN, 0.0 / 0.0, 1), PE_MOVE_BOUNDS);
    cr_assert_eq(rig_teleport(r, a, TOWN, 50.5, 50.5), PE_MOVE_BLOCKED);
    cr_assert_eq(rig_teleport(r, out, TOWN, 1, 1), PE_NOT_IN_WORLD);
    cr_assert_eq(r->world->metrics.teleports_refused, 5);
    cr_assert_eq(r->world->metrics.teleports, 0);
    cr_assert_null(rig_take(r, a));
    cr_assert_eq(r->world->entities.in_scene[TOWN], 1);
    end(r);
}

Test(teleport, who_hops_gains_no_distance)
{
    struct world_config c = rig_config();
    struct rig *r = world_of(&c);
    uint32_t s = rig_open(r, 0);
    rig_login(r, s, "a");
    rig_enter_scene(r, s, "wild");
    cr_assert_eq(rig_teleport(r, s, WILD, 50, 10), 0);
    rig_pass(r, 2 * CLOCK_NS_PER_S);
    rig_move(r, s, 50, 22); /* all of a second's credit */
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(rig_teleport(r, s, i % 2 ? WILD : TOWN, 50, 10), 0);
        rig_refused(r, s, rig_send_move(r, s, 51, 10), PE_MOVE_SPEED);
    }
    end(r);
}

Test(teleport, of_many_in_a_tick_the_last_counts)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct world_config c = fast_of(kind);
        struct rig *r = world_of(&c);
        uint32_t a = join(r, "a", "town", 10, 10), b = join(r, "b", "town", 12, 10);
        uint32_t there = join(r, "there", "wild", 12, 10);
        rig_tick(r, 3);
        rig_drop(r);
        cr_assert_eq(rig_teleport(r, a, WILD, 10, 10), 0);
        cr_assert_eq(rig_teleport(r, a, TOWN, 11, 10), 0);
        rig_tick(r, 1);
        cr_assert(rig_knows(r, a, b) && rig_knows(r, b, a));
        cr_assert_eq(rig_take(r, b)->cmd, (uint32_t)CMD_AOI_MOVE, "it never left");
        cr_assert_null(rig_take(r, there), "what came and went within one tick is never told");
        rig_tick(r, 1);
        end(r);
    }
}

Test(teleport, two_who_hop_together_meet_there)
{
    struct world_config c = fast();
    struct rig *r = world_of(&c);
    uint32_t a = join(r, "a", "town", 10, 10), b = join(r, "b", "town", 12, 10);
    rig_tick(r, 3);
    rig_drop(r);
    cr_assert_eq(rig_teleport(r, a, WILD, 10, 10), 0);
    cr_assert_eq(rig_teleport(r, b, WILD, 12, 10), 0);
    rig_tick(r, 1);
    cr_assert_eq(rig_next(r, a, CMD_AOI_ADD)->aoi_add.count, 1);
    cr_assert_eq(rig_next(r, b, CMD_AOI_ADD)->aoi_add.count, 1);
    end(r);
}

Test(teleport, one_who_hops_while_paused_knows_all_there_when_it_drains)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct world_config c = fast_of(kind);
        struct rig *r = world_of(&c);
        uint32_t a = join(r, "a", "town", 10, 10), b = join(r, "b", "town", 12, 10);
        uint32_t there = join(r, "there", "wild", 12, 10);
        rig_tick(r, 3);
        rig_congestion(r, a, true);
        rig_tick(r, 2);
        cr_assert_eq(rig_teleport(r, a, WILD, 10, 10), 0);
        rig_tick(r, 3);
        cr_assert_eq(r->sessions[a].view.count, 0);
        cr_assert(rig_knows(r, there, a));
        rig_congestion(r, a, false);
        rig_tick(r, 1);
        cr_assert(rig_knows(r, a, there));
        cr_assert_not(rig_knows(r, a, b) || rig_knows(r, b, a));
        end(r);
    }
}

Test(teleport, a_paused_viewer_forgets_who_hopped_and_keeps_who_came_back)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct world_config c = fast_of(kind);
        struct rig *r = world_of(&c);
        uint32_t v = join(r, "v", "town", 10, 10), gone = join(r, "gone", "town", 12, 10);
        uint32_t back = join(r, "back", "town", 14, 10);
        rig_tick(r, 3);
        rig_congestion(r, v, true);
        cr_assert_eq(rig_teleport(r, gone, WILD, 12, 10), 0);
        cr_assert_eq(rig_teleport(r, back, WILD, 14, 10), 0);
        rig_tick(r, 2);
        cr_assert_eq(rig_teleport(r, back, TOWN, 15, 10), 0);
        rig_tick(r, 1);
        rig_drop(r);
        rig_congestion(r, v, false);
        rig_tick(r, 1);
        cr_assert_eq(rig_take(r, v)->cmd, (uint32_t)CMD_AOI_REMOVE);
        cr_assert_eq(rig_take(r, v)->cmd, (uint32_t)CMD_AOI_MOVE);
        cr_assert(rig_knows(r, v, back) && !rig_knows(r, v, gone));
        end(r);
    }
}

Test(teleport, who_moves_into_a_portal_goes_through_at_the_tick)
{
    struct world_config c = fast();
    struct rig *r = world_of(&c);
    uint32_t a = join(r, "a", "town", 80, 50), b = join(r, "b", "town", 85, 50);
    uint32_t there = join(r, "there", "wild", 12, 10);
    rig_tick(r, 3);
    rig_move(r, a, 91, 50);
    rig_drop(r);
    rig_tick(r, 1);
    const struct message *m = rig_take(r, a);
    cr_assert_eq(m->cmd, (uint32_t)CMD_ENTER_RESP);
    cr_assert_eq(m->seq, 0);
    cr_assert(m->enter_resp.x == 10 && m->enter_resp.y == 10);
    m = rig_take(r, a);
    cr_assert_eq(m->cmd, (uint32_t)CMD_AOI_ADD);
    cr_assert(rig_knows(r, a, there) && rig_knows(r, there, a));
    cr_assert_not(rig_knows(r, b, a));
    cr_assert_eq(r->world->metrics.portals_passed, 1);
    end(r);
}

Test(teleport, who_arrives_in_a_portal_has_to_leave_it_first)
{
    struct world_config c = fast();
    struct rig *r = world_of(&c);
    uint32_t a = join(r, "a", "wild", 105, 20); /* onto the town's gate */
    rig_tick(r, 1);
    const struct entities *e = &r->world->entities;
    cr_assert_eq(e->in_scene[TOWN], 1);
    rig_pass(r, CLOCK_NS_PER_S);
    rig_move(r, a, 93, 51);
    rig_tick(r, 2);
    cr_assert_eq(e->in_scene[TOWN], 1, "it moves about in the gate");
    rig_move(r, a, 80, 51);
    rig_tick(r, 1);
    rig_move(r, a, 93, 51);
    rig_tick(r, 1);
    cr_assert_eq(e->in_scene[WILD], 1, "it left, and came back");
    cr_assert_eq(r->world->metrics.portals_passed, 2);
    end(r);
}

Test(teleport, passing_over_a_portal_within_a_tick_leads_nowhere)
{
    struct world_config c = fast();
    struct rig *r = world_of(&c);
    uint32_t a = join(r, "a", "town", 80, 50);
    rig_tick(r, 1);
    rig_move(r, a, 92, 50);
    rig_move(r, a, 98, 50);
    rig_tick(r, 1);
    cr_assert_eq(r->world->entities.in_scene[TOWN], 1);
    end(r);
}

Test(teleport, npcs_wake_where_somebody_arrives_and_sleep_where_it_left)
{
    struct world_config c = fast();
    c.npcs = 30;
    c.scene = "wild";
    struct rig *r = world_of(&c);
    uint32_t a = join(r, "a", "town", 10, 10);
    rig_tick(r, 3);
    cr_assert_eq(r->world->npcs.n_awake, 0);
    cr_assert_eq(rig_teleport(r, a, WILD, 40, 25), 0);
    rig_tick(r, 2);
    cr_assert_gt(r->world->npcs.n_awake, 0);
    cr_assert_gt(r->sessions[a].view.count, 0);
    cr_assert_eq(rig_teleport(r, a, TOWN, 89, 50), 0);
    rig_tick(r, 2);
    cr_assert_eq(r->world->npcs.n_awake, 0);
    rig_move(r, a, 91, 50); /* through the gate */
    rig_tick(r, 2);
    cr_assert_gt(r->world->npcs.n_awake, 0);
    end(r);
}

Test(teleport, one_who_waits_for_its_client_is_put_elsewhere_but_by_no_portal)
{
    struct world_config c = fast();
    c.resume_window_ns = 30 * CLOCK_NS_PER_S;
    struct rig *r = world_of(&c);
    uint32_t a = join(r, "a", "town", 80, 50), there = join(r, "there", "wild", 11, 10);
    struct entity_ref who = entities_ref(&r->world->entities, r->world->entities.alive[0]);
    char key[RIG_KEY_BYTES + 1];
    memcpy(key, r->sessions[a].key, sizeof key);
    rig_tick(r, 2);
    rig_move(r, a, 91, 50);
    rig_close(r, a);
    rig_tick(r, 2);
    cr_assert_eq(r->world->metrics.portals_passed, 0, "in the gate, and not taken");
    cr_assert_eq(teleport_entity(r->world, who, WILD, 12, 10), 0);
    rig_tick(r, 2);
    cr_assert_eq(r->sessions[there].view.count, 1);
    uint32_t b = rig_open(r, 0), seq = rig_send_resume(r, b, "a", key);
    cr_assert(rig_answer(r, b, seq)->login_resp.resumed);
    const struct message *m = rig_next(r, b, CMD_ENTER_RESP);
    cr_assert(span_equal(m->enter_resp.scene, span_text("wild")));
    cr_assert(m->enter_resp.x == 12 && m->enter_resp.y == 10);
    rig_tick(r, 1);
    cr_assert(rig_knows(r, b, there) && rig_knows(r, there, b));
    end(r);
}

Test(teleport, a_walk_into_a_portal_ends_there_without_a_word)
{
    struct world_config c = rig_config();
    struct rig *r = world_of(&c);
    uint32_t a = rig_open(r, 0);
    rig_login(r, a, "a");
    rig_enter_scene(r, a, "town");
    cr_assert_eq(rig_teleport(r, a, TOWN, 88, 45), 0);
    rig_tick(r, 1);
    rig_drop(r);
    rig_send_walk(r, a, 99, 45, false);
    for (int tick = 0; tick < 40; tick++)
        rig_tick(r, 1);
    const struct message *m;
    uint32_t puts = 0;
    while ((m = rig_take(r, a))) {
        cr_assert_neq(m->cmd, (uint32_t)CMD_MOVE_FAIL);
        puts += m->cmd == CMD_ENTER_RESP;
    }
    cr_assert_eq(puts, 1);
    cr_assert_str_eq(r->sessions[a].scene, "wild");
    cr_assert(r->sessions[a].x == 10 && r->sessions[a].y == 10);
    const struct entities *e = &r->world->entities;
    uint32_t slot = e->alive[0];
    cr_assert(e->x[slot] == 10 && e->y[slot] == 10 && e->speed[slot] == 0, "it stands there");
    rig_pass(r, CLOCK_NS_PER_S);
    rig_move(r, a, 12, 10);
    end(r);
}

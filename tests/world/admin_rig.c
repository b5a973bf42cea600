/* tests/world/admin_rig.c: see the header. */
#include "tests/world/admin_rig.h"

#include "world/command/teleport.h"
#include "world/tick.h"

#include <criterion/criterion.h>
#include <string.h>

static void on_drain(void *arg)
{
    struct admin_rig *r = arg;

    r->drained = true;
}

void admin_rig_init(struct admin_rig *r, const struct watch_rules *maps)
{
    char why[256];

    *r = (struct admin_rig){0};
    edge_init(&r->edge, "0");
    memcpy(r->token.text, ADMIN_RIG_TOKEN, strlen(ADMIN_RIG_TOKEN));
    r->token.n = strlen(ADMIN_RIG_TOKEN);
    struct world_admin_view view = {
        .world = r->edge.world,
        .link = r->edge.link,
        .metrics = &r->edge.metrics,
        .tick_ns = &r->tick_ns,
        .token = &r->token,
        .maps = maps ? *maps : (struct watch_rules){.viewers = 2},
        .drain = on_drain,
        .drain_arg = r,
    };
    cr_assert_eq(
        world_admin_create(r->edge.loop, "127.0.0.1:0", &view, &r->admin, why, sizeof(why)), 0,
        "%s", why);
    r->gate = gate_up(&r->edge, "gate");
}

void admin_rig_fini(struct admin_rig *r)
{
    gate_destroy(r->gate);
    world_admin_destroy(r->admin);
    edge_fini(&r->edge);
}

static bool is_inside(const struct world *w, const char *name, struct session **s)
{
    struct session_ref ref;

    return sessions_by_name(&w->sessions, span_text(name), &ref) &&
           sessions_find(&w->sessions, ref, s) && (*s)->state == SESSION_INSIDE;
}

uint32_t admin_rig_join(struct admin_rig *r, const char *name, double x, double y)
{
    struct mono until = clock_add(clock_mono(), EDGE_PATIENCE_NS);
    struct world *w = r->edge.world;
    struct session *s;

    gate_enter(r->gate, ++r->sessions, name);
    while (!is_inside(w, name, &s)) { /* what the gate was told may be of those before */
        cr_assert_lt(clock_since(clock_mono(), until), 0, "%s does not come in", name);
        loop_turn(r->edge.loop, EDGE_TURN_NS);
    }
    cr_assert_eq(teleport_entity(w, s->entity, 0, x, y), 0);
    return w->entities.id[s->entity.slot];
}

void admin_rig_tick(struct admin_rig *r, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct mono now = clock_add(r->edge.world->now, r->edge.world->config.tick_ns);

        tick_run(r->edge.world, now);
        outbox_flush(&r->edge.world->outbox);
        world_admin_tick(r->admin, now, 1000);
        loop_turn(r->edge.loop, 0);
    }
}

const char *admin_rig_get(struct admin_rig *r, const char *path)
{
    char request[512];

    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    http_ask(r->edge.loop, world_admin_addr(r->admin), request, r->reply);
    return r->reply;
}

const char *admin_rig_post(struct admin_rig *r, const char *path, const char *token,
                           const char *body)
{
    char request[1024], field[128] = "";

    if (token)
        snprintf(field, sizeof(field), "Authorization: Bearer %s\r\n", token);
    snprintf(request, sizeof(request), "POST %s HTTP/1.1\r\n%sContent-Length: %zu\r\n\r\n%s", path,
             field, strlen(body), body);
    http_ask(r->edge.loop, world_admin_addr(r->admin), request, r->reply);
    return r->reply;
}

bool admin_rig_says(const struct admin_rig *r, const char *status, const char *text)
{
    return strncmp(r->reply + strlen("HTTP/1.1 "), status, strlen(status)) == 0 &&
           strstr(r->reply, text) != NULL;
}

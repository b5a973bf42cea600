/* tests/world/admin_rig.h: a world behind its edge with the operators' listener, and players by a
 * fake gateway. Ticks are run by hand. May touch: tests/world/edge_rig, world/edge/world_admin. On
 * trouble: the test fails.
 */
#pragma once

#include "tests/http_ask.h"
#include "tests/world/edge_rig.h"
#include "world/edge/world_admin.h"

#define ADMIN_RIG_TOKEN "0123456789abcdef"

struct admin_rig {
    struct edge edge;
    struct hist tick_ns;
    struct admin_token token;
    struct world_admin *admin;
    struct gate *gate;
    uint64_t sessions; /* number of the last one */
    bool drained;      /* a drain was asked for */
    char reply[HTTP_ASK_MAX];
};

/* With the token; `maps`: NULL: two live maps. */
void admin_rig_init(struct admin_rig *r, const struct watch_rules *maps);
void admin_rig_fini(struct admin_rig *r);
/* Somebody enters at (x, y) of the open ground; returns the id. */
uint32_t admin_rig_join(struct admin_rig *r, const char *name, double x, double y);
void admin_rig_tick(struct admin_rig *r, uint32_t n);
/* The answer, head and body; lives until the next one. `token` NULL: none is shown. */
const char *admin_rig_get(struct admin_rig *r, const char *path);
const char *admin_rig_post(struct admin_rig *r, const char *path, const char *token,
                           const char *body);
/* Has the answer this status, and this text somewhere? */
bool admin_rig_says(const struct admin_rig *r, const char *status, const char *text);

/* world/edge/world_admin_own.h: what the files of the operators' listener share.
 * For world_admin.c, admin_read.c, admin_act.c. May touch: what world_admin.h may.
 */
#pragma once

#include "common/io/http.h"
#include "world/edge/admin_ask.h"
#include "world/edge/world_admin.h"

struct world_admin {
    struct loop *loop;
    struct world_admin_view view;
    struct http *http;
    struct watch *watch;
    struct watch_stats stats;
    struct loop_timer *drain; /* armed: it begins soon */
};

/* `why`: static text, without quotes. Both return the status; a refused order is counted and
 * logged, a question is not. */
int world_admin_refuse(struct world_admin *a, const struct http_order *in, int status,
                       const char *why, FILE *to);
int world_admin_say_no(int status, const char *why, FILE *to);

/* Why the world stands still, where it does, so that nothing can be done to it; else NULL. */
const char *world_admin_still(const struct world_admin *a);

/* Whom an operator means. `entity`: a slot, or EXPLAIN_NOBODY; `session`: gen 0: none. False:
 * there is nobody of that id or name. An NPC's name means the one with the lowest id. */
struct world_admin_who {
    uint32_t entity;
    struct session_ref session;
};
bool world_admin_find(const struct world *w, const struct admin_ask_who *who,
                      struct world_admin_who *out) MUST_CHECK;

/* GET, in admin_read.c: world/edge/world_admin.h says what they answer. */
http_order_fn admin_read_world, admin_read_stats, admin_read_ground, admin_read_entities,
    admin_read_entity, admin_read_explain, admin_read_zones;

/* POST, in admin_act.c. */
http_order_fn admin_act_announce, admin_act_kick, admin_act_teleport, admin_act_drain,
    admin_act_log, admin_act_trace;

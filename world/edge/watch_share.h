/* world/edge/watch_share.h: one live map of all worlds of a cluster.
 * While somebody watches a scene here, the other worlds are told so once a second; whoever was told
 * sends what is its own of the scene with each frame that it makes, and a frame here has them all,
 * each entity once. Who says nothing for WATCH_SHARE_FRESH_NS is not shown any more, nor sent to.
 *
 *   watched here ─ watch ─► the others      asked for ─ ours as a frame, shown ─► who asked
 *   theirs, as frames ◄─ shown ─┘           (the copy of the same tick as for maps here)
 *
 * May touch: common, proto, the core's state and its door to the cluster. On trouble: where memory
 * has run out a world is not shown.
 */
#pragma once

#include "world/edge/watch_copy.h"
#include "world/world.h"

#define WATCH_SHARE_ASK_NS   CLOCK_NS_PER_S
#define WATCH_SHARE_FRESH_NS (3 * CLOCK_NS_PER_S)

struct cluster_message;
struct watch_share;

/* For a world of a cluster, which is borrowed. E_NOMEM. */
int watch_share_create(struct world *w, struct watch_share **out) MUST_CHECK;
void watch_share_destroy(struct watch_share *s); /* NULL is fine */

/* Another world says that it watches, or shows what it has; of a scene that there is. */
void watch_share_hear(struct watch_share *s, const struct cluster_message *m, struct mono now);
/* Somebody watches here. */
void watch_share_ask(struct watch_share *s, uint32_t scene, struct mono now);
/* Does another world watch it? */
bool watch_share_is_asked(const struct watch_share *s, uint32_t scene, struct mono now);
/* Send what is ours of a copy to those who do. */
void watch_share_show(struct watch_share *s, uint32_t scene, const struct watch_copy *c,
                      struct mono now);
/* The others' come into the copy: ghosts as their owners have them, the rest behind. */
void watch_share_add(struct watch_share *s, uint32_t scene, struct watch_copy *c, struct mono now);

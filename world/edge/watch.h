/* world/edge/watch.h: live maps: who watches a scene, and what they are sent.
 * At a tick's end, at most -map-rate times a second and only while somebody watches, each watched
 * scene is copied (world/edge/watch_copy); the copy is written out once a scene and sent to all who
 * watch it in the turns after the tick, a few at a time. Whoever has not taken the frame before is
 * passed over, so a slow map holds one frame and delays nobody; one that takes nothing for
 * WATCH_STALL_NS is ended. Once a second each gets the numbers of world/edge/watch_stats too.
 * In a cluster a map shows the entities of all worlds (world/edge/watch_share).
 * May touch: common, common/io, the core's state.
 * On trouble: past -map-viewers a map is refused; where memory has run out it misses frames, and
 * comes again.
 *
 *   tick ─► copies ─► text, once a scene ─► feeds, WATCH_BATCH a turn ─► maps
 *             one frame each, no queue          one frame each at most
 *
 *   events   "f": a frame as base64; "s": numbers as JSON
 */
#pragma once

#include "common/io/http.h"
#include "world/edge/edge_metrics.h"
#include "world/edge/watch_stats.h"

#define WATCH_RATE     10                    /* frames a second, where it is not said */
#define WATCH_VIEWERS  64                    /* maps at most, by default */
#define WATCH_BATCH    4                     /* maps that are sent to in one turn */
#define WATCH_GAP_NS   (CLOCK_NS_PER_MS / 2) /* from one such turn to the next */
#define WATCH_STALL_NS (20 * CLOCK_NS_PER_S)

struct watch;

struct watch_rules {
    uint32_t rate;    /* frames a second; 0: WATCH_RATE */
    uint32_t viewers; /* maps at most */
    int64_t stall_ns; /* 0: WATCH_STALL_NS */
};

/* Borrows all but `out` and the rules. E_NOMEM. */
int watch_create(struct loop *l, struct world *w, const struct watch_stats *stats,
                 struct edge_metrics *metrics, const struct watch_rules *rules,
                 struct watch **out) MUST_CHECK;
/* Feeds are left alone: their server ends them. NULL is fine. */
void watch_destroy(struct watch *k);

/* A map of this scene opens. 0, E_FULL or E_NOMEM. */
int watch_open(struct watch *k, struct http_feed *f, uint32_t scene) MUST_CHECK;
/* It is gone. */
void watch_closed(struct watch *k, struct http_feed *f);
/* A tick has ended. */
void watch_tick(struct watch *k, struct mono now);

/* world/interest/notice.h: one body to many at once, beside the tick's batches.
 * To everyone who knows somebody, to all in a cell or a zone of a scene, to a scene, to everybody.
 * The body is made once; each link gets it with a list of its receivers, once for LINK_MANY_MAX of
 * them. Who is told depends on the inputs alone, and so does the order.
 * Pure. May touch: common, proto, world. On trouble: nothing can be full; a link that takes no more
 * is the outbox's.
 *
 *   say        ─► who knows the speaker ─┐
 *   cell, zone ─► who stands there ──────┼─► receivers by link ─► outbox: data many
 *   everybody  ─► each link's sessions ──┘
 *
 * Cost: who knows somebody, the candidates of the speaker's block; cell, zone and scene, one look
 * at the place of each who is in the world; everybody, one look at each session.
 */
#pragma once

#include "world/world.h"

enum notice_reach {
    NOTICE_EVERYBODY, /* all who are logged in, in the world or not */
    NOTICE_SCENE,
    NOTICE_ZONE, /* a rectangle of the scene, its edges included */
    NOTICE_CELL  /* a cell of the grid, which is one scene's */
};

struct notice_area {
    enum notice_reach reach;
    uint32_t scene; /* SCENE, ZONE: its number */
    double rect[4]; /* ZONE: x0, y0, x1, y1, units; x0 <= x1, y0 <= y1 */
    uint32_t cell;  /* CELL */
};

/* A SayNotify's bytes at most. */
#define NOTICE_TEXT_MAX (PROTO_SAY_MAX + 64)

/* SayNotify of an entity, or of nobody (id 0: the operator). The text is 1 to PROTO_SAY_MAX bytes;
 * the body lies in `out`. */
struct span notice_text(uint8_t out[NOTICE_TEXT_MAX], uint32_t id, struct span text);

/* Tell all in the area. Returns how many sessions. Outside a tick. */
uint32_t notice_tell(struct world *w, const struct notice_area *to, struct span body);
/* Tell all who know the entity in this slot, as of the last tick. Returns how many sessions.
 * Outside a tick. */
uint32_t notice_tell_knowing(struct world *w, uint32_t slot, struct span body);
/* How many know it, as of the last tick. Outside a tick. */
uint32_t notice_count_knowing(struct world *w, uint32_t slot);

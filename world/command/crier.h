/* world/command/crier.h: an operator's words, to players of this world and of all others.
 * Told here at once, and to the other worlds of a cluster, each of which tells its own: nobody
 * hears it twice, since who sees a ghost is told by the world he is in.
 * May touch: the whole core, proto. On trouble: a world that a message does not reach tells nobody.
 */
#pragma once

#include "world/interest/notice.h"

struct cluster_message;

struct crier_area {
    enum notice_reach reach;
    uint32_t scene;  /* of all but EVERYBODY */
    double place[4]; /* ZONE: x0, y0, x1, y1; CELL: a place in it, x, y, twice; units */
};

/* Returns how many sessions of this world were told. */
uint32_t crier_announce(struct world *w, const struct crier_area *area, struct span text,
                        struct mono now);
/* Another world's operator. 0; E_BAD: there is no such scene. */
int crier_heard(struct world *w, const struct cluster_message *m, struct mono now) MUST_CHECK;

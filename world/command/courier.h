/* world/command/courier.h: what other worlds of the cluster bring, and who owns which zone.
 * Beside inbox the second way into the core: the edge hands messages over as they come, and says
 * whenever a zone has another owner. Without a cluster none of it is called, but for ids, which
 * then are the pool's alone. May touch: the whole core, proto.
 */
#pragma once

#include "world/world.h"

/* Between two ticks: a message that another world sent, published or told. 0; E_BAD: it is none
 * (counted). */
int courier_message(struct world *w, struct span message, struct mono now) MUST_CHECK;
/* Between two ticks: the zone is the world's of this id from now on, under this epoch; an empty id:
 * nobody's. Who is ours and stands in it stays ours, and goes to its owner by the ordinary
 * hand-over; while one of ours is nobody's, nothing changes. */
void courier_zone(struct world *w, uint32_t zone, struct span world, uint64_t epoch,
                  struct mono now);

/* Between two ticks, before courier_zone: who had it is dead, and nobody acts any more for whom it
 * told of. */
void courier_zone_dead(struct world *w, uint32_t zone);

/* What became of a name. */
enum courier_name_word {
    COURIER_NAME_HELD,      /* it is ours, under `token` */
    COURIER_NAME_ELSEWHERE, /* of a claim: `holder` has it, and lives */
    COURIER_NAME_GONE,      /* it is not to be had, or not ours any more */
    COURIER_NAME_FREE       /* of a release: it is nobody's */
};
struct courier_name {
    uint32_t place;
    enum courier_name_word word;
    uint64_t generation, token; /* HELD */
    struct span holder;         /* ELSEWHERE: a world's id */
};
/* Between two ticks: the answer to what was asked of a name. */
void courier_name(struct world *w, const struct courier_name *n, struct mono now);
/* Between two ticks: can keys be asked for at present? While not, hand-overs do not begin. */
void courier_keys(struct world *w, bool there);
/* Between two ticks: nothing that we held is ours any more. All entities go, and are not saved,
 * since others may have them by now; who has a name is to be bound elsewhere. `ids`: those that we
 * were fed are void too. */
void courier_term_ended(struct world *w, bool ids, struct mono now);

/* The entity of this id has ended; whoever gave the id lets it rest. */
void courier_id_end(struct world *w, uint32_t id, struct mono now);
/* Nobody was ever seen under it. */
void courier_id_return(struct world *w, uint32_t id);

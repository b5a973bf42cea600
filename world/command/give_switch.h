/* world/command/give_switch.h: the moment of going, and after; for give's own files.
 * May touch: what give.h may.
 */
#pragma once

#include "world/cluster/handover.h"

/* Say `prepare`. */
void give_ask(struct world *w, struct gift *g, struct mono now);
/* All that goes with it, as it is now; spans lie in the world. False: it is not there any more. */
bool give_compose(struct world *w, struct gift *g, struct mono now, struct cluster_soul *soul);
/* It is not ours from now on, and the other world's when it hears of it. In a tick. */
void give_switch(struct world *w, struct gift *g, struct mono now);
void give_say_switch(struct world *w, struct gift *g, struct mono now);
/* The ghost that ours became waits for its new zone, however long that takes. */
void give_keep_ghost(struct world *w, const struct gift *g);
/* The other world has it. */
void give_taken(struct world *w, struct gift *g, struct mono now);
/* It is to be ours again, if the other world has not taken it meanwhile: its name's key decides. */
void give_recall(struct world *w, struct gift *g, struct mono now);
/* It never was the other world's, and is ours again. */
void give_back(struct world *w, struct gift *g, struct mono now);
/* Say the next of what is late, or that there is no more. */
void give_forward(struct world *w, struct gift *g, struct mono now);
/* All up to this number was taken. */
void give_forwarded(struct world *w, struct gift *g, uint32_t number, struct mono now);
/* Nothing is left to do. */
void give_done(struct world *w, struct gift *g);

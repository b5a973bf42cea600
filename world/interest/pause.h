/* world/interest/pause.h: viewers whose clients do not drain.
 * While a viewer is paused it is told nothing and its known list stays as it is. What it was last
 * told of each is kept from the pause on, so that the first batch afterwards makes its knowledge
 * exact: gone, new, and a record for just those that are another on the wire.
 * Pure. May touch: world. On trouble: no room to keep it is E_FULL; the session has to go.
 */
#pragma once

#include "world/world.h"

/* What one viewer was told of one entity, in three words of the block: key, place, turn. */
#define PAUSE_WORDS 3

/* Its client does not drain. Again is fine. 0, or E_FULL (nothing changed). */
int pause_begin(struct world *w, struct session *s) MUST_CHECK;
/* A session that may be paused has entered the world. */
void pause_enter(struct world *w, const struct session *s);
/* It drains: the next tick's batch is exact. */
void pause_end(struct world *w, struct session *s);
/* The viewer is no more, or is exact again. */
void pause_forget(struct world *w, uint32_t viewer);

/* Was it paused, and is this the tick that makes it exact? (Its session is not paused.) */
bool pause_resuming(const struct world *w, uint32_t viewer);
/* After its sight was looked at: whoever it will be told of by remove and add is told to everybody
 * in this tick, so that all know the same. */
void pause_look(struct world *w, uint32_t viewer);

/* A viewer that another world told of so many: `words` [n * PAUSE_WORDS], ascending by key, whose
 * slots are those of here, or of nobody where there is none of that id. It is a viewer from now on,
 * and the next tick's batch makes it exact. It was none before. 0, or E_FULL (nothing changed). */
int pause_know(struct world *w, uint32_t viewer, const uint64_t *words, uint32_t n) MUST_CHECK;
/* The words of what the viewer was told, as of the last tick, paused or not: out [most *
 * PAUSE_WORDS]; of those who ended since only the id counts. Returns how many there are; above
 * `most` nothing is written. */
uint32_t pause_told(struct world *w, uint32_t viewer, uint64_t *out, uint32_t most);
struct entity_wire pause_wire(const uint64_t *words);
/* Lays three words; returns where the next ones go. `gen`: of the key's slot, 0: of nobody. */
uint64_t *pause_words(uint64_t *out, uint64_t key, const struct entity_wire *wire, uint32_t gen);

/* Walks what was kept; to be asked in ascending order of keys. */
struct pause_cursor {
    const uint64_t *words; /* [n * PAUSE_WORDS] */
    uint32_t n, at;
    struct entity_wire told; /* what the last one asked for was told as */
};
void pause_cursor_start(struct pause_cursor *c, const struct world *w, uint32_t viewer);
/* EVENT_TELL_* bits between what it was told and what the others were told last. The key was known
 * when the pause began (asserted). */
uint8_t pause_changes(struct pause_cursor *c, const struct world *w, uint64_t key);

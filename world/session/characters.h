/* world/session/characters.h: what is known of characters beside their entities.
 * By session: where its character was last, and the question to the store that is still open. By
 * entity: what was last saved of it. And a queue of those that left while the store took nothing.
 * Pure. May touch: common, world/store, world/ids. On trouble: a queue that is full is E_FULL.
 */
#pragma once

#include "common/clock.h"
#include "common/slots.h"
#include "world/store.h"

struct world;

/* The store has answered: err 0, or a PE_* with which what waits is refused. */
typedef void character_fn(struct world *w, struct session_ref who, int err, struct mono now);

/* A session's. */
struct character {
    bool known;          /* where it was last: `last` of its slot counts */
    character_fn *then;  /* waits for the store; NULL: nothing does */
    uint32_t number;     /* of the last question */
    uint32_t seq;        /* of the request that waits */
    struct mono since;   /* of waiting, for its turn or for the store */
    uint32_t prev, next; /* among those that wait for the same; SLOTS_NONE: none */
};

/* What was last saved of an entity. */
struct character_saved {
    uint32_t id;    /* of the entity; another or 0: nothing was */
    uint32_t scene; /* number */
    double x, y, dir;
};

/* Sessions that wait, those who came first in front. */
struct character_line {
    uint32_t first, last, count;
};

struct characters {
    struct character *list;        /* [sessions] by slot */
    struct store_character *last;  /* [sessions] by slot; touched where something is kept */
    struct character_saved *saved; /* [entities] by slot */
    struct store_character *left;  /* [left_cap] ring */
    uint32_t left_cap, left_head, left_count;
    struct character_line asked; /* wait for the store */
    struct character_line turn;  /* wait for their turn to log in */
    uint32_t sweep_phase;        /* the sweep over entities: every so many-th slot from here … */
    uint32_t sweep_slot;         /* … and where it stands */
    struct mono sweep_next;      /* when its next phase is due */
    uint32_t finish_at;          /* where handing all over before the end stands */
};

/* For so many sessions and entity slots; `left` may leave before the store takes one. E_NOMEM. */
int characters_init(struct characters *c, uint32_t sessions, uint32_t entities,
                    uint32_t left) MUST_CHECK;
void characters_fini(struct characters *c);

/* A session's, as new. It must not be in a line. */
void characters_begin(struct characters *c, uint32_t slot);
void characters_line_add(struct characters *c, struct character_line *line, uint32_t slot,
                         struct mono now);
/* In front of all; how long it waits already stays as it is. */
void characters_line_front(struct characters *c, struct character_line *line, uint32_t slot);
void characters_line_remove(struct characters *c, struct character_line *line, uint32_t slot);

/* One that left, for later. */
int characters_left_add(struct characters *c, const struct store_character *x) MUST_CHECK;
/* The one that left first; NULL: none. Lives until it is dropped. */
const struct store_character *characters_left_first(const struct characters *c);
void characters_left_drop(struct characters *c);

/* world/interest/sight_few.h: what sight by movers finds in a tick, and keeps until it is told.
 * For sight_few.c, which finds, and sight_few_tell.c, which tells.
 *
 *   subjects, last id first ─► cells around ─► runs, chained by word   (stay: bits of viewers)
 *                                          └─► entries, chained by seat (gone and new)
 *
 * A word is up to 64 seats of one cell. Its chain lists who stays in sight of some of them,
 * ascending by id, each with the bits of those who see it; so viewers who are told of the same
 * movers fall out as bits. May touch: what sight.h may.
 */
#pragma once

#include "world/interest/sight.h"

#define FEW_JUMPERS_MAX 32

/* A subject stays in sight of some of a word's seats. */
struct few_run {
    uint64_t stay;    /* bits */
    uint32_t next;    /* of the same word, index + 1; 0: none */
    uint32_t word;    /* index in `words` */
    uint32_t first;   /* seat of bit 0 */
    uint32_t subject; /* slot */
};

/* A word of whose seats something was found, in the order in which that was. */
struct few_word {
    uint64_t changed; /* seats of viewers for whom somebody is gone or new */
    uint64_t told;    /* while telling: seats that are done */
    uint32_t head;    /* its last run, index + 1; 0: none */
    uint32_t number;
};

enum few_kind { FEW_GONE, FEW_NEW };

/* A viewer learns that a subject is gone or new. */
struct few_entry {
    uint32_t next; /* of the same viewer, index + 1; 0: none */
    uint32_t seat; /* the viewer's place in the cells' pool */
    uint32_t word; /* that seat's: index in `words` */
    uint32_t subject;
    enum few_kind kind;
};

/* Viewers who are told of the same movers. */
#define FEW_GROUPS       16   /* of one mover at a time */
#define FEW_GROUP_MAX    512  /* viewers in one */
#define FEW_GROUP_MOVERS 1024 /* movers of all groups of one mover together */
struct few_group {
    uint32_t first, n_movers; /* in `sets` */
    uint32_t n;
    uint32_t viewers[FEW_GROUP_MAX]; /* slots */
};

struct sight_few {
    struct few_run *runs; /* [runs_cap] */
    uint32_t n_runs, runs_cap;
    struct few_word *words; /* [runs_cap + entries_cap] */
    uint32_t *word_at;      /* by number: index in `words` + 1; 0: none */
    uint32_t n_words;
    struct few_entry *entries; /* [entries_cap] */
    uint32_t n_entries, entries_cap;
    bool full;

    uint32_t *head; /* [seats] by viewer's seat: its last entry, index + 1; 0: none */
    uint32_t *rest; /* [slots] seats of viewers who have an entry */
    uint32_t n_rest;
    uint64_t *subjects, *spare; /* [slots] keys */
    uint32_t *stays;            /* [slots] of one viewer */
    uint64_t *gone, *added;     /* [slots] of one viewer */
    uint32_t jumpers[FEW_JUMPERS_MAX];
    uint32_t n_jumpers;
    uint64_t in_now[SIGHT_CELL_WORDS], in_old[SIGHT_CELL_WORDS];
    uint8_t doubtful[SIGHT_CELL_WORDS];

    struct few_group groups[FEW_GROUPS];
    uint32_t n_groups;
    uint32_t sets[FEW_GROUP_MOVERS];
    uint32_t n_sets;
};

/* Words are numbered by their cell's first seat, which is a multiple of MASK_BATCH. */
static inline uint32_t few_word_number(uint32_t cell_first, uint32_t word)
{
    return cell_first / MASK_BATCH + word;
}

/* Nothing is kept any more. */
void sight_few_clear(struct sight_few *f);

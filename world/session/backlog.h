/* world/session/backlog.h: requests that wait until their session is answered.
 * A session that is held (for its turn to log in, for the store) keeps what it sends here, in
 * order. Bodies lie in chains of small blocks of one pool; each session has a bound of its own, so
 * that one cannot take the pool. Pure. May touch: common. On trouble: full is E_FULL.
 */
#pragma once

#include "common/span.h"

#define BACKLOG_BLOCK      120        /* bytes of bodies in a block */
#define BACKLOG_BYTES      (16 << 20) /* of all sessions, touched as they are used */
#define BACKLOG_OWN_BODIES 32         /* of one session */
#define BACKLOG_OWN_BYTES  16384      /* of one session; a single body may be larger */
#define BACKLOG_BODY_MAX   16384      /* bytes of a body */
#define BACKLOG_FAR_BODIES 256        /* of one that is handed to another world */
#define BACKLOG_FAR_BYTES  65536

struct backlog_block {
    uint32_t next; /* of the session, or of the free ones */
    uint32_t used; /* bytes */
    uint8_t bytes[BACKLOG_BLOCK];
};

/* One session's. */
struct backlog_chain {
    uint32_t first, last; /* blocks; counted from 1, so that zero is empty */
    uint32_t read;        /* bytes of the first block that were taken */
    uint32_t bodies, bytes;
};

struct backlog {
    struct backlog_block *blocks; /* [cap] */
    struct backlog_chain *chains; /* [sessions] by slot */
    uint32_t cap, fresh, free;    /* free: first free block, counted from 1; 0: none */
    uint32_t used;                /* blocks in chains */
    uint32_t bodies;              /* of all */
    uint8_t *body;                /* [BACKLOG_BODY_MAX] the one that was looked at */
};

/* E_NOMEM. */
int backlog_init(struct backlog *b, uint32_t sessions) MUST_CHECK;
void backlog_fini(struct backlog *b);
/* Copy a body to the end of a session's. 0, or E_FULL: nothing changed. */
int backlog_add(struct backlog *b, uint32_t slot, struct span body) MUST_CHECK;
/* The same for one that is handed to another world, which has more room. */
int backlog_add_far(struct backlog *b, uint32_t slot, struct span body) MUST_CHECK;
/* What waits at `from` waits at `to` from now on, before what waits there, of which nothing was
 * taken yet. */
void backlog_move(struct backlog *b, uint32_t to, uint32_t from);
/* The first one, without taking it; false: there is none. Lives until the next look at any. */
bool backlog_peek(struct backlog *b, uint32_t slot, struct span *body);
/* Take the first away; there must be one. */
void backlog_drop(struct backlog *b, uint32_t slot);
/* Forget all of a session's. */
void backlog_clear(struct backlog *b, uint32_t slot);

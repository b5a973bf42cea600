/* world/cluster/names.h: a name lives once in the cluster: which of them are this world's.
 *
 *   none ─ claim ─► asking ─ nobody's, or its holder's epoch is over ─► held ─ release ─► none
 *                      └──── another's, whose epoch goes on ──────────► elsewhere
 *   hand-over:  none ─ take at r ─► taking ──────────────────────────► held, or gone
 *               held ─ take back ─► taking (at its own revision)
 *
 * A name's key holds its world and epoch. Its revision is the token of who holds it: it grows with
 * each change of holder, goes with every save, and is what hand-over passes on, so that the key
 * decides between who gives and who takes (tests/model/handover.pml). Where it is not known whether
 * a write was done, the key is read: unchanged, it is written again at the same revision, and then
 * the first one can no more be done.
 * Pure. May touch: common, world/cluster. On trouble: past `cap` places is the caller's bug.
 */
#pragma once

#include "world/cluster/generation.h"
#include "world/cluster/lease.h"

enum name_state {
    NAME_NONE,
    NAME_ASKING,
    NAME_CHECKING, /* claimed; counts when the generation was read again */
    NAME_TAKING,
    NAME_HELD,
    NAME_RELEASING,
    NAME_ELSEWHERE, /* `cell.value.world` holds it */
    NAME_GONE       /* it was ours, or offered to us, and is not to be had */
};

struct name {
    struct kv_cell cell; /* of HELD its revision is the token */
    enum name_state state;
    bool listed;       /* in `work` */
    bool changed;      /* in `news` */
    struct mono since; /* CHECKING: when it was claimed */
    uint64_t from;     /* TAKING: the revision it is taken from */
};

struct names {
    struct name *names; /* [cap], owned; by the caller's numbers */
    uint32_t cap;
    uint32_t fresh; /* places from here on were never used */
    uint32_t *work; /* [cap] those that have something to ask */
    uint32_t n_work;
    uint32_t *news; /* [cap] ring of those whose state changed */
    uint32_t news_head, n_news;
    uint64_t generation;
};

int names_init(struct names *n, uint32_t cap) MUST_CHECK; /* E_NOMEM */
void names_fini(struct names *n);
/* Nothing is held any more: another generation, or our epoch ended. */
void names_lose(struct names *n, uint64_t generation);

/* A login: the place is free (NONE, ELSEWHERE or GONE). */
void names_claim(struct names *n, uint32_t at, struct span name);
/* A hand-over: from the revision that the other world held it at. */
void names_take(struct names *n, uint32_t at, struct span name, uint64_t revision);
/* It was offered to another, who does not answer. */
void names_take_back(struct names *n, uint32_t at);
/* Its last save is stored. */
void names_release(struct names *n, uint32_t at);
/* It is another's now, as that one says. */
void names_forget(struct names *n, uint32_t at);

void names_turn(struct names *n, const struct lease *l, struct generation *g, struct kv_queue *q,
                struct mono now);
void names_result(struct names *n, const struct lease *l, const struct kv_result *r,
                  struct mono now);
/* Whose state changed, oldest first; false: no more. */
bool names_next(struct names *n, uint32_t *at);

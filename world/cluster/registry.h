/* world/cluster/registry.h: names that this world holds in its cluster, asks for, or gives away.
 * A name has a place from the asking on until it is given up. Who has it is a session, or a gift or
 * a guest of world/cluster/handover, or nobody any more:
 *
 *   CLAIMS ─► HELD ─► SETTLES ─► RELEASES ─► free        a login, and its end
 *     ▲ │      │ ▲
 *     │ ▼      │ └── TAKES          a guest, from the world that gives it
 *   SEEKS      ▼
 *  (another   GIVEN ─► free         a gift that was taken
 *   has it)     └────► BACK ─► HELD, or free
 *
 * The token of one that is held is the revision of its key (world/cluster/names); it goes with each
 * save. This file keeps the list; world/command/naming says what becomes of it.
 * Pure. May touch: common, proto, world/ids. On trouble: full is E_FULL.
 */
#pragma once

#include "common/clock.h"
#include "common/slots.h"
#include "common/table.h"
#include "proto/cluster.h"
#include "world/ids.h"

#define REGISTRY_NONE UINT32_MAX

enum registry_state {
    REGISTRY_FREE,
    REGISTRY_CLAIMS,
    REGISTRY_SEEKS,
    REGISTRY_HELD,
    REGISTRY_TAKES,
    REGISTRY_GIVEN,
    REGISTRY_BACK,
    REGISTRY_SETTLES,
    REGISTRY_RELEASES
};

struct registry_name {
    enum registry_state state;
    uint8_t name_len; /* bytes */
    char name[PROTO_NAME_MAX];
    uint64_t token;         /* where it is held */
    struct session_ref who; /* gen 0: nobody, a gift or a guest */
    bool again;             /* RELEASES: `who` wants it anew */
    bool asked;             /* SETTLES: the store was asked */
    bool loads;             /* HELD: the store is to be asked for its character */
    bool listed;            /* in `work` */
    uint32_t number;        /* of the question to the store, or to another world */
    struct mono said;       /* SEEKS: when its holder was asked, last */
    enum cluster_want want; /* CLAIMS, SEEKS: what for */
};

struct registry {
    struct slots slots;
    struct registry_name *list; /* [slots.cap] */
    struct table by_name;
    uint32_t *of;   /* [sessions] place of a session's name; REGISTRY_NONE */
    uint32_t *work; /* [slots.cap] places that are looked at each tick */
    uint32_t n_work;
    uint32_t questions;  /* the number of the last */
    uint64_t generation; /* of the tokens */
};

/* For `cap` names and so many sessions; `seed` keys the table. E_NOMEM. */
int registry_create(uint32_t cap, uint32_t sessions, uint64_t seed,
                    struct registry **out) MUST_CHECK;
void registry_destroy(struct registry *r); /* NULL is fine */

/* A place for a name that has none. E_FULL. */
int registry_add(struct registry *r, struct span name, uint32_t *place) MUST_CHECK;
void registry_remove(struct registry *r, uint32_t place);
/* REGISTRY_NONE: it has none. */
uint32_t registry_find(const struct registry *r, struct span name);
/* It is looked at each tick from now on, until its state wants nothing. */
void registry_work(struct registry *r, uint32_t place);
/* All are free. */
void registry_clear(struct registry *r);

static inline struct span registry_text(const struct registry_name *n)
{
    return span_of(n->name, n->name_len);
}

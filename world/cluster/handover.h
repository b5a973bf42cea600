/* world/cluster/handover.h: who is on the way from one world to another.
 * A gift is one that we hand over, a guest one that is handed to us. Both are told apart by the
 * entity's id and the count of its hand-overs, so every message may come twice, late, or after
 * its time:
 *
 *        giver (world/command/give)                    host (world/command/receive)
 *   ASKED  prepare ───────────────────────────────────►  guest ASKED
 *   READY          ◄─────────────────────────── accept
 *   GIVEN  switch  ───────────────────────────────────►  guest TAKES: it asks for the name's key
 *          (ours is a ghost now; requests are kept)      guest HERE: it has it, and is the owner
 *   TAKEN          ◄────────────────────────── confirm
 *          redirect to the gateway; late, late, late end ─►  before the client's own
 *
 * Before `switch` the giver is the owner, from the name's key on the host; between the two it
 * stands still. Where the host refuses, has lost the zone, or says nothing for long, the giver asks
 * for the key again (BACK), so that the key decides between the two. This file holds the two lists,
 * and what they keep: what a client was told, and in two chains of the backlog what it asked. Pure.
 * May touch: common, proto, world. On trouble: full lists are E_FULL.
 */
#pragma once

#include "world/cluster/realm.h"
#include "world/interest/pause.h"

#define HANDOVER_MAX    1024 /* gifts, and guests */
#define HANDOVER_CHAINS (2 * HANDOVER_MAX)
#define HANDOVER_PAIRS  (1u << 20) /* words of what clients were told */

#define HANDOVER_SAY_NS    (200 * CLOCK_NS_PER_MS) /* from one saying to the next, unanswered */
#define HANDOVER_WAIT_NS   (3 * CLOCK_NS_PER_S)    /* for an accept, a confirm, an attach, an end */
#define HANDOVER_REFUSE_NS CLOCK_NS_PER_S          /* from a refusal to the next try */
#define HANDOVER_TAKEN_NS  (10 * CLOCK_NS_PER_S)   /* for the last of what was late to be taken */

enum gift_state { GIFT_ASKED, GIFT_READY, GIFT_REFUSED, GIFT_GIVEN, GIFT_BACK, GIFT_TAKEN };

struct gift {
    enum gift_state state;
    uint32_t id, count;
    uint32_t world, zone; /* to whom */
    uint64_t epoch;
    struct entity_ref entity;   /* before GIVEN; gen 0: not inside */
    struct session_ref session; /* not inside, or held, or GIVEN with a client; gen 0: none */
    bool held;                  /* the first request of its session is for the other world */
    bool put;                   /* it is put to `scene`, x, y, and its client starts afresh */
    bool enters;                /* not inside: it enters there unasked */
    uint32_t scene;
    double x, y;
    struct mono since, said; /* of the state; of the last message */
    /* From GIVEN on. */
    uint32_t name_at;         /* place of its name in the registry; REALM_NONE: not ours any more */
    struct cluster_soul soul; /* its spans lie below; `told` is made when it is sent */
    char name[PROTO_NAME_MAX];
    uint8_t key[CLUSTER_KEY];
    uint32_t late; /* number of the next that is to be taken */
    bool left;     /* nothing more will be asked */
    bool cut;      /* something asked was lost */
};

enum guest_state { GUEST_ASKED, GUEST_TAKES, GUEST_HERE };

struct guest {
    enum guest_state state;
    uint32_t id, count;
    uint32_t world; /* from whom */
    struct mono since;
    /* From TAKES on. */
    uint32_t name_at;         /* place of its name; REALM_NONE: a session has it */
    struct cluster_soul soul; /* its spans lie below; no `told` */
    char name[PROTO_NAME_MAX];
    uint8_t key[CLUSTER_KEY];
    struct session_ref waiting; /* inside: has its entity */
    struct session_ref client;  /* attached; gen 0: not yet */
    bool taken;                 /* the client has all that `waiting` had */
    uint32_t late;              /* so many were taken */
    bool ended;                 /* all that is late is here */
    bool cut;
    struct mono attached; /* or when the last that is late came */
};

struct handover {
    struct slots gift_slots, guest_slots;
    struct gift *gifts;   /* [HANDOVER_MAX] */
    struct guest *guests; /* [HANDOVER_MAX] */
    struct known told;    /* words of what clients were told: of gifts, then of guests */
    uint32_t chain;       /* of the backlog: of the first gift; guests come behind the gifts */
    bool more;            /* others were to go when all gifts were under way */
};

/* `chain`: the first of HANDOVER_CHAINS that are its own. E_NOMEM. */
int handover_create(uint32_t chain, struct handover **out) MUST_CHECK;
void handover_destroy(struct handover *h);

/* A new one, all zero but for id, count and since. E_FULL. */
int handover_gift_new(struct handover *h, uint32_t id, uint32_t count, struct mono now,
                      struct gift **out) MUST_CHECK;
int handover_guest_new(struct handover *h, uint32_t id, uint32_t count, struct mono now,
                       struct guest **out) MUST_CHECK;
/* The one of this id; NULL: there is none. */
struct gift *handover_gift(const struct handover *h, uint32_t id);
struct guest *handover_guest(const struct handover *h, uint32_t id);
/* Its words go too; its chain must be empty. */
void handover_gift_drop(struct handover *h, struct gift *g);
void handover_guest_drop(struct handover *h, struct guest *g);
/* The next one from index `*at` on; NULL: no more. */
struct gift *handover_gift_next(const struct handover *h, uint32_t *at);
struct guest *handover_guest_next(const struct handover *h, uint32_t *at);

static inline uint32_t handover_gift_index(const struct handover *h, const struct gift *g)
{
    return (uint32_t)(g - h->gifts);
}

static inline uint32_t handover_guest_index(const struct handover *h, const struct guest *g)
{
    return HANDOVER_MAX + (uint32_t)(g - h->guests);
}

/* Copy a soul with its name and key, which then lie in these. */
void handover_keep_soul(struct cluster_soul *to, const struct cluster_soul *from,
                        char name[PROTO_NAME_MAX], uint8_t key[CLUSTER_KEY]);
/* What the viewer was told, to be sent: kept under the index. E_FULL: there is no room. */
int handover_told_keep(struct world *w, uint32_t index, uint32_t viewer) MUST_CHECK;
/* The same as records, in the scratch. */
struct span handover_told_records(struct world *w, uint32_t index);
/* Keep records as they came. E_FULL. */
int handover_told_take(struct handover *h, uint32_t index, struct span records) MUST_CHECK;
/* One that is blind becomes a viewer that knows what is kept. E_FULL: nothing changed. */
int handover_told_know(struct world *w, uint32_t index, uint32_t viewer) MUST_CHECK;

/* Say something of a name to a world: seek, found. */
void handover_tell_of_name(struct world *w, struct span world, struct cluster_message *m);
/* Say something of an entity to a world. `m` has kind, and what stands behind the count. */
void handover_say(struct world *w, uint32_t world, uint32_t id, uint32_t count,
                  struct cluster_message *m);

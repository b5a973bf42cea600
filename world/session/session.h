/* world/session/session.h: who speaks: sessions, the links they came by, and names.
 * A session is opened by a gateway under an id of the gateway's own, and ends with its close, its
 * link, or by us; one whose entity is in the world may wait without a link (world/session/resume).
 * Pure. May touch: common, proto/limits, world/ids.
 * On trouble: full is E_FULL; an id that is open already is E_BAD; unknown is a normal answer.
 */
#pragma once

#include "common/clock.h"
#include "common/log.h"
#include "common/slots.h"
#include "common/span.h"
#include "common/table.h"
#include "proto/limits.h"
#include "world/ids.h"

#define SESSION_LINKS_MAX 256 /* gateways at one world */
#define SESSION_KEY_BYTES 16  /* of the key that gives a session back */

enum session_state {
    SESSION_NEW,    /* not logged in */
    SESSION_LOGGED, /* logged in, not in the world */
    SESSION_INSIDE, /* in the world */
    SESSION_WAITING /* its connection was lost; its entity stands in the world. Has no link */
};

/* What a session waits for; meanwhile its requests wait too (world/session/backlog). */
enum session_hold {
    SESSION_FREE,
    SESSION_WAITS,  /* for its turn to log in */
    SESSION_ASKED,  /* for the store's answer */
    SESSION_MOVES,  /* for another world, which is to answer what it asks */
    SESSION_HANDED, /* for its gateway to leave: another world has it */
    SESSION_LATE    /* for what it asked another world, which comes first */
};

struct session {
    struct link_ref link;
    uint64_t sid; /* the gateway's id for it */
    enum session_state state;
    struct entity_ref entity; /* where INSIDE or WAITING */
    uint32_t next_id;         /* id kept for the first EnterReq; 0: none */
    uint32_t auth_failures;
    uint32_t requests; /* in tick `requests_tick` */
    uint32_t requests_tick;
    enum session_hold hold;
    uint32_t gift;     /* where MOVES or HANDED: of world/cluster/handover */
    bool admitted;     /* its turn to log in has come */
    bool congested;    /* its client does not drain */
    bool paused;       /* batches wait: for its client, or for its whole link */
    bool drain_well;   /* its client's queue is empty again: `drain` grows */
    bool drain_listed; /* among those whose clients are slow */
    uint32_t drain;    /* bytes a second that its client takes; 0: all (world/interest/drain) */
    uint8_t name_len;  /* 0: none */
    char name[PROTO_NAME_MAX];
    bool has_key;
    bool bound_key, bound_inside;   /* bound, and asked of the store: it will have the key, enter */
    uint8_t key[SESSION_KEY_BYTES]; /* where has_key; a secret */
    struct mono until;              /* where WAITING */
    struct mono shout_paid;         /* see world/command/shout */
    char peer[48];                  /* address for the log, NUL-terminated, cut to fit */
    uint32_t prev, next; /* among its link's, or the waiting, sessions; SLOTS_NONE: none */
};

struct session_link {
    char id[LINK_ID_MAX + 1]; /* the gateway's name for itself */
    uint32_t first;           /* its sessions */
    uint32_t count;
    bool congested; /* the link does not drain: the batches of all its sessions wait */
};

struct sessions {
    struct slots slots;
    struct session *list; /* [slots.cap] */
    struct slots links_slots;
    struct session_link *links; /* [SESSION_LINKS_MAX] */
    struct table by_sid;        /* (link, sid) to slot */
    struct table by_name;       /* name to slot */
    uint32_t inside;            /* sessions in that state */
    uint32_t logged;            /* sessions with a name: logged in, inside or waiting */
    uint32_t wait_first, wait_last, waiting; /* who waits, in the order of their ends; how many */
};

/* `cap` sessions at most; `seed` keys the tables. E_NOMEM. */
int sessions_init(struct sessions *s, uint32_t cap, uint64_t seed) MUST_CHECK;
void sessions_fini(struct sessions *s);

int sessions_link_open(struct sessions *s, struct span id, struct link_ref *out) MUST_CHECK;
/* All its sessions must have ended. */
void sessions_link_close(struct sessions *s, struct link_ref ref);
bool sessions_link_find(const struct sessions *s, struct link_ref ref, struct session_link **out);
/* A live link of that id, other than none. */
bool sessions_link_named(const struct sessions *s, struct span id, struct link_ref *out);

/* As logs have it at both ends of the link. One without a link has "-" in
 * place of its gateway's id. Returns `out`. */
const char *session_text(const struct sessions *s, const struct session *one,
                         char out[LOG_SESSION_MAX]);
/* The same for a line of a log, for as long as the block it stands in. */
#define SESSION_TEXT(w, s) session_text(&(w)->sessions, (s), (char[LOG_SESSION_MAX]){0})

/* 0, E_FULL, or E_BAD: this link has that session already. */
int sessions_open(struct sessions *s, struct link_ref link, uint64_t sid, struct span peer,
                  struct session_ref *out) MUST_CHECK;
/* The session must be alive; its name is free again. */
void sessions_end(struct sessions *s, struct session_ref ref);
/* One that came without a link, from another world, and waits until then; the name must be free. 0,
 * or E_FULL. */
int sessions_open_waiting(struct sessions *s, struct span name, struct mono until,
                          struct session_ref *out) MUST_CHECK;
/* Its connection is lost: it leaves its link, and waits until then. `until` never goes back. */
void sessions_wait(struct sessions *s, struct session_ref ref, struct mono until);
bool sessions_find(const struct sessions *s, struct session_ref ref, struct session **out);
bool sessions_by_sid(const struct sessions *s, struct link_ref link, uint64_t sid,
                     struct session_ref *out);
bool sessions_by_name(const struct sessions *s, struct span name, struct session_ref *out);
/* The name must be free, the session without one. Cannot fail: there is a place for each
 * session's name. */
void sessions_take_name(struct sessions *s, struct session_ref ref, struct span name);
/* It has one, and shall not have it any more. */
void sessions_drop_name(struct sessions *s, struct session_ref ref);

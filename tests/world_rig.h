/* tests/world_rig.h: a world driven as its edge drives it, without sockets.
 * Link frames go in through world/command/inbox, time is the rig's, ticks are run by hand; what the
 * world sends is kept as it came, taken apart afterwards and put into a list for each session.
 * Each session has a view (tests/rig_view) that holds what its client gets to the contract; any
 * breach, answer out of order or frame for nobody fails the test at hand.
 * May touch: the world's core, proto. Never: what is inside the world, apart from its validation.
 *
 *   rig_move … ─► link frame ─► inbox ─► world ─► outbox ─► raw [RIG_RAW_BYTES] ─► mail, views
 */
#pragma once

#include "proto/link.h"
#include "tests/rig_view.h"
#include "world/interest/notice.h"
#include "world/world.h"

#define RIG_LINKS_MAX    8
#define RIG_SESSIONS_MAX 4096
#define RIG_RAW_BYTES    (16u << 20) /* sent by the world and not yet dropped */
#define RIG_MAIL_MAX     (1u << 16)  /* bodies not yet dropped */
#define RIG_NONE         UINT32_MAX
#define RIG_KEY_BYTES    32 /* of a resume key's text */

/* The bytes of a literal. */
#define RIG_BYTES(literal) span_of(literal, sizeof(literal) - 1)

/* A body that the world sent to a session. */
struct rig_mail {
    uint32_t next;  /* of the same session */
    uint32_t frame; /* number of the link frame it came in */
    uint32_t bytes;
    size_t at; /* in raw */
};

struct rig_session {
    bool open; /* the gateway holds it open, and the world did not close it */
    uint32_t link;
    uint64_t sid;
    uint32_t sent, answered;         /* seq of the last request, of the last answer */
    uint32_t id;                     /* of EnterResp; before that, of LoginResp */
    double x, y;                     /* of the last EnterResp, MoveResp or MoveFail */
    char scene[PROTO_SCENE_MAX + 1]; /* of the last EnterResp */
    uint32_t puts;                   /* EnterResps that came unasked */
    char key[RIG_KEY_BYTES + 1];     /* of LoginResp; "": none */
    uint8_t note[LINK_NOTE_MAX];     /* the last one */
    uint32_t note_bytes;
    bool closed; /* by the world */
    uint32_t close_code;
    char close_reason[LINK_TEXT_MAX + 1];
    uint32_t first, last, count; /* mail */
    struct rig_view view;
};

struct rig_link {
    bool up;
    struct link_ref ref;
    uint64_t hash; /* FNV-1a of all bytes sent to it */
};

/* What a test may listen to: every input of the world, in order. */
enum rig_input { RIG_INPUT_LINK_UP, RIG_INPUT_LINK_DOWN, RIG_INPUT_FRAME, RIG_INPUT_TICK };
typedef void rig_tap_fn(void *arg, enum rig_input what, uint32_t link, struct span bytes,
                        struct mono now);
/* Called with true before the world is entered, with false when it has returned. */
typedef void rig_core_fn(void *arg, bool inside);

struct rig {
    struct world *world;
    struct mono now;
    struct rng secrets; /* where the world's keys come from */
    struct rig_link links[RIG_LINKS_MAX];
    uint32_t n_links;             /* index of the next one */
    struct rig_session *sessions; /* [RIG_SESSIONS_MAX] */
    uint32_t n_sessions;

    uint8_t *raw; /* [RIG_RAW_BYTES] runs: link u32, bytes u32, link frames */
    size_t raw_len, raw_read;
    struct rig_mail *mail; /* [RIG_MAIL_MAX] */
    uint32_t n_mail;
    uint32_t frames; /* link frames taken apart so far */

    bool deaf;               /* what the world sends is hashed and dropped */
    char context[96];        /* put before a breach's line: what the test was doing */
    bool patient;            /* requests may be answered later */
    bool lax;                /* views are not judged, answers not held to their order */
    uint64_t bytes;          /* sent by the world */
    uint32_t strays;         /* frames for sessions that are not the rig's, or closed */
    struct link_frame stray; /* kind, session and code of the last one */

    rig_tap_fn *tap;
    rig_core_fn *core;
    void *arg; /* of both */
    struct message_reader *reader;
    struct message message; /* what rig_take gave */
    uint8_t *frame;         /* [LINK_FRAME_MAX] the one that is being made */
};

/* The contract's defaults on a map from -1000 to 1000, for at most 512 entities. */
struct world_config rig_config(void);
/* A world with one link, "gw-0". */
struct rig *rig_create(const struct world_config *c);
/* With a scene for each of these maps, which the caller keeps until the rig is gone. */
struct rig *rig_create_maps(const struct world_config *c, const struct map *maps, uint32_t n);
/* The same with a store. */
struct rig *rig_create_kept(const struct world_config *c, const struct map *maps, uint32_t n,
                            struct store_door store);
/* The same with tokens. */
struct rig *rig_create_with(const struct world_config *c, const struct map *maps, uint32_t n,
                            struct store_door store, struct auth_door auth);
/* The store answers. */
void rig_loaded(struct rig *r, const struct store_answer *a);
void rig_stored(struct rig *r, const struct store_settle *what);
void rig_destroy(struct rig *r);
/* Masks and records by code without vector instructions, whatever the processor has. */
void rig_portable(struct rig *r);
/* By the kinds of code at these places of mask_codes and pack_codes; past the end is the last. */
void rig_code(struct rig *r, uint32_t mask, uint32_t pack);

/* --- as a gateway ---------------------------------------------------------------------------- */

/* Another gateway; one of the same id replaces it (and the rig closes the old link). */
uint32_t rig_link_up(struct rig *r, const char *id);
void rig_link_down(struct rig *r, uint32_t link);
/* A link frame's body, whatever it holds. 0 or E_*. */
int rig_link_frame(struct rig *r, uint32_t link, struct span body);
uint32_t rig_open(struct rig *r, uint32_t link);
/* Another session on this link, bound with a note that the world gave to one before. */
uint32_t rig_bind(struct rig *r, uint32_t link, struct span note);
void rig_close(struct rig *r, uint32_t s);
void rig_congestion(struct rig *r, uint32_t s, bool on);
void rig_drain(struct rig *r, uint32_t s, uint64_t bytes_per_s);
/* As the operator; returns how many sessions were told. */
uint32_t rig_announce(struct rig *r, const struct notice_area *to, const char *text);

/* --- as a client: requests; each returns its seq --------------------------------------------- */

uint32_t rig_send(struct rig *r, uint32_t s, const struct message *m);
/* A payload of the test's making: RIG_BYTES("\xc0"). */
uint32_t rig_send_payload(struct rig *r, uint32_t s, uint32_t cmd, struct span payload);
/* A body of the test's making. 0 or E_*. */
int rig_send_body(struct rig *r, uint32_t s, struct span body);
uint32_t rig_send_login(struct rig *r, uint32_t s, const char *name);
/* LoginReq with a token; with both. */
uint32_t rig_send_token(struct rig *r, uint32_t s, const char *name, const char *token,
                        const char *key);
/* LoginReq with a resume key. */
uint32_t rig_send_resume(struct rig *r, uint32_t s, const char *name, const char *key);
uint32_t rig_send_nil(struct rig *r, uint32_t s, uint32_t cmd);
uint32_t rig_send_move(struct rig *r, uint32_t s, double x, double y);
uint32_t rig_send_turn(struct rig *r, uint32_t s, double x, double y, double dir, double speed);
uint32_t rig_send_walk(struct rig *r, uint32_t s, double x, double y, bool path);
uint32_t rig_send_say(struct rig *r, uint32_t s, const char *text);

/* The world puts the session's entity elsewhere. 0 or PE_*. */
int rig_teleport(struct rig *r, uint32_t s, uint32_t scene, double x, double y);

/* --- time ------------------------------------------------------------------------------------ */

/* `n` times: a tick's length passes, and the tick runs. */
void rig_tick(struct rig *r, uint32_t n);
/* Time passes, and no tick. */
void rig_pass(struct rig *r, int64_t ns);

/* --- what came; it lives until the world is next driven
 * ------------------------------------------- */

/* The session's next message, NULL where there is none. */
const struct message *rig_take(struct rig *r, uint32_t s);
/* The answer to a request, before its turn; NULL where there is none. */
const struct message *rig_answer(struct rig *r, uint32_t s, uint32_t seq);
/* The session's next message of this command, the others before it dropped. */
const struct message *rig_next(struct rig *r, uint32_t s, uint32_t cmd);
/* Forget all mail of everybody. Cheap. */
void rig_drop(struct rig *r);
/* One hash of everything that was sent, link by link. */
uint64_t rig_hash(const struct rig *r);

/* --- requests that must do well
 * ------------------------------------------------------------------- */

/* LoginResp's id. */
uint32_t rig_login(struct rig *r, uint32_t s, const char *name);
/* By the key; it must be given back. LoginResp's id. */
uint32_t rig_resume(struct rig *r, uint32_t s, const char *name, const char *key);
/* EnterResp's id. */
uint32_t rig_enter(struct rig *r, uint32_t s);
/* The same into the scene of this name. */
uint32_t rig_enter_scene(struct rig *r, uint32_t s, const char *scene);
void rig_leave(struct rig *r, uint32_t s);
void rig_move(struct rig *r, uint32_t s, double x, double y);
void rig_turn(struct rig *r, uint32_t s, double x, double y, double dir, double speed);
/* WalkResp, with the goal as it was asked for. */
void rig_walk(struct rig *r, uint32_t s, double x, double y, bool path);
void rig_say(struct rig *r, uint32_t s, const char *text);
/* Open on link 0, log in and enter. Returns the session. */
uint32_t rig_join(struct rig *r, const char *name);
/* Walk there in legal steps, time passing as needed, without a tick. */
void rig_place(struct rig *r, uint32_t s, double x, double y);
/* rig_join and rig_place. */
uint32_t rig_join_at(struct rig *r, const char *name, double x, double y);

/* --- what must be
 * --------------------------------------------------------------------------------- */

/* The answer to `seq` is this error; `m` lives as with rig_take. */
const struct message *rig_refused(struct rig *r, uint32_t s, uint32_t seq, uint32_t code);
bool rig_knows(const struct rig *r, uint32_t s, uint32_t other);
/* The books of sight balance, and the world's rooms agree with each other. */
void rig_balance(const struct rig *r);
/* End the test at hand with this line. */
_Noreturn void rig_fail(const char *fmt, ...) PRINTF_LIKE(1, 2);

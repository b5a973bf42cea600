/* gateway/client.h: one client's states, checks and limits.
 * Takes bytes from the client's connection, walks each frame, answers what the gateway answers by
 * itself (Ping, errors 1, 12, 13) and hands the rest up untouched. May touch: common, proto, the
 * gateway's clients, rate, transport, conn. Never: uplink, relay, a payload's meaning.
 *
 * Every request has its answer: a client whose own fault ends it is read no longer, but gets its
 * Bye only when the world has answered what came before, or after CLIENT_PART_MS.
 *
 *   NEW ─► OPEN ─► ENDING (Bye sent; the rest is read and dropped) ─► DEAD ─► freed
 *            └───────────── the connection broke ────────────────────►┘
 *
 * On trouble: a client ends by Bye where it can still be told, else at once; the reason is counted.
 */
#pragma once

#include "common/io/stream.h"
#include "common/span.h"
#include "gateway/rate.h"
#include "proto/limits.h"

struct clients;

enum client_state {
    CLIENT_NEW,    /* has no connection yet */
    CLIENT_OPEN,   /* is served */
    CLIENT_ENDING, /* got its Bye; only its connection's end is awaited */
    CLIENT_DEAD    /* its memory is freed at the end of the turn */
};

/* Why a client ended; CLIENT_END(NAME, metric, "log text"). */
#define CLIENT_ENDS(CLIENT_END)                          \
    CLIENT_END(EOF, closed_eof, "eof")                   \
    CLIENT_END(RESET, closed_reset, "reset")             \
    CLIENT_END(BAD_FRAME, closed_bad_frame, "bad_frame") \
    CLIENT_END(LENGTH, closed_length, "frame_length")    \
    CLIENT_END(RATE, closed_rate, "rate_limited")        \
    CLIENT_END(IDLE, closed_idle, "idle")                \
    CLIENT_END(LOGIN, closed_login, "no_login")          \
    CLIENT_END(FRAME, closed_frame, "slow_frame")        \
    CLIENT_END(SLOW, closed_slow, "slow_soft")           \
    CLIENT_END(QUEUE, closed_queue, "slow_hard")         \
    CLIENT_END(DRAIN, closed_drain, "shutting_down")     \
    CLIENT_END(WORLD, closed_world, "world")             \
    CLIENT_END(MEMORY, closed_memory, "memory")          \
    CLIENT_END(CLOSE, closed_ws_close, "ws_close")       \
    CLIENT_END(WS, closed_ws_protocol, "ws_protocol")    \
    CLIENT_END(WS_DATA, closed_ws_data, "ws_data")       \
    CLIENT_END(TEXT, closed_ws_text, "ws_text")

enum client_end {
#define CLIENT_END(NAME, metric, text) CLIENT_END_##NAME,
    CLIENT_ENDS(CLIENT_END)
#undef CLIENT_END
};

#define CLIENT_SLOT_BITS 21 /* more clients than one process can have descriptors for */

/* Kept small: an idle client costs this and its peer's text (72 bytes for an IPv4 one), its stream,
 * and 36 bytes of tables. Times are clients->awake_ms at the last step. */
struct client {
    struct clients *home;
    struct stream *conn; /* NULL before start and when dead */
    uint32_t slot : CLIENT_SLOT_BITS;
    uint32_t state : 2; /* enum client_state */
    bool partial : 1;   /* a part of a frame is there */
    bool slow : 1;      /* above the soft limit, and not yet down at half of it */
    bool greeted : 1;   /* has been logged in once: no login deadline */
    bool logged_in : 1; /* believes so; kept by the relay */
    bool session : 1;   /* open on the link; kept by the relay */
    bool parting : 1;   /* is read no longer; its Bye waits for the answers in flight */
    bool ws : 1;        /* framed by transport_ws, not as the clients are; set before its start */
    bool watched : 1;   /* its queue does not empty; kept by gateway/drains */
    bool waits : 1;     /* its session is on its way to a world; kept by the relay */
    union {
        uint32_t heard_ms;  /* OPEN: the last whole frame */
        uint32_t dead_next; /* DEAD: the next one's slot, WHEEL_NONE: none */
    };
    uint32_t partial_ms; /* since when, where `partial` or `parting` */
    uint32_t slow_ms;    /* since when, where `slow` */
    union {
        uint32_t opened_ms; /* the login deadline counts from here */
        struct {
            uint16_t code; /* of the Bye, where `parting` */
            uint16_t end;  /* enum client_end */
        } part;
    };
    struct rate rate;
    struct rate_refusals refusals;
    char peer[]; /* address as text; "" where unknown */
};

_Static_assert(offsetof(struct client, peer) <= 56, "an idle client stays small");

/* Requests of one read for the world, in order; borrowed. */
#define CLIENT_BATCH_BYTES 32768 /* bodies of one batch together, unless it is one alone */

/* A connection for a client that has none; `s` was made with client_stream_ops and this client as
 * its argument. Takes `s`. One client too many gets Bye 13 at once. */
void client_start(struct client *c, struct stream *s);

/* How long a Bye waits for the answers in flight, ms. */
#define CLIENT_PART_MS 1000

/* The world has answered all that this client asked, or is lost: a parting one gets its Bye. */
void client_parted(struct client *c);

/* A Bye or ErrorNotify with the longest text, and room for its head, bytes. */
#define CLIENT_NOTE_MAX (LINK_TEXT_MAX + 128)

/* Queue a body. Nothing where the client isn't OPEN; past the hard limit it is ended with 16. */
void client_send(struct client *c, struct span body);
/* The same for bodies of the link, in order: sent now, from where they lie, in one call. Each has
 * at least CLIENT_BEFORE readable bytes in front; where those are its head already, as in a link
 * frame with long heads, body and head go as one piece. n is 1 to CLIENT_RUN_MAX. */
#define CLIENT_RUN_MAX 16
#define CLIENT_BEFORE  4
void client_send_run(struct client *c, const struct span *bodies, uint32_t n);
/* ErrorNotify; `seq` and `cmd` of the request, or 0. */
void client_send_error(struct client *c, uint32_t code, uint32_t seq, uint32_t cmd);

/* End with a Bye, politely. `reason`: n = 0 is the code's own sentence. Nothing unless OPEN. */
void client_bye(struct client *c, uint32_t code, struct span reason, enum client_end end);
/* End at once, without a word. */
void client_drop(struct client *c, enum client_end end);

/* The login deadline counts from now; nothing where the client has been logged in. */
void client_login_restart(struct client *c);

/* Is a deadline past? Ends the client if so. Returns ms until the next look, WHEEL_NONE: none. */
uint32_t client_look(struct client *c);

/* What the client's connection calls; the argument is the struct client. */
extern const struct stream_ops client_stream_ops;

const char *client_end_text(enum client_end end);

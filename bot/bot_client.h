/* bot/bot_client.h: a client of the protocol, for the bots and for the tests that use real sockets.
 * One connection with a login: connects, frames, sends requests, pairs each answer with what was
 * asked, keeps a view, and tells its owner of each message. Event-driven on one loop; the helper
 * bot_client_run_until makes a straight story of it. May touch: common, proto, bot/pending,
 * bot/view. On trouble: a connection that ends is told once, with the reason; nothing connects
 * again by itself. What breaks the contract is told as a breach, and the client goes on.
 *
 *   bot_client_connect ─► connected ─► message, message, … ─► closed ─► (connect again)
 */
#pragma once

#include "bot/pending.h"
#include "bot/view.h"
#include "common/io/loop.h"
#include "common/io/stream.h"
#include "proto/message.h"

struct bot_client;
struct signer;
struct tls;

#define BOT_WHY_MAX 192 /* bytes of a reason, with its NUL */
#define BOT_KEY_MAX 64  /* bytes of a resume key, with its NUL; a longer one is not kept */

/* What happens to a client. All may be NULL. Each may call anything of the client, its
 * destruction too. Messages are borrowed until return. */
struct bot_client_ops {
    /* Requests can be sent. */
    void (*connected)(void *arg);
    /* Each message, after the client took note of it; `asked` is the request that it answers,
     * NULL where it came unasked. */
    void (*message)(void *arg, const struct message *m, const struct pending_request *asked);
    /* The server broke the contract. */
    void (*breach)(void *arg, const char *text);
    /* The connection is over, or could not be made. It can be made again from here on. */
    void (*closed)(void *arg, const char *why);
};

/* What a client knows of itself; only the client writes it. */
struct bot_client_facts {
    bool connected, logged_in, in_world;
    uint32_t id; /* of LoginResp, then of EnterResp */
    char name[PROTO_NAME_MAX + 1];
    char key[BOT_KEY_MAX];           /* of LoginResp, for the next login; "": none. It outlives its
                                      * connection */
    bool resumed;                    /* LoginResp said so */
    char scene[PROTO_SCENE_MAX + 1]; /* of EnterResp */
    double x, y;                     /* the place the server confirmed last; a walk's goal */
    double dir, speed;               /* as confirmed with it; radians, units a second */
    bool walked;                     /* by the server since: where it looks is not known */
    uint32_t tick_ms;
    double radius, quantum, max_speed; /* of EnterResp */
    uint32_t error_code, error_cmd;    /* of the last ErrorNotify; 0: none on this connection */
    uint32_t bye_code;                 /* of Bye; 0: none */
    uint32_t seq;                      /* of the last request */
    uint32_t pending;                  /* requests without an answer */
    uint32_t held;                     /* bytes held back, see bot_client_hold */
    struct mono heard;                 /* when the connection was read last */
    uint64_t breaches;                 /* since the start */
    uint64_t frames_in;                /* since the start */
    struct stream_count bytes;         /* since the start, up to the last connection's end */
};

/* `reader` is borrowed and may be shared by all clients of a loop. E_NOMEM. */
int bot_client_create(struct loop *l, struct message_reader *reader,
                      const struct bot_client_ops *ops, void *arg,
                      struct bot_client **out) MUST_CHECK;
void bot_client_destroy(struct bot_client *c); /* NULL is fine; closes without a word */

/* Plain logins show a token of this signer's; borrowed. NULL: none. */
void bot_client_sign(struct bot_client *c, const struct signer *signer);
/* Connections from here on are under TLS, to whom this one trusts; borrowed. NULL: plain. */
void bot_client_secure(struct bot_client *c, struct tls *trust);
const struct signer *bot_client_signer(const struct bot_client *c);

/* Connect to host:port. Then `connected` or `closed` is called. E_ADDR, E_NOMEM. */
int bot_client_connect(struct bot_client *c, const char *addr, int64_t timeout_ns) MUST_CHECK;
/* Use a socket that is connected already; takes `fd`. `connected` is called from inside. E_NOMEM,
 * E_IO. */
int bot_client_adopt(struct bot_client *c, int fd) MUST_CHECK;
/* End the connection now (with an RST where `abort`); `closed` is not called. */
void bot_client_close(struct bot_client *c, bool abort);

/* Turn away from the connection without a word: it stays open, and nobody reads or writes it, until
 * this is called again, bot_client_bury is, or the client ends. `closed` is not called, and the
 * client can connect again. */
void bot_client_abandon(struct bot_client *c);
/* Close the connection that was abandoned, if there is one. */
void bot_client_bury(struct bot_client *c);

/* Send a request; its seq is chosen here. 0; E_CLOSED: not connected; E_FULL: PENDING_MAX
 * requests wait already, or the stream's queue is full; E_RANGE: larger than a frame may be. */
int bot_client_send(struct bot_client *c, const struct message *m) MUST_CHECK;
/* E_NOMEM or E_RANGE too, where there is a signer. */
int bot_client_login(struct bot_client *c, const char *name) MUST_CHECK;
/* With the key, which stays until the server refuses it; where there is none, a plain login. */
int bot_client_resume(struct bot_client *c, const char *name) MUST_CHECK;
int bot_client_enter(struct bot_client *c) MUST_CHECK;
/* Into the scene of this name. */
int bot_client_enter_scene(struct bot_client *c, const char *scene) MUST_CHECK;
int bot_client_leave(struct bot_client *c) MUST_CHECK;
int bot_client_move(struct bot_client *c, double x, double y) MUST_CHECK;
int bot_client_move_with(struct bot_client *c, double x, double y, double dir,
                         double speed) MUST_CHECK;
/* The world walks it there; `path`: round what is in the way. */
int bot_client_walk(struct bot_client *c, double x, double y, bool path) MUST_CHECK;
int bot_client_say(struct bot_client *c, const char *text) MUST_CHECK;
int bot_client_ping(struct bot_client *c) MUST_CHECK;

/* Stop and go on reading: for peers that do not listen. Lasts over the connection's end. */
void bot_client_deaf(struct bot_client *c, bool on);
/* Ask the kernel for a receive buffer of so many bytes on the connections that are made from here
 * on (0: its own choice), so that not reading soon reaches the server. */
void bot_client_rcvbuf(struct bot_client *c, int bytes);
/* Hold requests back; bot_client_drip then sends so many of the held bytes at once. */
void bot_client_hold(struct bot_client *c, bool on);
void bot_client_drip(struct bot_client *c, size_t bytes);

const struct bot_client_facts *bot_client_facts(const struct bot_client *c);
struct view *bot_client_view(struct bot_client *c);
/* Bytes both ways since the start, this connection's included. */
struct stream_count bot_client_bytes(const struct bot_client *c);

/* "LoginReq refused: name_in_use (6), the name has a live connection". */
void bot_client_error_text(const struct message *m, char *out, size_t cap);

/* Turn the loop until `pred` holds or the deadline is over; does it hold? NULL: until the
 * deadline. */
typedef bool bot_client_pred_fn(void *arg);
bool bot_client_run_until(struct loop *l, bot_client_pred_fn *pred, void *arg,
                          struct mono deadline);
/* A predicate for it: does no request of this client wait for an answer? Also true where the
 * connection is over. */
bool bot_client_answered(void *client);

/* tests/raw_client.h: a client as bytes on a blocking socket, for tests that count each of them.
 * Sends whatever the test says, whole or in pieces, and waits with a deadline for what comes back.
 * Holds nothing against the contract by itself: that is bot/bot_client's. May touch: sockets,
 * proto. On trouble: the test at hand fails.
 *
 * Bytes are written as "93 01 01 81 a4'name' a5'alpha'": hex digits in pairs, texts in quotes,
 * blanks anywhere between.
 */
#pragma once

#include "proto/message.h"
#include "tests/process.h"

#define RAW_IN_MAX (2u << 20) /* bytes that came and were not taken yet */
#define RAW_ASKED  256        /* requests whose command is remembered: the last ones */

struct raw_client {
    int fd;                    /* -1: not connected */
    bool ended;                /* the server shut its side */
    bool reset;                /* the connection broke */
    uint32_t seq;              /* of the last request */
    uint32_t asked[RAW_ASKED]; /* commands by seq, modulo */
    uint8_t *in;               /* [RAW_IN_MAX] owned */
    size_t at, len;            /* in `in`: what was taken, what came */
    struct message_reader *reader;
    struct message message; /* what raw_next gave */
};

void raw_connect(struct raw_client *c, const char *addr);
/* The same with a receive buffer of this size, for those who will not read. */
void raw_connect_narrow(struct raw_client *c, const char *addr, int rcvbuf);
/* Use a socket that is connected already; takes `fd`. */
void raw_adopt(struct raw_client *c, int fd);
/* Would somebody accept a connection there? */
bool raw_can_connect(const char *addr);
/* With a FIN, or with an RST. Both free; a client that is not connected is fine. */
void raw_close(struct raw_client *c);
void raw_reset(struct raw_client *c);

/* For tests that play a server. A listening socket, the caller's to close. */
int raw_listen(const char *addr);
/* Take a connection if one comes within `ms`. */
bool raw_accept(struct raw_client *c, int listener, int64_t ms);

/* --- out -------------------------------------------------------------------------------------- */

/* What the notation above says; returns its length. */
size_t raw_bytes(const char *notation, uint8_t *out, size_t cap);
/* All of it, in one call where the kernel takes it so. */
void raw_send(struct raw_client *c, struct span bytes);
/* As much as the kernel takes now; 0 where it takes none or the connection is over. */
size_t raw_send_some(struct raw_client *c, struct span bytes);
/* A frame around this body. */
void raw_send_body(struct raw_client *c, struct span body);
void raw_send_text(struct raw_client *c, const char *notation);
/* Requests; each returns its seq, which counts up from 1. */
uint32_t raw_request(struct raw_client *c, const struct message *m);
uint32_t raw_nil(struct raw_client *c, uint32_t cmd);
uint32_t raw_payload(struct raw_client *c, uint32_t cmd, const char *notation);
uint32_t raw_login(struct raw_client *c, const char *name);
/* With a token; "": none. */
uint32_t raw_login_token(struct raw_client *c, const char *name, const char *token);
uint32_t raw_move(struct raw_client *c, double x, double y);

/* --- in: each waits for at most PROCESS_PATIENCE_MS ------------------------------------------- */

/* The next body, whatever it is; lives until the next call. */
struct span raw_body(struct raw_client *c);
/* The same, if one comes within `ms`; NULL and 0 where the time or the connection is over. */
struct span raw_body_within(struct raw_client *c, int64_t ms);
const struct message *raw_next(struct raw_client *c);
/* The next message of this command; others before it are dropped. */
const struct message *raw_await(struct raw_client *c, uint32_t cmd);
/* The answer to this request, whatever it is; what came unasked before it is dropped. */
const struct message *raw_answer(struct raw_client *c, uint32_t seq);

/* Exactly this body comes next. */
void raw_must_body(struct raw_client *c, const char *notation);
/* The answer is of this command. */
const struct message *raw_must(struct raw_client *c, uint32_t seq, uint32_t cmd);
/* The answer is this error; it names the request's command. */
const struct message *raw_must_fail(struct raw_client *c, uint32_t seq, uint32_t code);
/* An ErrorNotify that nobody asked for: seq 0, cmd 0, this code. Other unasked ones may not come
 * before it; Aoi frames may. */
void raw_must_be_told(struct raw_client *c, uint32_t code);
/* Bye with this code is the last frame, and the server's end of the connection follows. What came
 * before it is dropped. Closes. */
void raw_must_bye(struct raw_client *c, uint32_t code);
/* The connection serves: a ping is answered. */
void raw_must_serve(struct raw_client *c);
/* Nothing comes for `ms`. */
void raw_must_be_quiet(struct raw_client *c, int64_t ms);

/* Connected, logged in and in the world; returns the id. */
uint32_t raw_join(struct raw_client *c, const char *addr, const char *name);

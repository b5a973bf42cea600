/* proto/message.h: every message of PROTOCOL.md as a plain struct, read and written.
 * One union for both directions: the world reads requests and writes answers, clients and tests do
 * the reverse. msgpack-c lives in message*.c only. May touch: common, proto.
 * On trouble: a payload that does not fit its command is PE_BAD_PAYLOAD; a body is walked before
 * it is decoded, so the unpacker allocates no more than a constant times the body.
 */
#pragma once

#include "common/span.h"
#include "proto/limits.h"
#include "proto/protocol.h"

struct message_place {
    double x, y; /* world units */
};

/* One entity of an AoiAdd. */
struct message_entity {
    uint32_t id;
    uint32_t kind;    /* 0 player, 1 NPC */
    struct span name; /* borrowed */
    double x, y;      /* world units, exact */
    double dir;       /* radians in [0, 2π) */
    double speed;     /* units a second */
};

/* Payloads. Spans and arrays are borrowed: from the body and the reader while read, from the
 * caller while written. */
struct message {
    uint32_t cmd; /* enum cmd; says which member counts */
    uint32_t seq;
    union {
        struct {
            struct span name;
            struct span token;  /* n = 0: absent */
            struct span resume; /* n = 0: absent */
            uint64_t version;   /* absent: 1 */
        } login_req;
        struct {
            uint32_t id;
            struct span name, resume;
            bool resumed;
        } login_resp;
        struct {
            bool has_scene;
            struct span scene;
        } enter_req;
        struct {
            uint32_t id;
            struct span scene;
            double x, y;
            uint32_t tick_ms;
            double radius, quantum, max_speed;
        } enter_resp;
        struct {
            double x, y;
            bool has_dir, has_speed;
            double dir;   /* finite, as sent */
            double speed; /* finite, >= 0, as sent */
        } move_req;
        struct message_place move_resp;
        struct {
            double x, y;
            bool path;
        } walk_req;
        struct message_place walk_resp;
        struct {
            struct span payload; /* PingReq and PingResp: one raw value */
        } ping;
        struct {
            struct span text;
        } say_req;
        struct {
            uint32_t tick;
            const struct message_entity *entities; /* [count] */
            uint32_t count;
            bool has_hidden;
            uint32_t hidden;
        } aoi_add;
        struct {
            uint32_t tick;
            const uint32_t *ids; /* [count] */
            uint32_t count;
        } aoi_remove;
        struct {
            uint32_t tick;
            struct span moves; /* packed: proto/aoi_move.h */
        } aoi_move;
        struct {
            double x, y;
            uint32_t code;
        } move_fail;
        struct {
            uint32_t id; /* 0: nobody in the world: the operator */
            struct span text;
        } say_notify;
        struct {
            uint32_t code;
            struct span error;
            uint32_t cmd;
            bool has_place;
            double x, y; /* the last legal place, with codes 9, 10, 11 */
        } error_notify;
        struct {
            uint32_t code;
            struct span reason;
        } bye;
    };
};

/* The version of msgpack-c that runs, for -version. */
const char *message_library(void);

/* Owns the zone that decoding uses; kept for ever and cleared at each read. */
struct message_reader;

/* `body_max`: the largest body it decodes without asking for more memory, bytes. E_NOMEM. */
int message_reader_create(size_t body_max, struct message_reader **out) MUST_CHECK;
void message_reader_destroy(struct message_reader *r);

/* Decode a whole body. What `out` points at lives until the next read, or as long as `body`.
 * 0; PE_UNKNOWN_CMD: no command of this number (cmd and seq are set); PE_BAD_PAYLOAD (cmd and seq
 * are set); E_BAD: the walk refused it; E_NOMEM. */
int message_read(struct message_reader *r, struct span body, struct message *out) MUST_CHECK;

/* The payload alone, of a body that was walked (struct walk_head). out->cmd says which; it is set
 * by the caller. 0, PE_BAD_PAYLOAD, PE_UNKNOWN_CMD, E_NOMEM. */
int message_read_payload(struct message_reader *r, struct span payload,
                         struct message *out) MUST_CHECK;

/* Append the whole body [cmd, seq, payload]; `w->full` tells where it did not fit. Only what the
 * struct says is checked by assert: an unknown cmd is our bug. */
void message_write(struct span_writer *w, const struct message *m);

/* A name as the contract wants it: 1 to 32 bytes of valid UTF-8 without control and direction
 * characters. */
bool message_name_ok(struct span name);
/* A text of 1 to PROTO_SAY_MAX bytes of which the same holds. */
bool message_plain_ok(struct span text);

/* bot/pending.h: the requests of one connection that wait for their answer.
 * Pairs each answer with what was asked and holds it against the contract: one answer each, of
 * the right kind, in the order of the requests but for what the gateway answers by itself. Pure.
 * May touch: common, proto.
 * On trouble: a breach is told as a text; full is E_FULL.
 */
#pragma once

#include "common/clock.h"
#include "proto/message.h"

/* Requests that wait at most. */
#define PENDING_MAX 64

#define PENDING_BREACH_MAX 128 /* bytes of a breach's text, with its NUL */

/* A request that was sent. */
struct pending_request {
    uint32_t cmd, seq;
    struct mono sent;
    bool lost;   /* the world went away meanwhile: it may never be answered */
    double x, y; /* of a MoveReq or WalkReq */
    bool has_dir, has_speed;
    double dir, speed; /* of a MoveReq, where it has them */
};

/* All zero is empty. */
struct pending {
    uint32_t count;
    struct pending_request request[PENDING_MAX]; /* [count] oldest first */
    char breach[PENDING_BREACH_MAX];
};

/* A request that is about to be sent. 0, or E_FULL; those that were lost make room first. */
int pending_add(struct pending *p, const struct message *m, struct mono now) MUST_CHECK;

/* A message of the server.
 *   asked   gets the request that `m` answers; left alone where there is none
 *   found   is there one?
 * NULL, or the first breach: borrowed until the next call. */
const char *pending_take(struct pending *p, const struct message *m, struct pending_request *asked,
                         bool *found) MUST_CHECK;

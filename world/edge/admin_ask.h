/* world/edge/admin_ask.h: the parameters of an operator's request.
 * Takes a query apart, strictly: only what the path takes, each once, in its bounds. Knows nothing
 * of who may ask, nor what there is. Pure. May touch: common, proto/limits.
 * On trouble: E_BAD with a sentence for the operator.
 *
 *   who=12  who=@name      an entity by its id, or a session by its name
 *   viewer=, subject=      the same
 *   scene=open             a scene's name
 *   kind=player|npc
 *   prefix=bo              names that begin so
 *   box=x0,y0,x1,y1        places, edges included
 *   after=12               ids above; with limit=100 a page
 *   to=x,y                 a place
 *   level=debug|info|warn|error|off
 *   lines=200, seconds=60  how long a trace may be
 */
#pragma once

#include "common/err.h"
#include "common/span.h"
#include "proto/limits.h"

#define ADMIN_ASK_LIMIT     100  /* rows of a page, where it is not said */
#define ADMIN_ASK_LIMIT_MAX 1000 /* at most */
#define ADMIN_ASK_FAR       1e9  /* units: no coordinate is further */

enum admin_ask_part {
    ADMIN_ASK_WHO = 1,
    ADMIN_ASK_VIEWER = 2,
    ADMIN_ASK_SUBJECT = 4,
    ADMIN_ASK_SCENE = 8,
    ADMIN_ASK_KIND = 16,
    ADMIN_ASK_PREFIX = 32,
    ADMIN_ASK_BOX = 64,
    ADMIN_ASK_AFTER = 128,
    ADMIN_ASK_ROWS = 256,
    ADMIN_ASK_TO = 512,
    ADMIN_ASK_LEVEL = 1024,
    ADMIN_ASK_LINES = 2048,
    ADMIN_ASK_SECONDS = 4096
};

struct admin_ask_who {
    uint32_t id;                   /* 0: by name */
    char name[PROTO_NAME_MAX + 1]; /* without a NUL in it */
};

struct admin_ask {
    unsigned has; /* enum admin_ask_part */
    struct admin_ask_who who, viewer, subject;
    char scene[PROTO_SCENE_MAX + 1];
    uint8_t kind; /* as the wire's */
    char prefix[PROTO_NAME_MAX + 1];
    double box[4]; /* units; x0 <= x1, y0 <= y1 */
    uint32_t after, limit;
    double to[2]; /* units */
    int level;    /* enum log_level */
    uint32_t lines, seconds;
};

/* `may`, `must`: parts that may, or have to, be there. `why`: static text. 0 or E_BAD. */
int admin_ask_read(struct span query, unsigned may, unsigned must, struct admin_ask *out,
                   const char **why) MUST_CHECK;

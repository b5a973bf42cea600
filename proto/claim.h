/* proto/claim.h: what stands under a key of the cluster: who claims it, in which epoch.
 * As bytes it is a line of text, for operators who look at the store:
 *
 *   held w1 epoch=17 nonce=1f load=250 to=- draining=0 text=127.0.0.1:19002
 *
 * Pure. May touch: common, proto/link. On trouble: what is no such line is E_BAD.
 */
#pragma once

#include "common/span.h"
#include "proto/link.h"

#define CLAIM_TEXT_MAX  120 /* bytes of `text` */
#define CLAIM_BYTES_MAX 400 /* of a line */
#define CLAIM_NAME_MAX  64  /* bytes of a world's id or a character's name */

enum claim_state {
    CLAIM_NONE,   /* nothing stands there; never written */
    CLAIM_HELD,   /* by `world` in its `epoch` */
    CLAIM_FREE,   /* given up for `to` */
    CLAIM_BURIED, /* the epoch is over, for good */
    CLAIM_CLOSED, /* a generation that does not yet count */
    CLAIM_OPEN,   /* one that does */
    CLAIM_STATES
};

struct claim_name {
    uint8_t len; /* bytes */
    char p[CLAIM_NAME_MAX];
};

/* Plain and without pointers, so that queues copy it. Spaces stand in none of its names. */
struct claim {
    enum claim_state state;
    struct claim_name world, to;
    uint64_t epoch; /* of the world's lease; 0: this very revision. Of a generation its number */
    uint64_t nonce; /* of the process */
    uint64_t load;  /* entities; of the ids the next block */
    bool draining;
    uint8_t text_len;
    char text[CLAIM_TEXT_MAX]; /* an address; of a generation what all agree on */
};

/* Can a world be called so? 1 to CLAIM_NAME_MAX of A-Z a-z 0-9 - _ */
bool claim_world_ok(struct span id);
bool claim_name_equal(const struct claim_name *a, const struct claim_name *b);
/* Bytes beyond CLAIM_NAME_MAX are our bug. */
struct claim_name claim_name_of(struct span s);
static inline struct span claim_name_span(const struct claim_name *n)
{
    return span_of(n->p, n->len);
}
static inline struct span claim_text(const struct claim *c)
{
    return span_of(c->text, c->text_len);
}
void claim_set_text(struct claim *c, struct span text);

/* Returns how many bytes were written. */
size_t claim_write(const struct claim *c, char out[CLAIM_BYTES_MAX]);
/* 0, or E_BAD. */
int claim_read(struct span bytes, struct claim *out) MUST_CHECK;

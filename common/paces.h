/* common/paces.h: how often each of many asks: token buckets by key, in a table of a fixed size.
 * A key is an address, or a name: chosen by strangers, so the table's hash is keyed, and a flood of
 * keys costs no memory. Who is held (has a connection, say) is never forgotten; of the others the
 * one that was not heard of for longest makes room for a new one. Pure: time is an argument,
 * milliseconds modulo 2^32, which may step back a little where threads share one.
 * May touch: common/table. On trouble: full of those who are held is PACES_NONE.
 */
#pragma once

#include "common/span.h"
#include "common/table.h"

#define PACES_KEY_MAX   32
#define PACES_BUCKETS   2
#define PACES_NONE      UINT32_MAX
#define PACES_FORGET_MS 120000 /* who was not heard of for so long is forgotten */

struct pace_rate {
    uint32_t tokens; /* that come in `per_ms`; 0: off, whoever asks may */
    uint32_t per_ms; /* at most PACES_FORGET_MS / burst * tokens: who is forgotten has them all */
    uint32_t burst;  /* tokens at once */
};

struct pace {
    uint8_t key[PACES_KEY_MAX];
    uint8_t key_bytes;
    uint32_t held;       /* by so many; while 0 it stands in the list */
    uint32_t prev, next; /* in the list, or the next free one */
    uint32_t heard_ms;
    struct {
        uint64_t level; /* tokens, in parts of per_ms */
        uint32_t at_ms; /* when it was so */
    } buckets[PACES_BUCKETS];
};

struct paces {
    struct table table;
    struct pace *list; /* [cap] owned */
    uint32_t cap, n, fresh, free;
    uint32_t first, last; /* who is not held, longest unheard of first */
    struct pace_rate rates[PACES_BUCKETS];
    uint64_t forgotten; /* for want of room, since the start */
};

/* Owns its arrays. `cap` >= 1. E_NOMEM. */
int paces_init(struct paces *p, uint32_t cap, uint64_t seed,
               const struct pace_rate rates[PACES_BUCKETS]) MUST_CHECK;
/* All zero is fine. */
void paces_fini(struct paces *p);

/* The one of this key, 1 to PACES_KEY_MAX bytes; a new one has full buckets. PACES_NONE: all there
 * is room for are held. Valid until the next call, or while held. */
uint32_t paces_get(struct paces *p, struct span key, uint32_t now_ms);
/* One more holds it; one less. Returns how many there are then. */
uint32_t paces_hold(struct paces *p, uint32_t slot);
uint32_t paces_release(struct paces *p, uint32_t slot, uint32_t now_ms);
uint32_t paces_held(const struct paces *p, uint32_t slot);
/* Is there a token in this bucket? */
bool paces_has(struct paces *p, uint32_t slot, uint32_t bucket, uint32_t now_ms);
/* A token of this bucket, if there is one. */
bool paces_take(struct paces *p, uint32_t slot, uint32_t bucket, uint32_t now_ms);
/* Forget who is due; some at a time. */
void paces_step(struct paces *p, uint32_t now_ms);

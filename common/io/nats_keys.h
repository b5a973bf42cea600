/* common/io/nats_keys.h: the keys of one bucket of NATS, by calls that wait for the server.
 * Keys are written by publishing to the bucket's stream and read by its last message, which is what
 * nats.c's own calls do: only so the server's error code is told, and a lost race known from other
 * faults. Its watchers are not used: one that is stopped while it is set up anew reads freed memory
 * (3.4). Nor are two of these to be used by one thread at a time; each thread has its own.
 * May touch: common, nats.c. On trouble: NATS_BUS_AWAY, which leaves open whether it happened.
 */
#pragma once

#include "common/io/nats_bus.h"

struct __natsConnection;
struct __jsCtx;

struct nats_keys_config {
    char bucket[64];
    char stream[68];
    char prefix[72]; /* of the keys' subjects */
    size_t prefix_bytes;
    int64_t ttl_ns;
    int replicas;
};

/* The bucket as it was found in the connection of life `life`; all zero: not looked for. */
struct nats_keys {
    const struct nats_keys_config *config;
    uint32_t life;
    struct __jsCtx *js; /* NULL: not there */
};

struct nats_keys_read {
    uint64_t revision;
    bool deleted;
    size_t n; /* bytes of the value */
    uint8_t value[NATS_BUS_VALUE_MAX];
};

/* Does a key match a pattern of NATS's: words between dots, `*` any one of them, `>` at the end all
 * that follow, at least one? */
bool nats_keys_match(const char *pattern, struct span key);
void nats_keys_configure(struct nats_keys_config *c, const char *bucket, int64_t ttl_ns,
                         int replicas);
/* Look for it, and make it where it is not, unless that was done in this life. False: it cannot be
 * used now. */
bool nats_keys_open(struct nats_keys *k, struct __natsConnection *nc, uint32_t life,
                    const struct nats_keys_config *c) MUST_CHECK;
void nats_keys_close(struct nats_keys *k);

/* DONE (which may be a deleted one), MISSING or AWAY. */
enum nats_bus_result nats_keys_get(struct nats_keys *k, const char *key,
                                   struct nats_keys_read *out) MUST_CHECK;
/* DONE, LOST or AWAY; `revision` is the one that is asked for, and then the new one. */
enum nats_bus_result nats_keys_create(struct nats_keys *k, const char *key, struct span value,
                                      uint64_t *revision) MUST_CHECK;
enum nats_bus_result nats_keys_update(struct nats_keys *k, const char *key, struct span value,
                                      uint64_t *revision) MUST_CHECK;
enum nats_bus_result nats_keys_delete(struct nats_keys *k, const char *key,
                                      uint64_t *revision) MUST_CHECK;
/* Call `fn` with each key that matches, until it says false. False: that, or the server is away. */
bool nats_keys_list(struct nats_keys *k, const char *pattern,
                    bool (*fn)(void *arg, const char *key), void *arg) MUST_CHECK;

/* tests/key_writer.h: writes into the store of keys of a cluster, as a world would, or as nobody
 * should. May touch: common/io/nats_bus, proto/claim, proto/kv_key, tests/process.
 * On trouble: the test at hand fails.
 */
#pragma once

#include "common/io/loop.h"
#include "proto/claim.h"

struct key_writer;

/* On a loop of the caller's, which it turns. */
struct key_writer *key_writer_create(struct loop *l, const char *url);
void key_writer_destroy(struct key_writer *k);

/* Whatever stands there, this stands there now. Returns its revision. */
uint64_t key_writer_put(struct key_writer *k, const char *key, struct span value);
void key_writer_delete(struct key_writer *k, const char *key);
/* The claim of a world of this generation; with that state, and its address as text. */
void key_writer_world(struct key_writer *k, uint64_t generation, const char *id,
                      enum claim_state state, const char *address);
/* The same of one that drains, or of another process of that name. */
void key_writer_claim(struct key_writer *k, uint64_t generation, const struct claim *c);

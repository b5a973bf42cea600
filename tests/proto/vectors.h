/* tests/proto/vectors.h: the golden vectors of tests/vectors, for tests.
 * May touch: common, proto, jansson, msgpack-c. On trouble: the running test fails.
 */
#pragma once

#include "common/span.h"
#include "proto/message.h"

#include <jansson.h>

#define VECTORS_LIST_MAX 64 /* entities or ids of one message */

/* Where a message made from JSON keeps what it points at. */
struct vectors_room {
    uint8_t bytes[65536];
    size_t used; /* bytes */
    struct message_entity entities[VECTORS_LIST_MAX];
    uint32_t ids[VECTORS_LIST_MAX];
};

/* tests/vectors/`file`, seen from the root of the tree; gives the document (json_decref). */
json_t *vectors_load(const char *file);

/* The list under `key`, which must not be empty. Borrows. */
const json_t *vectors_list(const json_t *doc, const char *key);

const char *vectors_name(const json_t *vector);
/* "canonical" where it is said, else true. */
bool vectors_canonical(const json_t *vector);

/* The bytes under "hex", in a block of exactly their size, so that the sanitizer sees every read
 * beyond them. Gives the block: free((void *)p). */
struct span vectors_hex(const json_t *vector);
struct span vectors_copy(struct span bytes);

/* An integer, or {"int": "digits"}. */
uint64_t vectors_uint(const json_t *v);
/* {"bin": "hex"} or a text, kept in `room`. */
struct span vectors_bytes(const json_t *v, struct vectors_room *room);

/* {"cmd", "seq", "payload"} as a message. */
void vectors_message(const json_t *meaning, struct vectors_room *room, struct message *out);

/* Any JSON as msgpack: reals as float64, integers in their shortest form, {"bin": …} as bin. */
void vectors_pack(struct span_writer *w, const json_t *v);
/* {"cmd", "seq", "payload"} as a body, by the above and not by proto/message. */
void vectors_pack_body(struct span_writer *w, const json_t *meaning);

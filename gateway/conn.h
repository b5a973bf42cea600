/* gateway/conn.h: what a client and an uplink do with their connection.
 * A table, so that tests and simulations bring connections of their own (and their own
 * `struct stream`). May touch: common/io/stream.
 */
#pragma once

#include "common/io/stream.h"

/* Each as its namesake in stream.h. */
struct conn_ops {
    int (*write)(struct stream *s, struct span bytes);
    int (*write2)(struct stream *s, struct span a, struct span b);
    int (*send)(struct stream *s, const struct span *pieces, uint32_t n);
    void (*read_pause)(struct stream *s, bool paused);
    void (*finish)(struct stream *s, int64_t linger_ns);
    void (*destroy)(struct stream *s);
    void (*abort)(struct stream *s);
    size_t (*queued)(const struct stream *s);
    size_t (*unsent)(const struct stream *s);
};

/* Real sockets. */
extern const struct conn_ops conn_stream;

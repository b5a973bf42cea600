/* common/io/stream_kind.h: what the streams of one kind share, so that each is small.
 * A loop has two or three of them; one lives as long as a stream of it. For stream.c only. May
 * touch: the loop. On trouble: NULL where there is no memory.
 */
#pragma once

#include "common/io/loop.h"

#include <stddef.h>

struct stream_limits;
struct stream_ops;

struct stream_kind {
    struct stream_kind *next; /* of the loop's kinds */
    struct loop *loop;
    const struct stream_limits *limits; /* borrowed */
    const struct stream_ops *ops;       /* borrowed */
    size_t streams;                     /* freed with the last one */
};

/* One more stream of this kind; NULL: no memory. */
struct stream_kind *stream_kind_join(struct loop *l, const struct stream_limits *limits,
                                     const struct stream_ops *ops);
void stream_kind_leave(struct stream_kind *k);

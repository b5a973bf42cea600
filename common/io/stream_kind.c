/* common/io/stream_kind.c: see the header. May touch: the loop. */
#include "common/io/stream_kind.h"

#include <stdlib.h>

struct stream_kind *stream_kind_join(struct loop *l, const struct stream_limits *limits,
                                     const struct stream_ops *ops)
{
    struct stream_kind **kinds = &loop_streams(l)->kinds;
    struct stream_kind *k = *kinds;
    while (k && !(k->limits == limits && k->ops == ops))
        k = k->next;
    if (!k) {
        k = malloc(sizeof(*k));
        if (!k)
            return NULL;
        *k = (struct stream_kind){*kinds, l, limits, ops, 0};
        *kinds = k;
    }
    k->streams++;
    return k;
}

void stream_kind_leave(struct stream_kind *k)
{
    k->streams--;
    if (k->streams > 0)
        return;
    struct stream_kind **at = &loop_streams(k->loop)->kinds;
    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
    free(k);
}

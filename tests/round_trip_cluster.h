/* tests/round_trip_cluster.h: a message between worlds, written as it was read, is the same.
 * For tests and fuzz targets. May touch: common, proto.
 */
#pragma once

#include "proto/cluster.h"
#include "tests/round_trip.h"

static inline void round_trip_cluster_write(struct span_writer *w, const struct cluster_message *m)
{
    struct span rest = m->events;
    struct cluster_event e;
    if (m->kind != CLUSTER_BORDER) {
        cluster_write(w, m);
        return;
    }
    struct cluster_border b = cluster_border_begin(w, m);
    while (cluster_event_take(&rest, &e) == 0)
        cluster_border_put(&b, &e);
    cluster_border_end(&b, m->more);
}

/* What was read twice must be written alike: messages hold nothing beside their fields. */
static inline const char *round_trip_cluster(struct span in)
{
    struct cluster_message m, n;
    int err = cluster_read(in, &m);
    ROUND_TRIP_HOLDS(err == 0 || err == E_BAD);
    if (err != 0)
        return NULL;
    size_t cap = 16 + 12 * in.n;
    uint8_t *room = malloc(2 * cap);
    ASSERT(room != NULL);
    struct span_writer first = span_writer_of(room, cap);
    struct span_writer second = span_writer_of(room + cap, cap);
    round_trip_cluster_write(&first, &m);
    err = cluster_read(span_written(&first), &n);
    if (err == 0)
        round_trip_cluster_write(&second, &n);
    bool same = err == 0 && span_equal(span_written(&first), span_written(&second)) &&
                m.kind == n.kind && m.n_events == n.n_events && m.id == n.id && m.count == n.count;
    bool full = first.full || second.full;
    free(room);
    ROUND_TRIP_HOLDS(!full);
    ROUND_TRIP_HOLDS(err == 0);
    ROUND_TRIP_HOLDS(same);
    return NULL;
}

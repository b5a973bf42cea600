/* world/command/courier.c: see the header. */
#include "world/command/courier.h"

#include "common/err.h"
#include "world/cluster/border.h"

int courier_message(struct world *w, struct span message, struct mono now)
{
    struct cluster_message m;
    int err = cluster_read(message, &m);

    w->now = now;
    if (err != 0) {
        w->metrics.messages_bad++;
        return err;
    }
    switch (m.kind) {
    case CLUSTER_BORDER:
        border_take(w, &m, now);
        break;
    case CLUSTER_ASK:
        border_asked(w, &m);
        break;
    case CLUSTER_BYE:
        border_bye(w, &m);
        break;
    case CLUSTER_ENDED:
        (void)id_pool_ended(&w->ids, m.id, now);
        break;
    default:
        break;
    }
    return 0;
}

void courier_zone(struct world *w, uint32_t zone, struct span world, uint64_t epoch,
                  struct mono now)
{
    struct realm *r = w->cluster;

    w->now = now;
    ASSERT(zone < r->n_zones);
    border_owner(w, zone, world.n > 0 ? realm_world(r, world) : REALM_NOBODY, epoch);
}

/* To whoever gave it. Where this is lost, the id is not given again in that world's life. */
static void tell_ended(struct world *w, uint32_t id)
{
    const struct cluster_door *door = &w->cluster->door;
    struct cluster_message m = {.kind = CLUSTER_ENDED, .id = id};
    uint8_t bytes[32];
    struct span_writer out = span_writer_of(bytes, sizeof(bytes));

    cluster_write(&out, &m);
    ASSERT(!out.full);
    door->ops->tell(door->arg, span_written(&out));
}

void courier_id_end(struct world *w, uint32_t id, struct mono now)
{
    if (id_pool_owns(&w->ids, id))
        id_pool_end(&w->ids, id, now);
    else
        tell_ended(w, id);
}

void courier_id_return(struct world *w, uint32_t id)
{
    if (id_pool_owns(&w->ids, id))
        id_pool_return(&w->ids, id);
    else
        tell_ended(w, id);
}

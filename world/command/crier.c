/* world/command/crier.c: see the header. */
#include "world/command/crier.h"

#include "common/err.h"
#include "world/cluster/realm.h"
#include "world/command/inbox.h"

_Static_assert(CLUSTER_REACHES == NOTICE_CELL + 1, "a message has what a notice has");

static uint32_t tell(struct world *w, const struct crier_area *area, struct span text,
                     struct mono now)
{
    struct notice_area to = {.reach = area->reach, .scene = area->scene};

    memcpy(to.rect, area->place, sizeof(to.rect));
    if (area->reach == NOTICE_CELL)
        to.cell = grid_cell(&w->scenes.grid, area->scene, area->place[0], area->place[1]);
    return inbox_announce(w, &to, text, now);
}

uint32_t crier_announce(struct world *w, const struct crier_area *area, struct span text,
                        struct mono now)
{
    struct cluster_message m = {
        .kind = CLUSTER_ANNOUNCE, .reach = area->reach, .scene = area->scene, .text = text};
    uint8_t bytes[PROTO_SAY_MAX + LINK_WORLD_MAX + 64];
    struct span_writer out = span_writer_of(bytes, sizeof(bytes));

    if (w->cluster) {
        const struct cluster_door *door = &w->cluster->door;

        memcpy(m.place, area->place, sizeof(m.place));
        m.world = door->world;
        cluster_write(&out, &m);
        ASSERT(!out.full);
        door->ops->tell(door->arg, span_written(&out));
    }
    return tell(w, area, text, now);
}

int crier_heard(struct world *w, const struct cluster_message *m, struct mono now)
{
    struct crier_area area = {.reach = (enum notice_reach)m->reach, .scene = m->scene};

    if (m->scene >= w->scenes.n)
        return E_BAD;
    memcpy(area.place, m->place, sizeof(area.place));
    (void)tell(w, &area, m->text, now);
    return 0;
}

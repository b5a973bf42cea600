/* world/state/npc_patrol.c: an NPC that walks a route of a map, over and over.
 * A closed route goes round, any other one back and forth; it rests a moment at each point. Each
 * leg is a legal way, and walked straight; where it stands elsewhere than on one, or is walked by
 * tiles, which a slanting line does not suit, it has a way found.
 * Pure. May touch: common, world/state.
 */
#include "common/clock.h"
#include "world/state/npc.h"

#define PATROL_REST_NS (500 * CLOCK_NS_PER_MS)

static bool stands_on(const struct npc_view *v, const struct map_place *p)
{
    return v->x == p->x && v->y == p->y;
}

static void advance(struct npc *n)
{
    if (n->closed) {
        n->next = (n->next + 1) % n->n_route;
        return;
    }
    if (n->next + 1 == n->n_route)
        n->back = true;
    else if (n->next == 0)
        n->back = false;
    n->next += n->back ? 0u - 1u : 1;
}

static struct npc_order think(struct npc *n, const struct npc_view *v)
{
    const struct map_place *to = &v->points[n->next];

    if (stands_on(v, to)) {
        if (!n->rested) {
            n->rested = true;
            return (struct npc_order){.wait_ns = PATROL_REST_NS};
        }
        advance(n);
        to = &v->points[n->next];
    }
    n->rested = false;
    return (struct npc_order){
        .go = true,
        .path = v->tiles || (v->ground && !ground_way(v->ground, v->x, v->y, to->x, to->y, NULL)),
        .x = to->x,
        .y = to->y,
    };
}

const struct npc_kind npc_patrol = {.name = "patrol", .think = think, .routed = true};

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

static bool inside(const struct npc_view *v, const struct map_place *p)
{
    return p->x >= v->bounds[0] && p->x <= v->bounds[2] && p->y >= v->bounds[1] &&
           p->y <= v->bounds[3];
}

static void advance(struct npc *n)
{
    if (n->n_route < 2)
        return;
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

/* The point that it goes to, or the next one within its bounds; NULL: there is none. */
static const struct map_place *next_inside(struct npc *n, const struct npc_view *v)
{
    for (uint32_t i = 0; i < 2 * n->n_route && !inside(v, &v->points[n->next]); i++)
        advance(n);
    return inside(v, &v->points[n->next]) ? &v->points[n->next] : NULL;
}

static struct npc_order think(struct npc *n, const struct npc_view *v)
{
    const struct map_place *to = next_inside(n, v);

    if (to && stands_on(v, to)) {
        if (!n->rested) {
            n->rested = true;
            return (struct npc_order){.wait_ns = PATROL_REST_NS};
        }
        advance(n);
        to = next_inside(n, v);
    }
    n->rested = false;
    if (!to)
        return (struct npc_order){.wait_ns = PATROL_REST_NS};
    return (struct npc_order){
        .go = true,
        .path = v->tiles || (v->ground && !ground_way(v->ground, v->x, v->y, to->x, to->y, NULL)),
        .x = to->x,
        .y = to->y,
    };
}

const struct npc_kind npc_patrol = {.name = "patrol", .think = think, .routed = true};

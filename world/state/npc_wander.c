/* world/state/npc_wander.c: an NPC that walks a few steps, rests, and walks on.
 * Within its area, where a map gave it one; else from wherever it is. It goes only where it has a
 * legal straight way to. Pure. May touch: common, world/state.
 */
#include "common/clock.h"
#include "world/state/npc.h"

#define WANDER_STEP     8.0 /* units along each axis at most */
#define WANDER_TRIES    4   /* places that it thinks of at a time */
#define WANDER_REST_NS  (1 * CLOCK_NS_PER_S)
#define WANDER_REST_MAX (4 * CLOCK_NS_PER_S) /* beyond that */

static double held(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

static struct npc_order think(struct npc *n, const struct npc_view *v)
{
    const struct map_area *a = &n->area;
    struct npc_order order = {0};

    for (int i = 0; n->rested && i < WANDER_TRIES; i++) {
        double x = v->x + (2 * rng_unit(v->rng) - 1) * WANDER_STEP;
        double y = v->y + (2 * rng_unit(v->rng) - 1) * WANDER_STEP;

        if (a->x0 < a->x1 || a->y0 < a->y1) {
            x = held(x, a->x0, a->x1);
            y = held(y, a->y0, a->y1);
        }
        order.x = held(x, v->bounds[0], v->bounds[2]);
        order.y = held(y, v->bounds[1], v->bounds[3]);
        if (v->ground && !ground_way(v->ground, v->x, v->y, order.x, order.y, NULL))
            continue;
        order.go = true;
        n->rested = false;
        return order;
    }
    n->rested = true;
    order.wait_ns =
        WANDER_REST_NS + (int64_t)(rng_unit(v->rng) * (double)(WANDER_REST_MAX - WANDER_REST_NS));
    return order;
}

const struct npc_kind npc_wander = {.name = "wander", .think = think};

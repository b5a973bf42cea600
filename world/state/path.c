/* world/state/path.c: see the header.
 * Directions are numbered around: 0 is along x, odd ones are diagonal.
 */
#include "world/state/path.h"

#include "common/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SQRT2 1.4142135623730951
/* Rounding of sums of a million steps stays below this, and two ways that differ do by more. */
#define EQUAL 1e-9

static const int8_t DX[8] = {1, 1, 0, -1, -1, -1, 0, 1};
static const int8_t DY[8] = {0, 1, 1, 1, 0, -1, -1, -1};

int path_init(struct path *p, uint32_t nx, uint32_t ny)
{
    memset(p, 0, sizeof(*p));
    p->tiles = (nx + 2) * (ny + 2);
    p->node_cap = p->tiles < PATH_NODES_MAX ? p->tiles : PATH_NODES_MAX;
    p->node_at = calloc(p->tiles, sizeof(*p->node_at));
    p->nodes = calloc(p->node_cap, sizeof(*p->nodes));
    p->heap = calloc(p->node_cap, sizeof(*p->heap));
    if (!p->node_at || !p->nodes || !p->heap) {
        path_fini(p);
        return E_NOMEM;
    }
    return 0;
}

void path_fini(struct path *p)
{
    free(p->node_at);
    free(p->nodes);
    free(p->heap);
    memset(p, 0, sizeof(*p));
}

void path_drop(struct path *p)
{
    for (uint32_t i = 0; i < p->n_nodes; i++)
        p->node_at[p->nodes[i].tile] = 0;
    p->n_nodes = 0;
    p->n_heap = 0;
    p->state = PATH_IDLE;
}

/* --- the heap: the least f first, of equals the furthest, then the first tile ----------------- */

static bool before(const struct path *p, uint32_t a, uint32_t b)
{
    const struct path_node *m = &p->nodes[a], *n = &p->nodes[b];

    if (m->f != n->f)
        return m->f < n->f;
    return m->g != n->g ? m->g > n->g : m->tile < n->tile;
}

static void heap_set(struct path *p, uint32_t i, uint32_t node)
{
    p->heap[i] = node;
    p->nodes[node].heap = i + 1;
}

static void heap_rise(struct path *p, uint32_t i)
{
    uint32_t node = p->heap[i];

    while (i > 0 && before(p, node, p->heap[(i - 1) / 2])) {
        heap_set(p, i, p->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    heap_set(p, i, node);
}

static uint32_t heap_take(struct path *p)
{
    uint32_t top = p->heap[0], last = p->heap[--p->n_heap], i = 0;

    p->nodes[top].heap = 0;
    if (p->n_heap == 0)
        return top;
    for (;;) {
        uint32_t child = 2 * i + 1;

        if (child >= p->n_heap)
            break;
        child += child + 1 < p->n_heap && before(p, p->heap[child + 1], p->heap[child]);
        if (!before(p, p->heap[child], last))
            break;
        heap_set(p, i, p->heap[child]);
        i = child;
    }
    heap_set(p, i, last);
    return top;
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* No way to the goal is shorter than this. */
static double at_least(const struct path *p, int32_t x, int32_t y)
{
    int32_t dx = abs(x - p->gx), dy = abs(y - p->gy);

    return dx > dy ? dx - dy + SQRT2 * dy : dy - dx + SQRT2 * dx;
}

/* The tile is reached from `parent` (node + 1) in direction `from`, `g` from the start. */
static void reach(struct path *p, int32_t x, int32_t y, double g, uint32_t parent, int from)
{
    uint32_t tile = (uint32_t)y * p->width + (uint32_t)x, at = p->node_at[tile];
    struct path_node *n;

    if (at == 0) {
        if (p->n_nodes == p->node_cap) {
            p->state = PATH_FULL;
            return;
        }
        at = p->node_at[tile] = ++p->n_nodes;
        n = &p->nodes[at - 1];
        n->tile = tile;
        n->heap = 0;
    } else {
        n = &p->nodes[at - 1];
        if (g > n->g - EQUAL)
            return;
    }
    n->g = g;
    n->f = g + at_least(p, x, y);
    n->parent = parent;
    n->from = (uint8_t)from;
    if (n->heap == 0)
        heap_set(p, p->n_heap++, at - 1);
    heap_rise(p, n->heap - 1);
}

/* --- looks ------------------------------------------------------------------------------------ */

/* Along a line from (x, y): where it leads, LANES_NONE: nowhere. */
static int32_t along(struct path *p, int32_t x, int32_t y, int d)
{
    p->looks++;
    if (DY[d] == 0)
        return lanes_along_row(p->lanes, x, y, DX[d], y == p->gy ? p->gx : LANES_NONE);
    return lanes_along_col(p->lanes, x, y, DY[d], x == p->gx ? p->gy : LANES_NONE);
}

static void look_straight(struct path *p, uint32_t node, int32_t x, int32_t y, int d)
{
    int32_t to = along(p, x, y, d);

    if (to == LANES_NONE)
        return;
    if (DY[d] == 0)
        reach(p, to, y, p->nodes[node].g + abs(to - x), node + 1, d);
    else
        reach(p, x, to, p->nodes[node].g + abs(to - y), node + 1, d);
}

/* Diagonal steps, each with a look along both its axes, to where one of them leads somewhere. */
static void look_diagonal(struct path *p, uint32_t node, int32_t x, int32_t y, int d)
{
    const struct lanes *l = p->lanes;

    for (int n = 1; n <= PATH_DIAGONAL; n++) {
        if (lanes_blocked(l, x + DX[d], y) || lanes_blocked(l, x, y + DY[d]) ||
            lanes_blocked(l, x + DX[d], y + DY[d]))
            return;
        x += DX[d];
        y += DY[d];
        if ((x == p->gx && y == p->gy) || n == PATH_DIAGONAL ||
            along(p, x, y, (d + 7) % 8) != LANES_NONE ||
            along(p, x, y, (d + 1) % 8) != LANES_NONE) {
            reach(p, x, y, p->nodes[node].g + SQRT2 * n, node + 1, d);
            return;
        }
    }
}

/* Where to look from a node: a diagonal arrival goes on, and along both its axes; a straight one
 * goes on, and where a lane beside it opens behind a blocked tile, there and between. */
static unsigned directions(const struct lanes *l, int32_t x, int32_t y, int from)
{
    unsigned set;

    if (from == PATH_ANY)
        return 0xff;
    if (from % 2 == 1)
        return 1u << from | 1u << (from + 7) % 8 | 1u << (from + 1) % 8;
    set = 1u << from;
    for (int side = 2; side <= 6; side += 4) {
        int beside = (from + side) % 8, between = (from + (side == 2 ? 1 : 7)) % 8;

        if (lanes_blocked(l, x - DX[from] + DX[beside], y - DY[from] + DY[beside]) &&
            !lanes_blocked(l, x + DX[beside], y + DY[beside]))
            set |= 1u << beside | 1u << between;
    }
    return set;
}

static void expand(struct path *p, uint32_t node)
{
    int32_t x = (int32_t)(p->nodes[node].tile % p->width);
    int32_t y = (int32_t)(p->nodes[node].tile / p->width);
    unsigned set = directions(p->lanes, x, y, p->nodes[node].from);

    p->expanded++;
    if (x == p->gx && y == p->gy) {
        p->goal = node;
        p->state = PATH_FOUND;
        return;
    }
    for (int d = 0; d < 8 && p->state == PATH_WAY; d++) {
        if (!(set >> d & 1))
            continue;
        if (d % 2 == 0)
            look_straight(p, node, x, y, d);
        else
            look_diagonal(p, node, x, y, d);
    }
}

/* --- the nearest tile that can be reached ----------------------------------------------------- */

static void consider(struct path *p, int32_t tx, int32_t ty)
{
    int32_t dx = tx - (p->gx - 1), dy = ty - (p->gy - 1), d = dx * dx + dy * dy;

    if (lanes_area(p->lanes, tx, ty) != p->start_area)
        return;
    if (p->best >= 0 &&
        (d > p->best || (d == p->best && (ty > p->by || (ty == p->by && tx >= p->bx)))))
        return;
    p->best = d;
    p->bx = tx;
    p->by = ty;
}

static void set_out(struct path *p)
{
    p->state = PATH_WAY;
    reach(p, (int32_t)p->sx, (int32_t)p->sy, 0, 0, PATH_ANY);
}

/* One ring around the goal. The start's own tile is of its area, so one is found. */
static uint32_t look_around(struct path *p)
{
    int32_t r = p->ring++, cx = p->gx - 1, cy = p->gy - 1;

    if (p->best >= 0 && r > 0 && (int64_t)r * r > p->best) {
        p->gx = p->bx + 1;
        p->gy = p->by + 1;
        set_out(p);
        return 0;
    }
    for (int32_t x = cx - r; x <= cx + r; x++) {
        consider(p, x, cy - r);
        consider(p, x, cy + r);
    }
    for (int32_t y = cy - r + 1; y < cy + r; y++) {
        consider(p, cx - r, y);
        consider(p, cx + r, y);
    }
    return 8 * (uint32_t)r / PATH_RING + 1;
}

/* --- a search --------------------------------------------------------------------------------- */

void path_begin(struct path *p, const struct lanes *l, struct ground_tile from,
                struct ground_tile to)
{
    ASSERT(((uint32_t)l->nx + 2) * ((uint32_t)l->ny + 2) <= p->tiles);
    path_drop(p);
    p->lanes = l;
    p->width = (uint32_t)l->nx + 2;
    p->sx = (uint32_t)from.x + 1;
    p->sy = (uint32_t)from.y + 1;
    p->gx = to.x + 1;
    p->gy = to.y + 1;
    p->start_area = lanes_area(l, from.x, from.y);
    ASSERT(p->start_area != 0);
    p->looks = 0;
    p->expanded = 0;
    p->ring = 0;
    p->best = -1;
    p->reaches = lanes_area(l, to.x, to.y) == p->start_area;
    if (p->reaches)
        set_out(p);
    else
        p->state = PATH_NEAR;
}

uint32_t path_run(struct path *p, uint32_t budget)
{
    uint32_t used = 0;

    while (used < budget) {
        if (p->state == PATH_NEAR) {
            used += look_around(p);
        } else if (p->state == PATH_WAY) {
            ASSERT(p->n_heap > 0); /* the goal is of the start's area */
            expand(p, heap_take(p));
            used += 1 + p->looks / PATH_LOOKS;
            p->looks %= PATH_LOOKS;
        } else {
            break;
        }
    }
    return used;
}

double path_length(const struct path *p)
{
    ASSERT(p->state == PATH_FOUND);
    return p->nodes[p->goal].g;
}

/* From the goal back to the start: turn the links around, so that they lead forwards. */
static uint32_t turn_around(struct path *p)
{
    uint32_t at = p->goal + 1, next = 0;

    while (at != 0) {
        uint32_t back = p->nodes[at - 1].parent;

        p->nodes[at - 1].parent = next;
        next = at;
        at = back;
    }
    return next;
}

uint32_t path_turns(struct path *p, struct path_turn *out, uint32_t cap)
{
    uint32_t n = 0;

    ASSERT(p->state == PATH_FOUND);
    for (uint32_t at = p->nodes[turn_around(p) - 1].parent; at != 0;) {
        const struct path_node *node = &p->nodes[at - 1];
        uint32_t next = node->parent;

        if (next == 0 || p->nodes[next - 1].from != node->from) {
            if (n < cap)
                out[n] = (struct path_turn){(uint16_t)(node->tile % p->width - 1),
                                            (uint16_t)(node->tile / p->width - 1)};
            n++;
        }
        at = next;
    }
    p->state = PATH_IDLE;
    return n;
}

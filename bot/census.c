/* bot/census.c: while all rest: is every view exactly what it should be?
 * May touch: common, proto, bot/view. On trouble: see census.h.
 */
#include "bot/census.h"

#include "common/err.h"
#include "proto/aoi_move.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int census_init(struct census *c, uint32_t cap, census_stray_fn *stray, void *arg)
{
    *c = (struct census){.cap = cap, .stray = stray, .stray_arg = arg};
    c->by_x = calloc(cap, sizeof(*c->by_x));
    c->by_id = calloc(cap, sizeof(*c->by_id));
    if (c->by_x && c->by_id)
        return 0;
    census_fini(c);
    return E_NOMEM;
}

void census_fini(struct census *c)
{
    free(c->by_x);
    free(c->by_id);
    *c = (struct census){0};
}

void census_clear(struct census *c, double radius, double hysteresis)
{
    c->n = 0;
    c->radius = radius;
    c->reach = radius + hysteresis;
}

void census_add(struct census *c, const struct census_body *body)
{
    ASSERT(c->n < c->cap);
    c->by_x[c->n++] = *body;
}

static int compare_x(const void *a, const void *b)
{
    const struct census_body *p = a, *q = b;
    return (p->x > q->x) - (p->x < q->x);
}

static int compare_id(const void *a, const void *b, void *arg)
{
    const struct census *c = arg;
    uint32_t p = c->by_x[*(const uint32_t *)a].id, q = c->by_x[*(const uint32_t *)b].id;
    return (p > q) - (p < q);
}

void census_sort(struct census *c)
{
    qsort(c->by_x, c->n, sizeof(*c->by_x), compare_x);
    for (uint32_t i = 0; i < c->n; i++)
        c->by_id[i] = i;
    qsort_r(c->by_id, c->n, sizeof(*c->by_id), compare_id, c);
}

static const struct census_body *find(const struct census *c, uint32_t id)
{
    uint32_t lo = 0, hi = c->n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (c->by_x[c->by_id[mid]].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < c->n && c->by_x[c->by_id[lo]].id == id ? &c->by_x[c->by_id[lo]] : NULL;
}

/* The first index whose x is at least `x`. */
static uint32_t first_from(const struct census *c, double x)
{
    uint32_t lo = 0, hi = c->n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (c->by_x[mid].x < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void differ(struct census *c, uint32_t *differences, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void differ(struct census *c, uint32_t *differences, const char *fmt, ...)
{
    va_list ap;

    if ((*differences)++ > 0)
        return;
    va_start(ap, fmt);
    vsnprintf(c->why, sizeof(c->why), fmt, ap);
    va_end(ap);
}

/* Infinite between two scenes. */
static double distance2(const struct census_body *a, const struct census_body *b)
{
    if (a->scene != b->scene && (!a->scene || !b->scene || strcmp(a->scene, b->scene) != 0))
        return INFINITY;
    double dx = a->x - b->x, dy = a->y - b->y;
    return dx * dx + dy * dy;
}

/* Is what is known of `b` where and how it is? */
static void check_known(struct census *c, const struct census_body *b, const struct view_entity *e,
                        double quantum, uint32_t *differences)
{
    /* Not the distance: a place added exactly and the one it is at now may be the same to the wire
     * and yet more than half a quantum apart. */
    if (e->qx != aoi_move_quantise(b->x, quantum) || e->qy != aoi_move_quantise(b->y, quantum))
        differ(c, differences, "#%u is believed at (%.4f, %.4f) and is at (%.4f, %.4f)", b->id,
               e->x, e->y, b->x, b->y);
    else if ((e->dir != b->dir && !b->walked) || e->speed != b->speed)
        differ(c, differences, "#%u is believed to go dir %u speed %u and goes dir %u speed %u",
               b->id, e->dir, e->speed, b->dir, b->speed);
}

uint32_t census_check(struct census *c, const struct census_body *self, const struct view *v,
                      uint64_t *seen)
{
    uint32_t differences = 0, missing = 0;

    for (uint32_t i = first_from(c, self->x - c->radius);
         i < c->n && c->by_x[i].x <= self->x + c->radius; i++) {
        const struct census_body *b = &c->by_x[i];
        if (b->id == self->id || distance2(self, b) > c->radius * c->radius)
            continue;
        const struct view_entity *e = view_find(v, b->id);
        if (e)
            ++*seen;
        else if (b->sure && ++missing > v->hidden) /* the server says how many it does not tell */
            differ(c, &differences, "#%u stands %.4f away and is not known", b->id,
                   sqrt(distance2(self, b)));
    }
    for (uint32_t i = 0; i < v->count; i++) {
        const struct view_entity *e = &v->known[i];
        const struct census_body *b = find(c, e->id);
        const struct view_name *name = b ? NULL : view_name_of(v, e);
        if (!b && !c->stray(c->stray_arg, span_of(name->text, name->len)))
            differ(c, &differences, "#%u \"%s\" is known and is nobody", e->id, name->text);
        else if (b && b->sure && distance2(self, b) > c->reach * c->reach)
            differ(c, &differences, "#%u stands %.4f away and is known", b->id,
                   sqrt(distance2(self, b)));
        else if (b)
            check_known(c, b, e, v->quantum, &differences);
    }
    return differences;
}

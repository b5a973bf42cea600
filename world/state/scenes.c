/* world/state/scenes.c: see the header. */
#include "world/state/scenes.h"

#include "common/err.h"

#include <stdio.h>
#include <string.h>

int scenes_check(const struct scenes_plan *p, char *why, size_t why_cap)
{
    if (p->first.n > 0 && !span_equal(p->first, span_text(SCENE_OPEN))) {
        snprintf(why, why_cap, "-scene: \"%.*s\": no such scene", (int)p->first.n,
                 (const char *)p->first.p);
        return E_RANGE;
    }
    return 0;
}

int scenes_init(struct scenes *s, const struct scenes_plan *p, double reach, bool linked,
                uint32_t cap)
{
    double bounds[SCENES_MAX][4];

    memset(s, 0, sizeof(*s));
    s->list[s->n++] = (struct scene){
        .name = span_text(SCENE_OPEN),
        .bounds = {p->bounds[0], p->bounds[1], p->bounds[2], p->bounds[3]},
        .spawn = p->spawn,
    };
    scenes_bounds(s, bounds);
    return grid_init(&s->grid, bounds, s->n, reach, linked, cap);
}

void scenes_fini(struct scenes *s)
{
    grid_fini(&s->grid);
}

bool scenes_find(const struct scenes *s, struct span name, uint32_t *out)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (span_equal(s->list[i].name, name)) {
            *out = i;
            return true;
        }
    }
    return false;
}

void scenes_bounds(const struct scenes *s, double out[][4])
{
    for (uint32_t i = 0; i < s->n; i++)
        memcpy(out[i], s->list[i].bounds, sizeof(out[i]));
}

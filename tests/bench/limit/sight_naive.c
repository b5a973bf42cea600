/* tests/bench/limit/sight_naive.c: the grid of the textbooks: cells as wide as the radius, a look
 * at nine of them for each viewer, and a list of whom it knows, compared with what it sees. May
 * touch: libc.
 */
#include "tests/bench/limit/sight_rival.h"

#include <math.h>
#include <stdlib.h>

#define NOBODY UINT32_MAX

struct naive_list {
    uint32_t *who; /* [cap] */
    uint32_t n, cap;
};

struct naive {
    struct sight_job job;
    uint32_t cells;           /* along one axis, one of them outside on either side */
    uint32_t *head;           /* [cells * cells] first entity, or NOBODY */
    uint32_t *next;           /* [n] the next one in its cell */
    struct naive_list *known; /* [n] */
    struct naive_list seen;   /* of the viewer at hand */
    uint64_t *mark;           /* [n] the viewer's stamp: known; one more: seen again */
    uint64_t stamp;
};

static void naive_destroy(void *p)
{
    struct naive *g = p;

    for (uint32_t i = 0; g->known && i < g->job.n; i++)
        free(g->known[i].who);
    free(g->seen.who);
    free(g->head);
    free(g->next);
    free(g->known);
    free(g->mark);
    free(g);
}

static void *naive_create(const struct sight_job *j)
{
    struct naive *g = calloc(1, sizeof(*g));

    if (!g)
        return NULL;
    g->job = *j;
    g->cells = (uint32_t)ceil(j->side / j->radius) + 3;
    g->head = calloc((size_t)g->cells * g->cells, sizeof(*g->head));
    g->next = calloc(j->n, sizeof(*g->next));
    g->known = calloc(j->n, sizeof(*g->known));
    g->mark = calloc(j->n, sizeof(*g->mark));
    g->stamp = 1;
    if (!g->head || !g->next || !g->known || !g->mark) {
        naive_destroy(g);
        return NULL;
    }
    return g;
}

static void naive_push(struct naive_list *l, uint32_t who)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 16;
        l->who = realloc(l->who, l->cap * sizeof(*l->who));
        if (!l->who)
            abort();
    }
    l->who[l->n++] = who;
}

static size_t naive_cell(const struct naive *g, double x, double y)
{
    size_t cx = 1 + (size_t)(x / g->job.radius), cy = 1 + (size_t)(y / g->job.radius);

    return cy * g->cells + cx;
}

static void naive_file(struct naive *g, const struct sight_input *in)
{
    for (size_t i = 0; i < (size_t)g->cells * g->cells; i++)
        g->head[i] = NOBODY;
    for (uint32_t i = 0; i < g->job.n; i++) {
        size_t cell = naive_cell(g, in->x[i], in->y[i]);

        g->next[i] = g->head[cell];
        g->head[cell] = i;
    }
}

/* Fills g->seen. */
static void naive_look(struct naive *g, const struct sight_input *in, uint32_t viewer)
{
    const double x = in->x[viewer], y = in->y[viewer], r2 = g->job.radius * g->job.radius;
    size_t middle = naive_cell(g, x, y);

    g->seen.n = 0;
    for (size_t row = middle - g->cells; row <= middle + g->cells; row += g->cells) {
        for (size_t cell = row - 1; cell <= row + 1; cell++) {
            for (uint32_t i = g->head[cell]; i != NOBODY; i = g->next[i]) {
                double dx = in->x[i] - x, dy = in->y[i] - y;

                if (dx * dx + dy * dy <= r2 && i != viewer)
                    naive_push(&g->seen, i);
            }
        }
    }
}

/* Writes how the viewer's list and what it sees differ; the latter becomes its list. */
static void naive_compare(struct naive *g, const struct sight_input *in, uint32_t viewer,
                          struct sight_sink *out)
{
    struct naive_list *known = &g->known[viewer], before = *known;
    struct sight_record *first = sight_sink_room(out, before.n + g->seen.n), *at = first;

    for (uint32_t i = 0; i < before.n; i++)
        g->mark[before.who[i]] = g->stamp;
    for (uint32_t i = 0; i < g->seen.n; i++) {
        uint32_t who = g->seen.who[i];

        if (g->mark[who] != g->stamp) {
            *at++ = (struct sight_record){who, SIGHT_NEW};
            out->added++;
            continue;
        }
        g->mark[who]++;
        if (who < in->movers) {
            *at++ = (struct sight_record){who, in->tail[who]};
            out->staying++;
        }
    }
    for (uint32_t i = 0; i < before.n; i++) {
        if (g->mark[before.who[i]] == g->stamp) {
            *at++ = (struct sight_record){before.who[i], SIGHT_GONE};
            out->gone++;
        }
    }
    g->stamp += 2;
    out->at += (size_t)(at - first);
    *known = g->seen;
    g->seen = before;
}

static void naive_tick(void *p, const struct sight_input *in, struct sight_sink *out)
{
    struct naive *g = p;

    naive_file(g, in);
    for (uint32_t i = 0; i < g->job.n; i++) {
        naive_look(g, in, i);
        naive_compare(g, in, i, out);
    }
}

static uint64_t naive_resident(const void *p)
{
    const struct naive *g = p;
    uint64_t bytes = (uint64_t)g->cells * g->cells * sizeof(*g->head) +
                     g->job.n * (sizeof(*g->next) + sizeof(*g->known) + sizeof(*g->mark));

    for (uint32_t i = 0; i < g->job.n; i++)
        bytes += g->known[i].cap * sizeof(*g->known[i].who);
    return bytes;
}

const struct sight_rival sight_naive = {
    .name = "naive grid",
    .create = naive_create,
    .destroy = naive_destroy,
    .tick = naive_tick,
    .resident = naive_resident,
    .remembers = true,
};

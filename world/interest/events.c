/* world/interest/events.c: see the header.
 * Most lists are made in order. Where one was not, the order comes from sorting (id, index), and
 * one copy of each event.
 */
#include "world/interest/events.h"

#include "common/err.h"
#include "world/interest/radix.h"

#include <stdlib.h>
#include <string.h>

int events_init(struct events *e, uint32_t cap)
{
    memset(e, 0, sizeof(*e));
    e->cap = cap;
    for (int i = 0; i < EVENT_TYPES; i++) {
        e->list[i] = malloc(cap * sizeof(*e->list[i]));
        if (!e->list[i]) {
            events_fini(e);
            return E_NOMEM;
        }
    }
    e->keys[0] = malloc(cap * sizeof(*e->keys[0]));
    e->keys[1] = malloc(cap * sizeof(*e->keys[1]));
    e->copy = malloc(cap * sizeof(*e->copy));
    if (!e->keys[0] || !e->keys[1] || !e->copy) {
        events_fini(e);
        return E_NOMEM;
    }
    return 0;
}

void events_fini(struct events *e)
{
    for (int i = 0; i < EVENT_TYPES; i++)
        free(e->list[i]);
    free(e->keys[0]);
    free(e->keys[1]);
    free(e->copy);
    memset(e, 0, sizeof(*e));
}

void events_sort_keys(struct events *e, uint32_t n)
{
    uint64_t *sorted = radix_sort(e->keys[0], e->keys[1], n);

    if (sorted != e->keys[0]) {
        e->keys[1] = e->keys[0];
        e->keys[0] = sorted;
    }
}

static void sort_list(struct events *e, struct event *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        e->keys[0][i] = (uint64_t)list[i].id << 32 | i;
    events_sort_keys(e, n);
    memcpy(e->copy, list, n * sizeof(*list));
    for (uint32_t i = 0; i < n; i++)
        list[i] = e->copy[(uint32_t)e->keys[0][i]];
}

void events_sort(struct events *e)
{
    for (int i = 0; i < EVENT_TYPES; i++) {
        if (e->unsorted[i])
            sort_list(e, e->list[i], e->n[i]);
        e->unsorted[i] = false;
    }
}

void events_clear(struct events *e)
{
    for (int i = 0; i < EVENT_TYPES; i++) {
        e->count[i] += e->n[i];
        e->n[i] = 0;
        e->unsorted[i] = false;
    }
}

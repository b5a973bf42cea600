/* world/state/finder.c: see the header. */
#include "world/state/finder.h"

#include "common/err.h"

#include <stdlib.h>
#include <string.h>

int finder_init(struct finder *f, uint32_t cap, uint32_t nx, uint32_t ny, uint32_t budget,
                uint32_t most)
{
    memset(f, 0, sizeof(*f));
    f->budget = budget;
    f->most = most;
    f->head = f->tail = FINDER_NONE;
    if (nx == 0)
        return 0;
    f->next = calloc(cap, sizeof(*f->next));
    f->prev = calloc(cap, sizeof(*f->prev));
    f->waits = calloc(cap, sizeof(*f->waits));
    if (!f->next || !f->prev || !f->waits || path_init(&f->path, nx, ny) != 0) {
        finder_fini(f);
        return E_NOMEM;
    }
    return 0;
}

void finder_fini(struct finder *f)
{
    path_fini(&f->path);
    free(f->next);
    free(f->prev);
    free(f->waits);
    memset(f, 0, sizeof(*f));
}

static void append(struct finder *f, uint32_t slot)
{
    f->waits[slot] = 1;
    f->next[slot] = FINDER_NONE;
    f->prev[slot] = f->tail;
    if (f->tail == FINDER_NONE)
        f->head = slot;
    else
        f->next[f->tail] = slot;
    f->tail = slot;
    f->n++;
}

void finder_drop(struct finder *f, uint32_t slot)
{
    if (!f->waits || !f->waits[slot])
        return;
    if (slot == f->head && f->begun) {
        path_drop(&f->path);
        f->begun = false;
    }
    if (f->prev[slot] == FINDER_NONE)
        f->head = f->next[slot];
    else
        f->next[f->prev[slot]] = f->next[slot];
    if (f->next[slot] == FINDER_NONE)
        f->tail = f->prev[slot];
    else
        f->prev[f->next[slot]] = f->prev[slot];
    f->waits[slot] = 0;
    f->n--;
}

int finder_ask(struct finder *f, uint32_t slot, double share)
{
    ASSERT(f->waits);
    if (f->waits[slot]) {
        if (slot != f->head || !f->begun)
            return 0;
        finder_drop(f, slot);
    } else if (f->n >= (uint32_t)(f->most * share)) {
        return E_FULL;
    }
    append(f, slot);
    return 0;
}

void finder_run(struct finder *f, finder_ends_fn *ends, finder_found_fn *found, void *arg)
{
    uint32_t used = 0;

    while (f->head != FINDER_NONE && used < f->budget) {
        uint32_t slot = f->head, came;

        if (!f->begun) {
            struct finder_ends e = ends(arg, slot);

            if (!e.lanes) {
                finder_drop(f, slot);
                continue;
            }
            path_begin(&f->path, e.lanes, e.from, e.to);
            f->begun = true;
            f->searches++;
            used++; /* a search costs something, however short it is */
        }
        came = path_run(&f->path, f->budget > used ? f->budget - used : 1);
        used += came;
        f->nodes += came;
        if (f->path.state == PATH_FOUND || f->path.state == PATH_FULL) {
            found(arg, slot, &f->path);
            finder_drop(f, slot);
        }
    }
}

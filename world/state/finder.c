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
    f->current = FINDER_NONE;
    if (nx == 0)
        return 0;
    f->line = calloc(most, sizeof(*f->line));
    f->at = calloc(cap, sizeof(*f->at));
    f->paid = calloc(cap, sizeof(*f->paid));
    if (!f->line || !f->at || !f->paid || path_init(&f->path, nx, ny) != 0) {
        finder_fini(f);
        return E_NOMEM;
    }
    return 0;
}

void finder_fini(struct finder *f)
{
    path_fini(&f->path);
    free(f->line);
    free(f->at);
    free(f->paid);
    memset(f, 0, sizeof(*f));
    f->current = FINDER_NONE;
}

/* --- the line ----------------------------------------------------------------------------------
 */

static bool before(const struct finder_wait *a, const struct finder_wait *b)
{
    return a->place != b->place ? a->place < b->place : a->order < b->order;
}

static void put(struct finder *f, uint32_t i, struct finder_wait wait)
{
    f->line[i] = wait;
    f->at[wait.slot] = i + 1;
}

static void rise(struct finder *f, uint32_t i)
{
    const struct finder_wait wait = f->line[i];

    for (; i > 0 && before(&wait, &f->line[(i - 1) / 2]); i = (i - 1) / 2)
        put(f, i, f->line[(i - 1) / 2]);
    put(f, i, wait);
}

static void sink(struct finder *f, uint32_t i)
{
    const struct finder_wait wait = f->line[i];

    for (uint32_t child; (child = 2 * i + 1) < f->n_line; i = child) {
        if (child + 1 < f->n_line && before(&f->line[child + 1], &f->line[child]))
            child++;
        if (!before(&f->line[child], &wait))
            break;
        put(f, i, f->line[child]);
    }
    put(f, i, wait);
}

static void take_out(struct finder *f, uint32_t i)
{
    f->at[f->line[i].slot] = 0;
    f->n_line--;
    if (i == f->n_line)
        return;
    put(f, i, f->line[f->n_line]);
    rise(f, i);
    sink(f, f->at[f->line[i].slot] - 1);
}

/* --- the search --------------------------------------------------------------------------------
 */

/* Who was searched for pays. */
static void settle(struct finder *f)
{
    f->paid[f->current] = f->place + f->spent;
    f->current = FINDER_NONE;
    f->n--;
}

bool finder_waits(const struct finder *f, uint32_t slot)
{
    return f->at && (f->at[slot] != 0 || slot == f->current);
}

void finder_drop(struct finder *f, uint32_t slot)
{
    if (!f->at)
        return;
    if (slot == f->current) {
        path_drop(&f->path);
        settle(f);
    } else if (f->at[slot] != 0) {
        take_out(f, f->at[slot] - 1);
        f->n--;
    }
}

int finder_ask(struct finder *f, uint32_t slot, double share)
{
    ASSERT(f->at);
    if (f->at[slot] != 0)
        return 0;
    if (slot == f->current)
        finder_drop(f, slot);
    else if (f->n >= (uint32_t)(f->most * share))
        return E_FULL;
    const uint64_t paid = f->paid[slot];
    const uint64_t least = f->served > FINDER_CREDIT ? f->served - FINDER_CREDIT : 0;
    f->line[f->n_line++] = (struct finder_wait){paid > least ? paid : least, ++f->order, slot};
    rise(f, f->n_line - 1);
    f->n++;
    return 0;
}

/* The next one's search begins. False: it needs none. */
static bool begin(struct finder *f, finder_ends_fn *ends, void *arg)
{
    f->current = f->line[0].slot;
    f->place = f->line[0].place;
    if (f->place > f->served)
        f->served = f->place;
    f->spent = 0;
    take_out(f, 0);
    const struct finder_ends e = ends(arg, f->current);
    if (!e.lanes) {
        settle(f);
        return false;
    }
    path_begin(&f->path, e.lanes, e.from, e.to);
    f->searches++;
    return true;
}

void finder_run(struct finder *f, finder_ends_fn *ends, finder_found_fn *found, void *arg)
{
    uint32_t used = 0;

    while (f->n > 0 && used < f->budget) {
        if (f->current == FINDER_NONE) {
            if (!begin(f, ends, arg))
                continue;
            used++; /* a search costs something, however short it is */
            f->spent++;
        }
        const uint32_t came = path_run(&f->path, f->budget > used ? f->budget - used : 1);
        used += came;
        f->spent += came;
        f->nodes += came;
        if (f->path.state == PATH_FOUND || f->path.state == PATH_FULL) {
            const uint32_t slot = f->current;
            settle(f);
            found(arg, slot, &f->path);
            path_drop(&f->path);
        }
    }
}

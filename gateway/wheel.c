/* gateway/wheel.c: a timing wheel over slots. May touch: common. On trouble: E_NOMEM at start. */
#include "gateway/wheel.h"

#include "common/err.h"

#include <stdlib.h>

int wheel_init(struct wheel *w, uint32_t cap)
{
    *w = (struct wheel){.cap = cap, .turn = 1};
    for (uint32_t b = 0; b < WHEEL_BUCKETS; b++)
        w->head[b] = WHEEL_NONE;
    w->next = calloc(cap, sizeof(*w->next));
    w->prev = calloc(cap, sizeof(*w->prev));
    w->due = calloc(cap, sizeof(*w->due));
    if (!w->next || !w->prev || !w->due) {
        wheel_fini(w);
        return E_NOMEM;
    }
    return 0;
}

void wheel_fini(struct wheel *w)
{
    free(w->next);
    free(w->prev);
    free(w->due);
    w->next = w->prev = w->due = NULL;
    w->cap = 0;
}

/* The turn that is surely not before `delay_ms` from now, however far this step has gone. */
static uint32_t wheel_turn_of(const struct wheel *w, uint32_t delay_ms)
{
    uint32_t steps = delay_ms / WHEEL_STEP_MS + (delay_ms % WHEEL_STEP_MS != 0);
    if (steps < 1)
        steps = 1;
    if (steps > WHEEL_BUCKETS - 1)
        steps = WHEEL_BUCKETS - 1;
    return w->turn + steps;
}

void wheel_set(struct wheel *w, uint32_t slot, uint32_t delay_ms)
{
    ASSERT(slot < w->cap);
    wheel_clear(w, slot);

    const uint32_t due = wheel_turn_of(w, delay_ms);
    uint32_t *head = &w->head[due % WHEEL_BUCKETS];
    w->due[slot] = due;
    w->prev[slot] = WHEEL_NONE;
    w->next[slot] = *head;
    if (*head != WHEEL_NONE)
        w->prev[*head] = slot;
    *head = slot;
}

void wheel_hasten(struct wheel *w, uint32_t slot, uint32_t delay_ms)
{
    ASSERT(slot < w->cap);
    if (w->due[slot] == 0 || wheel_turn_of(w, delay_ms) < w->due[slot])
        wheel_set(w, slot, delay_ms);
}

void wheel_clear(struct wheel *w, uint32_t slot)
{
    ASSERT(slot < w->cap);
    const uint32_t due = w->due[slot];
    if (due == 0)
        return;
    const uint32_t next = w->next[slot], prev = w->prev[slot];
    if (prev == WHEEL_NONE)
        w->head[due % WHEEL_BUCKETS] = next;
    else
        w->next[prev] = next;
    if (next != WHEEL_NONE)
        w->prev[next] = prev;
    w->due[slot] = 0;
}

void wheel_turn(struct wheel *w, wheel_look_fn *look, void *arg)
{
    w->turn++;
    const uint32_t b = w->turn % WHEEL_BUCKETS;
    /* One by one from the front: a look may clear others of this bucket, and what it sets anew
     * never lands in this one. */
    while (w->head[b] != WHEEL_NONE) {
        const uint32_t slot = w->head[b];
        wheel_clear(w, slot);
        const uint32_t delay_ms = look(arg, slot);
        if (delay_ms != WHEEL_NONE)
            wheel_set(w, slot, delay_ms);
    }
}

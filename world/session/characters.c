/* world/session/characters.c: see the header. */
#include "world/session/characters.h"

#include "common/err.h"

#include <stdlib.h>

int characters_init(struct characters *c, uint32_t sessions, uint32_t entities, uint32_t left)
{
    const struct character_line empty = {SLOTS_NONE, SLOTS_NONE, 0};

    *c = (struct characters){.left_cap = left, .asked = empty, .turn = empty};
    c->list = calloc(sessions, sizeof(*c->list));
    c->last = calloc(sessions, sizeof(*c->last));
    c->saved = calloc(entities, sizeof(*c->saved));
    c->left = calloc(left, sizeof(*c->left));
    if (!c->list || !c->last || !c->saved || !c->left) {
        characters_fini(c);
        return E_NOMEM;
    }
    return 0;
}

void characters_fini(struct characters *c)
{
    free(c->left);
    free(c->saved);
    free(c->last);
    free(c->list);
    *c = (struct characters){0};
}

void characters_begin(struct characters *c, uint32_t slot)
{
    struct character *x = &c->list[slot];

    ASSERT(!x->then);
    x->known = false;
}

void characters_line_add(struct characters *c, struct character_line *line, uint32_t slot,
                         struct mono now)
{
    struct character *x = &c->list[slot];

    x->since = now;
    x->prev = line->last;
    x->next = SLOTS_NONE;
    if (line->last == SLOTS_NONE)
        line->first = slot;
    else
        c->list[line->last].next = slot;
    line->last = slot;
    line->count++;
}

void characters_line_front(struct characters *c, struct character_line *line, uint32_t slot)
{
    struct character *x = &c->list[slot];

    x->prev = SLOTS_NONE;
    x->next = line->first;
    if (line->first == SLOTS_NONE)
        line->last = slot;
    else
        c->list[line->first].prev = slot;
    line->first = slot;
    line->count++;
}

void characters_line_remove(struct characters *c, struct character_line *line, uint32_t slot)
{
    struct character *x = &c->list[slot];

    if (x->prev == SLOTS_NONE)
        line->first = x->next;
    else
        c->list[x->prev].next = x->next;
    if (x->next == SLOTS_NONE)
        line->last = x->prev;
    else
        c->list[x->next].prev = x->prev;
    ASSERT(line->count > 0);
    line->count--;
}

int characters_left_add(struct characters *c, const struct store_character *x)
{
    if (c->left_count == c->left_cap)
        return E_FULL;
    c->left[(c->left_head + c->left_count) % c->left_cap] = *x;
    c->left_count++;
    return 0;
}

const struct store_character *characters_left_first(const struct characters *c)
{
    return c->left_count > 0 ? &c->left[c->left_head] : NULL;
}

void characters_left_drop(struct characters *c)
{
    ASSERT(c->left_count > 0);
    c->left_head = (c->left_head + 1) % c->left_cap;
    c->left_count--;
}

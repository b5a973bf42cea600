/* world/session/backlog.c: see the header.
 * A body is two bytes of length and its bytes, running on from block to block.
 */
#include "world/session/backlog.h"

#include "common/err.h"

#include <stdlib.h>

#define HEAD 2 /* bytes of a body's length */

int backlog_init(struct backlog *b, uint32_t sessions)
{
    *b = (struct backlog){.cap = BACKLOG_BYTES / sizeof(struct backlog_block)};
    b->blocks = calloc(b->cap, sizeof(*b->blocks));
    b->chains = calloc(sessions, sizeof(*b->chains));
    b->body = malloc(BACKLOG_BODY_MAX);
    if (!b->blocks || !b->chains || !b->body) {
        backlog_fini(b);
        return E_NOMEM;
    }
    return 0;
}

void backlog_fini(struct backlog *b)
{
    free(b->body);
    free(b->chains);
    free(b->blocks);
    *b = (struct backlog){0};
}

static struct backlog_block *block(const struct backlog *b, uint32_t number)
{
    return &b->blocks[number - 1];
}

static uint32_t block_take(struct backlog *b)
{
    uint32_t number = b->free;

    if (number != 0)
        b->free = block(b, number)->next;
    else
        number = ++b->fresh;
    *block(b, number) = (struct backlog_block){0};
    b->used++;
    return number;
}

static void block_give(struct backlog *b, uint32_t number)
{
    block(b, number)->next = b->free;
    b->free = number;
    b->used--;
}

/* Append bytes; there is room. */
static void put(struct backlog *b, struct backlog_chain *c, const uint8_t *p, uint32_t n)
{
    while (n > 0) {
        struct backlog_block *last = c->last != 0 ? block(b, c->last) : NULL;
        uint32_t room = last ? BACKLOG_BLOCK - last->used : 0;
        uint32_t part = n < room ? n : room;

        if (room == 0) {
            uint32_t number = block_take(b);

            if (last)
                last->next = number;
            else
                c->first = number;
            c->last = number;
            continue;
        }
        memcpy(last->bytes + last->used, p, part);
        last->used += part;
        p += part;
        n -= part;
    }
}

static int add(struct backlog *b, uint32_t slot, struct span body, uint32_t bodies, uint32_t bytes)
{
    struct backlog_chain *c = &b->chains[slot];
    uint32_t room = c->last != 0 ? BACKLOG_BLOCK - block(b, c->last)->used : 0;
    uint32_t n = (uint32_t)body.n + HEAD;
    uint32_t blocks = n > room ? (n - room + BACKLOG_BLOCK - 1) / BACKLOG_BLOCK : 0;

    if (body.n > BACKLOG_BODY_MAX || c->bodies >= bodies ||
        (c->bodies > 0 && c->bytes + n > bytes) || blocks > b->cap - b->used)
        return E_FULL;
    put(b, c, (const uint8_t[]){(uint8_t)(body.n >> 8), (uint8_t)body.n}, HEAD);
    put(b, c, body.p, (uint32_t)body.n);
    c->bodies++;
    c->bytes += n;
    b->bodies++;
    return 0;
}

int backlog_add(struct backlog *b, uint32_t slot, struct span body)
{
    return add(b, slot, body, BACKLOG_OWN_BODIES, BACKLOG_OWN_BYTES);
}

int backlog_add_far(struct backlog *b, uint32_t slot, struct span body)
{
    return add(b, slot, body, BACKLOG_FAR_BODIES, BACKLOG_FAR_BYTES);
}

void backlog_move(struct backlog *b, uint32_t to, uint32_t from)
{
    struct backlog_chain *t = &b->chains[to], *f = &b->chains[from];

    ASSERT(to != from);
    if (f->bodies == 0)
        return;
    ASSERT(t->read == 0);
    if (t->bodies > 0) {
        block(b, f->last)->next = t->first;
        f->last = t->last;
    }
    f->bodies += t->bodies;
    f->bytes += t->bytes;
    *t = *f;
    *f = (struct backlog_chain){0};
}

/* Where reading stands. */
struct cursor {
    uint32_t at, read;
};

static void get(const struct backlog *b, struct cursor *from, uint8_t *to, uint32_t n)
{
    while (n > 0) {
        const struct backlog_block *k = block(b, from->at);
        uint32_t there = k->used - from->read, part = n < there ? n : there;

        memcpy(to, k->bytes + from->read, part);
        from->read += part;
        to += part;
        n -= part;
        if (from->read == k->used && n > 0)
            *from = (struct cursor){k->next, 0};
    }
}

static uint32_t length(const struct backlog *b, struct cursor *from)
{
    uint8_t head[HEAD];

    get(b, from, head, HEAD);
    return (uint32_t)head[0] << 8 | head[1];
}

bool backlog_peek(struct backlog *b, uint32_t slot, struct span *body)
{
    const struct backlog_chain *c = &b->chains[slot];
    struct cursor from = {c->first, c->read};
    uint32_t n;

    if (c->bodies == 0)
        return false;
    n = length(b, &from);
    get(b, &from, b->body, n);
    *body = span_of(b->body, n);
    return true;
}

void backlog_drop(struct backlog *b, uint32_t slot)
{
    struct backlog_chain *c = &b->chains[slot];
    uint32_t n, left;

    ASSERT(c->bodies > 0);
    n = length(b, &(struct cursor){c->first, c->read}) + HEAD;
    c->bodies--;
    c->bytes -= n;
    b->bodies--;
    left = n;
    while (left > 0) {
        struct backlog_block *k = block(b, c->first);
        uint32_t there = k->used - c->read, part = left < there ? left : there, next = k->next;

        c->read += part;
        left -= part;
        if (c->read < k->used)
            break;
        block_give(b, c->first);
        c->first = next;
        c->read = 0;
    }
    if (c->bodies > 0)
        return;
    backlog_clear(b, slot);
    *c = (struct backlog_chain){0};
}

void backlog_clear(struct backlog *b, uint32_t slot)
{
    struct backlog_chain *c = &b->chains[slot];

    if (c->first == 0)
        return;
    b->bodies -= c->bodies;
    for (uint32_t at = c->first, next; at != 0; at = next) {
        next = block(b, at)->next;
        block_give(b, at);
    }
    *c = (struct backlog_chain){0};
}

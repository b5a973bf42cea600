/* world/interest/lone.c: see the header. */
#include "world/interest/lone.h"

#include "common/err.h"
#include "proto/link.h"

#include <stdlib.h>
#include <string.h>

int lone_init(struct lone *l, uint32_t cap)
{
    *l = (struct lone){.cap = cap};
    l->viewers = calloc(cap, sizeof(*l->viewers));
    l->sorted = calloc(cap, sizeof(*l->sorted));
    l->sids = calloc(LINK_MANY_MAX, sizeof(*l->sids));
    l->count = calloc(cap, sizeof(*l->count));
    l->at = calloc(cap, sizeof(*l->at));
    if (!l->viewers || !l->sorted || !l->sids || !l->count || !l->at) {
        lone_fini(l);
        return E_NOMEM;
    }
    return 0;
}

void lone_fini(struct lone *l)
{
    free(l->viewers);
    free(l->sorted);
    free(l->sids);
    free(l->count);
    free(l->at);
    *l = (struct lone){0};
}

void lone_add(struct lone *l, struct link_ref link, uint64_t sid, uint32_t mover)
{
    ASSERT(l->n < l->cap);
    l->viewers[l->n++] = (struct lone_viewer){sid, link, mover};
    l->count[mover]++;
}

void lone_lay(struct lone *l, uint32_t mover)
{
    l->at[mover] = l->laid;
    l->laid += l->count[mover];
}

void lone_sort(struct lone *l)
{
    ASSERT(l->laid == l->n);
    for (uint32_t i = 0; i < l->n; i++)
        l->sorted[l->at[l->viewers[i].mover]++] = l->viewers[i];
}

void lone_tell(struct lone *l, uint32_t mover, struct span body, struct outbox *out)
{
    uint32_t left = l->count[mover];
    struct lone_viewer *v = l->sorted + l->at[mover] - left;

    l->count[mover] = 0;
    while (left > 0) { /* those of the first one's link; the others move to the front */
        struct link_ref link = v[0].link;
        uint32_t n = 0, others = 0;

        for (uint32_t i = 0; i < left; i++) {
            if (n < LINK_MANY_MAX && link_ref_equal(v[i].link, link))
                l->sids[n++] = v[i].sid;
            else
                v[others++] = v[i];
        }
        outbox_data_many(out, link, l->sids, n, body);
        left = others;
    }
}

void lone_clear(struct lone *l)
{
    l->n = l->laid = 0;
}

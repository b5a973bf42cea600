/* world/interest/lone.c: see the header. */
#include "world/interest/lone.h"

#include "proto/limits.h"

#include <stdlib.h>

int lone_init(struct lone *l, uint32_t cap)
{
    *l = (struct lone){.cap = cap};
    l->viewers = calloc(cap, sizeof(*l->viewers));
    l->sids = calloc(LINK_MANY_MAX, sizeof(*l->sids));
    if (!l->viewers || !l->sids) {
        lone_fini(l);
        return E_NOMEM;
    }
    return 0;
}

void lone_fini(struct lone *l)
{
    free(l->viewers);
    free(l->sids);
    *l = (struct lone){0};
}

void lone_tell(struct lone *l, struct span body, struct outbox *out)
{
    while (l->n > 0) { /* those of the first one's link; the others move to the front */
        struct link_ref link = l->viewers[0].link;
        uint32_t n = 0, others = 0;

        for (uint32_t i = 0; i < l->n; i++) {
            if (n < LINK_MANY_MAX && link_ref_equal(l->viewers[i].link, link))
                l->sids[n++] = l->viewers[i].sid;
            else
                l->viewers[others++] = l->viewers[i];
        }
        outbox_data_many(out, link, l->sids, n, body);
        l->n = others;
    }
}

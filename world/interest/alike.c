/* world/interest/alike.c: see the header. */
#include "world/interest/alike.h"

#include <stdlib.h>

int alike_init(struct alike *a, uint32_t cap)
{
    *a = (struct alike){.cap = cap};
    a->others = calloc(cap, sizeof(*a->others));
    a->sids = calloc(LINK_MANY_MAX, sizeof(*a->sids));
    if (!a->others || !a->sids) {
        alike_fini(a);
        return E_NOMEM;
    }
    return 0;
}

void alike_fini(struct alike *a)
{
    free(a->others);
    free(a->sids);
    *a = (struct alike){0};
}

void alike_tell(struct alike *a, struct span body, struct outbox *out)
{
    while (a->n > 0) {
        uint32_t n = a->n_others;

        outbox_data_many(out, a->link, a->sids, a->n, body);
        a->n = a->n_others = 0;
        for (uint32_t i = 0; i < n; i++) /* never writes beyond what it has read */
            alike_add(a, a->others[i].link, a->others[i].sid);
    }
}

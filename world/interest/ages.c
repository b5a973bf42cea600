/* world/interest/ages.c: see the header. */
#include "world/interest/ages.h"

void ages_fold(struct ages *a)
{
    for (uint32_t tier = 0; tier < AGES_TIERS; tier++) {
        for (uint32_t age = 0; age < a->top[tier]; age++) {
            if (a->n[tier][age] > 0)
                hist_add_many(&a->told[tier], age, a->n[tier][age]);
            a->n[tier][age] = 0;
        }
        a->top[tier] = 0;
    }
}

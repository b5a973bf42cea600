/* tests/world/member_rig.c: see the header. */
#include "tests/world/member_rig.h"

#include <stdlib.h>

void member_rig_init(struct member_rig *r)
{
    memset(r, 0, sizeof(*r));
    r->now = (struct mono){5000 * CLOCK_NS_PER_S};
}

void member_rig_fini(struct member_rig *r)
{
    for (uint32_t i = 0; i < RIG_WORLDS; i++)
        member_rig_kill(r, i);
}

void member_rig_follow(struct member_rig *r, uint32_t at)
{
    r->away[at] = false;
    member_follow(&r->m[at], r->now);
    for (uint32_t i = 0; i < r->kv.n; i++) {
        struct kv_entry e = sim_kv_entry(&r->kv.entries[i]);

        member_entry(&r->m[at], &e, r->now);
    }
    member_followed(&r->m[at], r->now);
}

void member_rig_start(struct member_rig *r, uint32_t at, const char *id, const char *terms)
{
    struct member_config c = {.lease = {.world = span_text(id),
                                        .address = span_text("10.0.0.7:19002"),
                                        .nonce = r->asked + at + 1,
                                        .lease_ns = RIG_LEASE,
                                        .guard_ns = RIG_GUARD,
                                        .renew_ns = RIG_LEASE / 4},
                              .terms = span_text(terms ? terms : "zones=4x2"),
                              .zones = RIG_ZONES,
                              .settle_ns = 100 * RIG_MS,
                              .names = 4,
                              .ids = 1000,
                              .blocks = 3};

    cr_assert(!r->up[at]);
    cr_assert_eq(member_init(&r->m[at], &c), 0);
    r->up[at] = true;
    r->still[at] = false;
    member_rig_follow(r, at);
}

void member_rig_kill(struct member_rig *r, uint32_t at)
{
    if (r->up[at])
        member_fini(&r->m[at]);
    r->up[at] = false;
}

static void answer(struct member_rig *r, uint32_t at, const struct kv_command *c)
{
    const struct sim_entry *changed = NULL;
    struct kv_result result = {.command = *c, .outcome = KV_UNKNOWN};

    if (!r->away[at]) {
        r->asked++;
        result = sim_kv_do(&r->kv, c, false, &changed);
    }
    member_result(&r->m[at], &result, r->now);
    for (uint32_t i = 0; changed && i < RIG_WORLDS; i++) {
        struct kv_entry e = sim_kv_entry(changed);

        if (r->up[i] && !r->away[i] && !r->still[i])
            member_entry(&r->m[i], &e, r->now);
    }
}

void member_rig_run(struct member_rig *r, int64_t ms)
{
    for (int64_t t = 0; t < ms; t += 10) {
        r->now = clock_add(r->now, 10 * RIG_MS);
        for (uint32_t i = 0; i < RIG_WORLDS; i++) {
            struct kv_command c;

            if (!r->up[i] || r->still[i])
                continue;
            member_turn(&r->m[i], (uint64_t)(r->now.ns / RIG_MS) << 16 | i, r->now);
            while (member_next(&r->m[i], &c))
                answer(r, i, &c);
        }
    }
}

uint32_t member_rig_zones(const struct member_rig *r, uint32_t at)
{
    return r->up[at] && member_may_act(&r->m[at], r->now) ? holdings_owned(&r->m[at].holdings) : 0;
}

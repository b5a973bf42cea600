/* tests/sim/test_sim_cluster.c: clusters of worlds under every fault, seed by seed.
 *   SIM_SEEDS   how many seeds (default 150), SIM_FROM the first (default 1)
 * A breach prints its seed: SIM_FROM=seed SIM_SEEDS=1 plays it again, the same at every step.
 */
#include "tests/sim/sim.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#define SEEDS       150
#define PLANT_SEEDS 400 /* until a planted error must have been found */

static uint64_t from_env(const char *name, uint64_t otherwise)
{
    const char *v = getenv(name);

    return v ? strtoull(v, NULL, 10) : otherwise;
}

Test(sim, no_seed_breaks_what_must_hold, .timeout = 3000)
{
    uint64_t first = from_env("SIM_FROM", 1), n = from_env("SIM_SEEDS", SEEDS), bad = 0;
    struct sim *s = malloc(sizeof(*s));
    uint64_t burials = 0, handed = 0, backs = 0, saves = 0, frames = 0, refused = 0, moves = 0;

    cr_assert(s);
    for (uint64_t seed = first; seed < first + n; seed++) {
        sim_run(s, seed, PLANT_NONE);
        if (s->breach[0]) {
            fprintf(stderr, "%s (again with SIM_FROM=%llu SIM_SEEDS=1)\n", s->breach,
                    (unsigned long long)seed);
            bad++;
        }
        burials += s->burials;
        handed += s->handed;
        backs += s->backs;
        saves += s->refused_saves;
        frames += s->refused_frames;
        refused += s->refused_worlds;
        moves += s->moves;
    }
    fprintf(stderr,
            "%llu seeds: %llu burials, %llu zones moved, %llu people handed over and %llu taken "
            "back, %llu saves, %llu frames and %llu worlds refused\n",
            (unsigned long long)n, (unsigned long long)burials, (unsigned long long)moves,
            (unsigned long long)handed, (unsigned long long)backs, (unsigned long long)saves,
            (unsigned long long)frames, (unsigned long long)refused);
    free(s);
    cr_assert_eq(bad, 0);
    /* A run in which nothing goes wrong shows nothing. */
    if (n >= SEEDS) {
        cr_assert_gt(burials, n);
        cr_assert_gt(moves, n);
        cr_assert_gt(handed, n);
        cr_assert_gt(backs, 0);
        cr_assert_gt(saves, 0);
        cr_assert_gt(frames, 0);
        cr_assert_gt(refused, 0);
    }
}

Test(sim, one_seed_is_the_same_every_time)
{
    struct sim *s = malloc(sizeof(*s));
    uint64_t events, claims;

    cr_assert(s);
    sim_run(s, 7, PLANT_NONE);
    events = s->events;
    claims = s->claims;
    sim_run(s, 7, PLANT_NONE);
    cr_assert_eq(s->events, events);
    cr_assert_eq(s->claims, claims);
    sim_run(s, 8, PLANT_NONE);
    cr_assert_neq(s->claims, claims);
    free(s);
}

static void found(enum sim_plant plant)
{
    struct sim *s = malloc(sizeof(*s));

    cr_assert(s);
    s->breach[0] = '\0';
    for (uint64_t seed = 1; seed <= PLANT_SEEDS && !s->breach[0]; seed++)
        sim_run(s, seed, plant);
    fprintf(stderr, "%s\n", s->breach);
    cr_assert_neq(s->breach[0], '\0', "not found in %d seeds", PLANT_SEEDS);
    free(s);
}

Test(sim, a_lease_counted_from_the_answer_is_found)
{
    found(PLANT_FROM_ANSWER);
}

Test(sim, output_that_leaves_unasked_is_found)
{
    found(PLANT_NO_CHECK);
}

Test(sim, a_renewal_at_any_revision_is_found)
{
    found(PLANT_BLIND_RENEW);
}

Test(sim, a_burial_before_the_lease_ended_is_found)
{
    found(PLANT_NO_WAIT);
}

Test(sim, a_lost_write_taken_for_a_done_one_is_found)
{
    found(PLANT_LOST_IS_DONE);
}

Test(sim, a_store_of_characters_without_a_fence_is_found)
{
    found(PLANT_NO_FENCE);
}

Test(sim, neighbours_that_take_old_frames_are_found)
{
    found(PLANT_OLD_FRAMES);
}

Test(sim, a_guest_that_acts_before_its_name_is_taken_is_found)
{
    found(PLANT_EARLY_GUEST);
}

Test(sim, a_generation_that_counts_at_once_is_found)
{
    found(PLANT_OPEN_AT_ONCE);
}

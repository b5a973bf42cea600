/* tests/e2e/test_e2e_store_kill.c: the world is killed in the middle of saving, again and again, on
 * a small disk that fills up and is freed.
 * STORE_KILLS: how often (6). Every restart must open the file, and everybody must stand where it
 * really stood, not longer before the kill than -save-every; where the disk was full, not longer
 * before it was filled. May touch: tests/e2e/shop. On trouble: the test fails.
 */
#include "common/rng.h"
#include "tests/e2e/shop.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(e2e_store_kill, .fini = process_end_all, .timeout = 1800);

#define KILLS      6
#define WALKERS    12
#define STEPS_MAX  4096 /* of one walker in one life of the world */
#define SAVE_EVERY "400ms"
/* Beside -save-every: a group's time, and that of a process which waits for a processor. */
#define SAVED_NS (400 * CLOCK_NS_PER_MS)
#define SLACK_NS (1500 * CLOCK_NS_PER_MS)
#define PACE_MS  15
#define STEP     0.0625

struct step {
    double x;
    struct mono until; /* when it was left; 0: it is there still */
};

struct walker {
    char name[16];
    struct raw_client client;
    double x, y;
    struct step steps[STEPS_MAX];
    uint32_t n;
};

static struct walker walkers[WALKERS];

static void arrive(struct walker *w, double x)
{
    struct mono now = clock_mono();

    if (w->n > 0)
        w->steps[w->n - 1].until = now;
    if (w->n == STEPS_MAX)
        process_fail("%s walked too far", w->name);
    w->steps[w->n++] = (struct step){x, {0}};
    w->x = x;
}

/* Everybody comes back: was it there, and how long ago did it leave? The longest of all, ns. */
static int64_t join_all(const char *addr, struct mono killed, uint32_t life)
{
    int64_t worst = 0;

    for (uint32_t i = 0; i < WALKERS; i++) {
        struct walker *w = &walkers[i];
        struct shop_place at = shop_join(&w->client, addr, w->name);
        bool was = life == 0;
        int64_t age = 0;

        for (uint32_t k = w->n; k-- > 0 && !was;) {
            was = w->steps[k].x == at.x && w->y == at.y;
            if (was && w->steps[k].until.ns != 0)
                age = clock_since(killed, w->steps[k].until);
        }
        if (!was)
            process_fail("life %u: %s stands at (%.17g, %.17g), where it never was", life, w->name,
                         at.x, at.y);
        worst = age > worst ? age : worst;
        w->n = 0;
        w->y = at.y;
        arrive(w, at.x);
    }
    return worst;
}

static void walk_all(int64_t ms)
{
    struct mono until = process_deadline(ms);

    while (clock_since(until, clock_mono()) > 0) {
        struct mono turn = process_deadline(PACE_MS);
        for (uint32_t i = 0; i < WALKERS; i++) {
            struct walker *w = &walkers[i];
            double x = w->x + STEP;
            shop_move(&w->client, x, w->y);
            arrive(w, x);
        }
        while (clock_since(turn, clock_mono()) > 0)
            process_rest(process_deadline(PROCESS_PATIENCE_MS), "a turn");
    }
}

static void close_all(void)
{
    for (uint32_t i = 0; i < WALKERS; i++)
        raw_close(&walkers[i].client);
}

Test(e2e_store_kill, after_every_kill_the_file_opens_and_all_stand_where_they_really_stood)
{
    const char *wish = getenv("STORE_KILLS");
    uint32_t kills = wish ? (uint32_t)strtoul(wish, NULL, 10) : KILLS;
    struct mono killed = {0}, filled = {0};
    int64_t worst = 0, worst_full = 0;
    uint32_t fulls = 0;
    struct shop s;
    struct rng rng;

    if (!shop_open(&s, true))
        return;
    rng_init(&rng, 11);
    for (uint32_t i = 0; i < WALKERS; i++)
        snprintf(walkers[i].name, sizeof(walkers[i].name), "walker%u", i);
    struct pair pair = pair_start(PROCESS_ARGS("-store", s.store, "-save-every", SAVE_EVERY,
                                               "-max-entities", "256", "-bounds", "0,-9,99999,9"),
                                  PROCESS_ARGS("-rate", "0"));
    for (uint32_t life = 0; life <= kills; life++) {
        bool full = filled.ns != 0;
        int64_t age = join_all(pair.gateway->addr, full ? filled : killed, life);
        if (age > SAVED_NS + SLACK_NS)
            process_fail("life %u: a place of %lld ms before the %s", life,
                         (long long)(age / CLOCK_NS_PER_MS), full ? "disk was full" : "kill");
        if (full)
            worst_full = age > worst_full ? age : worst_full;
        else
            worst = age > worst ? age : worst;
        if (life == kills)
            break;
        shop_free(&s); /* it may have been full until now */
        filled = (struct mono){0};
        walk_all(500 + (int64_t)(rng_next(&rng) % 400));
        if (s.small && life % 2 == 1) {
            filled = clock_mono();
            fulls++;
            shop_fill(&s, (uint32_t)(rng_next(&rng) % 3) * 8);
            walk_all(200 + (int64_t)(rng_next(&rng) % 400));
        }
        process_kill(pair.world);
        killed = clock_mono();
        close_all();
        process_restart(pair.world);
        process_await_addr(pair.world);
    }
    fprintf(stderr, "kills=%u full=%u worst_ms=%lld worst_before_full_ms=%lld small_disk=%d\n",
            kills, fulls, (long long)(worst / CLOCK_NS_PER_MS),
            (long long)(worst_full / CLOCK_NS_PER_MS), s.small);
    close_all();
    shop_free(&s);
    pair_end(&pair);
    cr_assert_geq(shop_check(&s), WALKERS);
    shop_close(&s);
    TEST_NO_LEAKS();
}

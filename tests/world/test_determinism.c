/* tests/world/test_determinism.c: the same inputs give the same bytes, everywhere and for ever.
 * A long seeded run has one hash over all that the world sent; it stands here. It is the same in
 * release and sanitizer builds, with every compiler and processor. Whoever changes what goes out
 * on purpose changes the number, and says why.
 * May touch: tests/world_rig, common/rng.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"

#include "common/rng.h"

#include <stdio.h>
#include <stdlib.h>

#define PEOPLE 200
#define LINKS  3
#define PINNED 0xe8c63f289eceda03u

/* Every input of a world, in order: what, link, time, length, bytes. */
struct tape {
    uint8_t *bytes; /* owned */
    size_t n, cap;
};

static void put(struct tape *t, const void *p, size_t n)
{
    if (t->n + n > t->cap) {
        t->cap = 2 * (t->cap + n);
        t->bytes = realloc(t->bytes, t->cap);
    }
    if (n > 0)
        memcpy(t->bytes + t->n, p, n);
    t->n += n;
}

static void record(void *arg, enum rig_input what, uint32_t link, struct span bytes,
                   struct mono now)
{
    uint64_t head[4] = {(uint64_t)what, link, (uint64_t)now.ns, bytes.n};
    put(arg, head, sizeof head);
    put(arg, bytes.p, bytes.n);
}

struct person {
    uint32_t s;
    double x, y;
    bool inside;
};

static void act(struct rig *r, struct person *p, struct rng *rng)
{
    uint64_t what = rng_below(rng, 1000);
    if (!p->inside) {
        if (what < 100) {
            rig_send_nil(r, p->s, CMD_ENTER_REQ);
            p->inside = true;
        }
        return;
    }
    if (what < 600) { /* a step, of which some leave the scene and are refused */
        p->x += (rng_unit(rng) - 0.5) * 2;
        p->y += (rng_unit(rng) - 0.5) * 2;
        rig_send_move(r, p->s, p->x, p->y);
    } else if (what < 650) {
        double dir = (rng_unit(rng) - 0.5) * 20, speed = rng_unit(rng) * 5000;
        rig_send_turn(r, p->s, p->x, p->y, dir, speed);
    } else if (what < 750) { /* below the thresholds */
        p->x += (rng_unit(rng) - 0.5) / 40;
        rig_send_move(r, p->s, p->x, p->y);
    } else if (what < 760) { /* anywhere */
        p->x = rng_unit(rng) * 320 - 160;
        p->y = rng_unit(rng) * 320 - 160;
        rig_send_move(r, p->s, p->x, p->y);
    } else if (what < 765) {
        rig_send_say(r, p->s, "is anybody there?");
    } else if (what < 768) {
        rig_send_nil(r, p->s, CMD_LEAVE_REQ);
        p->inside = false;
    } else if (what < 772) {
        rig_congestion(r, p->s, what < 770);
    }
}

static void join(struct rig *r, struct person *p, uint32_t link, uint32_t i)
{
    char name[16];
    snprintf(name, sizeof name, "p%u", i);
    *p = (struct person){.s = rig_open(r, link)};
    rig_send_login(r, p->s, name);
}

static struct rig *world_of(uint64_t seed)
{
    struct world_config c = rig_config();
    c.seed = seed;
    c.spawn = "0,0,150";
    c.max_speed = 5000;
    c.aoi_hysteresis = 3;
    c.quantum = 1.0 / 256;
    memcpy(c.bounds, (double[4]){-160, -160, 160, 160}, sizeof c.bounds);
    struct rig *r = rig_create(&c);
    r->deaf = true;
    return r;
}

/* So many ticks; what went in is on the tape, if there is one. */
static uint64_t run(uint64_t seed, uint32_t ticks, struct tape *tape)
{
    struct rig *r = world_of(seed);
    struct person people[PEOPLE];
    struct rng rng;
    rng_init(&rng, seed);
    r->tap = tape ? record : NULL;
    r->arg = tape;
    uint32_t links[LINKS] = {0, rig_link_up(r, "gw-1"), rig_link_up(r, "gw-2")};
    for (uint32_t i = 0; i < PEOPLE; i++)
        join(r, &people[i], links[i % LINKS], i);
    for (uint32_t tick = 1; tick <= ticks; tick++) {
        for (uint32_t i = 0; i < PEOPLE; i++)
            act(r, &people[i], &rng);
        if (tick % 500 == 0) { /* a gateway dies, or comes back before its death was seen */
            if (tick % 1000 == 0)
                rig_link_down(r, links[2]);
            links[2] = rig_link_up(r, "gw-2");
            for (uint32_t i = 2; i < PEOPLE; i += LINKS)
                join(r, &people[i], links[2], i);
        }
        rig_tick(r, 1);
    }
    uint64_t hash = rig_hash(r);
    cr_assert_gt(r->bytes, 5000ull * ticks);
    rig_balance(r);
    rig_destroy(r);
    return hash;
}

static uint64_t replay(uint64_t seed, const struct tape *t)
{
    struct rig *r = world_of(seed);
    for (size_t at = 0; at < t->n;) {
        uint64_t head[4];
        memcpy(head, t->bytes + at, sizeof head);
        struct span bytes = span_of(t->bytes + at + sizeof head, head[3]);
        char id[16] = "";
        r->now.ns = (int64_t)head[2];
        switch ((enum rig_input)head[0]) {
        case RIG_INPUT_LINK_UP:
            memcpy(id, bytes.p, bytes.n);
            cr_assert_eq(rig_link_up(r, id), head[1]);
            break;
        case RIG_INPUT_LINK_DOWN:
            rig_link_down(r, (uint32_t)head[1]);
            break;
        case RIG_INPUT_FRAME:
            (void)rig_link_frame(r, (uint32_t)head[1], bytes);
            break;
        case RIG_INPUT_TICK:
            rig_pass(r, -r->world->config.tick_ns);
            rig_tick(r, 1);
            break;
        }
        at += sizeof head + bytes.n;
    }
    uint64_t hash = rig_hash(r);
    rig_destroy(r);
    return hash;
}

Test(determinism, the_hash_of_a_long_run_is_the_one_that_stands_here, .timeout = 120)
{
    uint64_t hash = run(2024, 2000, NULL);
    cr_assert_eq(hash, PINNED, "0x%016llx", (unsigned long long)hash);
    TEST_NO_LEAKS();
}

Test(determinism, a_recorded_run_replays_to_the_same_bytes, .timeout = 120)
{
    struct tape tape = {0};
    uint64_t first = run(7, 1200, &tape);
    cr_assert_eq(replay(7, &tape), first);
    free(tape.bytes);
    TEST_NO_LEAKS();
}

Test(determinism, running_twice_is_the_same_and_another_seed_is_not, .timeout = 120)
{
    uint64_t first = run(5, 600, NULL);
    cr_assert_eq(run(5, 600, NULL), first);
    cr_assert_neq(run(6, 600, NULL), first, "the hash sees what is sent");
    TEST_NO_LEAKS();
}

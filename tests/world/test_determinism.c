/* tests/world/test_determinism.c: the same inputs give the same bytes, everywhere and for ever.
 * A long seeded run has one hash over what each client was sent, in its order; it stands here. It
 * is the same in release and sanitizer builds, with every compiler and processor, and whichever
 * way sight is looked up. Whoever changes what clients are told on purpose changes the number, and
 * says why. Messages are read and written anew before they are hashed, so that a head that could
 * be shorter does not count. Two runs of one program are compared to the byte.
 * May touch: tests/world_rig, common/rng.
 */
#include "tests/leak.h"
#include "tests/world/plain_map.h"
#include "tests/world_rig.h"
#include "world/interest/soft.h"

#include "common/rng.h"

#include <stdio.h>
#include <stdlib.h>

#define PEOPLE 200
#define LINKS  3

/* What the long run came to: without hysteresis (sight by masks), with (sight by lists), and in
 * three scenes, without. */
#define PINNED        0x55c488ce017a5eceu
#define PINNED_TIERS  0xfdf0f268bf438432u
#define PINNED_CAPS   0x5eba1ff40d8f4e3au
#define PINNED_LISTS  0xd23d4e11d328ffdfu
#define PINNED_SCENES 0x9d0313f063f1e42cu

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

/* What each session was sent: a hash by session of the rig. */
struct ledger {
    uint64_t hash[RIG_SESSIONS_MAX];
    uint64_t messages;
    uint8_t *body; /* [PROTO_BATCH_MAX] owned */
};

#define FNV_START 14695981039346656037u
#define FNV_PRIME 1099511628211u

static uint64_t fold(uint64_t h, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * FNV_PRIME;
    return h;
}

static void enter_messages(struct ledger *l, struct rig *r)
{
    const struct message *m;
    for (uint32_t s = 0; s < r->n_sessions; s++) {
        while ((m = rig_take(r, s))) {
            struct span_writer w = span_writer_of(l->body, PROTO_BATCH_MAX);
            message_write(&w, m);
            l->hash[s] = fold(l->hash[s], w.p, w.len);
            l->messages++;
        }
        l->hash[s] = fold(l->hash[s], &r->sessions[s].close_code, sizeof(uint32_t));
    }
    rig_drop(r);
}

struct person {
    uint32_t s;
    double x, y;
    bool inside;
};

/* Into another scene, or elsewhere in its own. */
static void hop(struct rig *r, struct person *p, struct rng *rng)
{
    uint32_t scene = (uint32_t)rng_below(rng, r->world->scenes.n);
    double x = rng_unit(rng) * 320 - 160, y = rng_unit(rng) * 320 - 160;
    if (rig_teleport(r, p->s, scene, x, y) == 0) {
        p->x = x;
        p->y = y;
    }
}

static void act(struct rig *r, struct person *p, struct rng *rng, bool steady)
{
    uint64_t what = rng_below(rng, 1000);
    if (!p->inside) {
        if (what < 100) {
            rig_send_nil(r, p->s, CMD_ENTER_REQ);
            p->inside = true;
        }
        return;
    }
    if (what >= 990 && r->world->scenes.n > 1) {
        hop(r, p, rng);
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
    } else if (what < 772 && !steady) {
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

/* How the world is made. */
struct kind {
    uint64_t seed;
    double hysteresis;
    uint32_t mask, pack; /* kinds of code: see rig_code */
    int index;           /* enum places_index */
    enum { QUIET_BY_ITSELF, QUIET_ALWAYS, QUIET_NEVER, QUIET_MIXED } quiet; /* mover by mover? */
    bool tight;        /* scratch that masks do not fit into */
    bool steady;       /* nobody pauses */
    bool scenes;       /* two beside the open ground, with a portal each way */
    const char *tiers; /* and the like: soft sight */
    uint64_t refresh, max, bytes;
    bool searched; /* without bits of who is known */
};

static struct map maps[2];

static struct rig *world_in_scenes(const struct world_config *c)
{
    maps[0] = plain_map_open("over", -160, -160, 32, 10, 10);
    maps[1] = plain_map_open("part", 0, 0, 10, 16, 8);
    plain_map_portal(&maps[0], (double[4]){-80, -80, 80, 80}, "part", 80, 40);
    plain_map_portal(&maps[1], (double[4]){60, 20, 100, 60}, SCENE_OPEN, 0, 0);
    return rig_create_maps(c, maps, 2);
}

static struct rig *world_of(const struct kind *kind)
{
    struct world_config c = rig_config();
    c.seed = kind->seed;
    c.spawn = "0,0,150";
    c.max_speed = 5000;
    c.aoi_hysteresis = kind->hysteresis;
    c.aoi_index = kind->index;
    c.quantum = 1.0 / 256;
    c.aoi_tiers = kind->tiers;
    c.aoi_refresh = kind->refresh;
    c.aoi_max = kind->max;
    c.viewer_bytes = kind->bytes;
    memcpy(c.bounds, (double[4]){-160, -160, 160, 160}, sizeof c.bounds);
    struct rig *r = kind->scenes ? world_in_scenes(&c) : rig_create(&c);
    if (kind->searched)
        r->world->sight.soft->bits_slots = 64;
    rig_code(r, kind->mask, kind->pack);
    if (kind->quiet != QUIET_BY_ITSELF)
        r->world->sight.few_share = kind->quiet == QUIET_NEVER ? UINT32_MAX : 0;
    if (kind->tight)
        r->world->scratch.cap = 2 * (size_t)r->world->entities.cap * SIGHT_SPARE + 8192;
    return r;
}

/* So many ticks; what went in is on the tape, and what each was sent in the ledger, if there are
 * any. Returns the hash of all bytes. */
static uint64_t run(const struct kind *kind, uint32_t ticks, struct tape *tape,
                    struct ledger *ledger)
{
    struct rig *r = world_of(kind);
    r->deaf = ledger == NULL;
    struct person people[PEOPLE];
    struct rng rng;
    rng_init(&rng, kind->seed);
    r->tap = tape ? record : NULL;
    r->arg = tape;
    uint32_t links[LINKS] = {0, rig_link_up(r, "gw-1"), rig_link_up(r, "gw-2")};
    for (uint32_t i = 0; i < PEOPLE; i++)
        join(r, &people[i], links[i % LINKS], i);
    for (uint32_t tick = 1; tick <= ticks; tick++) {
        for (uint32_t i = 0; i < PEOPLE; i++)
            act(r, &people[i], &rng, kind->steady);
        if (tick % 500 == 0) { /* a gateway dies, or comes back before its death was seen */
            if (tick % 1000 == 0)
                rig_link_down(r, links[2]);
            links[2] = rig_link_up(r, "gw-2");
            for (uint32_t i = 2; i < PEOPLE; i += LINKS)
                join(r, &people[i], links[2], i);
        }
        if (kind->quiet == QUIET_MIXED)
            r->world->sight.few_share = tick % 3 == 0 ? UINT32_MAX : 0;
        rig_tick(r, 1);
        if (ledger)
            enter_messages(ledger, r);
    }
    uint64_t hash = rig_hash(r);
    cr_assert_gt(r->bytes, 5000ull * ticks);
    rig_balance(r);
    if (kind->scenes)
        cr_assert_gt(r->world->metrics.portals_passed, 100);
    rig_destroy(r);
    map_fini(&maps[0]);
    map_fini(&maps[1]);
    return hash;
}

static uint64_t replay(const struct kind *kind, const struct tape *t)
{
    struct rig *r = world_of(kind);
    r->deaf = true;
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

static void pinned(struct kind kind, uint64_t want)
{
    struct ledger *l = calloc(1, sizeof *l);
    l->body = malloc(PROTO_BATCH_MAX);
    kind.seed = 2024;
    (void)run(&kind, 2000, NULL, l);
    uint64_t hash = fold(FNV_START, l->hash, sizeof l->hash);
    cr_assert_gt(l->messages, 100000);
    cr_assert_eq(hash, want, "0x%016llx", (unsigned long long)hash);
    free(l->body);
    free(l);
}

Test(determinism, the_hash_of_a_long_run_is_the_one_that_stands_here, .timeout = 120)
{
    pinned((struct kind){0}, PINNED);
    TEST_NO_LEAKS();
}

Test(determinism, and_so_it_is_with_hysteresis, .timeout = 120)
{
    pinned((struct kind){.hysteresis = 3}, PINNED_LISTS);
    TEST_NO_LEAKS();
}

/* Soft sight has a way of its own; who is known is looked up by bits or by search. */
Test(determinism, and_so_it_is_with_tiers_and_bytes, .timeout = 120)
{
    struct kind kind = {.tiers = "6:1,15:3,40:10", .bytes = 400, .hysteresis = 2};
    pinned(kind, PINNED_TIERS);
    kind.searched = true;
    pinned(kind, PINNED_TIERS);
    TEST_NO_LEAKS();
}

Test(determinism, and_so_it_is_with_refresh_and_caps, .timeout = 120)
{
    pinned((struct kind){.tiers = "12:1,40:4", .refresh = 5, .max = 12}, PINNED_CAPS);
    TEST_NO_LEAKS();
}

Test(determinism, and_so_it_is_with_every_kind_of_code, .timeout = 300)
{
    const struct mask_code *masks;
    const struct pack_code *packs;
    uint32_t n_masks = mask_codes(&masks), n_packs = pack_codes(&packs);
    uint32_t n = n_masks > n_packs ? n_masks : n_packs;
    for (uint32_t i = 1; i < n; i++) /* the best ones run above */
        pinned((struct kind){.mask = i, .pack = i}, PINNED);
    TEST_NO_LEAKS();
}

Test(determinism, and_so_it_is_with_the_nine_cells_around, .timeout = 120)
{
    pinned((struct kind){.index = PLACES_NINE}, PINNED);
    TEST_NO_LEAKS();
}

Test(determinism, and_so_it_is_with_the_four_cells_around_a_quadrant, .timeout = 120)
{
    pinned((struct kind){.index = PLACES_FOUR}, PINNED);
    TEST_NO_LEAKS();
}

Test(determinism, and_so_it_is_mover_by_mover, .timeout = 120)
{
    pinned((struct kind){.quiet = QUIET_ALWAYS}, PINNED);
    TEST_NO_LEAKS();
}

Test(determinism, and_so_it_is_now_by_movers_and_now_by_viewers, .timeout = 120)
{
    pinned((struct kind){.quiet = QUIET_MIXED, .index = PLACES_FOUR}, PINNED);
    TEST_NO_LEAKS();
}

Test(determinism, and_so_it_is_viewer_by_viewer, .timeout = 120)
{
    pinned((struct kind){.quiet = QUIET_NEVER}, PINNED);
    TEST_NO_LEAKS();
}

Test(determinism, and_so_it_is_in_several_scenes, .timeout = 300)
{
    pinned((struct kind){.scenes = true}, PINNED_SCENES);
    pinned((struct kind){.scenes = true, .index = PLACES_NINE, .mask = 1, .pack = 1},
           PINNED_SCENES);
    pinned((struct kind){.scenes = true, .index = PLACES_FOUR, .mask = 9, .pack = 9},
           PINNED_SCENES);
    pinned((struct kind){.scenes = true, .quiet = QUIET_ALWAYS}, PINNED_SCENES);
    pinned((struct kind){.scenes = true, .quiet = QUIET_MIXED, .index = PLACES_NINE},
           PINNED_SCENES);
    TEST_NO_LEAKS();
}

Test(determinism, a_scratch_that_is_short_changes_nothing, .timeout = 120)
{
    struct kind ample = {.seed = 11, .steady = true};
    struct kind tight = {.seed = 11, .steady = true, .tight = true};
    cr_assert_eq(run(&tight, 600, NULL, NULL), run(&ample, 600, NULL, NULL));
    TEST_NO_LEAKS();
}

Test(determinism, a_recorded_run_replays_to_the_same_bytes, .timeout = 120)
{
    static const double hysteresis[] = {0, 3};
    for (size_t i = 0; i < ARRAY_LEN(hysteresis); i++) {
        struct kind kind = {.seed = 7, .hysteresis = hysteresis[i]};
        struct tape tape = {0};
        uint64_t first = run(&kind, 700, &tape, NULL);
        cr_assert_eq(replay(&kind, &tape), first);
        free(tape.bytes);
    }
    struct kind soft = {.seed = 7, .tiers = "5:1,30:8", .max = 20, .bytes = 300};
    struct tape tape = {0};
    uint64_t first = run(&soft, 700, &tape, NULL);
    cr_assert_eq(replay(&soft, &tape), first);
    free(tape.bytes);
    TEST_NO_LEAKS();
}

Test(determinism, running_twice_is_the_same_and_another_seed_is_not, .timeout = 120)
{
    struct kind kind = {.seed = 5}, other = {.seed = 6};
    uint64_t first = run(&kind, 600, NULL, NULL);
    cr_assert_eq(run(&kind, 600, NULL, NULL), first);
    cr_assert_neq(run(&other, 600, NULL, NULL), first, "the hash sees what is sent");
    TEST_NO_LEAKS();
}

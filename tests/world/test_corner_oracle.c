/* tests/world/test_corner_oracle.c: brute force against the sight of four worlds round a corner.
 * Clients wander over the corner where four zones meet, each of another world, and a gateway
 * follows their redirects. After every tick each client's view is compared with all pairs of exact
 * places: of those of its own world as they are, of others' as they were a tick ago; with messages
 * between worlds that are late or lost, as they were at any tick since the last word of each
 * neighbour; while zones stay, and while they move from one world to another. The truth is read
 * from who acts for an entity, and kept by tick. May touch: tests/cluster_rig. On trouble: the test
 * ends, naming seed and tick.
 */
#include "proto/aoi_move.h"
#include "tests/cluster_rig.h"
#include "tests/leak.h"
#include "tests/world_rig.h"
#include "world/cluster/handover.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PAST      64   /* ticks of the truth that are kept */
#define ENTITIES  2048 /* in one run */
#define RADIUS    30.0
#define SPEED     30.0
#define STAYS     60 /* ticks that a zone has an owner at least: no strays are left of before */
#define BLIND_MAX 4  /* ticks without a batch of one that is handed over, where nothing is late */

/* An entity at the end of a tick. */
struct truth {
    bool there;
    uint32_t owner; /* world; CRIG_NONE: on its way from `last` */
    uint32_t last;
    double x, y, dir, speed;
};

struct subject {
    uint32_t id;
    struct truth past[PAST]; /* by tick */
};

struct corner {
    struct crig *r;
    struct rng rng;
    uint64_t seed;
    uint32_t tick, n_clients;
    struct subject *subjects; /* [n] */
    uint32_t n;
    bool sees[CRIG_CLIENTS_MAX];   /* it was a viewer in the tick at hand */
    uint32_t at[CRIG_CLIENTS_MAX]; /* ... of this world */
    uint32_t blind[CRIG_CLIENTS_MAX];
    uint32_t oldest[CRIG_WORLDS_MAX]; /* tick of another that is still shown there */
    double hysteresis;                /* units; who is known between R and R + H may be, or not */
    double area;                      /* units round the corner where they wander */
    uint32_t moves;                   /* of zones, in 1000 ticks */
    uint32_t goes, goes_to;           /* a zone that is nobody's, and to whom; CRIG_NONE: none */
    uint32_t went[CRIG_WORLDS_MAX];   /* the tick of a zone's last move; 0: none */
    uint64_t epoch;                   /* of the last move */
    uint64_t judged, handed, in_flight;
};

static bool chance(struct corner *c, uint32_t of_1000)
{
    return rng_below(&c->rng, 1000) < of_1000;
}

static struct subject *subject_of(struct corner *c, uint32_t id)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->subjects[i].id == id)
            return &c->subjects[i];
    if (c->n == ENTITIES)
        rig_fail("too many entities for the oracle");
    c->subjects[c->n] = (struct subject){.id = id};
    return &c->subjects[c->n++];
}

static struct truth *truth_at(struct subject *s, uint32_t tick)
{
    return &s->past[tick % PAST];
}

/* --- the truth ---------------------------------------------------------------------------------
 */

static void read_place(struct truth *t, const struct entities *e, uint32_t slot)
{
    t->there = true;
    t->x = e->x[slot];
    t->y = e->y[slot];
    t->dir = e->dir[slot];
    t->speed = e->speed[slot];
}

/* Nobody acts for it: it ended, or the one who did has handed it over and waits for a word. */
static void on_its_way(struct corner *c, struct subject *s, struct truth *t)
{
    const struct truth *before = truth_at(s, c->tick - 1);
    struct world *w;
    uint32_t slot;
    if (!before->there)
        return;
    uint32_t last = before->owner == CRIG_NONE ? before->last : before->owner;
    w = c->r->worlds[last].world;
    const struct gift *g = handover_gift(w->cluster->handover, s->id);
    if (!g || (g->state != GIFT_GIVEN && g->state != GIFT_BACK))
        return;
    t->last = last;
    t->there = true;
    t->x = g->soul.x;
    t->y = g->soul.y;
    t->dir = g->soul.dir;
    t->speed = g->soul.speed;
    c->in_flight++;
    if (entities_by_id(&w->entities, s->id, &slot))
        cr_assert(entities_is_ghost(&w->entities, slot));
}

static void note_viewers(struct corner *c)
{
    for (uint32_t i = 0; i < c->r->n_clients; i++) {
        const struct crig_client *k = &c->r->clients[i];
        uint32_t slot;
        c->sees[i] = false;
        if (!k->open || !k->view.inside)
            continue;
        c->at[i] = crig_owner(c->r, k->id, &slot);
        if (c->at[i] == CRIG_NONE)
            continue;
        struct world *w = c->r->worlds[c->at[i]].world;
        struct session *s;
        c->sees[i] = sessions_find(&w->sessions, w->entities.cold[slot].session, &s) &&
                     s->state == SESSION_INSIDE && !s->paused;
    }
}

/* Does it listen to this zone, and show anybody of it? Of strays also for a while after the last.
 */
static bool shows(const struct corner *c, const struct realm *r, uint32_t zone)
{
    return realm_listens(r, zone) && c->tick - r->zones[zone].tick < PAST - 1;
}

/* The oldest tick of another's that this world may still show. */
static uint32_t oldest(const struct corner *c, uint32_t world)
{
    const struct realm *r = c->r->worlds[world].world->cluster;
    uint32_t old = c->tick;
    for (uint32_t zone = 0; zone < 2 * r->n_zones; zone++)
        if (shows(c, r, zone) && r->zones[zone].tick < old)
            old = r->zones[zone].tick;
    return old;
}

/* All worlds have ticked, and nobody has heard of it yet. */
static void ticked(void *arg)
{
    struct corner *c = arg;
    c->tick = c->r->worlds[0].world->tick;
    for (uint32_t i = 0; i < c->n; i++)
        *truth_at(&c->subjects[i], c->tick) = (struct truth){.owner = CRIG_NONE};
    for (uint32_t w = 0; w < c->r->n_worlds; w++) {
        const struct entities *e = &c->r->worlds[w].world->entities;
        for (uint32_t i = 0; i < e->alive_count; i++) {
            uint32_t slot = e->alive[i];
            if (entities_is_ghost(e, slot))
                continue;
            struct truth *t = truth_at(subject_of(c, e->id[slot]), c->tick);
            if (t->there)
                rig_fail("%s%u is acted for twice", c->r->context, e->id[slot]);
            t->owner = w;
            read_place(t, e, slot);
        }
    }
    for (uint32_t i = 0; i < c->n; i++) {
        struct truth *t = truth_at(&c->subjects[i], c->tick);
        if (!t->there)
            on_its_way(c, &c->subjects[i], t);
    }
    note_viewers(c);
    for (uint32_t w = 0; w < c->r->n_worlds; w++)
        c->oldest[w] = oldest(c, w);
}

/* --- judging -----------------------------------------------------------------------------------
 */

static bool near(const struct truth *v, const struct truth *t, double reach)
{
    double dx = t->x - v->x, dy = t->y - v->y;
    return t->there && dx * dx + dy * dy <= reach * reach;
}

static bool same_on_wire(const struct rig_known *k, const struct truth *t)
{
    double q = 1.0 / 64;
    return t->there && k->qx == (int64_t)floor(t->x / q + 0.5) &&
           k->qy == (int64_t)floor(t->y / q + 0.5) && k->wire_dir == aoi_move_dir(t->dir) &&
           k->wire_speed == aoi_move_speed(t->speed, SPEED);
}

static void judge_pair(struct corner *c, uint32_t viewer, const struct truth *v, struct subject *s,
                       uint32_t from)
{
    const struct crig_client *k = &c->r->clients[viewer];
    const struct rig_known *known = rig_view_find(&k->view, s->id);
    const struct truth *now = truth_at(s, c->tick);
    uint32_t world = c->at[viewer];
    bool own =
        now->there && (now->owner == world || (now->owner == CRIG_NONE && now->last == world));
    if (!now->there && from > c->tick - 1)
        from = c->tick - 1;
    uint32_t first = own ? c->tick : from,
             last = own || !now->there || from < c->tick - 1 ? c->tick : from;
    bool always = true, ever = false, same = false;
    for (uint32_t t = first; t <= last; t++) {
        const struct truth *then = truth_at(s, t);
        always &= near(v, then, RADIUS);
        ever |= near(v, then, RADIUS + c->hysteresis);
        same |= known && same_on_wire(known, then);
    }
    if (always && !known)
        rig_fail("%s%s at %g, %g of world %u does not know %u at %g, %g of %d", c->r->context,
                 k->name, v->x, v->y, world, s->id, now->x, now->y, (int)now->owner);
    if (!ever && known)
        rig_fail("%s%s at %g, %g of world %u knows %u at %g, %g of %d", c->r->context, k->name,
                 v->x, v->y, world, s->id, now->x, now->y, (int)now->owner);
    if (known && !same)
        rig_fail("%s%s of world %u knows %u at %.17g, %.17g where it is at %.17g, %.17g of %d",
                 c->r->context, k->name, world, s->id, known->x, known->y, truth_at(s, first)->x,
                 truth_at(s, first)->y, (int)now->owner);
    c->judged++;
}

static void judge_viewer(struct corner *c, uint32_t viewer, bool late)
{
    const struct crig_client *k = &c->r->clients[viewer];
    struct subject *self;
    uint32_t from = c->tick - 1;
    if (!k->open || !k->view.inside)
        return;
    c->blind[viewer] = c->sees[viewer] || k->congested ? 0 : c->blind[viewer] + 1;
    if (!late && c->blind[viewer] > BLIND_MAX)
        rig_fail("%s%s has been told nothing for %u ticks", c->r->context, k->name,
                 c->blind[viewer]);
    if (!c->sees[viewer])
        return;
    self = subject_of(c, k->id);
    if (late)
        from = c->oldest[c->at[viewer]];
    for (uint32_t i = 0; i < c->n; i++)
        if (&c->subjects[i] != self)
            judge_pair(c, viewer, truth_at(self, c->tick), &c->subjects[i], from);
}

/* A tick, and what all clients must know by it. */
static void tick(struct corner *c, bool late)
{
    struct crig *r = c->r;
    snprintf(r->context, sizeof r->context, "seed %llu tick %u: ", (unsigned long long)c->seed,
             r->worlds[0].world->tick + 1);
    crig_tick(r, 1);
    for (uint32_t i = 0; i < r->weather.link_delay; i++) {
        r->step++;
        crig_deliver(r);
    }
    for (uint32_t i = 0; i < r->n_clients; i++)
        judge_viewer(c, i, late);
    if (c->tick % 16 == 0)
        crig_validate(r);
}

/* --- what they do ------------------------------------------------------------------------------
 */

static double within(struct corner *c, double v, double by)
{
    v += (rng_unit(&c->rng) * 2 - 1) * by;
    return v < -c->area ? -c->area : v > c->area ? c->area : v;
}

static void act(struct corner *c, uint32_t i)
{
    struct crig *r = c->r;
    struct crig_client *k = &r->clients[i];
    double x = k->x, y = k->y;
    if (!k->open)
        return;
    if (!k->view.inside) {
        if (k->answered == k->sent && chance(c, 300))
            crig_send_nil(r, i, CMD_ENTER_REQ);
        return;
    }
    uint32_t what = (uint32_t)rng_below(&c->rng, 1000);
    if (what < 350) /* a step */
        crig_move(r, i, within(c, x, 1), within(c, y, 1), rng_unit(&c->rng) * 6, 3);
    else if (what < 450)
        crig_walk(r, i, within(c, 0, c->area), within(c, 0, c->area));
    else if (what < 490) /* as far as credit goes, and further */
        crig_move(r, i, within(c, x, SPEED), within(c, y, SPEED), 0, 0);
    else if (what < 520)
        crig_say(r, i, "hello");
    else if (what < 524)
        crig_congestion(r, i, !k->congested);
    else if (what < 527)
        crig_send_nil(r, i, CMD_LEAVE_REQ);
}

/* Now and then a zone goes to another world, or comes back to its own, some ticks later. */
static void move_zones(struct corner *c)
{
    if (c->goes != CRIG_NONE && chance(c, 500)) {
        crig_zone(c->r, c->goes, c->goes_to, ++c->epoch);
        c->went[c->goes] = c->tick;
        c->goes = CRIG_NONE;
    } else if (c->goes == CRIG_NONE && chance(c, c->moves)) {
        uint32_t zone = (uint32_t)rng_below(&c->rng, c->r->n_worlds);
        c->goes_to = (uint32_t)rng_below(&c->rng, c->r->n_worlds);
        if (c->went[zone] != 0 && c->tick - c->went[zone] < STAYS)
            return;
        c->goes = zone;
        crig_zone(c->r, c->goes, CRIG_NONE, 0);
    }
}

static void come(struct corner *c)
{
    char name[16];
    snprintf(name, sizeof name, "p%u", c->r->n_clients);
    uint32_t at = crig_login(c->r, (uint32_t)rng_below(&c->rng, c->r->n_worlds), name);
    crig_send_nil(c->r, at, CMD_ENTER_REQ);
}

static void begin(struct corner *c, uint64_t seed, double hysteresis, uint32_t npcs)
{
    struct world_config config = crig_config();
    *c = (struct corner){.seed = seed,
                         .hysteresis = hysteresis,
                         .area = seed % 3 == 0 ? 100 : 45,
                         .goes = CRIG_NONE,
                         .epoch = 100};
    rng_init(&c->rng, seed);
    config.max_speed = SPEED;
    config.seed = seed;
    config.aoi_hysteresis = hysteresis;
    config.npcs = npcs;
    config.max_entities += npcs;
    c->r = crig_create(&config, 2, 2, 4);
    c->r->ticked = ticked;
    c->r->arg = c;
    c->subjects = calloc(ENTITIES, sizeof *c->subjects);
    for (uint32_t i = 0; i < c->r->n_worlds; i++) /* anywhere round the corner */
        c->r->worlds[i].world->scenes.list[0].spawn =
            (struct scene_spawn_rule){SCENE_SPAWN_DISC, 0, 0, c->area};
}

/* Everybody rests in calm weather: all is answered, and exact. */
static void end(struct corner *c)
{
    struct crig *r = c->r;
    r->weather = (struct crig_weather){0};
    for (uint32_t i = 0; i < r->n_clients; i++)
        if (r->clients[i].open && r->clients[i].congested)
            crig_congestion(r, i, false);
    if (c->goes != CRIG_NONE)
        crig_zone(r, c->goes, c->goes_to, ++c->epoch);
    crig_tick(r, 200); /* the longest patience, and more */
    for (int i = 0; i < 3; i++)
        tick(c, false);
    for (uint32_t i = 0; i < r->n_clients; i++) {
        const struct crig_client *k = &r->clients[i];
        c->handed += k->moved;
        if (k->open && k->answered != k->sent)
            rig_fail("%s%s: %u of %u were answered", r->context, k->name, k->answered, k->sent);
        if (k->open && k->view.inside && !c->sees[i])
            rig_fail("%s%s sees nothing", r->context, k->name);
    }
    for (uint32_t i = 0; i < r->n_worlds; i++) {
        const struct handover *h = r->worlds[i].world->cluster->handover;
        cr_assert_eq(h->gift_slots.live + h->guest_slots.live, 0, "nobody is on the way");
        cr_assert_eq(r->worlds[i].world->backlog.bodies, 0);
    }
    crig_validate(r);
    crig_destroy(r);
    free(c->subjects);
}

static void run(uint64_t seed, uint32_t n, uint32_t ticks, const struct crig_weather *weather,
                double hysteresis, uint32_t moves, uint32_t npcs)
{
    struct corner c;
    bool late = weather->delay || weather->drop;
    uint64_t lost = 0;
    begin(&c, seed, hysteresis, npcs);
    c.r->weather = *weather;
    c.moves = moves;
    c.r->names.delay = weather->delay;
    crig_tick(c.r, 2);
    for (uint32_t i = 0; i < n; i++)
        come(&c);
    for (uint32_t t = 0; t < ticks; t++) {
        for (uint32_t i = 0; i < c.r->n_clients; i++)
            act(&c, i);
        move_zones(&c);
        tick(&c, late);
        if (chance(&c, 10) && c.r->n_clients < CRIG_CLIENTS_MAX) {
            crig_close(c.r, (uint32_t)rng_below(&c.rng, c.r->n_clients));
            come(&c);
        }
    }
    for (uint32_t i = 0; i < c.r->n_clients; i++)
        lost += c.r->clients[i].lost;
    end(&c);
    cr_assert_eq(lost, 0, "seed %llu: no answer was lost", (unsigned long long)seed);
    cr_assert_gt(c.handed, n / 4, "%llu hand-overs: too few to show anything",
                 (unsigned long long)c.handed);
    cr_assert_gt(c.judged, 1000);
}

/* AEGIS_CORNER_SEEDS says how many more than the usual. */
static void run_all(uint64_t first, uint32_t usual, const struct crig_weather *weather,
                    double hysteresis, uint32_t moves)
{
    const char *text = getenv("AEGIS_CORNER_SEEDS");
    uint64_t n = usual + (text ? strtoull(text, NULL, 10) : 0);
    for (uint64_t seed = first; seed < first + n; seed++)
        run(seed, 30, 200, weather, hysteresis, moves, 0);
    TEST_NO_LEAKS();
}

Test(corner_oracle, four_worlds_are_seen_as_one_but_for_a_tick)
{
    run_all(1000, 3, &(struct crig_weather){0}, 0, 0);
}

Test(corner_oracle, with_slow_links_nothing_is_lost_doubled_or_out_of_order)
{
    run_all(2000, 3, &(struct crig_weather){.link_delay = 3}, 0, 0);
}

Test(corner_oracle, with_messages_that_are_late_doubled_and_out_of_order)
{
    run_all(3000, 3,
            &(struct crig_weather){.delay = 10, .twice = 100, .disorder = true, .link_delay = 2}, 0,
            0);
}

Test(corner_oracle, with_messages_that_are_lost)
{
    run_all(4000, 4, &(struct crig_weather){.delay = 4, .twice = 50, .drop = 50}, 0, 50);
}

Test(corner_oracle, with_hysteresis)
{
    run_all(5000, 1, &(struct crig_weather){0}, 6, 0);
    run_all(5100, 1, &(struct crig_weather){.delay = 4, .twice = 50, .drop = 50}, 6, 0);
}

Test(corner_oracle, with_zones_that_move)
{
    run_all(6000, 3, &(struct crig_weather){0}, 0, 50);
    run_all(6100, 1, &(struct crig_weather){.link_delay = 3}, 6, 50);
}

Test(corner_oracle, with_zones_that_move_in_any_weather)
{
    run_all(7000, 2, &(struct crig_weather){.delay = 4, .twice = 50, .drop = 50}, 0, 50);
    run_all(7100, 1,
            &(struct crig_weather){.delay = 10, .twice = 100, .disorder = true, .link_delay = 2}, 0,
            50);
}

Test(corner_oracle, with_npcs_in_zones_that_stay_and_that_move)
{
    run(8000, 20, 150, &(struct crig_weather){0}, 0, 0, 300);
    run(8001, 20, 200, &(struct crig_weather){0}, 0, 50, 300);
    run(8002, 20, 150, &(struct crig_weather){.delay = 4, .twice = 50, .drop = 50}, 6, 50, 300);
    TEST_NO_LEAKS();
}

/* tests/bench/core_rig.c: a world with its sessions, driven as the edge drives it, but for places.
 * May touch: the core. On trouble: see core_rig.h.
 */
#include "tests/bench/core_rig.h"

#include "common/clock.h"
#include "proto/frame.h"
#include "proto/link.h"
#include "tests/bench/bench.h"
#include "world/command/inbox.h"
#include "world/tick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GROUND_TILES 64 /* along the square of a scene that is a map */

static void drain(void *arg, struct link_ref link, struct span frames)
{
    struct core_rig *r = arg;

    (void)link;
    r->bytes += frames.n;
    if (r->look)
        r->look(r->look_arg, frames);
}

int64_t core_rig_cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * CLOCK_NS_PER_S + t.tv_nsec;
}

static int64_t clock_ns(void *arg)
{
    (void)arg;
    return core_rig_cpu_ns();
}

static void give(struct world *w, struct link_ref link, const struct span_writer *frame)
{
    struct span body = span_of(frame->p + FRAME_HEAD, frame->len - FRAME_HEAD);

    if (inbox_frame(w, link, body, (struct mono){0}) != 0)
        exit(1);
}

static void request(struct world *w, struct link_ref link, uint64_t sid, const struct message *m)
{
    uint8_t body[256], frame[512];
    struct span_writer b = span_writer_of(body, sizeof(body));
    struct span_writer f = span_writer_of(frame, sizeof(frame));
    struct span whole;

    message_write(&b, m);
    whole = span_written(&b);
    link_write_data(&f, sid, &whole, 1);
    give(w, link, &f);
}

void core_rig_request(struct core_rig *r, uint64_t sid, const struct message *m)
{
    request(r->world, r->link, sid, m);
}

void core_rig_populate(struct core_rig *r, uint32_t n)
{
    struct world *w = r->world;
    struct link_ref link = r->link;

    for (uint32_t i = 1; i <= n; i++) {
        struct message login = {.cmd = CMD_LOGIN_REQ, .seq = 1}, enter = {.cmd = CMD_ENTER_REQ};
        uint8_t bytes[256];
        struct span_writer f = span_writer_of(bytes, sizeof(bytes));
        char name[16];

        link_write_open(&f, i, span_text("bench"));
        give(w, link, &f);
        snprintf(name, sizeof(name), "p%u", i);
        login.login_req.name = span_text(name);
        login.login_req.version = PROTO_VERSION;
        request(w, link, i, &login);
        request(w, link, i, &enter);
        if (r->loop)
            loop_turn(r->loop, 0);
    }
    while (w->entities.alive_count < n) { /* those whom the store answers later */
        loop_turn(r->loop, CLOCK_NS_PER_MS);
        core_rig_tick(r);
    }
}

void core_rig_place(struct core_rig *r, const struct workload *load, uint32_t movers)
{
    struct entities *e = &r->world->entities;

    for (uint32_t i = 0; i < movers; i++) {
        uint32_t slot = e->alive[i];

        entities_put(e, slot, i % r->world->scenes.n, load->x[i], load->y[i]);
    }
}

struct world_config core_rig_config(uint32_t entities, double side, uint64_t seed)
{
    struct world_config c = {.aoi_radius = WORKLOAD_RADIUS,
                             .tick_ns = 50 * CLOCK_NS_PER_MS,
                             .max_speed = 12,
                             .move_burst_ns = CLOCK_NS_PER_S,
                             .walk_step_ns = 500 * CLOCK_NS_PER_MS,
                             .tile_ns = 320 * CLOCK_NS_PER_MS,
                             .walk_max_tiles = 2,
                             .path_budget = 5000,
                             .path_queue = 1024,
                             .update_interval = 2,
                             .move_epsilon = 0.05,
                             .dir_epsilon = 1,
                             .quantum = 1.0 / 64,
                             .max_entities = entities,
                             .max_pairs = 256u << 20,
                             .spawn = "line",
                             .save_every_ns = 30 * CLOCK_NS_PER_S,
                             .seed = seed};

    c.bounds[2] = c.bounds[3] = side;
    return c;
}

/* Ground that the whole square lies on. */
static void add_maps(struct core_rig *r, double side, uint32_t n)
{
    for (; r->n_maps < n; r->n_maps++) {
        struct map *m = &r->maps[r->n_maps];

        snprintf(m->name, sizeof(m->name), "scene-%u", r->n_maps);
        if (ground_init(&m->ground, 0, 0, side / GROUND_TILES, GROUND_TILES + 1,
                        GROUND_TILES + 1) != 0) {
            fprintf(stderr, "bench: no memory\n");
            exit(1);
        }
    }
}

void core_rig_keep(struct core_rig *r, const struct world_config *c, const char *store,
                   uint32_t scenes)
{
    struct world_ops ops = {.drain = drain, .clock_ns = clock_ns, .arg = r};
    struct storage_config kept = {.store = store, .entities = c->max_entities};
    struct link_ref none;
    char why[256];

    memset(r, 0, sizeof(*r));
    add_maps(r, c->bounds[2], scenes - 1);
    ops.maps = r->maps;
    ops.n_maps = r->n_maps;
    if (storage_check_form(store, why, sizeof(why)) != 0 || loop_create(&r->loop) != 0 ||
        storage_open(r->loop, &kept, &r->storage, why, sizeof(why)) != 0) {
        fprintf(stderr, "bench: -store: %s\n", why);
        exit(1);
    }
    ops.store = storage_door(r->storage);
    if (world_create(c, &ops, &r->world, why, sizeof(why)) == 0 &&
        inbox_link_up(r->world, span_text("bench"), (struct mono){0}, &r->link, &none) == 0) {
        storage_serve(r->storage, r->world);
        return;
    }
    fprintf(stderr, "bench: %s\n", why);
    exit(1);
}

void core_rig_open(struct core_rig *r, const struct world_config *c)
{
    core_rig_keep(r, c, "none", 1);
}

void core_rig_init(struct core_rig *r, uint32_t entities, double side, uint64_t seed)
{
    const struct world_config c = core_rig_config(entities, side, seed);

    core_rig_open(r, &c);
}

void core_rig_fini(struct core_rig *r)
{
    storage_close(r->storage);
    world_destroy(r->world);
    loop_destroy(r->loop);
    for (uint32_t i = 0; i < r->n_maps; i++)
        map_fini(&r->maps[i]);
    *r = (struct core_rig){0};
}

void core_rig_tick(struct core_rig *r)
{
    r->now = clock_add(r->now, r->world->config.tick_ns);
    tick_run(r->world, r->now);
    outbox_flush(&r->world->outbox);
}

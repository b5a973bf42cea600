/* tests/cluster_rig.c: several worlds of one cluster in one process; see the header.
 * May touch: the world's core, proto, criterion. On trouble: the test at hand fails.
 */
#include "tests/cluster_rig.h"

#include "common/err.h"
#include "common/log.h"
#include "proto/frame.h"
#include "tests/world_rig.h"
#include "world/cluster/realm.h"
#include "world/command/courier.h"
#include "world/command/inbox.h"
#include "world/tick.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS    4     /* of a tick */
#define IDS_EACH 10000 /* ids of each world */

static uint64_t link_due(struct crig *r)
{
    return r->step + (r->weather.link_delay ? rng_below(&r->rng, r->weather.link_delay + 1) : 0);
}

/* --- between worlds ------------------------------------------------------------------------------
 */

static void carry_one(struct crig *r, uint32_t from, uint32_t to, struct span message)
{
    const struct crig_weather *w = &r->weather;
    uint32_t times = 1;
    r->messages++;
    if (r->cut[from] || r->cut[to] || r->worlds[to].dead)
        return;
    if (w->drop && rng_below(&r->rng, 1000) < w->drop)
        return;
    if (w->twice && rng_below(&r->rng, 1000) < w->twice)
        times = 2;
    for (uint32_t i = 0; i < times; i++) {
        uint64_t due = r->step + (w->delay ? rng_below(&r->rng, w->delay + 1) : 0);
        for (uint32_t k = 0; !w->disorder && k < r->carrier.n; k++) {
            const struct crig_parcel *p = &r->carrier.list[k];
            if (p->from == from && p->to == to && p->due > due)
                due = p->due;
        }
        crig_queue_put(&r->carrier, from, to, due, message);
    }
}

static void carry_send(void *arg, struct span world, struct span message)
{
    struct crig_world *from = arg;
    for (uint32_t i = 0; i < from->rig->n_worlds; i++)
        if (span_equal(span_text(from->rig->worlds[i].id), world))
            carry_one(from->rig, from->number, i, message);
}

static void carry_tell(void *arg, struct span message)
{
    struct crig_world *from = arg;
    for (uint32_t i = 0; i < from->rig->n_worlds; i++)
        if (i != from->number)
            carry_one(from->rig, from->number, i, message);
}

static void carry_publish(void *arg, uint32_t zone, struct span message)
{
    (void)zone;
    carry_tell(arg, message);
}

/* With the names of tests/cluster_rig_names. */
static const struct cluster_door_ops *carrier(void)
{
    static struct cluster_door_ops ops;
    ops = CRIG_NAME_OPS;
    ops.send = carry_send;
    ops.publish = carry_publish;
    ops.tell = carry_tell;
    return &ops;
}

/* --- the gateway -------------------------------------------------------------------------------
 */

static void drain(void *arg, struct link_ref ref, struct span frames)
{
    struct crig_world *w = arg;
    (void)ref;
    while (frames.n > 0) {
        struct span body;
        size_t used;
        if (frame_split(frames, LINK_FRAME_MAX, &body, &used) != 0)
            rig_fail("a run that is not whole link frames");
        crig_queue_put(&w->down, 0, w->number, link_due(w->rig), body);
        frames = span_of(frames.p + used, frames.n - used);
    }
}

static void secret(void *arg, void *out, size_t n)
{
    struct crig_world *w = arg;
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)out)[i] = (uint8_t)rng_next(&w->secrets);
}

void crig_frame_up(struct crig *r, uint32_t world, const struct span_writer *w)
{
    if (w->full)
        rig_fail("the rig's link frame is too large");
    crig_queue_put(&r->worlds[world].up, 0, world, link_due(r),
                   span_of(w->p + FRAME_HEAD, w->len - FRAME_HEAD));
}

static void learn(struct crig *r, struct crig_client *c, const struct message *m)
{
    if (m->cmd == CMD_LOGIN_RESP) {
        c->id = m->login_resp.id;
        c->resumed = m->login_resp.resumed;
        memcpy(c->resume, m->login_resp.resume.p, m->login_resp.resume.n);
    }
    if (m->cmd == CMD_ENTER_RESP) {
        c->id = m->enter_resp.id;
        c->x = m->enter_resp.x;
        c->y = m->enter_resp.y;
        c->puts += m->seq == 0;
    }
    if (m->cmd == CMD_MOVE_RESP) {
        c->x = m->move_resp.x;
        c->y = m->move_resp.y;
    }
    if (m->cmd == CMD_ERROR_NOTIFY) {
        c->errors += m->seq != 0;
        c->last_code = m->error_notify.code;
        if (m->seq == 0 && m->error_notify.code == PE_UNAVAILABLE) {
            c->lost++;
            c->answered = c->sent; /* what was not answered will not be */
        }
    }
    if (m->seq == 0)
        return;
    if (m->seq != c->answered + 1 || m->seq > c->sent)
        rig_fail("%s%s: answer %u after %u, %u requests sent", r->context, c->name, m->seq,
                 c->answered, c->sent);
    c->answered = m->seq;
}

static uint32_t tick_of(const struct message *m)
{
    return m->cmd == CMD_AOI_ADD      ? m->aoi_add.tick
           : m->cmd == CMD_AOI_REMOVE ? m->aoi_remove.tick
           : m->cmd == CMD_AOI_MOVE   ? m->aoi_move.tick
                                      : 0;
}

static struct crig_client *client_of(struct crig *r, uint32_t world, uint64_t sid)
{
    if (sid == 0 || sid > r->n_clients)
        rig_fail("%sworld %u speaks of session %llu", r->context, world, (unsigned long long)sid);
    struct crig_client *c = &r->clients[sid - 1];
    if (c->open && c->world != world)
        rig_fail("%s%s is told by world %u, but is at world %u", r->context, c->name, world,
                 c->world);
    return c->open ? c : NULL;
}

static void post(struct crig *r, struct crig_client *c, struct span body)
{
    struct message m;
    if (!c)
        return;
    if (message_read(r->reader, body, &m) != 0)
        rig_fail("a world sent a body that cannot be read");
    learn(r, c, &m);
    if (!rig_view_take(&c->view, &m, body.n, tick_of(&m)))
        rig_fail("%s%s: %s", r->context, c->name, c->view.breach);
    r->told++;
}

/* Its world holds nothing of it any more. */
static void bind_elsewhere(struct crig *r, struct crig_client *c)
{
    uint8_t bytes[512];
    struct span_writer w = span_writer_of(bytes, sizeof bytes);
    c->lost += c->answered != c->sent;
    c->answered = c->sent;
    c->view.inside = false;
    c->bound++;
    do
        c->world = (c->world + 1) % r->n_worlds;
    while (r->worlds[c->world].dead);
    link_write_bind(&w, c->sid, span_text("192.0.2.1:1"), span_of(c->note, c->note_bytes));
    crig_frame_up(r, c->world, &w);
    if (c->congested)
        crig_congestion(r, (uint32_t)c->sid - 1, true);
}

static void redirected(struct crig *r, struct crig_client *c, const struct link_frame *f)
{
    uint8_t bytes[512];
    uint32_t to = 0;
    if (!c)
        return;
    while (f->world.n > 0 && to < r->n_worlds && !span_equal(span_text(r->worlds[to].id), f->world))
        to++;
    if (to == r->n_worlds)
        rig_fail("%sa redirect to nowhere", r->context);
    struct span_writer w = span_writer_of(bytes, sizeof bytes);
    link_write_left(&w, c->sid);
    crig_frame_up(r, c->world, &w);
    w = span_writer_of(bytes, sizeof bytes);
    if (f->world.n == 0) {
        bind_elsewhere(r, c);
        return;
    }
    link_write_attach(&w, c->sid, span_text("192.0.2.1:1"), span_of(c->note, c->note_bytes),
                      f->entity, f->count);
    crig_frame_up(r, to, &w);
    c->world = to;
    c->moved++;
    if (c->congested)
        crig_congestion(r, (uint32_t)c->sid - 1, true);
}

static void from_world(struct crig *r, uint32_t world, struct span body)
{
    struct link_frame f;
    struct crig_client *c;
    uint64_t sid;
    if (link_read(body, &f) != 0)
        rig_fail("a world sent a link frame that cannot be read");
    switch (f.kind) {
    case LINK_DATA:
        for (uint32_t i = 0; i < f.n_bodies; i++)
            post(r, client_of(r, world, f.session), f.bodies[i]);
        break;
    case LINK_DATA_MANY:
        while (link_session_take(&f.sessions, &sid) == 0)
            post(r, client_of(r, world, sid), f.bodies[0]);
        break;
    case LINK_CLOSE:
        c = client_of(r, world, f.session);
        if (!c)
            break;
        c->open = false;
        c->closed_code = f.code;
        break;
    case LINK_NOTE:
        c = client_of(r, world, f.session);
        if (!c)
            break;
        memcpy(c->note, f.note.p, f.note.n);
        c->note_bytes = (uint32_t)f.note.n;
        break;
    case LINK_REDIRECT:
        redirected(r, client_of(r, world, f.session), &f);
        break;
    default:
        rig_fail("a world sent a link frame of kind %d", (int)f.kind);
    }
}

/* --- deliveries --------------------------------------------------------------------------------
 */

static bool deliver_world(struct crig *r, struct crig_world *w)
{
    struct crig_parcel p;
    bool any = false;
    while (crig_queue_take(&w->up, r->step, true, &p)) {
        if (!w->dead && inbox_frame(w->world, w->link, p.bytes, r->now) != 0)
            rig_fail("%sworld %u does not take a link frame", r->context, w->number);
        free((void *)p.bytes.p);
        any = true;
    }
    outbox_flush(&w->world->outbox);
    while (crig_queue_take(&w->down, r->step, true, &p)) {
        from_world(r, w->number, p.bytes);
        free((void *)p.bytes.p);
        any = true;
    }
    return any;
}

void crig_deliver(struct crig *r)
{
    struct crig_parcel p;
    bool any = true;
    while (any) {
        any = false;
        for (uint32_t i = 0; i < r->n_worlds; i++)
            any |= deliver_world(r, &r->worlds[i]);
        while (crig_queue_take(&r->carrier, r->step, false, &p)) {
            struct crig_world *w = &r->worlds[p.to];
            if (!w->dead && !r->cut[p.to] && courier_message(w->world, p.bytes, r->now) != 0)
                rig_fail("%sworld %u does not take a message", r->context, p.to);
            outbox_flush(&w->world->outbox);
            free((void *)p.bytes.p);
            any = true;
        }
        any |= crig_names_deliver(r);
        any |= crig_store_deliver(r);
    }
}

void crig_tick(struct crig *r, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = (uint32_t)rng_below(&r->rng, r->n_worlds);
        crig_deliver(r);
        for (uint32_t k = 1; k < STEPS; k++) {
            r->step++;
            crig_deliver(r);
        }
        r->step++;
        r->now = clock_add(r->now, r->worlds[0].world->config.tick_ns);
        for (uint32_t k = 0; k < r->n_worlds; k++) {
            struct crig_world *w = &r->worlds[(first + k) % r->n_worlds];
            if (w->dead)
                continue;
            tick_run(w->world, r->now);
            outbox_flush(&w->world->outbox);
        }
        if (r->ticked)
            r->ticked(r->arg);
        crig_deliver(r);
    }
}

/* --- making one --------------------------------------------------------------------------------
 */

struct world_config crig_config(void)
{
    struct world_config c = rig_config();
    memcpy(c.bounds, (double[4]){-240, -240, 240, 240}, sizeof c.bounds);
    c.resume_window_ns = 30 * CLOCK_NS_PER_S;
    c.update_interval = 0;
    c.move_epsilon = 0;
    c.dir_epsilon = 0;
    c.max_entities = 256;
    c.max_pairs = 1u << 17;
    return c;
}

static void world_begin(struct crig *r, uint32_t i, const struct world_config *config,
                        double margin)
{
    struct crig_world *w = &r->worlds[i];
    struct link_ref replaced;
    char why[256] = "";
    *w = (struct crig_world){.rig = r, .number = i};
    snprintf(w->id, sizeof w->id, "world-%u", i);
    rng_init(&w->secrets, 100 + i);
    struct world_config c = *config;
    c.seed = 1000 + i;
    struct world_ops ops = {
        .drain = drain,
        .secret = secret,
        .arg = w,
        .cluster = {carrier(), w, span_text(w->id), r->nx, r->ny, 0, margin},
    };
    if (r->store.on)
        ops.store = (struct store_door){&CRIG_STORE_OPS, w};
    if (world_create(&c, &ops, &w->world, why, sizeof why) != 0)
        rig_fail("world_create: %s", why);
    id_pool_feed(&w->world->ids, 1 + i * IDS_EACH, IDS_EACH);
    if (inbox_link_up(w->world, span_text("gw"), r->now, &w->link, &replaced) != 0)
        rig_fail("no link");
}

static struct crig *create(const struct world_config *c, uint32_t nx, uint32_t ny, double margin,
                           bool stored)
{
    log_init("world", LOG_OFF, LOG_TEXT);
    struct crig *r = calloc(1, sizeof *r);
    r->store.on = stored;
    r->nx = nx;
    r->ny = ny;
    r->n_worlds = nx * ny;
    r->now = (struct mono){1000 * CLOCK_NS_PER_S};
    r->clients = calloc(CRIG_CLIENTS_MAX, sizeof *r->clients);
    rng_init(&r->rng, c->seed);
    if (message_reader_create(PROTO_BATCH_MAX, &r->reader) != 0)
        rig_fail("no memory for a reader");
    for (uint32_t i = 0; i < r->n_worlds; i++)
        world_begin(r, i, c, margin);
    for (uint32_t i = 0; i < r->n_worlds; i++) {
        double b[4];
        struct scene *s = &r->worlds[i].world->scenes.list[0];
        zones_bounds(&r->worlds[i].world->cluster->cut[0], i, b);
        s->spawn =
            (struct scene_spawn_rule){SCENE_SPAWN_DISC, (b[0] + b[2]) / 2, (b[1] + b[3]) / 2, 1};
    }
    for (uint32_t i = 0; i < r->n_worlds; i++)
        crig_zone(r, i, i, i + 1);
    crig_names_init(r);
    return r;
}

struct crig *crig_create(const struct world_config *c, uint32_t nx, uint32_t ny, double margin)
{
    return create(c, nx, ny, margin, false);
}

struct crig *crig_create_stored(const struct world_config *c, uint32_t nx, uint32_t ny,
                                double margin)
{
    return create(c, nx, ny, margin, true);
}

void crig_zone(struct crig *r, uint32_t zone, uint32_t world, uint64_t epoch)
{
    for (uint32_t i = 0; i < r->n_worlds; i++)
        if (!r->worlds[i].dead)
            courier_zone(r->worlds[i].world, zone,
                         world == CRIG_NONE ? span_of(NULL, 0) : span_text(r->worlds[world].id),
                         epoch, r->now);
}

void crig_destroy(struct crig *r)
{
    crig_names_fini(r);
    crig_store_fini(r);
    for (uint32_t i = 0; i < r->n_worlds; i++) {
        world_destroy(r->worlds[i].world);
        crig_queue_fini(&r->worlds[i].up);
        crig_queue_fini(&r->worlds[i].down);
    }
    for (uint32_t i = 0; i < r->n_clients; i++)
        rig_view_fini(&r->clients[i].view);
    crig_queue_fini(&r->carrier);
    message_reader_destroy(r->reader);
    free(r->clients);
    free(r);
}

/* --- what is there -----------------------------------------------------------------------------
 */

uint32_t crig_owner(const struct crig *r, uint32_t id, uint32_t *slot)
{
    uint32_t found = CRIG_NONE, at;
    for (uint32_t i = 0; i < r->n_worlds; i++) {
        const struct entities *e = &r->worlds[i].world->entities;
        if (r->worlds[i].dead || !entities_by_id(e, id, &at) || entities_is_ghost(e, at))
            continue;
        if (found != CRIG_NONE)
            rig_fail("%s%u is acted for by two worlds, %u and %u", r->context, id, found, i);
        found = i;
        *slot = at;
    }
    return found;
}

bool crig_ghost(const struct crig *r, uint32_t world, uint32_t id, uint32_t *slot)
{
    const struct entities *e = &r->worlds[world].world->entities;
    return entities_by_id(e, id, slot) && entities_is_ghost(e, *slot);
}

bool crig_knows(const struct crig *r, uint32_t client, uint32_t other)
{
    return rig_view_find(&r->clients[client].view, r->clients[other].id) != NULL;
}

void crig_validate(const struct crig *r)
{
    for (uint32_t i = 0; i < r->n_worlds; i++)
        if (!r->worlds[i].dead)
            world_validate(r->worlds[i].world);
}

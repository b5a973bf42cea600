/* tests/bench/mesh.c: one world, or two of a cluster, with their players; see the header.
 * May touch: the core, threads. On trouble: see mesh.h.
 */
#include "tests/bench/mesh.h"

#include "common/clock.h"
#include "proto/frame.h"
#include "tests/bench/bench.h"
#include "tests/bench/child.h"
#include "tests/bench/core_rig.h"
#include "world/cluster/realm.h"
#include "world/command/courier.h"
#include "world/command/inbox.h"
#include "world/tick.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN      5.0 /* units, as -zone-margin */
#define BYTES_FIRST (1u << 22)
#define ROUNDS      3 /* without a tick, until a name that was claimed is held */

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "bench: cluster: %s\n", what);
    exit(1);
}

static void put(struct mesh_bytes *b, const void *p, size_t n)
{
    if (n == 0)
        return;
    if (b->cap - b->n < n) {
        while (b->cap - b->n < n)
            b->cap = b->cap == 0 ? BYTES_FIRST : 2 * b->cap;
        b->p = realloc(b->p, b->cap);
        if (!b->p)
            fail("no memory");
    }
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

/* --- a world's doors ---------------------------------------------------------------------------
 */

static void drain(void *arg, struct link_ref link, struct span frames)
{
    struct mesh_world *w = arg;

    (void)link;
    put(&w->down, frames.p, frames.n);
}

static void secret(void *arg, void *out, size_t n)
{
    struct mesh_world *w = arg;

    for (size_t i = 0; i < n; i++)
        ((uint8_t *)out)[i] = (uint8_t)rng_next(&w->secrets);
}

/* There is one other world, so that all ways lead there. */
static void tell(void *arg, struct span message)
{
    struct mesh_world *w = arg;
    uint32_t n = (uint32_t)message.n;

    put(&w->out, &n, sizeof(n));
    put(&w->out, message.p, message.n);
}

static void send_to(void *arg, struct span world, struct span message)
{
    (void)world;
    tell(arg, message);
}

static void publish(void *arg, uint32_t zone, struct span message)
{
    (void)zone;
    tell(arg, message);
}

static struct mesh_keys_world *keys_of(void *arg)
{
    struct mesh_world *w = arg;

    return &w->mesh->keys.worlds[w->number];
}

static void name_claim(void *arg, uint32_t place, struct span name)
{
    mesh_keys_claim(keys_of(arg), place, name);
}

static void name_take(void *arg, uint32_t place, struct span name, uint64_t token)
{
    mesh_keys_take(keys_of(arg), place, name, token);
}

static void name_take_back(void *arg, uint32_t place)
{
    mesh_keys_take_back(keys_of(arg), place);
}

static void name_release(void *arg, uint32_t place)
{
    mesh_keys_release(keys_of(arg), place);
}

static void name_forget(void *arg, uint32_t place)
{
    (void)arg;
    (void)place;
}

static const struct cluster_door_ops door = {
    .send = send_to,
    .publish = publish,
    .tell = tell,
    .name_claim = name_claim,
    .name_take = name_take,
    .name_take_back = name_take_back,
    .name_release = name_release,
    .name_forget = name_forget,
};

/* --- a step ------------------------------------------------------------------------------------
 */

static void take_frames(struct mesh_world *w, struct mono now)
{
    struct span left = span_of(w->up.p, w->up.n), body;
    size_t used;

    while (left.n > 0) {
        if (frame_split(left, LINK_FRAME_MAX, &body, &used) != 0 ||
            inbox_frame(w->world, w->link, body, now) != 0)
            fail("a world does not take a link frame");
        left = span_of(left.p + used, left.n - used);
    }
    w->up.n = 0;
}

static void take_messages(struct mesh_world *w, struct mono now)
{
    uint32_t n;

    for (size_t at = 0; at < w->in.n; at += n) {
        memcpy(&n, w->in.p + at, sizeof(n));
        at += sizeof(n);
        if (courier_message(w->world, span_of(w->in.p + at, n), now) != 0)
            fail("a world does not take the other's message");
    }
    w->in.n = 0;
}

static void *run(void *arg)
{
    struct mesh_world *w = arg;
    struct mesh *m = w->mesh;

    child_pin(w->core);
    for (;;) {
        int64_t start, heard;

        pthread_barrier_wait(&m->begin);
        if (m->stop)
            return NULL;
        start = bench_cpu_ns();
        take_frames(w, m->now);
        heard = bench_cpu_ns();
        take_messages(w, m->now);
        if (m->n_worlds > 1)
            mesh_keys_tell(keys_of(w), w->world, m->now);
        w->heard_ns = bench_cpu_ns() - heard;
        if (m->tick)
            tick_run(w->world, m->now);
        outbox_flush(&w->world->outbox);
        w->spent_ns = bench_cpu_ns() - start;
        pthread_barrier_wait(&m->end);
    }
}

/* --- the gateway -------------------------------------------------------------------------------
 */

static void request(struct mesh *m, uint32_t player, struct message *msg)
{
    uint8_t body[256], frame[512];
    struct mesh_player *p = &m->players[player];
    struct span_writer b = span_writer_of(body, sizeof(body));
    struct span_writer f = span_writer_of(frame, sizeof(frame));
    struct span whole;

    msg->seq = ++p->seq;
    message_write(&b, msg);
    whole = span_written(&b);
    link_write_data(&f, player + 1, &whole, 1);
    put(&m->worlds[p->world].up, f.p, f.len);
}

static void redirect(struct mesh *m, const struct link_frame *f)
{
    uint8_t bytes[512];
    struct mesh_player *p = &m->players[f->session - 1];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));

    link_write_left(&w, f->session);
    put(&m->worlds[p->world].up, w.p, w.len);
    p->world = 1 - p->world;
    w = span_writer_of(bytes, sizeof(bytes));
    link_write_attach(&w, f->session, span_text("bench"), span_of(p->note, p->note_n), f->entity,
                      f->count);
    put(&m->worlds[p->world].up, w.p, w.len);
    m->redirects++;
}

static void from_world(struct mesh *m, struct span body)
{
    struct link_frame f;

    if (link_read(body, &f) != 0)
        fail("a link frame that cannot be read");
    if (f.kind == LINK_CLOSE)
        fail("a world closed a session");
    if (f.kind == LINK_NOTE) {
        struct mesh_player *p = &m->players[f.session - 1];

        memcpy(p->note, f.note.p, f.note.n);
        p->note_n = (uint32_t)f.note.n;
    }
    if (f.kind == LINK_REDIRECT)
        redirect(m, &f);
}

static void change_hands(struct mesh *m)
{
    for (uint32_t i = 0; i < m->n_worlds; i++) {
        struct mesh_world *w = &m->worlds[i], *other = &m->worlds[1 - i];
        struct span left = span_of(w->down.p, w->down.n), body;
        size_t used;

        while (left.n > 0) {
            if (frame_split(left, LINK_FRAME_MAX, &body, &used) != 0)
                fail("a run that is not whole link frames");
            from_world(m, body);
            left = span_of(left.p + used, left.n - used);
        }
        w->down.n = 0;
        put(&other->in, w->out.p, w->out.n);
        w->out.n = 0;
    }
    mesh_keys_land(&m->keys);
}

static void step(struct mesh *m, bool tick)
{
    m->tick = tick;
    pthread_barrier_wait(&m->begin);
    pthread_barrier_wait(&m->end);
    change_hands(m);
}

/* --- players -----------------------------------------------------------------------------------
 */

static void log_in(struct mesh *m)
{
    for (uint32_t i = 0; i < m->n_players; i++) {
        struct message login = {.cmd = CMD_LOGIN_REQ};
        uint8_t bytes[256];
        struct span_writer f = span_writer_of(bytes, sizeof(bytes));
        char name[16];

        m->players[i].world = m->n_worlds > 1 && m->load.x[i] >= m->load.side / 2;
        link_write_open(&f, i + 1, span_text("bench"));
        put(&m->worlds[m->players[i].world].up, f.p, f.len);
        snprintf(name, sizeof(name), "p%u", i + 1);
        login.login_req.name = span_text(name);
        login.login_req.version = PROTO_VERSION;
        request(m, i, &login);
    }
    for (int i = 0; i < ROUNDS; i++)
        step(m, false);
}

static struct session *session_of(const struct mesh *m, uint32_t player)
{
    const struct mesh_world *w = &m->worlds[m->players[player].world];
    struct session_ref who;
    struct session *s;

    if (!sessions_by_sid(&w->world->sessions, w->link, player + 1, &who) ||
        !sessions_find(&w->world->sessions, who, &s))
        return NULL;
    return s;
}

static void enter(struct mesh *m)
{
    for (uint32_t i = 0; i < m->n_players; i++) {
        struct message msg = {.cmd = CMD_ENTER_REQ};

        request(m, i, &msg);
    }
    for (int i = 0; i < ROUNDS; i++)
        step(m, false);
    for (uint32_t i = 0; i < m->n_players; i++) {
        const struct session *s = session_of(m, i);

        if (!s || s->state != SESSION_INSIDE)
            fail("a player did not get in");
        entities_put(&m->worlds[m->players[i].world].world->entities, s->entity.slot, 0,
                     m->load.x[i], m->load.y[i]);
    }
}

static void walk(struct mesh *m)
{
    uint32_t turn = m->worlds[0].world->tick % 2;

    workload_step(&m->load, m->n_players);
    for (uint32_t i = turn; i < m->n_players; i += 2) {
        double dx = m->load.to_x[i] - m->load.x[i], dy = m->load.to_y[i] - m->load.y[i];
        double dir = atan2(dy, dx);
        struct message msg = {.cmd = CMD_MOVE_REQ};

        msg.move_req.x = m->load.x[i];
        msg.move_req.y = m->load.y[i];
        msg.move_req.has_dir = msg.move_req.has_speed = true;
        msg.move_req.dir = dir < 0 ? dir + 2 * M_PI : dir;
        msg.move_req.speed = m->load.speed[i];
        request(m, i, &msg);
        m->moves++;
    }
}

void mesh_step(struct mesh *m, bool walks)
{
    m->now = clock_add(m->now, m->worlds[0].world->config.tick_ns);
    if (walks)
        walk(m);
    step(m, true);
}

/* --- the whole ---------------------------------------------------------------------------------
 */

static void world_begin(struct mesh *m, uint32_t i, uint64_t seed)
{
    struct mesh_world *w = &m->worlds[i];
    struct world_config c = core_rig_config(m->n_players, m->load.side, seed + i);
    struct world_ops ops = {.drain = drain, .secret = secret, .arg = w};
    struct child_cores cores = child_cores();
    struct link_ref none;
    char why[256] = "";

    *w = (struct mesh_world){.mesh = m, .number = i};
    w->core = i == 0 ? cores.measured : cores.others;
    snprintf(w->id, sizeof(w->id), "world-%u", i);
    rng_init(&w->secrets, seed + i);
    c.resume_window_ns = 30 * CLOCK_NS_PER_S;
    if (m->n_worlds > 1)
        ops.cluster = (struct cluster_door){.ops = &door,
                                            .arg = w,
                                            .world = span_text(w->id),
                                            .nx = m->n_worlds,
                                            .ny = 1,
                                            .margin = MARGIN};
    if (world_create(&c, &ops, &w->world, why, sizeof(why)) != 0)
        fail(why);
    if (m->n_worlds > 1)
        id_pool_feed(&w->world->ids, 1 + i * m->n_players, m->n_players);
    if (inbox_link_up(w->world, span_text("bench"), m->now, &w->link, &none) != 0)
        fail("no link");
}

/* Each gets the zone of its number, and its players come in there. */
static void zones_begin(struct mesh *m)
{
    for (uint32_t i = 0; i < m->n_worlds; i++) {
        struct world *w = m->worlds[i].world;
        double b[4];

        for (uint32_t zone = 0; zone < m->n_worlds; zone++)
            courier_zone(w, zone, span_text(m->worlds[zone].id), zone + 1, m->now);
        zones_bounds(&w->cluster->cut[0], i, b);
        w->scenes.list[0].spawn =
            (struct scene_spawn_rule){SCENE_SPAWN_DISC, (b[0] + b[2]) / 2, (b[1] + b[3]) / 2, 1};
    }
}

void mesh_init(struct mesh *m, uint32_t worlds, uint32_t players, double neighbours, uint64_t seed)
{
    *m = (struct mesh){.n_worlds = worlds, .n_players = players};
    m->now = (struct mono){1000 * CLOCK_NS_PER_S};
    m->players = calloc(players, sizeof(*m->players));
    if (!m->players)
        fail("no memory");
    workload_init(&m->load, WORKLOAD_UNIFORM, players, neighbours, seed);
    mesh_keys_init(&m->keys, players, 2 * players);
    for (uint32_t i = 0; i < worlds; i++)
        world_begin(m, i, seed);
    if (worlds > 1)
        zones_begin(m);
    pthread_barrier_init(&m->begin, NULL, worlds + 1);
    pthread_barrier_init(&m->end, NULL, worlds + 1);
    child_pin(child_cores().others);
    for (uint32_t i = 0; i < worlds; i++)
        if (pthread_create(&m->worlds[i].thread, NULL, run, &m->worlds[i]) != 0)
            fail("no thread");
    log_in(m);
    enter(m);
}

void mesh_fini(struct mesh *m)
{
    m->stop = true;
    pthread_barrier_wait(&m->begin);
    for (uint32_t i = 0; i < m->n_worlds; i++) {
        struct mesh_world *w = &m->worlds[i];

        pthread_join(w->thread, NULL);
        world_destroy(w->world);
        free(w->up.p);
        free(w->down.p);
        free(w->in.p);
        free(w->out.p);
    }
    pthread_barrier_destroy(&m->begin);
    pthread_barrier_destroy(&m->end);
    mesh_keys_fini(&m->keys);
    workload_fini(&m->load);
    free(m->players);
}

struct mesh_counts mesh_counts(const struct mesh *m)
{
    struct mesh_counts c = {0};

    for (uint32_t i = 0; i < m->n_worlds; i++) {
        const struct world_metrics *w = &m->worlds[i].world->metrics;

        c.handed += w->gifts_taken;
        c.border_frames += w->border_frames;
        c.border_bytes += w->border_bytes;
        c.moves_ok += w->moves_ok;
        c.moves_refused += w->moves_speed + w->moves_bounds + w->moves_blocked;
    }
    return c;
}

uint32_t mesh_ghosts(const struct mesh *m, uint32_t world)
{
    const struct entities *e = &m->worlds[world].world->entities;
    uint32_t n = 0;

    for (uint32_t i = 0; i < e->alive_count; i++)
        n += entities_is_ghost(e, e->alive[i]);
    return n;
}

bool mesh_whole(const struct mesh *m)
{
    struct mesh_counts c = mesh_counts(m);
    uint32_t own = 0;

    for (uint32_t i = 0; i < m->n_worlds; i++)
        own += m->worlds[i].world->entities.alive_count - mesh_ghosts(m, i);
    for (uint32_t i = 0; i < m->n_players; i++) {
        const struct session *s = session_of(m, i);

        if (!s || s->state != SESSION_INSIDE) {
            fprintf(stderr, "bench: player %u is not in world %u\n", i + 1, m->players[i].world);
            return false;
        }
    }
    if (own != m->n_players || c.moves_ok != m->moves) {
        fprintf(stderr,
                "bench: %u entities of %u players; of %llu moves %llu were taken, %llu refused\n",
                own, m->n_players, (unsigned long long)m->moves, (unsigned long long)c.moves_ok,
                (unsigned long long)c.moves_refused);
        return false;
    }
    return true;
}

/* tests/bench/bench_wire.c: bytes to a player who stands among others that move ten times a second.
 * Half of all move in each tick, with dir and speed of their leg; all bodies are read again as a
 * client would. Answers to a player's own moves are not among them. May touch: the core, proto.
 * On trouble: one line on standard error and exit status 1.
 */
#include "common/err.h"
#include "proto/aoi_move.h"
#include "proto/frame.h"
#include "proto/link.h"
#include "proto/message.h"
#include "tests/bench/bench.h"
#include "tests/bench/core_rig.h"

#include <math.h>
#include <stdlib.h>

#define TURN     6.283185307179586 /* 2π */
#define TICKS_S  20
#define PER_MOVE 2 /* ticks */

struct wire {
    struct message_reader *reader;
    uint64_t records, record_bytes; /* of AoiMove */
    uint64_t bytes;                 /* of all frames to clients */
    bool bad;
};

static void look_at_body(struct wire *w, struct span body, uint32_t sessions)
{
    struct aoi_move_record r;
    uint32_t previous = 0;
    struct message m;

    w->bytes += (uint64_t)(FRAME_HEAD + body.n) * sessions;
    if (message_read(w->reader, body, &m) != 0) {
        w->bad = true;
        return;
    }
    if (m.cmd != CMD_AOI_MOVE)
        return;
    w->record_bytes += m.aoi_move.moves.n;
    struct span rest = m.aoi_move.moves;
    while (aoi_move_take(&rest, &previous, &r) == 0)
        w->records++;
    w->bad |= rest.n > 0;
}

static void look(void *arg, struct span frames)
{
    struct wire *w = arg;
    struct link_frame f;
    struct span body;
    size_t used;

    while (frames.n > 0 && !w->bad) {
        if (frame_split(frames, LINK_FRAME_MAX, &body, &used) != 0 || link_read(body, &f) != 0) {
            w->bad = true;
            return;
        }
        for (uint32_t i = 0; i < f.n_bodies; i++)
            look_at_body(w, f.bodies[i], f.kind == LINK_DATA_MANY ? f.n_sessions : 1);
        frames = span_of(frames.p + used, frames.n - used);
    }
}

/* Every other one moves, with the direction and the speed of its leg. */
static void move_half(struct world *world, const struct workload *load, uint64_t tick)
{
    struct entities *e = &world->entities;

    for (uint32_t i = (uint32_t)(tick % PER_MOVE); i < load->n; i += PER_MOVE) {
        uint32_t slot = e->alive[i];
        double dir = atan2(load->to_y[i] - load->y[i], load->to_x[i] - load->x[i]);

        e->x[slot] = load->x[i];
        e->y[slot] = load->y[i];
        e->dir[slot] = dir < 0 ? fmax(dir + TURN, 0) : dir;
        if (e->dir[slot] >= TURN)
            e->dir[slot] = 0;
        e->speed[slot] = load->speed[i];
        entities_mark(e, slot, ENTITY_MOVED);
    }
}

static void print(const struct bench_args *a, const struct wire *w)
{
    double per_record = (double)w->record_bytes / (double)w->records;
    double per_player = (double)w->bytes * TICKS_S / (double)a->ticks / (double)a->n;
    double in_sight = (double)w->records * PER_MOVE / (double)a->ticks / (double)a->n;

    printf(a->json
               ? "{\"bench\":\"wire\",\"workload\":\"%s\",\"n\":%llu,\"neighbours\":%g,"
                 "\"staying_in_sight\":%.2f,\"bytes_per_record\":%.3f,"
                 "\"bytes_per_player_s\":%.0f,\"kbit_per_player_s\":%.2f}\n"
               : "wire %-8s n=%-6llu K=%-4g %.1f stay in sight: %.2f bytes a record, %.0f bytes "
                 "a player and second, %.1f kbit/s\n",
           a->workload, (unsigned long long)a->n, a->neighbours, in_sight, per_record, per_player,
           per_player * 8 / 1000);
}

int bench_wire(const struct bench_args *a)
{
    uint32_t n = (uint32_t)a->n;
    struct wire w = {0};
    enum workload_kind kind;
    struct workload load;
    struct core_rig rig;

    if (!workload_kind_find(a->workload, &kind)) {
        fprintf(stderr, "bench: -workload: \"%s\": must be uniform, hotspot or mass\n",
                a->workload);
        return 2;
    }
    if (message_reader_create(PROTO_BATCH_MAX, &w.reader) != 0)
        return 1;
    workload_init(&load, kind, n, a->neighbours, a->seed);
    core_rig_init(&rig, n, load.side, a->seed);
    core_rig_populate(&rig, n);
    core_rig_place(&rig, &load, n);
    core_rig_tick(&rig);
    for (uint64_t t = 0; t < WORKLOAD_WARM_UP + a->ticks; t++) {
        if (t == WORKLOAD_WARM_UP) {
            rig.look = look;
            rig.look_arg = &w;
        }
        workload_step(&load, n);
        move_half(rig.world, &load, t);
        core_rig_tick(&rig);
    }
    if (w.bad || w.records == 0)
        fprintf(stderr, "bench: wire: what the world said cannot be read\n");
    else
        print(a, &w);
    core_rig_fini(&rig);
    workload_fini(&load);
    message_reader_destroy(w.reader);
    return w.bad ? 1 : 0;
}

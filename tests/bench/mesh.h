/* tests/bench/mesh.h: one world, or two of a cluster, with their players, for benchmarks.
 * Each world runs on a thread and a core of its own, in steps: first what came for it, from
 * gateways, from the other world, and of keys; then a tick. That is what is timed, as time of its
 * thread. Between two steps, when all stand still, a gateway follows notes and redirects, and
 * messages between worlds change hands: what is said in a step is heard in the next.
 *
 *   players ─► up ─► inbox ─┐                           ┌─► outbox ─► down ─► gateway
 *   other world ─► in ─► courier ─► world, a tick ──────┤
 *   keys ─► answers ────────┘                           └─► door ─► out, asks
 *
 * Alone, a world has no cluster and all of the square; of two, each has a half.
 * May touch: the core, threads. On trouble: a line on standard error and exit 1.
 */
#pragma once

#include "proto/link.h"
#include "tests/bench/mesh_keys.h"
#include "tests/bench/workload.h"
#include "world/world.h"

#include <pthread.h>

/* Grows outside of what is timed, but for its first steps. */
struct mesh_bytes {
    uint8_t *p;
    size_t n, cap;
};

struct mesh;

struct mesh_world {
    struct mesh *mesh;
    uint32_t number;
    char id[16];
    struct world *world;
    struct link_ref link;
    struct rng secrets;
    struct mesh_bytes up, down; /* link frames for it, and of it */
    struct mesh_bytes in, out;  /* messages for it, and of it, each with its length before it */
    pthread_t thread;
    int core;         /* -1: any */
    int64_t spent_ns; /* of the last step */
    int64_t heard_ns; /* of that, for the other world's messages and for keys */
};

struct mesh_player {
    uint32_t world; /* where its requests go */
    uint32_t seq;
    uint8_t note[LINK_NOTE_MAX];
    uint32_t note_n; /* bytes */
};

struct mesh {
    struct mesh_world worlds[MESH_WORLDS_MAX];
    uint32_t n_worlds, n_players;
    struct mesh_player *players; /* [n_players] session i + 1 */
    struct workload load;
    struct mesh_keys keys;
    struct mono now;
    pthread_barrier_t begin, end; /* of a step */
    bool tick, stop;              /* in the step at hand */
    uint64_t moves, redirects;    /* sent; followed */
};

/* What worlds have counted, together, since they began. */
struct mesh_counts {
    uint64_t handed, border_frames, border_bytes, moves_ok, moves_refused;
};

/* All are in, each where its walk begins. */
void mesh_init(struct mesh *m, uint32_t worlds, uint32_t players, double neighbours, uint64_t seed);
void mesh_fini(struct mesh *m);
/* A tick's length passes; if they walk, each player moves in one of two such steps. */
void mesh_step(struct mesh *m, bool walk);
struct mesh_counts mesh_counts(const struct mesh *m);
/* Entities of the other world that this one shows. */
uint32_t mesh_ghosts(const struct mesh *m, uint32_t world);
/* When nothing is under way any more: is each player inside, where its gateway has it, once? Else
 * a line says what is wrong. */
bool mesh_whole(const struct mesh *m);

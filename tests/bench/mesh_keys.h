/* tests/bench/mesh_keys.h: the keys of names for tests/bench/mesh: compare-and-set in one process.
 * What worlds ask in a step lands when all have done it, in the order of the worlds, and is
 * answered in their next. Names are "p" and the player's number. May touch: the world's core.
 * On trouble: a line on standard error and exit 1.
 */
#pragma once

#include "world/command/courier.h"
#include "world/world.h"

#define MESH_WORLDS_MAX 2

enum mesh_ask_what { MESH_CLAIM, MESH_TAKE, MESH_TAKE_BACK, MESH_RELEASE };

struct mesh_ask {
    enum mesh_ask_what what;
    uint32_t place, player;
    uint64_t token;
};

/* A name; those of nobody are all zero. */
struct mesh_key {
    bool held;
    uint32_t world;
    uint64_t revision;
};

/* A world's part: nobody else touches it while the world runs. */
struct mesh_keys_world {
    struct mesh_ask *asks;        /* [n_asks] of this step */
    struct courier_name *answers; /* [n_answers] for this step */
    uint32_t n_asks, n_answers, cap;
    uint32_t *player; /* [places] whose name it is */
    uint64_t *token;  /* [places] under which it is held */
    uint32_t places;
};

struct mesh_keys {
    struct mesh_key *list; /* [players + 1] */
    uint64_t revision;     /* of the whole store */
    struct mesh_keys_world worlds[MESH_WORLDS_MAX];
};

void mesh_keys_init(struct mesh_keys *k, uint32_t players, uint32_t sessions);
void mesh_keys_fini(struct mesh_keys *k);
/* For a world's door. */
void mesh_keys_claim(struct mesh_keys_world *w, uint32_t place, struct span name);
void mesh_keys_take(struct mesh_keys_world *w, uint32_t place, struct span name, uint64_t token);
void mesh_keys_take_back(struct mesh_keys_world *w, uint32_t place);
void mesh_keys_release(struct mesh_keys_world *w, uint32_t place);
/* Give the world its answers. */
void mesh_keys_tell(struct mesh_keys_world *w, struct world *world, struct mono now);
/* All that was asked lands. */
void mesh_keys_land(struct mesh_keys *k);

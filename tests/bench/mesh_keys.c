/* tests/bench/mesh_keys.c: see the header. */
#include "tests/bench/mesh_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *take(size_t n, size_t size)
{
    void *p = calloc(n, size);

    if (!p) {
        fprintf(stderr, "bench: out of memory\n");
        exit(1);
    }
    return p;
}

void mesh_keys_init(struct mesh_keys *k, uint32_t players, uint32_t sessions)
{
    uint32_t places = CLUSTER_DOOR_NAMES(sessions);

    *k = (struct mesh_keys){.list = take(players + 1, sizeof(*k->list))};
    for (uint32_t i = 0; i < MESH_WORLDS_MAX; i++) {
        struct mesh_keys_world *w = &k->worlds[i];

        w->places = w->cap = places;
        w->asks = take(places, sizeof(*w->asks));
        w->answers = take(places, sizeof(*w->answers));
        w->player = take(places, sizeof(*w->player));
        w->token = take(places, sizeof(*w->token));
    }
}

void mesh_keys_fini(struct mesh_keys *k)
{
    for (uint32_t i = 0; i < MESH_WORLDS_MAX; i++) {
        free(k->worlds[i].asks);
        free(k->worlds[i].answers);
        free(k->worlds[i].player);
        free(k->worlds[i].token);
    }
    free(k->list);
    *k = (struct mesh_keys){0};
}

static void ask(struct mesh_keys_world *w, enum mesh_ask_what what, uint32_t place, uint64_t token)
{
    ASSERT(place < w->places);
    ASSERT(w->n_asks < w->cap); /* one of each place at a time */
    w->asks[w->n_asks++] = (struct mesh_ask){what, place, w->player[place], token};
}

static uint32_t player_of(struct span name)
{
    char text[PROTO_NAME_MAX + 1] = "";

    memcpy(text, name.p, name.n);
    return (uint32_t)strtoul(text + 1, NULL, 10);
}

void mesh_keys_claim(struct mesh_keys_world *w, uint32_t place, struct span name)
{
    w->player[place] = player_of(name);
    ask(w, MESH_CLAIM, place, 0);
}

void mesh_keys_take(struct mesh_keys_world *w, uint32_t place, struct span name, uint64_t token)
{
    w->player[place] = player_of(name);
    ask(w, MESH_TAKE, place, token);
}

void mesh_keys_take_back(struct mesh_keys_world *w, uint32_t place)
{
    ask(w, MESH_TAKE_BACK, place, w->token[place]);
}

void mesh_keys_release(struct mesh_keys_world *w, uint32_t place)
{
    ask(w, MESH_RELEASE, place, w->token[place]);
}

void mesh_keys_tell(struct mesh_keys_world *w, struct world *world, struct mono now)
{
    for (uint32_t i = 0; i < w->n_answers; i++)
        courier_name(world, &w->answers[i], now);
    w->n_answers = 0;
}

static void land(struct mesh_keys *k, uint32_t world, const struct mesh_ask *a)
{
    struct mesh_keys_world *w = &k->worlds[world];
    struct mesh_key *key = &k->list[a->player];
    struct courier_name n = {.place = a->place, .generation = 1, .word = COURIER_NAME_HELD};

    if (a->what == MESH_RELEASE) {
        n.word = COURIER_NAME_FREE;
        if (key->held && key->revision == a->token)
            *key = (struct mesh_key){0};
    } else if (a->what == MESH_CLAIM ? key->held && key->world != world
                                     : !key->held || key->revision != a->token) {
        n.word = COURIER_NAME_GONE;
    } else {
        *key = (struct mesh_key){true, world, ++k->revision};
        n.token = w->token[a->place] = key->revision;
    }
    w->answers[w->n_answers++] = n;
}

void mesh_keys_land(struct mesh_keys *k)
{
    for (uint32_t i = 0; i < MESH_WORLDS_MAX; i++) {
        for (uint32_t n = 0; n < k->worlds[i].n_asks; n++)
            land(k, i, &k->worlds[i].asks[n]);
        k->worlds[i].n_asks = 0;
    }
}

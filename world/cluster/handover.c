/* world/cluster/handover.c: see the header. */
#include "world/cluster/handover.h"

#include "common/err.h"

#include <stdlib.h>

int handover_create(uint32_t chain, struct handover **out)
{
    struct handover *h = calloc(1, sizeof(*h));

    if (!h)
        return E_NOMEM;
    *out = h;
    h->chain = chain;
    h->gifts = calloc(HANDOVER_MAX, sizeof(*h->gifts));
    h->guests = calloc(HANDOVER_MAX, sizeof(*h->guests));
    if (!h->gifts || !h->guests || slots_init(&h->gift_slots, HANDOVER_MAX) != 0 ||
        slots_init(&h->guest_slots, HANDOVER_MAX) != 0 ||
        known_init(&h->told, 2 * HANDOVER_MAX, HANDOVER_PAIRS) != 0)
        return E_NOMEM;
    return 0;
}

void handover_destroy(struct handover *h)
{
    if (!h)
        return;
    known_fini(&h->told);
    slots_fini(&h->guest_slots);
    slots_fini(&h->gift_slots);
    free(h->guests);
    free(h->gifts);
    free(h);
}

/* --- the lists ---------------------------------------------------------------------------------
 */

int handover_gift_new(struct handover *h, uint32_t id, uint32_t count, struct mono now,
                      struct gift **out)
{
    uint32_t slot, gen;
    int err = slots_take(&h->gift_slots, &slot, &gen);

    if (err != 0)
        return err;
    *out = &h->gifts[slot];
    **out = (struct gift){
        .id = id, .count = count, .since = now, .said = now, .late = 1, .name_at = REALM_NONE};
    return 0;
}

int handover_guest_new(struct handover *h, uint32_t id, uint32_t count, struct mono now,
                       struct guest **out)
{
    uint32_t slot, gen;
    int err = slots_take(&h->guest_slots, &slot, &gen);

    if (err != 0)
        return err;
    *out = &h->guests[slot];
    **out = (struct guest){.id = id, .count = count, .since = now, .name_at = REALM_NONE};
    return 0;
}

struct gift *handover_gift_next(const struct handover *h, uint32_t *at)
{
    while (*at < h->gift_slots.fresh) {
        uint32_t slot = (*at)++;

        if (h->gift_slots.gen[slot] & 1)
            return &h->gifts[slot];
    }
    return NULL;
}

struct guest *handover_guest_next(const struct handover *h, uint32_t *at)
{
    while (*at < h->guest_slots.fresh) {
        uint32_t slot = (*at)++;

        if (h->guest_slots.gen[slot] & 1)
            return &h->guests[slot];
    }
    return NULL;
}

struct gift *handover_gift(const struct handover *h, uint32_t id)
{
    struct gift *g;

    for (uint32_t at = 0; (g = handover_gift_next(h, &at));) {
        if (g->id == id)
            return g;
    }
    return NULL;
}

struct guest *handover_guest(const struct handover *h, uint32_t id)
{
    struct guest *g;

    for (uint32_t at = 0; (g = handover_guest_next(h, &at));) {
        if (g->id == id)
            return g;
    }
    return NULL;
}

void handover_gift_drop(struct handover *h, struct gift *g)
{
    uint32_t slot = (uint32_t)(g - h->gifts);

    (void)known_clear(&h->told, handover_gift_index(h, g));
    *g = (struct gift){0}; /* a key does not stay behind */
    slots_give(&h->gift_slots, slot, h->gift_slots.gen[slot]);
}

void handover_guest_drop(struct handover *h, struct guest *g)
{
    uint32_t slot = (uint32_t)(g - h->guests);

    (void)known_clear(&h->told, handover_guest_index(h, g));
    *g = (struct guest){0};
    slots_give(&h->guest_slots, slot, h->guest_slots.gen[slot]);
}

void handover_keep_soul(struct cluster_soul *to, const struct cluster_soul *from,
                        char name[PROTO_NAME_MAX], uint8_t key[CLUSTER_KEY])
{
    *to = *from;
    memcpy(name, from->name.p, from->name.n);
    to->name = span_of(name, from->name.n);
    if (from->key.n > 0)
        memcpy(key, from->key.p, from->key.n);
    to->key = span_of(key, from->key.n);
    to->told = span_of(NULL, 0);
}

/* --- what a client was told --------------------------------------------------------------------
 */

static uint64_t *told_words(struct handover *h, uint32_t index, uint32_t n)
{
    if (known_reserve(&h->told, index, n * PAUSE_WORDS) != 0)
        return NULL;
    h->told.lists[index].n = n * PAUSE_WORDS;
    h->told.pairs += n * PAUSE_WORDS;
    return h->told.keys + h->told.lists[index].at;
}

int handover_told_keep(struct world *w, uint32_t index, uint32_t viewer)
{
    struct handover *h = w->cluster->handover;
    size_t mark = w->scratch.used,
           bytes = (size_t)CLUSTER_TOLD_MAX * PAUSE_WORDS * sizeof(uint64_t);
    uint64_t *words = arena_take(&w->scratch, bytes), *out;
    uint32_t n;
    int err = E_FULL;

    if (!words)
        return E_FULL;
    n = pause_told(w, viewer, words, CLUSTER_TOLD_MAX);
    if (n == 0) {
        err = 0;
    } else if (n <= CLUSTER_TOLD_MAX && (out = told_words(h, index, n))) {
        memcpy(out, words, (size_t)n * PAUSE_WORDS * sizeof(*out));
        err = 0;
    }
    arena_rewind(&w->scratch, mark);
    return err;
}

struct span handover_told_records(struct world *w, uint32_t index)
{
    const struct known *k = &w->cluster->handover->told;
    uint32_t n = known_count(k, index) / PAUSE_WORDS;
    const uint64_t *words = known_keys(k, index);
    uint8_t *out = arena_take(&w->scratch, (size_t)n * CLUSTER_TOLD + 1);

    ASSERT(out); /* the scratch has room for more, in a tick and outside of it */
    for (uint32_t i = 0; i < n; i++) {
        struct entity_wire wire = pause_wire(words + (size_t)i * PAUSE_WORDS);
        struct cluster_told t = {known_id(words[(size_t)i * PAUSE_WORDS]), wire.qx, wire.qy,
                                 wire.dir, wire.speed};

        cluster_told_put(out + (size_t)i * CLUSTER_TOLD, &t);
    }
    return span_of(out, (size_t)n * CLUSTER_TOLD);
}

int handover_told_take(struct handover *h, uint32_t index, struct span records)
{
    uint32_t n = (uint32_t)(records.n / CLUSTER_TOLD);
    uint64_t *out;

    if (n == 0)
        return 0;
    out = told_words(h, index, n);
    if (!out)
        return E_FULL;
    for (uint32_t i = 0; i < n; i++) {
        struct cluster_told t = cluster_told_get(records.p + (size_t)i * CLUSTER_TOLD);
        struct entity_wire wire = {t.qx, t.qy, t.dir, t.speed};

        out = pause_words(out, known_key(t.id, 0), &wire, 0);
    }
    return 0;
}

int handover_told_know(struct world *w, uint32_t index, uint32_t viewer)
{
    struct known *k = &w->cluster->handover->told;
    uint32_t n = known_count(k, index) / PAUSE_WORDS;
    uint64_t *words = k->keys + k->lists[index].at;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t *at = words + (size_t)i * PAUSE_WORDS;
        struct entity_wire wire = pause_wire(at);
        uint32_t id = known_id(*at), slot, gen = 0;

        /* Of one who is not here the viewer's own slot stands in: no other id is in it. */
        if (entities_by_id(&w->entities, id, &slot) && slot != viewer)
            gen = w->entities.slots.gen[slot];
        else
            slot = viewer;
        (void)pause_words(at, known_key(id, slot), &wire, gen);
    }
    return pause_know(w, viewer, words, n);
}

/* --- messages ----------------------------------------------------------------------------------
 */

static void say(struct world *w, struct span to, struct cluster_message *m)
{
    const struct cluster_door *door = &w->cluster->door;
    size_t mark = w->scratch.used, room = 1024 + m->body.n + m->soul.told.n;
    uint8_t *bytes = arena_take(&w->scratch, room);
    struct span_writer out = span_writer_of(bytes, room);

    ASSERT(bytes);
    m->world = door->world;
    cluster_write(&out, m);
    ASSERT(!out.full);
    door->ops->send(door->arg, to, span_written(&out));
    arena_rewind(&w->scratch, mark);
}

void handover_say(struct world *w, uint32_t world, uint32_t id, uint32_t count,
                  struct cluster_message *m)
{
    m->id = id;
    m->count = count;
    say(w, realm_world_id(w->cluster, world), m);
}

void handover_tell_of_name(struct world *w, struct span world, struct cluster_message *m)
{
    say(w, world, m);
}

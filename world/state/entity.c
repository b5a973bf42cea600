/* world/state/entity.c: see the header. */
#include "world/state/entity.h"

#include "common/err.h"

#include <stdlib.h>
#include <string.h>

int entities_init(struct entities *e, uint32_t max)
{
    uint32_t cap = 2 * max;

    memset(e, 0, sizeof(*e));
    e->cap = cap;
    e->max = max;
    if (slots_init(&e->slots, cap) != 0)
        return E_NOMEM;
    e->x = calloc(cap, sizeof(*e->x));
    e->y = calloc(cap, sizeof(*e->y));
    e->dir = calloc(cap, sizeof(*e->dir));
    e->speed = calloc(cap, sizeof(*e->speed));
    e->scene = calloc(cap, sizeof(*e->scene));
    e->arrived = calloc(cap, sizeof(*e->arrived));
    e->id = calloc(cap, sizeof(*e->id));
    e->flags = calloc(cap, sizeof(*e->flags));
    e->seen_new = calloc(cap, sizeof(*e->seen_new));
    e->told = calloc(cap, sizeof(*e->told));
    e->motion = calloc(cap, sizeof(*e->motion));
    e->cold = calloc(cap, sizeof(*e->cold));
    e->alive = calloc(cap, sizeof(*e->alive));
    e->alive_at = calloc(cap, sizeof(*e->alive_at));
    e->dying = calloc(cap, sizeof(*e->dying));
    e->dirty = calloc(cap, sizeof(*e->dirty));
    e->dirty_at = calloc(cap, sizeof(*e->dirty_at));
    if (!e->x || !e->y || !e->dir || !e->speed || !e->scene || !e->arrived || !e->id || !e->flags ||
        !e->seen_new || !e->told || !e->motion || !e->cold || !e->alive || !e->alive_at ||
        !e->dirty || !e->dirty_at || !e->dying) {
        entities_fini(e);
        return E_NOMEM;
    }
    return 0;
}

static bool equal_id(void *arg, uint32_t slot, struct span key)
{
    const struct entities *e = arg;

    return span_equal(span_of(&e->id[slot], sizeof(e->id[slot])), key);
}

int entities_index(struct entities *e, uint64_t seed)
{
    ASSERT(e->slots.live == 0);
    e->indexed = true;
    return table_init(&e->by_id, e->cap, seed, equal_id, e);
}

bool entities_by_id(const struct entities *e, uint32_t id, uint32_t *slot)
{
    ASSERT(e->indexed);
    return table_find(&e->by_id, span_of(&id, sizeof(id)), slot);
}

void entities_fini(struct entities *e)
{
    if (e->indexed)
        table_fini(&e->by_id);
    slots_fini(&e->slots);
    free(e->x);
    free(e->y);
    free(e->dir);
    free(e->speed);
    free(e->scene);
    free(e->arrived);
    free(e->id);
    free(e->flags);
    free(e->seen_new);
    free(e->told);
    free(e->motion);
    free(e->cold);
    free(e->alive);
    free(e->alive_at);
    free(e->dying);
    free(e->dirty);
    free(e->dirty_at);
    memset(e, 0, sizeof(*e));
}

bool entities_full(const struct entities *e)
{
    return e->alive_count + e->away_count >= e->max || e->slots.live == e->slots.cap;
}

static void list_alive(struct entities *e, uint32_t slot)
{
    e->flags[slot] = 0;
    e->seen_new[slot] = 0;
    e->told[slot] = (struct entity_told){0};
    e->alive_at[slot] = e->alive_count;
    e->alive[e->alive_count++] = slot;
    entities_mark(e, slot, ENTITY_NEW);
}

int entities_add(struct entities *e, const struct entity_birth *b, struct entity_ref *out)
{
    uint32_t slot, gen;
    int err = entities_full(e) ? E_FULL : slots_take(&e->slots, &slot, &gen);

    if (err != 0)
        return err;
    ASSERT(b->id != 0);
    ASSERT(b->name.n <= PROTO_NAME_MAX);
    ASSERT(b->scene < SCENES_MAX);
    e->scene[slot] = (uint8_t)b->scene;
    e->in_scene[b->scene]++;
    e->arrived[slot] = 0;
    e->x[slot] = b->x;
    e->y[slot] = b->y;
    e->dir[slot] = 0;
    e->speed[slot] = 0;
    e->id[slot] = b->id;
    motion_start(&e->motion[slot], b->now);
    e->cold[slot] = (struct entity_cold){
        .name_len = (uint8_t)b->name.n, .kind = b->kind, .session = b->session};
    memcpy(e->cold[slot].name, b->name.p, b->name.n);
    list_alive(e, slot);
    if (e->indexed) {
        err = table_add(&e->by_id, span_of(&b->id, sizeof(b->id)), slot);
        ASSERT(err == 0); /* a place for each slot */
    }
    *out = (struct entity_ref){slot, gen};
    return 0;
}

static void give_back(struct entities *e, uint32_t slot)
{
    e->flags[slot] = 0; /* it may stay on the dirty list, which skips whoever is not marked */
    e->id[slot] = 0;
    slots_give(&e->slots, slot, e->slots.gen[slot]);
}

static void unlist(struct entities *e, struct entity_ref ref)
{
    uint32_t slot = ref.slot, last;

    ASSERT(slots_alive(&e->slots, slot, ref.gen));
    ASSERT(!(e->flags[slot] & (ENTITY_DYING | ENTITY_AWAY)));
    last = e->alive[--e->alive_count];
    e->alive[e->alive_at[slot]] = last;
    e->alive_at[last] = e->alive_at[slot];
}

void entities_remove(struct entities *e, struct entity_ref ref)
{
    uint32_t slot = ref.slot;

    unlist(e, ref);
    if (e->indexed) {
        bool found = table_remove(&e->by_id, span_of(&e->id[slot], sizeof(e->id[slot])));

        ASSERT(found);
    }
    if (entities_is_ghost(e, slot))
        e->ghost_count--;
    else
        e->in_scene[e->scene[slot]]--;
    if (e->flags[slot] & ENTITY_NEW) {
        give_back(e, slot);
    } else {
        e->flags[slot] = ENTITY_DYING;
        e->dying[e->dying_count++] = slot;
    }
}

void entities_doze(struct entities *e, struct entity_ref ref)
{
    uint32_t slot = ref.slot;
    bool seen = !(e->flags[slot] & ENTITY_NEW);

    unlist(e, ref);
    e->away_count++;
    e->flags[slot] = ENTITY_AWAY;
    if (seen) {
        e->flags[slot] |= ENTITY_DYING;
        e->dying[e->dying_count++] = slot;
    }
}

void entities_rise(struct entities *e, uint32_t slot)
{
    ASSERT(e->flags[slot] == ENTITY_AWAY);
    e->away_count--;
    list_alive(e, slot);
}

void entities_bury(struct entities *e)
{
    while (e->dying_count > 0) {
        uint32_t slot = e->dying[--e->dying_count];

        if (e->flags[slot] & ENTITY_AWAY)
            e->flags[slot] = ENTITY_AWAY;
        else
            give_back(e, slot);
    }
}

bool entities_find(const struct entities *e, struct entity_ref ref, uint32_t *slot)
{
    if (!slots_alive(&e->slots, ref.slot, ref.gen) ||
        (e->flags[ref.slot] & (ENTITY_DYING | ENTITY_AWAY)))
        return false;
    *slot = ref.slot;
    return true;
}

struct entity_ref entities_ref(const struct entities *e, uint32_t slot)
{
    return (struct entity_ref){slot, e->slots.gen[slot]};
}

void entities_put(struct entities *e, uint32_t slot, uint32_t scene, double x, double y)
{
    ASSERT(scene < SCENES_MAX);
    if (!entities_is_ghost(e, slot)) {
        e->in_scene[e->scene[slot]]--;
        e->in_scene[scene]++;
    }
    e->scene[slot] = (uint8_t)scene;
    e->x[slot] = x;
    e->y[slot] = y;
    entities_mark(e, slot, ENTITY_MOVED);
}

void entities_ghost(struct entities *e, uint32_t slot, bool on)
{
    ASSERT(entities_is_ghost(e, slot) != on);
    e->flags[slot] ^= ENTITY_GHOST;
    e->ghost_count += on ? 1u : 0u - 1u;
    e->in_scene[e->scene[slot]] += on ? 0u - 1u : 1u;
}

void entities_mark(struct entities *e, uint32_t slot, uint8_t flags)
{
    uint32_t at = e->dirty_at[slot];

    if (at >= e->dirty_count || e->dirty[at] != slot) {
        e->dirty_at[slot] = e->dirty_count;
        e->dirty[e->dirty_count++] = slot;
    }
    e->flags[slot] |= (uint8_t)(flags | ENTITY_DIRTY);
}

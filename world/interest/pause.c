/* world/interest/pause.c: see the header.
 * The words lie in a block of chunks like those of the known lists.
 */
#include "world/interest/pause.h"

#include "common/err.h"
#include "world/interest/wire.h"

static uint64_t pack_place(const struct entity_wire *w)
{
    return (uint64_t)(uint32_t)w->qx << 32 | (uint32_t)w->qy;
}

/* With the slot's generation: a pause may outlast the rest of an id, and key and slot alone would
 * take another entity for the one that was known. */
static uint64_t pack_turn(const struct entity_wire *w, uint32_t gen)
{
    return (uint64_t)gen << 32 | (uint64_t)w->dir << 8 | w->speed;
}

struct entity_wire pause_wire(const uint64_t *words)
{
    return (struct entity_wire){
        .qx = (int32_t)(uint32_t)(words[1] >> 32),
        .qy = (int32_t)(uint32_t)words[1],
        .dir = (uint8_t)(words[2] >> 8),
        .speed = (uint8_t)words[2],
    };
}

/* What all viewers were told of the one of this key. Of one who ended since the last tick the words
 * are of no use, and never asked for. */
static void put_words(const struct world *w, uint64_t key, uint64_t *out)
{
    uint32_t slot = known_slot(key);

    out[0] = key;
    out[1] = pack_place(&w->entities.told[slot].wire);
    out[2] = pack_turn(&w->entities.told[slot].wire, w->entities.slots.gen[slot]);
}

/* Keep what the viewer was told so far of those it knows. */
static int keep(struct world *w, uint32_t viewer)
{
    const uint64_t *keys = known_keys(&w->sight.known, viewer);
    uint32_t n = known_count(&w->sight.known, viewer);
    uint64_t *out;

    if (n == 0 || known_count(&w->paused, viewer) > 0)
        return 0; /* nothing, or it was not exact since the pause before */
    if (known_reserve(&w->paused, viewer, n * PAUSE_WORDS) != 0)
        return E_FULL;
    out = w->paused.keys + w->paused.lists[viewer].at;
    w->paused.lists[viewer].n = n * PAUSE_WORDS;
    w->paused.pairs += n * PAUSE_WORDS;
    for (uint32_t i = 0; i < n; i++)
        put_words(w, keys[i], out + (size_t)i * PAUSE_WORDS);
    return 0;
}

uint32_t pause_told(struct world *w, uint32_t viewer, uint64_t *out, uint32_t most)
{
    const uint64_t *keys;
    uint32_t n = known_count(&w->paused, viewer) / PAUSE_WORDS;

    if (n > 0) {
        if (n <= most)
            memcpy(out, known_keys(&w->paused, viewer), (size_t)n * PAUSE_WORDS * sizeof(*out));
        return n;
    }
    n = sight_list(&w->sight, &w->entities, viewer, &keys);
    for (uint32_t i = 0; i < n && n <= most; i++)
        put_words(w, keys[i], out + (size_t)i * PAUSE_WORDS);
    return n;
}

int pause_know(struct world *w, uint32_t viewer, const uint64_t *words, uint32_t n)
{
    uint64_t *out;

    ASSERT(known_count(&w->paused, viewer) == 0);
    if (n > 0 && known_reserve(&w->paused, viewer, n * PAUSE_WORDS) != 0)
        return E_FULL;
    if (sight_know(&w->sight, viewer, words, PAUSE_WORDS, n) != 0) {
        pause_forget(w, viewer);
        return E_FULL;
    }
    if (n == 0)
        return 0;
    out = w->paused.keys + w->paused.lists[viewer].at;
    memcpy(out, words, (size_t)n * PAUSE_WORDS * sizeof(*out));
    w->paused.lists[viewer].n = n * PAUSE_WORDS;
    w->paused.pairs += n * PAUSE_WORDS;
    return 0;
}

uint64_t *pause_words(uint64_t *out, uint64_t key, const struct entity_wire *wire, uint32_t gen)
{
    out[0] = key;
    out[1] = pack_place(wire);
    out[2] = pack_turn(wire, gen);
    return out + PAUSE_WORDS;
}

int pause_begin(struct world *w, struct session *s)
{
    uint32_t viewer;

    if (s->paused)
        return 0;
    if (entities_find(&w->entities, s->entity, &viewer)) {
        int err = sight_hold(&w->sight, &w->entities, viewer);

        if (err != 0)
            return err;
        err = keep(w, viewer);
        if (err != 0) {
            sight_release(&w->sight, viewer);
            return err;
        }
    }
    s->paused = true;
    w->n_paused++;
    w->metrics.pauses++;
    return 0;
}

void pause_enter(struct world *w, const struct session *s)
{
    int err = s->paused ? sight_hold(&w->sight, &w->entities, s->entity.slot) : 0;

    ASSERT(err == 0); /* it knows nobody yet, which takes no room */
}

void pause_end(struct world *w, struct session *s)
{
    uint32_t viewer;

    if (!s->paused)
        return;
    s->paused = false;
    w->n_paused--;
    if (entities_find(&w->entities, s->entity, &viewer))
        sight_release(&w->sight, viewer);
}

void pause_forget(struct world *w, uint32_t viewer)
{
    (void)known_clear(&w->paused, viewer);
}

bool pause_resuming(const struct world *w, uint32_t viewer)
{
    return known_count(&w->paused, viewer) > 0;
}

void pause_look(struct world *w, uint32_t viewer)
{
    const uint64_t *keys = known_keys(&w->sight.known, viewer);
    uint32_t n = known_count(&w->sight.known, viewer);
    const struct sight_diff *d = &w->sight.diffs[viewer];
    struct pause_cursor c;
    uint32_t added = 0;

    pause_cursor_start(&c, w, viewer);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = known_slot(keys[i]);
        struct entity_wire now;

        if (added < d->n_added && d->added[added] == keys[i]) {
            added++;
            continue;
        }
        if (w->entities.id[slot] != known_id(keys[i]))
            continue;
        now = wire_of(w, slot);
        if (pause_changes(&c, w, keys[i]) & EVENT_TELL_FAR)
            w->entities.seen_new[slot] = w->tick;
        else if (wire_changes(&c.told, &now) & EVENT_TELL_FAR)
            w->entities.seen_new[slot] = w->tick;
    }
}

void pause_cursor_start(struct pause_cursor *c, const struct world *w, uint32_t viewer)
{
    *c = (struct pause_cursor){
        .words = known_keys(&w->paused, viewer),
        .n = known_count(&w->paused, viewer) / PAUSE_WORDS,
    };
}

uint8_t pause_changes(struct pause_cursor *c, const struct world *w, uint64_t key)
{
    while (c->at < c->n && c->words[c->at * PAUSE_WORDS] < key)
        c->at++;
    ASSERT(c->at < c->n);
    ASSERT(c->words[c->at * PAUSE_WORDS] == key);
    c->told = pause_wire(c->words + c->at * PAUSE_WORDS);
    if (c->words[c->at * PAUSE_WORDS + 2] >> 32 != w->entities.slots.gen[known_slot(key)])
        return EVENT_TELL_PLACE | EVENT_TELL_FAR;
    return wire_changes(&c->told, &w->entities.told[known_slot(key)].wire);
}

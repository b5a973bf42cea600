/* world/interest/batch.c: see the header. */
#include "world/interest/batch.h"

#include "proto/aoi_body.h"

void batch_removes(struct world *w, const uint64_t *keys, uint32_t n)
{
    const uint32_t most = (PROTO_BATCH_MAX - AOI_BODY_HEAD_MAX) / AOI_BODY_ID_MAX;

    for (uint32_t at = 0, some; at < n; at += some) {
        uint8_t *body, *end;

        some = n - at < most ? n - at : most;
        body = outbox_room(&w->outbox, AOI_BODY_HEAD_MAX + (size_t)some * AOI_BODY_ID_MAX);
        end = body + aoi_body_remove_head(body, world_told_tick(w), some);
        for (uint32_t i = 0; i < some; i++)
            end += aoi_body_id(end, known_id(keys[at + i]));
        outbox_put(&w->outbox, (size_t)(end - body));
    }
    w->metrics.aoi_removes += n;
}

static struct message_entity entity_message(const struct entities *e, uint32_t slot)
{
    const struct entity_cold *c = &e->cold[slot];

    return (struct message_entity){
        .id = e->id[slot],
        .kind = c->kind,
        .name = span_of(c->name, c->name_len),
        .x = e->x[slot],
        .y = e->y[slot],
        .dir = e->dir[slot],
        .speed = e->speed[slot],
    };
}

void batch_adds(struct world *w, const uint64_t *keys, uint32_t n)
{
    if (n > 0)
        batch_adds_hidden(w, keys, n, BATCH_HIDDEN_NONE);
}

void batch_adds_hidden(struct world *w, const uint64_t *keys, uint32_t n, uint64_t hidden)
{
    const uint32_t most =
        (PROTO_BATCH_MAX - AOI_BODY_HEAD_MAX - AOI_BODY_HIDDEN_MAX) / PROTO_ENTITY_BYTES_MAX;
    uint32_t at = 0, some;

    do {
        bool says = hidden != BATCH_HIDDEN_NONE && n - at <= most; /* in the last body */
        uint8_t *body, *end;

        some = n - at < most ? n - at : most;
        body = outbox_room(&w->outbox, AOI_BODY_HEAD_MAX + AOI_BODY_HIDDEN_MAX +
                                           (size_t)some * PROTO_ENTITY_BYTES_MAX);
        end = body + aoi_body_add_head(body, world_told_tick(w), some, says);
        for (uint32_t i = 0; i < some; i++) {
            struct message_entity m = entity_message(&w->entities, known_slot(keys[at + i]));

            end += aoi_body_entity(end, &m);
        }
        if (says)
            end += aoi_body_hidden(end, (uint32_t)hidden);
        outbox_put(&w->outbox, (size_t)(end - body));
        at += some;
    } while (at < n);
    w->metrics.aoi_adds += n;
}

void batch_records_begin(struct batch_records *r, uint32_t n)
{
    size_t most = (size_t)n * AOI_MOVE_RECORD_MAX;

    r->wide = most > UINT16_MAX;
    if (most > PROTO_BATCH_MAX - AOI_MOVE_HEAD(true))
        most = PROTO_BATCH_MAX - AOI_MOVE_HEAD(true);
    r->body = outbox_room(&r->w->outbox, most + AOI_MOVE_HEAD(r->wide));
    r->at = r->body + AOI_MOVE_HEAD(r->wide);
    r->end = r->at + most;
    r->previous = 0;
}

void batch_records_end(struct batch_records *r)
{
    const uint8_t *first = r->body + AOI_MOVE_HEAD(r->wide);

    if (r->at == first)
        return;
    aoi_move_head(r->body, world_told_tick(r->w), (size_t)(r->at - first), r->wide);
    outbox_put(&r->w->outbox, (size_t)(r->at - r->body));
}

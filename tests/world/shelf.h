/* tests/world/shelf.h: a store in memory for the core, that a test plays by hand.
 * Questions wait until the test answers them; saves go to the shelf at once. Each can be full.
 * May touch: tests/world_rig, world/store. On trouble: the test at hand fails.
 */
#pragma once

#include "tests/world_rig.h"

#define SHELF_MAX 1024

struct shelf {
    struct rig *rig;
    bool load_full, save_full, settle_full;
    struct store_ticket asked[SHELF_MAX]; /* [n_asked] not answered yet, in order */
    char asked_name[SHELF_MAX][PROTO_NAME_MAX + 1];
    uint32_t n_asked;
    struct store_character saved[SHELF_MAX]; /* [n_saved] every save, in order */
    uint32_t n_saved;
    struct store_settle settles[SHELF_MAX]; /* [n_settles] not told yet, in order */
    char settle_name[SHELF_MAX][PROTO_NAME_MAX + 1];
    uint32_t n_settles;
};

extern const struct store_ops shelf_ops;

/* A world whose store it is; requests may be answered later. */
struct rig *shelf_rig(struct shelf *s, const struct world_config *c);

/* The last save of that name; NULL: none. */
const struct store_character *shelf_find(const struct shelf *s, const char *name);
/* Put one there, as if it had been saved before. */
void shelf_put(struct shelf *s, const char *name, const char *scene, double x, double y,
               double dir);
/* Answer the question that was asked first, as the shelf knows it; or say that it failed. */
void shelf_answer(struct shelf *s);
void shelf_fail(struct shelf *s);
/* Answer all that are asked. */
void shelf_answer_all(struct shelf *s);
/* Tell the one that asked first that it is stored. */
void shelf_tell_stored(struct shelf *s);

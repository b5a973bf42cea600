/* bot/view.h: what one client knows of the world, and whether it was told as the contract says.
 * Takes the messages of one connection in the order they came, keeps the entities in sight, and
 * holds each message against PROTOCOL.md, "What a client may rely on". Pure: no sockets, no
 * clock. May touch: common, proto.
 * On trouble: a breach is told as a text and the view goes on as well as it can.
 */
#pragma once

#include "proto/message.h"

#include <stdbool.h>

/* Entities that one view keeps at most; a server that tells of more is reported. */
#define VIEW_ENTITIES_MAX 65536

#define VIEW_BREACH_MAX 192 /* bytes of a breach's text, with its NUL */

/* A name that an entity in sight has, or one to be used again. */
struct view_name {
    uint32_t next_free; /* as view.names_free */
    uint8_t len;        /* bytes */
    char text[PROTO_NAME_MAX + 1];
};

/* One entity in sight, as last told. Small, since a crowd is gone through at every tick: its name
 * lies elsewhere. */
struct view_entity {
    uint32_t id;
    uint32_t told;      /* the last tick in which it was added or moved */
    double x, y;        /* world units: exact after an AoiAdd, in quanta after an AoiMove */
    int32_t qx, qy;     /* the same place in quanta */
    uint32_t name;      /* see view_name_of */
    uint8_t kind;       /* 0 player, 1 NPC; larger numbers are cut to 255 */
    uint8_t dir, speed; /* as AoiMove would tell them */
};

/* An entity removed in the tick that is being told; it may come back only from far away. */
struct view_gone {
    uint32_t id;
    int32_t qx, qy;
};

enum view_phase { VIEW_NOTHING, VIEW_REMOVED, VIEW_ADDED, VIEW_MOVED };

struct view_count {
    uint64_t adds, removes, moves; /* records taken in */
    uint64_t breaches;
};

/* Called for each AoiMove record after it was applied; `e` is borrowed until return. */
typedef void view_moved_fn(void *arg, const struct view_entity *e);

/* Plain, so that whoever asks what is in sight reads it; only view_* writes it. All zero is an
 * empty view. Owns its arrays,
 * which grow to the most it ever knew. */
struct view {
    struct view_entity *known; /* [count] ascending by id */
    uint32_t count, cap;
    struct view_gone *gone; /* [gone_count] ascending by id */
    uint32_t gone_count, gone_cap;
    struct view_entity *scratch; /* [scratch_cap] for merging */
    uint32_t scratch_cap;
    struct view_name *names; /* [names_made] of them some are free */
    uint32_t names_cap, names_made;
    uint32_t names_free; /* the first free one's index + 1; 0: none */

    bool in_world;
    uint32_t self; /* own id, from EnterResp */
    double quantum, max_speed, radius;
    uint32_t hidden; /* how many more are in sight but not told */

    uint32_t tick; /* the tick last heard of; counts where has_tick */
    bool has_tick;
    enum view_phase phase; /* how far that tick's messages have come */
    size_t last_bytes;     /* of the last Aoi body */
    uint32_t last_id;      /* the last id of this phase in this tick */

    view_moved_fn *moved; /* may be NULL */
    void *moved_arg;
    struct view_count counted;
    char breach[VIEW_BREACH_MAX];
};

void view_init(struct view *v, view_moved_fn *moved, void *arg);
void view_fini(struct view *v);
/* Forget everything but the counts: another connection begins. */
void view_forget(struct view *v);

/* Take in one message of the server, of whichever kind.
 *   body_bytes   of the whole body, which tells whether a batch had to be split
 * NULL, or the first breach found in it: borrowed until the next call. Running out of memory is
 * told in the same way. */
const char *view_apply(struct view *v, const struct message *m, size_t body_bytes) MUST_CHECK;

/* NULL where it is not in sight; borrowed until the next view_apply. */
const struct view_entity *view_find(const struct view *v, uint32_t id);
const struct view_entity *view_find_name(const struct view *v, struct span name);
/* Of one of the view's own entities; borrowed until the next view_apply. */
const struct view_name *view_name_of(const struct view *v, const struct view_entity *e);

/* tests/rig_view.h: what a client knows from what it was sent, held to the contract on the way.
 * One sorted list, searched from one end; brute and simple, since the world is judged by it.
 * May touch: common, proto. On trouble: the first breach of the contract is told in words, and
 * the view takes no more. Source: PROTOCOL.md, "What a client may rely on".
 */
#pragma once

#include "proto/message.h"

#define RIG_BREACH_BYTES 200

/* Somebody that the client knows. */
struct rig_known {
    uint32_t id, kind;
    uint8_t name_len;
    char name[PROTO_NAME_MAX];
    double x, y, dir, speed; /* exact where `by_add`, else as a record said */
    int64_t qx, qy;          /* quanta */
    uint8_t wire_dir, wire_speed;
    uint32_t tick; /* of what was last told */
    bool by_add;   /* that was an AoiAdd */
};

enum rig_phase { RIG_PHASE_NONE, RIG_PHASE_REMOVE, RIG_PHASE_ADD, RIG_PHASE_MOVE };

struct rig_view {
    bool inside;               /* between EnterResp and LeaveResp */
    uint32_t self;             /* own id; 0: never entered */
    bool capped;               /* it may be told how many are hidden */
    uint32_t hidden;           /* as last told; 0 at EnterResp */
    double quantum, max_speed; /* of EnterResp */
    struct rig_known *known;   /* [count] ascending by id */
    uint32_t count, cap;

    uint32_t tick;        /* of the last batch; 0: none since EnterResp */
    enum rig_phase phase; /* how far that batch is */
    uint32_t last_id;     /* in that phase */
    size_t last_bytes;    /* of the last Aoi body */
    uint32_t lax; /* batches in which anybody may be removed and added: it was paused by a world of
                   * a cluster, where who goes out of hearing and comes back is another ghost */
    struct rig_known *went; /* [went_count] removed in that batch, ascending */
    uint32_t went_count, went_cap;

    uint64_t adds, removes, moves, batches, hears; /* since the start */
    uint64_t move_bytes;                           /* of AoiMove's records, since the start */
    char breach[RIG_BREACH_BYTES];                 /* "": none */
};

void rig_view_fini(struct rig_view *v);
/* One message to the client, in the order of sending; `bytes` long, sent when tick `now` was the
 * last one begun. False: the contract was broken, now or before. */
bool rig_view_take(struct rig_view *v, const struct message *m, size_t bytes, uint32_t now);
const struct rig_known *rig_view_find(const struct rig_view *v, uint32_t id);
/* Ids, ascending, as "3 7 9"; for messages. Borrowed from `out`. */
const char *rig_view_ids(const struct rig_view *v, char *out, size_t cap);

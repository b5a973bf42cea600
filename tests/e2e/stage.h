/* tests/e2e/stage.h: honest clients on one loop, each held to the contract by bot/bot_client.
 * Notes what each is told, in order, and fails the test at the first breach. May touch: common,
 * proto, bot/bot_client, tests/process.
 * On trouble: the test at hand fails.
 */
#pragma once

#include "bot/bot_client.h"
#include "tests/process.h"

#define STAGE_PLAYERS_MAX 64
#define STAGE_EVENTS_MAX  16384 /* that one player is told */
#define STAGE_CMDS        64
#define STAGE_ERRORS      32

enum stage_kind { STAGE_ADD, STAGE_REMOVE, STAGE_MOVE };

/* One record of an Aoi frame. */
struct stage_event {
    enum stage_kind kind;
    uint32_t tick, id;
    double x, y; /* ADD: exact; MOVE: as this view places it */
};

struct player {
    struct stage *stage;
    const char *name; /* borrowed */
    struct bot_client *client;
    const struct bot_client_facts *facts;
    uint32_t got[STAGE_CMDS];       /* messages by cmd */
    uint32_t refused[STAGE_ERRORS]; /* ErrorNotify that answer a request, by code */
    uint32_t told[STAGE_ERRORS];    /* ErrorNotify unasked, by code */
    uint32_t answers;
    uint32_t last_cmd, last_code; /* of the last answer; code 0: no error */
    uint32_t said_by;             /* of the last SayNotify */
    char said[PROTO_SAY_MAX + 1];
    bool closed;
    char why[BOT_WHY_MAX]; /* of the end of the connection, or of a breach */
    bool breach;
    struct stage_event *events; /* [n_events] owned */
    uint32_t n_events;
};

struct stage {
    struct loop *loop;
    struct message_reader *reader;
    struct player *players; /* [STAGE_PLAYERS_MAX] owned */
    uint32_t n;
};

void stage_init(struct stage *s);
/* Closes all connections. */
void stage_fini(struct stage *s);

/* Turn the loop until `cond` holds; the test fails where it does not in time. */
#define STAGE_UNTIL(stage, cond)                                                   \
    do {                                                                           \
        const struct mono stage_deadline_ = process_deadline(PROCESS_PATIENCE_MS); \
        while (!(cond))                                                            \
            stage_turn((stage), stage_deadline_, #cond);                           \
    } while (0)

/* One turn; fails where the deadline is over or anybody was told what breaks the contract. */
void stage_turn(struct stage *s, struct mono deadline, const char *what);
/* Time passes, and whatever happens meanwhile is noted. */
void stage_pass(struct stage *s, int64_t ms);
/* `ticks` ticks of the world pass, as `p`'s EnterResp tells their length; one more, to be sure. */
void stage_pass_ticks(struct player *p, uint32_t ticks);

/* A connected client; the same with login; the same in the world. */
struct player *stage_connect(struct stage *s, const char *addr);
struct player *stage_login(struct stage *s, const char *addr, const char *name);
struct player *stage_join(struct stage *s, const char *addr, const char *name);

/* The same client on another connection, after bot_client_close or `closed`. */
void player_reconnect(struct player *p, const char *addr);

/* Requests that must do well. */
void player_login(struct player *p, const char *name);
void player_enter(struct player *p);
void player_leave(struct player *p);
void player_move(struct player *p, double x, double y);
void player_say(struct player *p, const char *text);
void player_ping(struct player *p);
/* The answer to what was just sent (`rc` is what sending said); 0, or an error's code. */
uint32_t player_answer(struct player *p, int rc);

/* Does `p` know `other`, at the place where that one stands? */
bool player_sees(const struct player *p, const struct player *other);
bool player_knows(const struct player *p, uint32_t id);
/* How many does it know? */
uint32_t player_count(const struct player *p);
/* Events of this kind about `id` since event number `from`. */
uint32_t player_events(const struct player *p, uint32_t from, enum stage_kind kind, uint32_t id);
/* The last one; the test fails where there is none. */
const struct stage_event *player_last(const struct player *p, enum stage_kind kind, uint32_t id);

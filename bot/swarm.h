/* bot/swarm.h: many bots in one loop: they log in, enter, walk about, and come back by themselves
 * when they are thrown out.
 * Each bot's view is held against the contract; what they do and what they are told is counted.
 * A bot's name is prefix-kind-number.
 * May touch: common, proto, bot. Never: standard output.
 * On trouble: errors are counted by code, breaches too, and logged at a bounded rate.
 */
#pragma once

#include "bot/swarm_bot.h"
#include "common/hist.h"
#include "common/opts.h"

/* Ids above this are not measured; ids stay small by contract. */
#define SWARM_ID_MAX (1u << 22)
/* Codes counted one by one; larger ones are counted together with this one. */
#define SWARM_CODE_MAX 31

struct witness;

struct swarm_count {
    uint64_t moves;        /* MoveReqs sent */
    uint64_t moves_ok;     /* MoveResps */
    uint64_t moves_late;   /* due, but left out: the loop or the server was behind */
    uint64_t logins;       /* LoginResps */
    uint64_t lost;         /* connections that ended, or could not be made */
    uint64_t resumed;      /* of the logins, those that gave an entity back */
    uint64_t keys_refused; /* logins with a key that was refused */
    uint64_t placed;       /* times that one was put into the world unasked */
    uint64_t dropped_fin, dropped_rst, dropped_silent; /* connections cut on purpose */
    double farthest; /* units at most from where one stood last to where it was put by the server */
    uint64_t expelled;  /* those thrown out by a Bye after which nobody comes back */
    uint64_t churned;   /* times that one who churns went */
    uint64_t deaf_cut;  /* deaf ones whose connection was ended */
    uint64_t deaf_slow; /* of these, those told so by Bye 16 */
    uint64_t errors;    /* ErrorNotifies, all codes */
    uint64_t error[SWARM_CODE_MAX + 1]; /* by code */
    uint64_t byes;
    uint64_t breaches;
};

/* What is summed over all bots; see swarm_sum. */
struct swarm_told {
    uint64_t adds, removes, moves; /* records taken in */
    uint64_t frames, bytes_in, bytes_out;
};

struct swarm_config {
    const char *addr;     /* borrowed */
    struct opt_list also; /* more addresses, in turn; their texts are borrowed */
    const char *prefix;   /* of the names, borrowed */
    uint32_t n[SWARM_KINDS];
    double rate;       /* moves a second of each */
    bool walk;         /* as WalkReqs */
    double login_rate; /* logins a second of all; 0: off */
    uint64_t seed;
    int64_t timeout_ns;          /* of connecting */
    const struct signer *signer; /* borrowed; NULL: no tokens */
    struct tls *trust;           /* borrowed; NULL: plain */
};

/* Plain, so that modes can look at everything; only swarm_* writes it. */
struct swarm {
    struct swarm_config config;
    struct loop *loop;             /* borrowed */
    struct message_reader *reader; /* borrowed */
    struct loop_timer *timer;
    struct swarm_bot *bots; /* [n] kind after kind */
    uint32_t n;
    uint32_t *by_id; /* [by_id_cap] index + 1 of the bot with this id; 0: nobody */
    uint32_t by_id_cap;
    struct rng rng;
    bool resting;  /* nobody moves */
    bool stopping; /* nobody comes back */
    bool deafened; /* those who are to be deaf are */
    uint32_t in_world;
    struct mono stepped; /* the last step of the timer */
    double drop;         /* see swarm_drop */
    double moves_owed, logins_owed, drops_owed;
    uint32_t move_next, tend_next; /* whose turn it is */
    uint32_t stride;               /* from one who moves to the next */
    struct swarm_count counted;
    struct witness *witness; /* hears of all; borrowed, NULL: none */
    struct hist latency;     /* ns from a move to a neighbour's notice, of every so many notices */
    uint32_t notice_every, notice_in; /* of how many one is timed; how many until then */
};

/* Starts at once. Owns what it makes, borrows loop and reader. E_NOMEM. */
int swarm_create(struct loop *l, struct message_reader *reader, const struct swarm_config *config,
                 struct swarm **out) MUST_CHECK;
void swarm_destroy(struct swarm *s); /* NULL is fine */

/* From now on this share of those in the world loses its connection in a second; 0: nobody. */
void swarm_drop(struct swarm *s, double share);
/* Nobody moves, comes or goes (on), or all go on. */
void swarm_rest(struct swarm *s, bool on);
/* Is it at rest as far as its own doing goes: nothing is on its way to the server, and nothing is
 * waited for? Deaf ones are not asked. A predicate for bot_client_run_until. */
bool swarm_settled(void *swarm);
/* Ask each for the place where it stands already. The answer comes behind all that the world has
 * told before; it changes nothing. Not for those who drip. */
void swarm_touch(struct swarm *s);
/* Those who are to be deaf stop where they are and do not read any more. */
void swarm_deafen(struct swarm *s);
/* The deaf ones listen again, so that they notice their end. */
void swarm_hear(struct swarm *s);
/* All who are in the world leave it, the rest goes; nobody comes back. */
void swarm_leave(struct swarm *s);
/* A predicate for bot_client_run_until: has everybody left? */
bool swarm_left(void *swarm);

/* The bot whose entity has this id; NULL: none of ours. */
struct swarm_bot *swarm_find(const struct swarm *s, uint32_t id);
/* The bot of this name; NULL: none of ours. */
struct swarm_bot *swarm_find_name(const struct swarm *s, struct span name);

/* For swarm_bot: this bot has this id now; it has none any more. */
void swarm_enlist(struct swarm *s, struct swarm_bot *b, uint32_t id);
void swarm_delist(struct swarm *s, struct swarm_bot *b);

void swarm_sum(const struct swarm *s, struct swarm_told *out);

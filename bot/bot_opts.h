/* bot/bot_opts.h: the bot's flags as a plain struct, and the one table they come from.
 * May touch: common.
 */
#pragma once

#include "common/opts.h"

struct signer;
struct tls;

enum bot_mode { BOT_SMOKE, BOT_WANDER, BOT_LOAD, BOT_LOGINS, BOT_TOKEN };

/* Where the bots of a load run walk. */
enum bot_spread {
    BOT_SPREAD_HOME,   /* near where they enter */
    BOT_SPREAD_GROUPS, /* those near each other gather in squares */
    BOT_SPREAD_SQUARE  /* all gather in one square */
};

struct bot_config {
    int mode; /* enum bot_mode */
    const char *addr;
    struct opt_list also; /* more addresses */
    uint64_t n;           /* bots */
    int64_t seconds_ns;   /* 0: until stopped */
    double rate;          /* moves a second of each bot */
    double login_rate;    /* logins a second of all; 0: off */
    uint64_t seed;        /* 0: another one in each run */
    int64_t timeout_ns;   /* of the smoke scenario; of connecting */
    /* Of the load mode: */
    int spread;                 /* enum bot_spread */
    double neighbours;          /* that each should see, where they gather */
    double hysteresis;          /* the world's, in units */
    double drop;                /* share of those in the world that is cut off in a second */
    uint64_t deaf, drip, churn; /* bots beside the n */
    bool walk;                  /* by WalkReq */
    int64_t compare_after_ns;   /* of walking: from then on views are compared */
    bool oracle;                /* views are judged while all walk */
    uint64_t late;              /* ticks that one of them may be late */
    bool json;
    /* Of the smoke mode, and of the load mode where all are in one square: */
    const char *at; /* X,Y: where they meet; "": near where they enter */
    /* Of the smoke mode: */
    const char *scene; /* where somebody walks round a house; "": nobody does */
    /* Of the logins mode: */
    bool enter; /* each enters the world too */

    const char *auth_key;        /* file; "": bots log in without tokens */
    const char *kid;             /* "": the first key that can sign */
    int64_t ttl_ns;              /* of a token */
    const char *name;            /* of the token mode */
    const struct signer *signer; /* of auth_key; no flag. NULL: none */

    bool tls;
    const char *tls_ca; /* file; "": those whom the system trusts */
    bool tls_insecure;
    struct tls *trust; /* of the three above; no flag. NULL: plain */

    int log_level; /* enum log_level */
};

/* The gateway whose turn it is: that of -addr, then those of -also, and so on. Borrowed. */
const char *bot_opts_gateway(const char *addr, const struct opt_list *also, uint64_t turn);

extern const struct opt bot_opts[];
extern const size_t bot_opts_n;

/* What no single row can say. 0, or E_RANGE: `why` has the line, which names the flag. */
int bot_opts_check(const struct bot_config *c, char *why, size_t why_cap) MUST_CHECK;

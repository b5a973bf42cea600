/* bot/bot_opts.c: one row for each flag.
 * May touch: common, proto. On trouble: common/opts names the flag and the value.
 */
#include "bot/bot_opts.h"

#include "bot/smoke_plan.h"
#include "bot/witness.h"
#include "common/addr.h"
#include "common/err.h"
#include "common/io/tls.h"
#include "common/token.h"
#include "proto/message.h"

#define AT(f) offsetof(struct bot_config, f)

#define BOTS_MAX        1000000
#define DAY_S           86400
#define MOVES_MAX       1000 /* a second */
#define ORACLE_RATE_MAX 20   /* moves a second, so that a bot's places of seconds are remembered */

/* clang-format off */
const struct opt bot_opts[] = {
    {.name = "mode", .type = OPT_CHOICE, .offset = AT(mode), .def = "smoke", .unit = "",
     .choices = "smoke|wander|load|logins|token",
     .help = "smoke plays one scenario and says OK or FAILED; wander lets bots walk about; "
             "load checks and measures many; logins has them log in and go again and again; token prints one"},
    {.name = "addr", .type = OPT_ADDR, .offset = AT(addr), .def = "127.0.0.1:19001", .unit = "",
     .help = "the gateway"},
    {.name = "also", .type = OPT_LIST, .offset = AT(also), .def = "", .unit = "",
     .help = "smoke, wander, load: one more gateway: bots take turns, and who lost its connection "
     "goes to the next"},
    {.name = "n", .type = OPT_UINT, .offset = AT(n), .def = "30", .unit = "bots", .min = 1,
     .max = BOTS_MAX, .help = "how many bots walk"},
    {.name = "seconds", .type = OPT_DURATION, .offset = AT(seconds_ns), .def = "0", .unit = "s",
     .min = 0, .max = 365.0 * DAY_S, .help = "how long they walk; 0: until they are stopped"},
    {.name = "rate", .type = OPT_REAL, .offset = AT(rate), .def = "10", .unit = "moves/s", .min = 0.01,
     .max = MOVES_MAX, .zero_off = true, .help = "moves a second of each bot"},
    {.name = "login-rate", .type = OPT_REAL, .offset = AT(login_rate), .def = "500",
     .unit = "logins/s", .min = 0.1, .max = 1e6, .zero_off = true,
     .help = "logins a second of all bots together"},
    {.name = "seed", .type = OPT_UINT, .offset = AT(seed), .def = "0", .unit = "",
     .help = "where the bots walk, and the names of logins; 0: others in each run"},
    {.name = "timeout", .type = OPT_DURATION, .offset = AT(timeout_ns), .def = "30s", .unit = "s",
     .min = 0.1, .max = DAY_S, .help = "for the smoke scenario as a whole, and for connecting"},
    {.name = "spread", .type = OPT_CHOICE, .offset = AT(spread), .def = "home", .unit = "",
     .choices = "home|groups|square",
     .help = "load: where bots walk: near where they enter, gathered in groups, or all in one square"},
    {.name = "neighbours", .type = OPT_REAL, .offset = AT(neighbours), .def = "20", .unit = "bots",
     .min = 0.1, .max = 100000, .help = "load: how many others each should see where they gather"},
    {.name = "hysteresis", .type = OPT_REAL, .offset = AT(hysteresis), .def = "0", .unit = "units",
     .min = 0, .max = 1e9, .help = "load: the world's -aoi-hysteresis, for comparing views"},
    {.name = "deaf", .type = OPT_UINT, .offset = AT(deaf), .def = "0", .unit = "bots", .min = 0,
     .max = BOTS_MAX, .help = "load: so many more that enter and then never read"},
    {.name = "drip", .type = OPT_UINT, .offset = AT(drip), .def = "0", .unit = "bots", .min = 0,
     .max = BOTS_MAX, .help = "load: so many more that write a byte at a time"},
    {.name = "drop", .type = OPT_REAL, .offset = AT(drop), .def = "0", .unit = "share/s", .min = 0,
     .max = 1, .help = "load: of those in the world so many lose their connection in a second, by "
     "FIN, by RST or by silence, and take their entity back"},
    {.name = "churn", .type = OPT_UINT, .offset = AT(churn), .def = "0", .unit = "bots", .min = 0,
     .max = BOTS_MAX, .help = "load: so many more that come and go all the time"},
    {.name = "walk", .type = OPT_BOOL, .offset = AT(walk), .def = "false", .unit = "",
     .help = "load: each step is a WalkReq, and the world walks it; times include the way"},
    {.name = "compare-after", .type = OPT_DURATION, .offset = AT(compare_after_ns), .def = "0",
     .unit = "s", .min = 0, .max = 365.0 * DAY_S,
     .help = "load: bots do not rest to compare views before they have walked for so long: for runs "
     "in which something is broken at first"},
    {.name = "oracle", .type = OPT_BOOL, .offset = AT(oracle), .def = "false", .unit = "",
     .help = "load: views are compared while all walk too, tick by tick, with where each of the bots "
     "knows itself to be; with neither -walk nor -aoi-tiers"},
    {.name = "late", .type = OPT_UINT, .offset = AT(late), .def = "0", .unit = "ticks",
     .max = WITNESS_LATE_MAX, .help = "load: ticks that -oracle lets a view be late: 1 across the "
     "borders of a cluster's worlds"},
    {.name = "scene", .type = OPT_TEXT, .offset = AT(scene), .def = "", .unit = "",
     .help = "smoke: after the scenario somebody walks round a house in this scene, by path"},
    {.name = "at", .type = OPT_TEXT, .offset = AT(at), .def = "", .unit = "",
     .help = "smoke: the three meet round this place (X,Y), each in a quarter of its own, and go on "
     "to the next one; load: the middle of -spread square; not set, near where they enter"},
    {.name = "enter", .type = OPT_BOOL, .offset = AT(enter), .def = "false", .unit = "",
     .help = "logins: each enters the world too before it goes"},
    {.name = "json", .type = OPT_BOOL, .offset = AT(json), .def = "false", .unit = "",
     .help = "load, logins: the result as one JSON object"},
    {.name = "auth-key", .type = OPT_TEXT, .offset = AT(auth_key), .def = "", .unit = "",
     .help = "the world's file of keys, from which bots make their tokens; not set, they have none"},
    {.name = "kid", .type = OPT_TEXT, .offset = AT(kid), .def = "", .unit = "",
     .help = "the key that signs; not set, the first one that can"},
    {.name = "ttl", .type = OPT_DURATION, .offset = AT(ttl_ns), .def = "60m", .unit = "s", .min = 1,
     .max = 365.0 * DAY_S, .help = "how long a token is good"},
    {.name = "name", .type = OPT_TEXT, .offset = AT(name), .def = "", .unit = "",
     .help = "token: who it is for"},
    {.name = "tls", .type = OPT_BOOL, .offset = AT(tls), .def = "false", .unit = "",
     .help = "the gateway speaks TLS"},
    {.name = "tls-ca", .type = OPT_TEXT, .offset = AT(tls_ca), .def = "", .unit = "",
     .help = "roots that its certificate may stand on, in PEM; not set, those of the system"},
    {.name = "tls-insecure", .type = OPT_BOOL, .offset = AT(tls_insecure), .def = "false",
     .unit = "", .help = "take any certificate"},
    {.name = "log-level", .type = OPT_CHOICE, .offset = AT(log_level), .def = "info", .unit = "",
     .choices = "debug|info|warn|error|off", .help = "the least important lines to log"},
};
/* clang-format on */

const size_t bot_opts_n = ARRAY_LEN(bot_opts);

const char *bot_opts_gateway(const char *addr, const struct opt_list *also, uint64_t turn)
{
    const uint64_t at = turn % (1 + also->n);

    return at == 0 ? addr : also->text[at - 1];
}

/* The first of -also that is none; NULL: all are addresses. */
static const char *first_bad(const struct opt_list *also, const char **why)
{
    struct addr a;

    for (uint64_t i = 0; i < also->n; i++) {
        if (addr_parse(also->text[i], &a, why) != 0)
            return also->text[i];
    }
    return NULL;
}

int bot_opts_check(const struct bot_config *c, char *why, size_t why_cap)
{
    bool tokens = c->mode == BOT_TOKEN;
    struct smoke_plan_place at;
    const char *reason = "";
    const char *bad = first_bad(&c->also, &reason);

    why[0] = '\0';
    if (!c->tls && (c->tls_insecure || c->tls_ca[0] != '\0'))
        snprintf(why, why_cap, "-%s: does nothing without -tls",
                 c->tls_insecure ? "tls-insecure" : "tls-ca");
    else if (c->tls && !tls_library())
        snprintf(why, why_cap, "-tls: this program was built without libssl or libcrypto");
    else if (c->auth_key[0] != '\0' && !token_possible())
        snprintf(why, why_cap,
                 "-auth-key: \"%.80s\": this program was built without libjwt or libcrypto",
                 c->auth_key);
    else if (tokens && c->auth_key[0] == '\0')
        snprintf(why, why_cap, "-mode: \"token\": needs -auth-key");
    else if (tokens && !message_name_ok(span_text(c->name)))
        snprintf(why, why_cap, "-name: \"%.80s\": not a name", c->name);
    else if (c->kid[0] != '\0' && c->auth_key[0] == '\0')
        snprintf(why, why_cap, "-kid: \"%.80s\": needs -auth-key", c->kid);
    else if (c->at[0] != '\0' && !smoke_plan_read(c->at, &at))
        snprintf(why, why_cap, "-at: \"%.80s\": not two numbers X,Y", c->at);
    else if (c->oracle && (c->walk || c->rate > ORACLE_RATE_MAX))
        snprintf(why, why_cap,
                 "-oracle: needs steps of the bots' own, no -walk, and -rate %d at most",
                 ORACLE_RATE_MAX);
    else if (bad)
        snprintf(why, why_cap, "-also: \"%.80s\": %s", bad, reason);
    return why[0] == '\0' ? 0 : E_RANGE;
}

/* world/world_opts.c: one row for each flag.
 * May touch: common, world/world. On trouble: common/opts names the flag and the value; this file
 * names pairs that clash.
 */
#include "world/world_opts.h"

#include "common/addr.h"
#include "common/err.h"
#include "common/io/http.h"
#include "common/nats_url.h"
#include "proto/claim.h"
#include "proto/link_proof.h"
#include "world/cluster/zones.h"
#include "world/edge/cluster_nats.h"
#include "world/edge/storage.h"
#include "world/edge/store_none.h"
#include "world/interest/soft.h"

#include <inttypes.h>
#include <string.h>

#define EDGE(f) offsetof(struct world_options, f)
#define CORE(f) offsetof(struct world_options, core.f)

#define DAY_S            86400.0 /* no wait is longer */
#define TICK_MAX_MS      10000
#define WALK_STEP_MAX_MS 60000
#define PATH_BUDGET_MAX  100000000
#define WALK_TILES_MAX   1024
#define TICKS_MAX        72000 /* an hour at 50 ms */
#define QUANTUM_MIN      (1.0 / 65536)
#define QUANTUM_MAX      1024
#define SPEED_MAX        1e9
#define PLACE_MAX        1e9 /* of the scene's bounds */
#define TILE_MIN         (1.0 / 64)
#define TILE_MAX         4096
#define SESSIONS_MAX     (4.0 * WORLD_ENTITIES_MAX)
#define PAIRS_MIN        1024
#define PAIRS_MAX        (1ULL << 36)
#define REQUESTS_MAX     1000000000
#define VIEWER_BYTES_MAX (1ULL << 24)
#define LOGINS_MAX       1e6 /* a second */
#define FANOUT_MIN       1024
#define LEEWAY_MAX_S     600
#define QUEUE_MAX        (1ULL << 34)
#define LEASE_MIN_S      0.2
#define LEASE_MAX_S      600
#define MAP_RATE_MAX     60
#define MAP_VIEWERS_MAX  1024
/* A drain of the outbox is one write, so a smaller limit would close a link that is well. */
#define QUEUE_HARD_MIN OUTBOX_BYTES
#define QUEUE_SOFT_MIN 65536

_Static_assert(QUANTUM_MAX *PROTO_RADIUS_QUANTA == 16777216, "the widest radius has its row");

/* clang-format off */
const struct opt world_opts_table[] = {
    {.name = "role", .type = OPT_CHOICE, .offset = EDGE(role), .def = "world", .unit = "",
     .choices = "world", .help = "which program to be"},
    {.name = "listen", .type = OPT_ADDR, .offset = EDGE(listen), .def = "127.0.0.1:19002",
     .unit = "", .help = "where gateways connect; port 0 lets the kernel choose"},
    {.name = "link-timeout", .type = OPT_DURATION, .offset = EDGE(link_timeout_ns), .def = "3s",
     .unit = "s", .min = 0.01, .max = DAY_S, .zero_off = true,
     .help = "a gateway silent for this long counts as away; both sides ping three times in it"},
    {.name = "link-key", .type = OPT_TEXT, .offset = EDGE(link_key), .def = "", .unit = "",
     .help = "file of secrets, one a line, of which a gateway must show that it has one; read anew "
             "at SIGHUP"},
    {.name = "insecure", .type = OPT_BOOL, .offset = EDGE(insecure), .def = "false", .unit = "",
     .help = "gateways may come from other machines without -link-key, and so may anybody"},
    {.name = "link-queue-soft", .type = OPT_BYTES, .offset = EDGE(link_queue_soft), .def = "8MiB",
     .unit = "bytes", .min = QUEUE_SOFT_MIN, .max = QUEUE_MAX, .zero_off = true,
     .help = "bytes queued for a gateway from which on its viewers pause"},
    {.name = "link-queue-hard", .type = OPT_BYTES, .offset = EDGE(link_queue_hard), .def = "64MiB",
     .unit = "bytes", .min = QUEUE_HARD_MIN, .max = QUEUE_MAX, .zero_off = true,
     .help = "bytes queued for a gateway at most; past it its link is closed"},
    {.name = "admin", .type = OPT_TEXT, .offset = EDGE(admin), .def = "", .unit = "",
     .help = "where operators find the live map at /map, the API, /metrics, /healthz and /readyz; a "
             "bare port is on 127.0.0.1"},
    {.name = "admin-token", .type = OPT_TEXT, .offset = EDGE(admin_token), .def = "", .unit = "",
     .help = "file whose first line operators must show to change something, as with /announce; "
             "without it nothing can be changed"},
    {.name = "map-rate", .type = OPT_UINT, .offset = EDGE(map_rate), .def = "10",
     .unit = "frames/s", .min = 1, .max = MAP_RATE_MAX,
     .help = "how often a live map is told where everybody is, at most once a tick"},
    {.name = "map-viewers", .type = OPT_UINT, .offset = EDGE(map_viewers), .def = "64",
     .unit = "", .min = 1, .max = MAP_VIEWERS_MAX, .zero_off = true,
     .help = "live maps at once; one more is refused with 503; 0 is none"},
    {.name = "tick", .type = OPT_DURATION, .offset = CORE(tick_ns), .def = "50ms", .unit = "ms",
     .min = 1, .max = TICK_MAX_MS, .help = "time from one tick to the next"},
    {.name = "aoi-radius", .type = OPT_REAL, .offset = CORE(aoi_radius), .def = "30",
     .unit = "units", .min = QUANTUM_MIN, .max = 16777216,
     .help = "who stands within this distance is seen"},
    {.name = "aoi-hysteresis", .type = OPT_REAL, .offset = CORE(aoi_hysteresis), .def = "0",
     .unit = "units", .min = 0, .max = 16777216,
     .help = "who is known is dropped only past radius and this together"},
    {.name = "aoi-index", .type = OPT_CHOICE, .offset = CORE(aoi_index), .def = "blocks",
     .unit = "", .choices = PLACES_INDEX_WORDS,
     .help = "how viewers find who is near: large blocks, the nine cells around, or the four cells "
             "around a quadrant; all with the same results"},
    {.name = "aoi-tiers", .type = OPT_TEXT, .offset = CORE(aoi_tiers), .def = "", .unit = "",
     .help = "rings of sight as radius:ticks, both ascending, such as 30:1,100:4,240:20; who stands "
             "further out is told of more seldom; the last radius takes the place of -aoi-radius"},
    {.name = "aoi-refresh", .type = OPT_UINT, .offset = CORE(aoi_refresh), .def = "1",
     .unit = "ticks", .min = 1, .max = TICKS_MAX,
     .help = "who is in sight is looked up this often; those known are told of at every tick"},
    {.name = "aoi-max", .type = OPT_UINT, .offset = CORE(aoi_max), .def = "0", .unit = "",
     .min = 1, .max = WORLD_ENTITIES_MAX, .zero_off = true,
     .help = "entities that a viewer knows at most: the nearest; it is told how many more there are"},
    {.name = "viewer-bytes", .type = OPT_BYTES, .offset = CORE(viewer_bytes), .def = "0",
     .unit = "bytes", .min = SOFT_BYTES_MIN, .max = VIEWER_BYTES_MAX, .zero_off = true,
     .help = "bytes of moves that a viewer is told in a tick; the rest waits its turn"},
    {.name = "max-speed", .type = OPT_REAL, .offset = CORE(max_speed), .def = "12",
     .unit = "units/s", .min = 1e-6, .max = SPEED_MAX, .help = "how fast an entity may move"},
    {.name = "move-burst", .type = OPT_DURATION, .offset = CORE(move_burst_ns), .def = "1s",
     .unit = "s", .min = 0.001, .max = DAY_S, .zero_off = true,
     .help = "time at most for which an entity may catch up moving"},
    {.name = "walk", .type = OPT_CHOICE, .offset = CORE(walk), .def = "straight", .unit = "",
     .choices = WALKERS_GAIT_WORDS,
     .help = "how the world walks an entity: straight each tick, or tiles along both axes each step"},
    {.name = "walk-speed", .type = OPT_REAL, .offset = CORE(walk_speed), .def = "0",
     .unit = "units/s", .min = 1e-6, .max = SPEED_MAX, .zero_off = true,
     .help = "how fast it walks one straight; 0 is -max-speed"},
    {.name = "walk-step", .type = OPT_DURATION, .offset = CORE(walk_step_ns), .def = "500ms",
     .unit = "ms", .min = 1, .max = WALK_STEP_MAX_MS, .help = "-walk=tile: time between two steps"},
    {.name = "tile-ms", .type = OPT_DURATION, .offset = CORE(tile_ns), .def = "320ms",
     .unit = "ms", .min = 1, .max = WALK_STEP_MAX_MS,
     .help = "-walk=tile: time a tile takes; a step leads one tile and those that fit in its time"},
    {.name = "walk-max-tiles", .type = OPT_UINT, .offset = CORE(walk_max_tiles), .def = "2",
     .unit = "tiles", .min = 1, .max = WALK_TILES_MAX,
     .help = "-walk=tile: tiles of a step at most along each axis, however late it comes"},
    {.name = "path-budget", .type = OPT_UINT, .offset = CORE(path_budget), .def = "8000",
     .unit = "nodes", .min = 1, .max = PATH_BUDGET_MAX,
     .help = "nodes that searches for ways expand in a tick, all together; the rest goes on in the next"},
    {.name = "path-queue", .type = OPT_UINT, .offset = CORE(path_queue), .def = "1024",
     .unit = "entities", .min = 2, .max = WORLD_ENTITIES_MAX,
     .help = "entities that may wait for a way at once; one more is refused with 13; NPCs fill a half"},
    {.name = "npcs", .type = OPT_UINT, .offset = CORE(npcs), .def = "0", .unit = "",
     .max = WORLD_ENTITIES_MAX,
     .help = "NPCs that wander in the scene one enters who names none, besides those of maps; "
             "they count among -max-entities"},
    {.name = "update-interval", .type = OPT_UINT, .offset = CORE(update_interval), .def = "2",
     .unit = "ticks", .min = 1, .max = TICKS_MAX, .zero_off = true,
     .help = "ticks that a change below both epsilons may wait at most"},
    {.name = "move-epsilon", .type = OPT_REAL, .offset = CORE(move_epsilon), .def = "0.05",
     .unit = "units", .min = 0, .max = PLACE_MAX, .help = "a shorter way may wait"},
    {.name = "dir-epsilon", .type = OPT_REAL, .offset = CORE(dir_epsilon), .def = "1",
     .unit = "degrees", .min = 0, .max = 180, .help = "a smaller turn may wait"},
    {.name = "quantum", .type = OPT_REAL, .offset = CORE(quantum), .def = "1/64", .unit = "units",
     .min = QUANTUM_MIN, .max = QUANTUM_MAX, .help = "grain of the places in AoiMove"},
    {.name = "bounds", .type = OPT_RECT, .offset = CORE(bounds),
     .def = "-16384,-16384,16384,16384", .unit = "units", .min = -PLACE_MAX, .max = PLACE_MAX,
     .help = "the open ground: x0,y0,x1,y1, edges included"},
    {.name = "map", .type = OPT_LIST, .offset = EDGE(maps), .def = "", .unit = "",
     .help = "a scene from a map of the editor Tiled, saved as JSON: FILE, or NAME=FILE"},
    {.name = "tile-size", .type = OPT_REAL, .offset = EDGE(tile_size), .def = "1",
     .unit = "units", .min = TILE_MIN, .max = TILE_MAX, .help = "side of a map's tile"},
    {.name = "spawn", .type = OPT_TEXT, .offset = CORE(spawn), .def = "line", .unit = "",
     .help = "where newcomers stand on open ground: line, uniform, or a disc x,y,r; a map has its "
             "own spawns"},
    {.name = "scene", .type = OPT_TEXT, .offset = CORE(scene), .def = "", .unit = "",
     .help = "where those enter who name no scene; not set, on open ground"},
    {.name = "seed", .type = OPT_UINT, .offset = CORE(seed), .def = "1", .unit = "",
     .help = "of all randomness; the same seed and inputs give the same world"},
    {.name = "resume-window", .type = OPT_DURATION, .offset = CORE(resume_window_ns),
     .def = "30s", .unit = "s", .min = 0.01, .max = DAY_S, .zero_off = true,
     .help = "time that a lost connection's entity waits for its client"},
    {.name = "max-entities", .type = OPT_UINT, .offset = CORE(max_entities), .def = "65536",
     .unit = "", .min = 1, .max = WORLD_ENTITIES_MAX, .zero_off = true,
     .help = "entities at once; one more is refused with 13; 0 is 1048576"},
    {.name = "max-sessions", .type = OPT_UINT, .offset = CORE(max_sessions), .def = "0",
     .unit = "", .min = 1, .max = SESSIONS_MAX, .zero_off = true,
     .help = "sessions at once; 0 is twice the entities"},
    {.name = "max-pairs", .type = OPT_UINT, .offset = CORE(max_pairs), .def = "33554432",
     .unit = "", .min = PAIRS_MIN, .max = PAIRS_MAX,
     .help = "pairs that may be kept in lists, as with hysteresis and for viewers that are paused; "
             "8 bytes each, as they are used"},
    {.name = "session-requests", .type = OPT_UINT, .offset = CORE(session_requests),
     .def = "1024", .unit = "", .min = 1, .max = REQUESTS_MAX, .zero_off = true,
     .help = "requests of a session in one tick; more are refused with 12"},
    {.name = "fanout-bytes", .type = OPT_BYTES, .offset = CORE(fanout_bytes), .def = "4MiB",
     .unit = "bytes", .min = FANOUT_MIN, .max = QUEUE_MAX, .zero_off = true,
     .help = "bytes a second, times those who are told, that one session may have the world tell by "
             "saying, coming and going; past a second of it 12"},
    {.name = "store", .type = OPT_TEXT, .offset = EDGE(store), .def = "none", .unit = "",
     .help = "where characters are kept: none, sqlite:FILE or postgres://USER@HOST/DATABASE"},
    {.name = "save-every", .type = OPT_DURATION, .offset = CORE(save_every_ns), .def = "30s",
     .unit = "s", .min = 0.05, .max = DAY_S, .zero_off = true,
     .help = "a place that changed is saved within this time, beside each leave and disconnect; 0 "
             "is only then"},
    {.name = "store-check", .type = OPT_BOOL, .offset = EDGE(store_check), .def = "false",
     .unit = "", .help = "verify the store and say what it holds, instead of running"},
    {.name = "store-delay", .type = OPT_DURATION, .offset = EDGE(store_delay_ns), .def = "0ms",
     .unit = "ms", .max = 60000, .zero_off = true,
     .help = "for tests: each trip to the store takes so much longer"},
    {.name = "login-rate", .type = OPT_UINT, .offset = CORE(login_rate), .def = "0",
     .unit = "logins/s", .min = 1, .max = LOGINS_MAX, .zero_off = true,
     .help = "logins a second; more of them wait in line"},
    {.name = "login-rate-name", .type = OPT_UINT, .offset = CORE(login_rate_name), .def = "0",
     .unit = "", .min = 1, .max = LOGINS_MAX, .zero_off = true,
     .help = "logins a minute of one name, and as many at once; more are refused with 12; resuming "
             "is free"},
    {.name = "login-wait", .type = OPT_DURATION, .offset = CORE(login_wait_ns), .def = "10s",
     .unit = "s", .min = 0.1, .max = DAY_S, .zero_off = true,
     .help = "a login that would wait longer, in line or for the store, is refused with 13"},
    {.name = "auth-key", .type = OPT_TEXT, .offset = EDGE(auth_key), .def = "", .unit = "",
     .help = "file with the keys of tokens: each login shows one, and it says who somebody is; SIGHUP "
             "reads it anew; not set, no tokens"},
    {.name = "auth-leeway", .type = OPT_DURATION, .offset = EDGE(auth_leeway_ns), .def = "5s",
     .unit = "s", .max = LEEWAY_MAX_S, .zero_off = true,
     .help = "by so much the clock of who signs tokens may differ"},
    {.name = "auth-checks", .type = OPT_UINT, .offset = CORE(auth_checks), .def = "100",
     .unit = "tokens", .min = 1, .max = LOGINS_MAX, .zero_off = true,
     .help = "tokens whose signature is looked at in a tick; more logins wait in line"},
    {.name = "drain-timeout", .type = OPT_DURATION, .offset = EDGE(drain_timeout_ns), .def = "5s",
     .unit = "s", .min = 0.01, .max = DAY_S, .zero_off = true,
     .help = "after SIGTERM or SIGINT, the end comes by then"},
    {.name = "status", .type = OPT_DURATION, .offset = EDGE(status_ns), .def = "0s", .unit = "s",
     .min = 0.1, .max = DAY_S, .zero_off = true,
     .help = "a line with players, moves, tick time, pairs and their ages this often"},
    {.name = "cluster", .type = OPT_TEXT, .offset = EDGE(cluster), .def = "", .unit = "",
     .help = "share the map with other worlds by way of this NATS: nats://[USER:PASSWORD@]HOST:PORT, "
             "more servers behind commas; not set, it is alone"},
    {.name = "world-id", .type = OPT_TEXT, .offset = EDGE(world_id), .def = "", .unit = "",
     .help = "-cluster: this world's own name among them, of A-Z a-z 0-9 - _; one that comes again "
             "has the same"},
    {.name = "zones", .type = OPT_TEXT, .offset = EDGE(zones), .def = "4x2", .unit = "",
     .help = "-cluster: columns and rows in which each scene is cut; each zone is one world's at a "
             "time; all worlds say the same"},
    {.name = "zone-margin", .type = OPT_REAL, .offset = EDGE(zone_margin), .def = "5",
     .unit = "units", .min = QUANTUM_MIN, .max = PLACE_MAX,
     .help = "-cluster: so far past a border an entity is handed over to the world behind it"},
    {.name = "cluster-lease", .type = OPT_DURATION, .offset = EDGE(cluster_lease_ns), .def = "5s",
     .unit = "s", .min = LEASE_MIN_S, .max = LEASE_MAX_S,
     .help = "-cluster: a world of which NATS hears nothing for so long stands still, and a tenth "
             "later others take its zones"},
    {.name = "advertise", .type = OPT_ADDR, .offset = EDGE(advertise), .def = "", .unit = "",
     .help = "-cluster: where gateways find this world; not set, where it listens"},
    {.name = "leave-timeout", .type = OPT_DURATION, .offset = EDGE(leave_timeout_ns), .def = "60s",
     .unit = "s", .min = 0.1, .max = DAY_S, .zero_off = true,
     .help = "-cluster: after SIGTERM or SIGINT its zones and all in them move to other worlds, by "
             "then; -drain-timeout follows; 0 is not at all"},
    {.name = "log-level", .type = OPT_CHOICE, .offset = EDGE(log_level), .def = "info",
     .unit = "", .choices = "debug|info|warn|error|off", .help = "least level that is written"},
    {.name = "log-format", .type = OPT_CHOICE, .offset = EDGE(log_format), .def = "text",
     .unit = "", .choices = "text|json", .help = "how a line is written"},
};
/* clang-format on */

const size_t world_opts_count = ARRAY_LEN(world_opts_table);

static int check_store(const struct world_options *o, char *why, size_t why_cap)
{
    char form[128], shown[STORAGE_SHOWN];

    if (storage_check_form(o->store, form, sizeof(form)) != 0) {
        storage_show(o->store, shown);
        snprintf(why, why_cap, "-store: \"%.80s\": %s", shown, form);
        return E_RANGE;
    }
    if (o->store_check && strcmp(o->store, STORE_NONE) == 0) {
        snprintf(why, why_cap, "-store-check: needs -store sqlite:FILE or postgres://…");
        return E_RANGE;
    }
    return 0;
}

/* Who may reach the link, and must show what. */
static int check_link(const struct world_options *o, char *why, size_t why_cap)
{
    struct addr listen;
    const char *reason;

    if (o->link_key[0] != '\0' && !link_proof_built()) {
        snprintf(why, why_cap,
                 "-link-key: this program was built without libcrypto (-version tells)");
        return E_MISSING;
    }
    if (o->link_key[0] != '\0' || o->insecure || addr_parse(o->listen, &listen, &reason) != 0 ||
        addr_is_loopback(&listen))
        return 0;
    snprintf(why, why_cap,
             "-listen: \"%.80s\": other machines can reach it: needs -link-key FILE (or -insecure)",
             o->listen);
    return E_RANGE;
}

/* The address that other machines are told. */
static int check_advertise(const struct world_options *o, char *why, size_t why_cap)
{
    const bool own = o->advertise[0] != '\0';
    struct addr addr;
    const char *reason;

    if (addr_parse(own ? o->advertise : o->listen, &addr, &reason) != 0)
        return 0; /* its row has said so */
    if (own && addr.port == 0) {
        snprintf(why, why_cap, "-advertise: \"%.80s\": nobody can connect to port 0", o->advertise);
        return E_RANGE;
    }
    if (!addr_is_any(&addr))
        return 0;
    snprintf(why, why_cap,
             own ? "-advertise: \"%.80s\": nobody can connect to that"
                 : "-advertise: missing: gateways cannot connect to -listen %.80s",
             own ? o->advertise : o->listen);
    return E_RANGE;
}

static int check_world_id(const struct world_options *o, char *why, size_t why_cap)
{
    if (o->world_id[0] == '\0')
        snprintf(why, why_cap, "-world-id: missing: -cluster needs it");
    else if (!claim_world_ok(span_text(o->world_id)))
        snprintf(why, why_cap, "-world-id: \"%.80s\": must be 1 to %d of A-Z a-z 0-9 - _",
                 o->world_id, LINK_WORLD_MAX);
    else
        return 0;
    return E_RANGE;
}

static int check_cluster(const struct world_options *o, char *why, size_t why_cap)
{
    char shown[NATS_URL_SHOWN];
    const char *reason;
    uint32_t nx, ny;

    if (o->cluster[0] == '\0' && o->world_id[0] != '\0') {
        snprintf(why, why_cap, "-world-id: \"%.80s\": needs -cluster", o->world_id);
        return E_RANGE;
    }
    if (zones_parse(o->zones, &nx, &ny) != 0) {
        snprintf(why, why_cap, "-zones: \"%.80s\": must be COLUMNSxROWS, each 1 to %d", o->zones,
                 ZONES_SIDE_MAX);
        return E_RANGE;
    }
    if (o->cluster[0] == '\0')
        return 0;
    nats_url_show(o->cluster, shown);
    if (nats_url_check(o->cluster, &reason) != 0) {
        snprintf(why, why_cap, "-cluster: \"%.80s\": %s", shown, reason);
        return E_RANGE;
    }
    if (!cluster_nats_built()) {
        snprintf(why, why_cap,
                 "-cluster: \"%.80s\": this program was built without libnats (-version tells)",
                 shown);
        return E_MISSING;
    }
    if (storage_is_file(o->store)) {
        snprintf(why, why_cap,
                 "-store: \"%.80s\": is this world's alone: -cluster needs postgres://… or none",
                 o->store);
        return E_RANGE;
    }
    int err = check_world_id(o, why, why_cap);
    return err != 0 ? err : check_advertise(o, why, why_cap);
}

int world_opts_check(const struct world_options *o, char *why, size_t why_cap)
{
    char admin[HTTP_ADDR_MAX];
    const char *reason;

    if (o->link_queue_hard != 0 && o->link_queue_hard < o->link_queue_soft) {
        snprintf(why, why_cap,
                 "-link-queue-hard: %" PRIu64 ": must not be below -link-queue-soft %" PRIu64,
                 o->link_queue_hard, o->link_queue_soft);
        return E_RANGE;
    }
    if (o->admin[0] != '\0' && http_addr_read(o->admin, admin, &reason) != 0) {
        snprintf(why, why_cap, "-admin: \"%.80s\": %s", o->admin, reason);
        return E_RANGE;
    }
    if (o->admin_token[0] != '\0' && o->admin[0] == '\0') {
        snprintf(why, why_cap, "-admin-token: \"%.80s\": needs -admin", o->admin_token);
        return E_RANGE;
    }
    int err = check_link(o, why, why_cap);
    if (err != 0)
        return err;
    if (o->auth_key[0] != '\0' && !token_possible()) {
        snprintf(why, why_cap,
                 "-auth-key: \"%.80s\": this program was built without libjwt or libcrypto",
                 o->auth_key);
        return E_RANGE;
    }
    if (check_store(o, why, why_cap) != 0)
        return E_RANGE;
    err = check_cluster(o, why, why_cap);
    if (err != 0)
        return err;
    return world_check(&o->core, why, why_cap);
}

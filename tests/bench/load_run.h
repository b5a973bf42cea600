/* tests/bench/load_run.h: one run of the whole: a world, a gateway and clients, and what they used.
 *
 *   core 1   world ◄──► gateway          core 2   bots (or the limit's clients), this process
 *
 * Figures are of the walking alone. Processor time is user and system, as the kernel counts it in
 * ns; ticks are of the world's own metrics.
 * May touch: child, sockets. On trouble: one line on standard error, and false.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum load_kind { LOAD_AEGIS, LOAD_LIMIT, LOAD_LIMIT_ANSWERS, LOAD_KINDS };

extern const char *const load_kind_names[LOAD_KINDS];

struct load_args {
    const char *players; /* split by commas */
    const char *bin;     /* folder of aegis and bot; "": beside this program */
    int spread;          /* 0 many squares, 1 one */
    double in_sight, rate, seconds, login_rate;
    uint64_t runs, seed;
    bool json, answers;
};

/* The fields of one run, of which medians are taken; each a double. */
#define LOAD_FIGURES(X)                                                              \
    X(world_cpu, "share of a core")                                                  \
    X(gateway_cpu, "share of a core")                                                \
    X(clients_cpu, "share of a core")                                                \
    X(ns_per_update, "ns, world and gateway")                                        \
    X(us_per_frame, "us, world and gateway; answers to moves not counted as frames") \
    X(updates_per_s, "records told")                                                 \
    X(moves_per_s, "moves asked for")                                                \
    X(moves_left_out, "moves that the clients were too late for")                    \
    X(bytes_per_player_s, "to a player")                                             \
    X(notice_p50_ms, "from a move to a neighbour's notice")                          \
    X(notice_p99_ms, "")                                                             \
    X(notice_p999_ms, "")                                                            \
    X(tick_p50_us, "")                                                               \
    X(tick_p99_us, "")                                                               \
    X(tick_max_us, "")                                                               \
    X(tick_overruns, "")                                                             \
    X(ticks_skipped, "")                                                             \
    X(in_sight, "others")                                                            \
    X(errors, "")                                                                    \
    X(lost, "connections")                                                           \
    X(breaches, "of the contract")

struct load_figures {
#define FIELD(name, unit) double name;
    LOAD_FIGURES(FIELD)
#undef FIELD
};

bool load_run(enum load_kind kind, const struct load_args *a, uint64_t players,
              struct load_figures *out);

/* tests/common/opts_rig.h: a table with a flag of every type, and one call that parses.
 * May touch: common/opts, one file under TMPDIR.
 */
#pragma once

#include "common/opts.h"

#define RIG_ARGS_MAX 16

struct rig_config {
    const char *store, *listen, *admin;
    bool fast;
    uint64_t n, sndbuf, seed;
    double radius, quantum, gap;
    int64_t tick_ns, idle_ns, window_ns;
    int format, level;
    double bounds[4], area[4];
    struct opt_list maps;
};

extern const struct opt rig_opts[];
extern const size_t rig_opts_n;

struct parsed {
    enum opts_result result;
    struct rig_config config;
    struct opts *opts;
    char why[256];
};

/* The arguments, a NULL behind the last; "aegis" is put before them. */
void rig_parse(struct parsed *p, const char *const args[]);
/* One flag and value, as -flag=value. */
void rig_parse_one(struct parsed *p, const char *flag, const char *value);
/* With this config file before the arguments; its path stands in errors as "FILE". */
void rig_parse_file(struct parsed *p, const void *text, size_t n, const char *const args[]);

#define RIG_PARSE(p, ...) rig_parse(p, (const char *const[]){__VA_ARGS__, NULL})

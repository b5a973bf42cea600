/* world/world_opts.h: the world's flags as a plain struct, and the one table they come from.
 * Help, config file and README are made from the same table. May touch: common, world/world.
 * Source: DESIGN's table of flags.
 */
#pragma once

#include "common/opts.h"
#include "world/world.h"

struct world_options {
    struct world_config core;

    struct opt_list maps; /* FILE or NAME=FILE */
    double tile_size;     /* units */

    int role; /* always 0: the front door has chosen */
    const char *listen;
    const char *admin;        /* "": off */
    const char *admin_token;  /* file; "": nothing can be changed */
    uint64_t map_rate;        /* frames a second of a live map */
    uint64_t map_viewers;     /* live maps at most; 0: none */
    const char *link_key;     /* file; "": none */
    bool insecure;            /* -listen beyond the loopback without -link-key */
    int64_t link_timeout_ns;  /* 0: off */
    uint64_t link_queue_soft; /* bytes; 0: off */
    uint64_t link_queue_hard; /* bytes; 0: off */
    const char *cluster;      /* NATS; "": alone; show it by nats_url_show only */
    const char *world_id;     /* "": none */
    const char *zones;        /* COLUMNSxROWS */
    double zone_margin;       /* units */
    int64_t cluster_lease_ns; /* > 0 */
    const char *advertise;    /* "": where it listens */
    int64_t leave_timeout_ns; /* 0: it does not */
    const char *store;        /* none, sqlite:FILE, postgres://…: show it by storage_show only */
    bool store_check;
    const char *auth_key;   /* file; "": no tokens */
    int64_t auth_leeway_ns; /* whole seconds count */
    int64_t store_delay_ns;
    int64_t drain_timeout_ns; /* 0: off */
    int64_t status_ns;        /* 0: off */
    int log_level;            /* enum log_level */
    int log_format;           /* enum log_format */
};

extern const struct opt world_opts_table[];
extern const size_t world_opts_count;

/* What no single row can say: how the values stand to each other, to what is built in, the
 * core's rules included. 0; E_RANGE, E_MISSING: `why` has the line, which names the flag. */
int world_opts_check(const struct world_options *o, char *why, size_t why_cap) MUST_CHECK;

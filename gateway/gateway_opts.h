/* gateway/gateway_opts.h: the gateway's flags as a plain struct, and the one table they come from.
 * May touch: common. Source: DESIGN's table of flags.
 */
#pragma once

#include "common/opts.h"

struct gateway_config {
    int role; /* always 0: the front door has chosen */
    const char *listen;
    const char *upstream;
    const char *cluster;        /* URL; "": `upstream` is the world */
    const char *admin;          /* "": off */
    const char *admin_token;    /* file; "": nothing can be asked for */
    const char *ws_listen;      /* "": off */
    const char *ws_origins;     /* "": no page may connect */
    const char *web;            /* "": the page that is built in */
    const char *web_maps;       /* "": none */
    const char *link_key;       /* file; "": none */
    const char *proxy_protocol; /* ranges; "": nobody is a proxy */
    int64_t link_timeout_ns;

    uint64_t max_per_address;      /* connections; 0: off */
    uint64_t connect_rate_address; /* a second; 0: off */
    uint64_t login_rate_address;   /* a minute; 0: off */
    uint64_t max_addresses;
    const char *tls_cert, *tls_key; /* both "": plain */
    int64_t handshake_timeout_ns;   /* 0: off */
    uint64_t max_handshakes;        /* 0: as many as there are descriptors */

    uint64_t max_clients;    /* 0: as many as there are descriptors */
    uint64_t max_frame;      /* bytes of a body; 0: PROTO_BATCH_MAX */
    uint64_t rate;           /* requests a second; 0: off */
    uint64_t rate_burst;     /* requests; 0: twice the rate */
    int64_t idle_timeout_ns; /* all durations: 0 is off */
    int64_t login_timeout_ns;
    int64_t frame_timeout_ns;
    int64_t slow_timeout_ns;
    int64_t linger_ns;
    int64_t drain_timeout_ns;

    uint64_t queue_soft, queue_hard;           /* bytes a client; 0: off */
    uint64_t sndbuf;                           /* bytes; 0: the kernel's choice */
    uint64_t link_queue_soft, link_queue_hard; /* bytes; 0: off */

    uint64_t threads; /* >= 1 */
    int io_uring;     /* 0: where it is there; 1: off */

    int log_level;  /* enum log_level */
    int log_format; /* enum log_format */
};

extern const struct opt gateway_opts[];
extern const size_t gateway_opts_n;

/* What no single row can say: how the values stand to each other, and to what is built in. 0;
 * E_RANGE, E_MISSING: `why` has the line, which names the flag. */
int gateway_opts_check(const struct gateway_config *config, char *why, size_t why_cap) MUST_CHECK;

/* gateway/proxied.h: connections that a proxy brings for somebody else.
 * From addresses of -proxy-protocol a connection must begin with a PROXY header of version 2, whose
 * source is the peer from then on: for the log, for caps, for the world. From any other address
 * such a header is a bad frame like any other. May touch: common, common/io, proto/proxy_head,
 * clients. Never: what comes behind the header.
 *
 *   listener ─► from a proxy? ─► header ─► listener again, with the peer that it names
 *
 * On trouble: no header, a wrong one, or none in time: the connection is closed, counted and
 * logged.
 */
#pragma once

#include "common/host.h"
#include "common/io/opening.h"
#include "gateway/clients.h"

#define PROXIED_MAX 1024 /* headers under way at once, in each thread */

/* Goes on with `fd`, which it takes. `itself`: it is the proxy's own, who is nobody's client. */
typedef void proxied_admit_fn(void *owner, int fd, const char *peer, bool itself);

struct proxied {
    struct host_ranges from;
    struct openings *openings; /* NULL: nobody is a proxy */
    struct clients *clients;   /* borrowed */
    proxied_admit_fn *admit;
};

/* `from`: of -proxy-protocol, checked; a header must be there within `timeout_ns` (0: off). Borrows
 * all. E_NOMEM. */
int proxied_init(struct proxied *p, struct loop *loop, struct clients *clients, const char *from,
                 int64_t timeout_ns, proxied_admit_fn *admit) MUST_CHECK;
/* Those under way are closed, and no more are taken. */
void proxied_end(struct proxied *p);
void proxied_fini(struct proxied *p);

/* A new connection. False: it is no proxy's, and the caller's to go on with. Else `fd` is taken,
 * and `owner` hears of it by `admit`, unless it is closed. */
bool proxied_take(struct proxied *p, int fd, const char *peer, void *owner);

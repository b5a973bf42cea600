/* tests/common/http_rig.h: an HTTP server in a loop of its own, and the other end of its
 * connections. May touch: common/io, tests/http_ask, Criterion.
 */
#pragma once

#include "common/io/http.h"
#include "tests/http_ask.h"

#include <stdbool.h>

struct http_rig {
    struct loop *loop;
    struct http *http;
    int calls; /* of pages */
    struct http_feed *feed;
    int feeds_closed;
    char reply[HTTP_ASK_MAX];
};

/* Serve as `c` says, at a port of its own; its argument is the rig. */
void http_rig_init(struct http_rig *r, struct http_config c);
void http_rig_fini(struct http_rig *r);
int http_rig_dial(struct http_rig *r);
/* All that was said until the server closed; in `reply`. Closes `fd`. */
const char *http_rig_hear(struct http_rig *r, int fd);
const char *http_rig_ask(struct http_rig *r, const char *request);
bool http_rig_begins(const char *text, const char *with);

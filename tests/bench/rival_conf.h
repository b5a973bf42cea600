/* tests/bench/rival_conf.h: proxies that want a file to tell them what to do.
 * The file is written into a folder of its own under TMPDIR and removed with it as soon as the
 * program is up. May touch: child, files. On trouble: one line on standard error and false.
 */
#pragma once

#include "tests/bench/child.h"

#include <stdio.h>

struct rival_conf {
    /* Write it. `dir`: where the program may put what it has to. */
    void (*write)(FILE *to, unsigned port, const char *upstream, uint32_t clients, const char *dir);
    const char *flags[8]; /* before the file's path; "%d" is the folder's path */
    const char *makes;    /* a file that it makes in the folder after it listens; NULL: none */
};

extern const struct rival_conf rival_conf_haproxy, rival_conf_nginx;

/* Start `path` as a TCP proxy on the loopback in front of `upstream`, for so many clients. */
bool rival_conf_start(struct child *c, const struct rival_conf *conf, const char *path,
                      const char *upstream, uint32_t clients);

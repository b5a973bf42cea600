/* common/addr.h: host:port and [ipv6]:port as text.
 * Says whether a text has the form, and takes it apart; never resolves a name. May touch: libc.
 * On trouble: a short reason for a person.
 */
#pragma once

#include "common/base.h"

#include <stdbool.h>

#define ADDR_HOST_MAX 256 /* bytes of a host with its NUL: DNS allows 253 */

struct addr {
    char host[ADDR_HOST_MAX]; /* without brackets */
    uint16_t port;            /* 0..65535 */
    bool is_name;             /* not numeric: has to be looked up */
};

/* Take `text` apart. 0, or E_ADDR with the reason in `*why` (static text). */
int addr_parse(const char *text, struct addr *out, const char **why) MUST_CHECK;

/* Does only this machine reach it: 127.0.0.0/8, ::1, or the name localhost? */
bool addr_is_loopback(const struct addr *a);
/* Does it mean all addresses of a machine, and none that one could connect to: 0.0.0.0, ::? */
bool addr_is_any(const struct addr *a);

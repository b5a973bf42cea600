/* gateway/client_trace.h: what a client's session is called in logs, and its frames there, where an
 * operator asked for them (common/trace). May touch: common, proto/walk, clients.
 * On trouble: what cannot be read is a line of cmd 0.
 */
#pragma once

#include "common/log.h"
#include "gateway/clients.h"

/* "-" where it has none. Returns `out`. */
const char *client_session(const struct client *c, char out[LOG_SESSION_MAX]);
/* The same for a line of a log, for as long as the block it stands in. */
#define CLIENT_SESSION(c) client_session((c), (char[LOG_SESSION_MAX]){0})

/* Trace the client of that session from now on, in place of any other. E_BAD: there is none. */
int client_trace_begin(struct clients *all, uint64_t session, uint32_t lines,
                       uint32_t seconds) MUST_CHECK;
/* It is the traced one: a body came from it, or goes to it. `way`: static text. */
void client_trace(struct client *c, const char *way, struct span body);
/* Nothing where it is not the traced one. */
void client_trace_end(struct client *c, const char *why);

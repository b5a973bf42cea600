/* gateway/crew.h: the gateways of one process: one in each of -threads, with one port, one set of
 * limits and one face to operators.
 * Each thread has a loop, a listener on the shared port, a link to the world and its own clients;
 * none waits for another. What they share is counted in struct clients_total; what is said across
 * goes by a loop's bell; numbers are copied out every 100 ms. Everything here is called from the
 * first one's thread. May touch: common, gateway, threads. Never: flags' text, signals.
 *
 *   main thread    loop ─ gateway 0 ─ signals, operators ──┐ drain, stop: a bell
 *   thread 1..n-1  loop ─ gateway i ─ copy of its numbers ◄┘
 *
 * On trouble: only the start can fail. A thread that hangs makes /healthz say so.
 */
#pragma once

#include "gateway/gateway.h"

#include <stdbool.h>

struct crew;

/* Borrows `loop`, the first one's, and `config`. All listen at once; threads begin at crew_start.
 * `why` as gateway_create's: E_ADDR, E_IO, E_NOMEM. */
int crew_create(struct loop *loop, const struct gateway_config *config, struct crew **out,
                char *why, size_t why_cap) MUST_CHECK;
/* Begin the threads beside the caller's. E_IO: the system has none left. */
int crew_start(struct crew *c) MUST_CHECK;
/* End the threads, whatever they do, and wait for them. Nothing is freed. */
void crew_stop(struct crew *c);
/* Stops first. Every connection ends at once. Call one more loop_turn before loop_destroy. NULL is
 * fine. */
void crew_destroy(struct crew *c);

/* Where all listen; for WebSocket NULL: nowhere. */
const char *crew_addr(const struct crew *c);
const char *crew_ws_addr(const struct crew *c);

/* gateway_drain for each; stops the first one's loop when all are done. */
void crew_drain(struct crew *c);
bool crew_draining(const struct crew *c);
/* Read -link-key anew; the links that are up stay as they are. E_IO, E_RANGE: `why` has a line, and
 * the keys are what they were. */
int crew_read_keys(struct crew *c, char *why, size_t why_cap) MUST_CHECK;
/* Read -tls-cert and -tls-key anew, for connections from now on; counted. E_IO, E_BAD, E_NOMEM: as
 * above. */
int crew_read_tls(struct crew *c, char *why, size_t why_cap) MUST_CHECK;

/* NULL: a client that comes now is served, whichever thread it meets. Else what stands against. */
const char *crew_unready(const struct crew *c);
/* NULL: every thread turns. */
const char *crew_hung(const struct crew *c);

/* Trace the client of a session, by the session's name in logs. E_BAD: no gateway here has given
 * it. Whether it is still there, its thread says in the log. */
int crew_trace(struct crew *c, const char *session, uint32_t lines, uint32_t seconds) MUST_CHECK;

/* The numbers of all: the first one's as of now, the others' at most 100 ms old, their queues' at
 * most a second. Valid until the next call. */
const struct gateway_metrics *crew_metrics(struct crew *c);

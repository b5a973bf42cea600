/* gateway/gateway.h: one gateway, put together: listener, clients, relay, uplink, one timer.
 * May touch: common, everything in gateway. Never: flags' text, signals (that is main).
 * On trouble: only the start can fail; later trouble is some client's or the link's.
 */
#pragma once

#include "common/io/loop.h"
#include "gateway/gateway_metrics.h"
#include "gateway/gateway_opts.h"

struct gateway;

/* Borrows `loop` and `config`. Listens at once, dials at the first turn. `why` gets one line that
 * starts with the flag at fault: E_ADDR, E_IO, E_NOMEM. */
int gateway_create(struct loop *loop, const struct gateway_config *config, struct gateway **out,
                   char *why, size_t why_cap) MUST_CHECK;
/* Every connection ends at once. Call one more loop_turn before loop_destroy: what ended is freed
 * at its end. NULL is fine. */
void gateway_destroy(struct gateway *g);

/* Where it listens, with the port that was chosen. */
const char *gateway_addr(const struct gateway *g);

/* Stop accepting, Bye 17 to every client, then close the link; stops the loop when that is done,
 * or by -drain-timeout. */
void gateway_drain(struct gateway *g);
bool gateway_draining(const struct gateway *g);

/* NULL: a client that comes now is served. Else what stands against it, in a few words. */
const char *gateway_unready(const struct gateway *g);

/* The counters, with gauges as of now. */
const struct gateway_metrics *gateway_metrics_now(struct gateway *g);

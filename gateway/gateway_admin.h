/* gateway/gateway_admin.h: what operators see: metrics and health, on a listener of their own.
 *   /metrics   Prometheus text
 *   /healthz   200 while every thread turns, else 503
 *   /readyz    200 while clients may come and be served, else 503 and the reason
 *   POST /api/trace?session=ID/NUMBER[&lines=200][&seconds=60]   a session's frames into the log
 * Reads the gateway and changes nothing; a trace needs the token of -admin-token. May touch:
 * common, common/io/http, gateway.
 */
#pragma once

#include "common/admin_token.h"
#include "common/io/loop.h"
#include "gateway/crew.h"

struct gateway_admin;

/* Borrows `crew` and `token`. `addr` as http_addr_read takes it. `why` gets one line without
 * newline: E_ADDR, E_IO, E_NOMEM. */
int gateway_admin_create(struct loop *l, const char *addr, struct crew *crew,
                         const struct admin_token *token, struct gateway_admin **out, char *why,
                         size_t why_cap) MUST_CHECK;
/* Where it listens, with the port that the kernel chose. */
const char *gateway_admin_addr(const struct gateway_admin *a);
void gateway_admin_destroy(struct gateway_admin *a); /* NULL is fine */

/* README's rows of all that /metrics has. */
void gateway_admin_print_metrics(FILE *to);

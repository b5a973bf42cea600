/* common/nats_url.h: where NATS is, as a flag says it: nats://[USER[:PASSWORD]@]HOST[:PORT], and
 * more of them behind commas, for the servers of one cluster.
 * Says whether a text has the form, and how it may be shown; connects nowhere. Pure. May touch:
 * common. On trouble: E_BAD with a short reason for a person.
 */
#pragma once

#include "common/base.h"

#define NATS_URL_MAX   1024 /* bytes of all of it */
#define NATS_URL_SHOWN 256  /* with its NUL */

/* `why`: static text. 0 or E_BAD. */
int nats_url_check(const char *url, const char **why) MUST_CHECK;
/* Copies to keep of what is kept there: of three servers any one may be lost, and fewer can keep no
 * second copy that outlives one of them. The same for all who may be first to make a bucket. */
int nats_url_replicas(const char *url);
/* Schemes, hosts and ports: neither user nor password. What does not fit is cut. */
void nats_url_show(const char *url, char out[NATS_URL_SHOWN]);

/* tests/bench/rival_cert.h: a certificate for programs that are measured under TLS.
 * Made once a run by the openssl on PATH, in a folder of its own that is gone at the end. May
 * touch: that folder, openssl. On trouble: false.
 */
#pragma once

#include <stdbool.h>

#define RIVAL_CERT_PATH 128

struct rival_cert {
    char cert[RIVAL_CERT_PATH], key[RIVAL_CERT_PATH];
};

/* NULL: TLS or openssl is not there. Lives until the end. */
const struct rival_cert *rival_cert_get(void);

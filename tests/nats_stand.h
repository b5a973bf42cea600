/* tests/nats_stand.h: a real nats-server of one test's own, which dies, hangs and forgets.
 * May touch: tests/process. On trouble: the test at hand fails.
 */
#pragma once

#include "tests/process.h"

struct nats_stand {
    char dir[256], url[128];
    const char *addr;
    const char *password; /* of the user "aegis"; NULL: anybody may come */
    struct process *server;
};

/* False: this machine has no nats-server (said on stderr). `start`: it serves already. */
bool nats_stand_up(struct nats_stand *s, bool start);
/* Start it, at the same address and with what it kept. */
void nats_stand_serve(struct nats_stand *s);
/* Kill it, lose all that it kept, and start it. */
void nats_stand_wipe(struct nats_stand *s);
/* Forget what it kept; it is not running. */
void nats_stand_forget(struct nats_stand *s);
/* End it, and every process of this test. */
void nats_stand_down(struct nats_stand *s);

/* bot/runner.h: what every mode with many bots stands on: a loop, a reader, and the signals that
 * end it. May touch: common, proto.
 */
#pragma once

#include "common/io/loop.h"
#include "proto/message.h"

#include <stdbool.h>

struct runner {
    struct loop *loop;
    struct message_reader *reader;
    struct loop_signal *on_int, *on_term;
    bool stop; /* SIGINT or SIGTERM came */
};

/* E_NOMEM, E_IO; runner_fini is due in any case. */
int runner_init(struct runner *s) MUST_CHECK;
void runner_fini(struct runner *s);
/* A predicate for bot_client_run_until. */
bool runner_stopped(void *runner);

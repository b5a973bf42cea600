/* bot/stage.h: what every mode with many bots stands on: a loop, a reader, and the signals that end
 * it. May touch: common, proto.
 */
#pragma once

#include "common/io/loop.h"
#include "proto/message.h"

#include <stdbool.h>

struct stage {
    struct loop *loop;
    struct message_reader *reader;
    struct loop_signal *on_int, *on_term;
    bool stop; /* SIGINT or SIGTERM came */
};

/* E_NOMEM, E_IO; stage_fini is due in any case. */
int stage_init(struct stage *s) MUST_CHECK;
void stage_fini(struct stage *s);
/* A predicate for bot_client_run_until. */
bool stage_stopped(void *stage);

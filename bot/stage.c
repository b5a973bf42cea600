/* bot/stage.c: a loop, a reader, and the signals that end it.
 * May touch: common, proto. On trouble: see stage.h.
 */
#include "bot/stage.h"

#include <signal.h>

static void on_signal(void *arg, int signo)
{
    struct stage *s = arg;

    (void)signo;
    s->stop = true;
}

int stage_init(struct stage *s)
{
    *s = (struct stage){0};
    int rc = loop_create(&s->loop);
    if (rc == 0)
        rc = message_reader_create(PROTO_BATCH_MAX, &s->reader);
    if (rc == 0)
        rc = loop_signal_create(s->loop, SIGINT, on_signal, s, &s->on_int);
    if (rc == 0)
        rc = loop_signal_create(s->loop, SIGTERM, on_signal, s, &s->on_term);
    return rc;
}

void stage_fini(struct stage *s)
{
    loop_signal_destroy(s->on_int);
    loop_signal_destroy(s->on_term);
    message_reader_destroy(s->reader);
    loop_destroy(s->loop);
    *s = (struct stage){0};
}

bool stage_stopped(void *stage)
{
    const struct stage *s = stage;
    return s->stop;
}

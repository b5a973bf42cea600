/* bot/runner.c: a loop, a reader, and the signals that end it.
 * May touch: common, proto. On trouble: see runner.h.
 */
#include "bot/runner.h"

#include <signal.h>

static void on_signal(void *arg, int signo)
{
    struct runner *s = arg;

    (void)signo;
    s->stop = true;
}

int runner_init(struct runner *s)
{
    *s = (struct runner){0};
    int rc = loop_create(&s->loop);
    if (rc == 0)
        rc = message_reader_create(PROTO_BATCH_MAX, &s->reader);
    if (rc == 0)
        rc = loop_signal_create(s->loop, SIGINT, on_signal, s, &s->on_int);
    if (rc == 0)
        rc = loop_signal_create(s->loop, SIGTERM, on_signal, s, &s->on_term);
    return rc;
}

void runner_fini(struct runner *s)
{
    loop_signal_destroy(s->on_int);
    loop_signal_destroy(s->on_term);
    message_reader_destroy(s->reader);
    loop_destroy(s->loop);
    *s = (struct runner){0};
}

bool runner_stopped(void *runner)
{
    const struct runner *s = runner;
    return s->stop;
}

/* common/io/reload.c: what is read anew at SIGHUP. May touch: the loop, the log.
 * On trouble: see the header.
 */
#include "common/io/reload.h"

#include "common/err.h"
#include "common/log.h"

#include <signal.h>

void reload_init(struct reload *r, struct loop *loop)
{
    *r = (struct reload){.loop = loop};
}

static void on_signal(void *arg, int signo)
{
    struct reload *r = arg;
    char why[RELOAD_WHY_MAX];

    (void)signo;
    for (uint32_t i = 0; i < r->n; i++) {
        const struct reload_part *p = &r->parts[i];

        why[0] = '\0';
        if (p->fn(p->arg, why, sizeof(why)) == 0)
            log_line(LOG_INFO, "read anew flag=-%s", p->flag);
        else
            log_line(LOG_WARN, "not read anew, what there was stays flag=-%s reason: %s", p->flag,
                     why);
    }
}

int reload_join(struct reload *r, const char *flag, reload_fn *fn, void *arg)
{
    ASSERT(r->n < RELOAD_MAX);
    if (!r->signal) {
        const int err = loop_signal_create(r->loop, SIGHUP, on_signal, r, &r->signal);
        if (err != 0)
            return err;
    }
    r->parts[r->n++] = (struct reload_part){flag, fn, arg};
    return 0;
}

int reload_otherwise(struct reload *r, loop_signal_fn *fn, void *arg)
{
    struct sigaction now;

    if (r->n > 0 || sigaction(SIGHUP, NULL, &now) != 0 || now.sa_handler == SIG_IGN)
        return 0;
    return loop_signal_create(r->loop, SIGHUP, fn, arg, &r->signal);
}

void reload_fini(struct reload *r)
{
    loop_signal_destroy(r->signal);
    r->signal = NULL;
    r->n = 0;
}

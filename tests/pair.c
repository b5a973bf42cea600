/* tests/pair.c: a world and a gateway as real processes. May touch: tests/process.
 * On trouble: the test at hand fails.
 */
#include "tests/pair.h"

#include <signal.h>
#include <string.h>

/* Start `aegis -role=ROLE -listen …` with two more arguments (or NULL) and the caller's flags. */
static struct process *start(const char *role, const char *name, const char *value,
                             const char *const *flags)
{
    const char *args[PROCESS_ARGS_MAX] = {role, "-listen", process_any_port(), name, value};
    size_t n = name ? 5 : 3;

    for (size_t i = 0; flags && flags[i]; i++) {
        if (n + 1 == PROCESS_ARGS_MAX)
            process_fail("too many flags");
        args[n++] = flags[i];
    }
    args[n] = NULL;
    struct process *p = process_start("aegis", args);
    process_await_addr(p);
    return p;
}

static bool names(const char *const *flags, const char *name)
{
    for (size_t i = 0; flags && flags[i]; i++)
        if (strcmp(flags[i], name) == 0)
            return true;
    return false;
}

struct process *pair_world(const char *const *flags)
{
    if (names(flags, "-resume-window"))
        return start("-role=world", NULL, NULL, flags);
    return start("-role=world", "-resume-window", "0", flags);
}

struct process *pair_gateway(const char *upstream, const char *const *flags)
{
    return start("-role=gateway", "-upstream", upstream, flags);
}

struct process *pair_cluster_gateway(const char *url, const char *const *flags)
{
    return start("-role=gateway", "-cluster", url, flags);
}

struct pair pair_start(const char *const *world_flags, const char *const *gateway_flags)
{
    struct pair p = {.world = pair_world(world_flags)};

    p.gateway = pair_gateway(p.world->addr, gateway_flags);
    pair_await_link(p.gateway, 1);
    return p;
}

void pair_await_link(struct process *gateway, unsigned times)
{
    process_await_log(gateway, " link up ", times);
}

void pair_end_one(struct process *p)
{
    if (!p || p->pid == 0)
        return;
    process_signal(p, SIGTERM);
    process_await_exit(p, PROCESS_PATIENCE_MS, 0);
}

void pair_end(const struct pair *p)
{
    pair_end_one(p->gateway);
    pair_end_one(p->world);
    process_check_all();
}

/* tests/bench/bench_idle.c: memory of a client that says nothing.
 * What the process has written to of its own memory, before and after so many clients more are in;
 * the first ones are not counted, since with them come pools and buffers that all share. What the
 * kernel holds for sockets is not in it.
 * May touch: rival, tally. On trouble: one line on standard error and exit 1.
 */
#include "tests/bench/gate.h"

#include <stdio.h>

#define CLIENTS   5000
#define FIRST     200
#define SETTLE_MS 500 /* buffers of the greeting are given back by then */

struct idle {
    const struct gate_args *args;
    uint32_t n;
    struct rig rig;
    uint64_t before, after; /* bytes */
};

static void idle_open(void *arg, unsigned slot, const struct rival *rival)
{
    struct idle *idle = arg;
    (void)slot;

    rig_start(&idle->rig, rival, idle->args, FIRST + idle->n, NULL, NULL);
    rig_connect(&idle->rig, FIRST);
    rig_run(&idle->rig, SETTLE_MS);
    idle->before = child_private_bytes(&idle->rig.child);
}

static void idle_slice(void *arg, unsigned slot, uint64_t k)
{
    struct idle *idle = arg;
    (void)slot, (void)k;

    rig_connect(&idle->rig, idle->n);
    rig_run(&idle->rig, SETTLE_MS);
    idle->after = child_private_bytes(&idle->rig.child);
}

static double idle_close(void *arg, unsigned slot)
{
    struct idle *idle = arg;
    (void)slot;

    if (!child_alive(&idle->rig.child))
        pump_fail("%s ended", idle->rig.rival->name);
    rig_end(&idle->rig);
    return ((double)idle->after - (double)idle->before) / idle->n;
}

int bench_idle(const struct gate_args *a)
{
    static const struct rival *const rivals[] = {
        &rival_idle_bare, &rival_aegis, &rival_aegis_ping, &rival_aegis_ws, &rival_aegis_tls,
        &rival_aegis_wss, &rival_other, &rival_haproxy,    &rival_nginx,    &rival_nats};
    struct tally rows[ARRAY_LEN(rivals)];
    struct idle idle = {.args = a, .n = a->n ? (uint32_t)a->n : CLIENTS};
    const struct gate_job job = {.bench = "idle",
                                 .arg = &idle,
                                 .open = idle_open,
                                 .slice = idle_slice,
                                 .close = idle_close,
                                 .slices = 1,
                                 .files = 2 * (FIRST + idle.n),
                                 .alone = true};
    char notes[64], title[160];

    if (!gate_measure(a, &job, rivals, ARRAY_LEN(rivals), rows))
        return 1;
    snprintf(notes, sizeof(notes), "\"n\":%u", idle.n);
    snprintf(title, sizeof(title), "n=%u: private memory that grew, %llu runs", idle.n,
             (unsigned long long)a->runs);
    tally_print(&(struct tally_head){"idle", "bytes_per_client", "bytes a client", notes, title},
                rows, ARRAY_LEN(rows), a->json);
    return 0;
}

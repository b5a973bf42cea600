/* tests/bench/bench_forward.c: small requests up and replies down; processor time a round trip.
 *
 *   crowd ──request──► program ──► upstream
 *         ◄──reply────         ◄──
 *
 * Each client has a window of requests under way, sends it by one write, and sends the next when
 * all replies have come. Two programs take turns, a slice of time each; a slice ends when nothing
 * is under way. Every reply is compared with what was asked. May touch: rival, tally. On trouble:
 * one line on standard error and exit 1.
 */
#include "tests/bench/gate.h"

#include "common/clock.h"

#include <stdio.h>
#include <stdlib.h>

#define CLIENTS      1000
#define PIPELINE_MAX 64
#define SLICE_NS     (200 * CLOCK_NS_PER_MS)
#define PATIENCE_MS  10000 /* for what is under way */
#define WARM_UP      1     /* slices */

struct forward_client {
    uint32_t next; /* number of the next reply */
    uint32_t at;   /* bytes of its window that have come */
};

/* One program at work. */
struct forward_line {
    const struct rival *rival;
    struct rig rig;
    uint32_t n, window; /* clients; bytes of a window */
    struct forward_client *clients;
    bool running;       /* windows are followed by others */
    uint32_t under_way; /* windows */
    uint64_t trips;     /* measured */
    int64_t used_ns;
};

struct forward {
    const struct gate_args *args;
    uint32_t n;
    uint32_t pipeline;
    int64_t slice_ns;
    struct forward_line lines[2];
};

/* --- clients -----------------------------------------------------------------------------------
 */

static void send_window(struct forward_line *l, uint32_t i)
{
    uint8_t bytes[PIPELINE_MAX * RIVAL_REQUEST];
    struct forward_client *c = &l->clients[i];

    rival_request(bytes, i);
    for (uint32_t at = 0; at < l->window; at += RIVAL_REQUEST) {
        if (at > 0)
            memcpy(bytes + at, bytes, RIVAL_REQUEST);
        rival_number(bytes + at, c->next + at / RIVAL_REQUEST);
    }
    l->under_way++;
    crowd_send(&l->rig.crowd, i, span_of(bytes, l->window));
}

/* Compare what came, at whatever byte it begins, with the replies that are due. */
static void check_replies(const struct forward_line *l, uint32_t i, struct span bytes)
{
    const struct forward_client *c = &l->clients[i];
    uint8_t due[RIVAL_REQUEST];
    uint32_t at = c->at;

    rival_reply(l->rival, due, i);
    while (bytes.n > 0) {
        size_t from = at % RIVAL_REQUEST, n = RIVAL_REQUEST - from;

        n = n < bytes.n ? n : bytes.n;
        rival_number(due, c->next + at / RIVAL_REQUEST);
        if (memcmp(bytes.p, due + from, n) != 0)
            pump_fail("%s: client %u got another reply than was due", l->rival->name, i);
        bytes = span_of(bytes.p + n, bytes.n - n);
        at += (uint32_t)n;
    }
}

static void arrived(void *arg, uint32_t i, struct span bytes)
{
    struct forward_line *l = arg;
    struct forward_client *c = &l->clients[i];

    if (bytes.n > l->window - c->at)
        pump_fail("%s: client %u got more than it asked for", l->rival->name, i);
    check_replies(l, i, bytes);
    c->at += (uint32_t)bytes.n;
    if (c->at < l->window)
        return;
    c->at = 0;
    c->next += l->window / RIVAL_REQUEST;
    l->trips += l->window / RIVAL_REQUEST;
    l->under_way--;
    if (l->running)
        send_window(l, i);
}

/* --- a round -----------------------------------------------------------------------------------
 */

static void forward_open(void *arg, unsigned slot, const struct rival *rival)
{
    struct forward *all = arg;
    struct forward_line *l = &all->lines[slot];

    *l =
        (struct forward_line){.rival = rival, .n = all->n, .window = all->pipeline * RIVAL_REQUEST};
    l->clients = calloc(l->n, sizeof(*l->clients));
    if (!l->clients)
        pump_fail("out of memory");
    rig_start(&l->rig, rival, all->args, l->n, arrived, l);
    rig_connect(&l->rig, l->n);
}

static void forward_slice(void *arg, unsigned slot, uint64_t k)
{
    struct forward *all = arg;
    struct forward_line *l = &all->lines[slot];
    const struct mono end = clock_add(clock_mono(), all->slice_ns);
    const struct mono last = clock_add(end, PATIENCE_MS * CLOCK_NS_PER_MS);
    const uint64_t trips = l->trips;
    const int64_t from = child_cpu_ns(&l->rig.child);

    l->running = true;
    for (uint32_t i = 0; i < l->n; i++)
        send_window(l, i);
    while (clock_since(end, clock_mono()) > 0)
        pump_turn(&l->rig.pump, 10);
    l->running = false;
    while (l->under_way > 0) {
        if (clock_since(last, clock_mono()) <= 0 || !child_alive(&l->rig.child)) {
            child_show_log(&l->rig.child);
            pump_fail("%s: %u clients wait for replies in vain", l->rival->name, l->under_way);
        }
        pump_turn(&l->rig.pump, 100);
    }
    if (k < WARM_UP)
        l->trips = trips;
    else
        l->used_ns += child_cpu_ns(&l->rig.child) - from;
}

static double forward_close(void *arg, unsigned slot)
{
    struct forward *all = arg;
    struct forward_line *l = &all->lines[slot];

    rig_run(&l->rig, 20); /* what nobody asked for would have come */
    rig_end(&l->rig);
    free(l->clients);
    return l->trips > 0 ? (double)l->used_ns / (double)l->trips : 0;
}

static bool measure(const struct gate_args *a, uint32_t pipeline)
{
    static const struct rival *const rivals[] = {&rival_forward_mux, &rival_aegis, &rival_other,
                                                 &rival_haproxy, &rival_nginx};
    struct tally rows[ARRAY_LEN(rivals)];
    struct forward all = {.args = a,
                          .n = a->n ? (uint32_t)a->n : CLIENTS,
                          .pipeline = pipeline,
                          .slice_ns = SLICE_NS};
    const int64_t ns = (int64_t)(a->seconds * (double)CLOCK_NS_PER_S);
    struct gate_job job = {.bench = "forward",
                           .arg = &all,
                           .open = forward_open,
                           .slice = forward_slice,
                           .close = forward_close,
                           .files = 2 * all.n};
    char notes[128], title[160];

    if (ns < all.slice_ns)
        all.slice_ns = ns;
    job.slices = WARM_UP + (uint64_t)(ns / all.slice_ns);
    if (!gate_measure(a, &job, rivals, ARRAY_LEN(rivals), rows))
        return false;
    snprintf(notes, sizeof(notes), "\"n\":%u,\"pipeline\":%u,\"request_bytes\":%d,\"seconds\":%g",
             all.n, pipeline, RIVAL_REQUEST, a->seconds);
    snprintf(title, sizeof(title),
             "n=%u pipeline=%u request=%d B: processor time, %llu runs of %g s", all.n, pipeline,
             RIVAL_REQUEST, (unsigned long long)a->runs, a->seconds);
    tally_print(
        &(struct tally_head){"forward", "ns_per_round_trip", "ns a round trip", notes, title}, rows,
        ARRAY_LEN(rows), a->json);
    return true;
}

int bench_forward(const struct gate_args *a)
{
    bool ok = true;

    if (a->pipeline > 0)
        return measure(a, (uint32_t)a->pipeline) ? 0 : 1;
    ok = measure(a, 1) && ok;
    ok = measure(a, 8) && ok;
    return ok ? 0 : 1;
}

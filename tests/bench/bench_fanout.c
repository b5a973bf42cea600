/* tests/bench/bench_fanout.c: one frame to each client every tick; processor time a frame.
 *
 *   feed (all frames of a tick, one write) ──► program ──► one frame a client ──► crowd
 *
 * Two programs take turns, tick by tick: the next comes 50 ms after the last one, or when that has
 * wholly arrived, if that is later. The first ticks are not measured; what they bring is compared
 * byte by byte, and all of it is counted.
 * May touch: rival, tally, proto. On trouble: one line on standard error and exit 1.
 */
#include "tests/bench/gate.h"

#include "common/clock.h"
#include "proto/aoi_move.h"
#include "proto/frame.h"
#include "proto/link.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLIENTS     5000
#define TICK_NS     (50 * CLOCK_NS_PER_MS)
#define WARM_UP     5     /* ticks */
#define PATIENCE_MS 10000 /* for one tick to arrive */
#define PIECE_MAX   1024  /* bytes that one client gets in a tick, and that the feed has for it */
#define FIRST_ID    1000000u
#define LINKS_MAX   16 /* that a gateway of several threads has */
/* Some seconds after a client came nats-server pings it once; then not for two minutes. */
#define NATS_PING_MS 4000

/* One program at work. */
struct fan {
    const struct rival *rival;
    struct rig rig;
    uint32_t n;
    uint8_t *feed;         /* of a tick; owned */
    size_t end[LINKS_MAX]; /* of each link's part of it */
    size_t piece;          /* bytes that each client gets in a tick */
    bool checking;
    uint64_t ticks; /* so far */
    int64_t from;   /* processor time when measuring began, ns */
};

struct fanout {
    const struct gate_args *args;
    uint32_t n;
    struct fan fans[2];
    struct mono due; /* the next tick, of whichever program */
    uint64_t late;   /* ticks that began later than they should, all rounds */
};

/* --- what is sent ------------------------------------------------------------------------------
 */

/* An AoiMove for client `i`, with head: as many movers as fill the size. */
static void move_frame(uint8_t out[RIVAL_FRAME], uint32_t i)
{
    const size_t head = FRAME_HEAD + AOI_MOVE_HEAD(false);
    uint8_t record[AOI_MOVE_RECORD_MAX];
    uint32_t id = FIRST_ID + i, previous = 0;
    size_t at = head;

    while (at < RIVAL_FRAME) {
        struct aoi_move_tail tail = aoi_move_tail(i * 7 + id, i + id * 3, false, 0, false, 0);
        size_t n = aoi_move_put(record, id, previous, &tail);
        if (at + n > RIVAL_FRAME)
            pump_fail("moves do not fill a frame of %d bytes", RIVAL_FRAME);
        memcpy(out + at, record, n);
        at += n;
        previous = id++;
    }
    frame_head(out, RIVAL_FRAME - FRAME_HEAD);
    aoi_move_head(out + FRAME_HEAD, 1, RIVAL_FRAME - head, false);
}

/* What client `i` must get in a tick. Bytes. */
static size_t expected(const struct fan *f, uint32_t i, uint8_t out[PIECE_MAX])
{
    const uint8_t ws_head[FRAME_HEAD] = {0x82, 126, (RIVAL_FRAME - FRAME_HEAD) >> 8,
                                         (RIVAL_FRAME - FRAME_HEAD) & 255};

    if (f->rival == &rival_fanout_alone) {
        const uint32_t head[2] = {htonl(RIVAL_FRAME - FRAME_HEAD), htonl(i)};
        memset(out, 'x', RIVAL_FRAME);
        memcpy(out, head, sizeof(head));
        return RIVAL_FRAME;
    }
    if (f->rival != &rival_nats) {
        move_frame(out, i);
        if (f->rival == &rival_aegis_ws ||
            f->rival == &rival_aegis_wss) /* a head as long as a frame's */
            memcpy(out, ws_head, FRAME_HEAD);
        return RIVAL_FRAME;
    }
    int n = snprintf((char *)out, PIECE_MAX, "MSG c.%07u 1 %d\r\n", i, RIVAL_FRAME);
    move_frame(out + n, i);
    memcpy(out + n + RIVAL_FRAME, "\r\n", 2);
    return (size_t)n + RIVAL_FRAME + 2;
}

/* What the feed says for client `i` in a tick. Bytes. */
static size_t fed(const struct fan *f, uint32_t i, uint8_t out[PIECE_MAX])
{
    if (f->rival == &rival_fanout_link) {
        const uint32_t head[2] = {i, RIVAL_FRAME};
        memcpy(out, head, sizeof(head));
        move_frame(out + sizeof(head), i);
        return sizeof(head) + RIVAL_FRAME;
    }
    if (f->rival == &rival_nats) {
        int n = snprintf((char *)out, PIECE_MAX, "PUB c.%07u %d\r\n", i, RIVAL_FRAME);
        move_frame(out + n, i);
        memcpy(out + n + RIVAL_FRAME, "\r\n", 2);
        return (size_t)n + RIVAL_FRAME + 2;
    }
    /* The body goes over the link without its own head; the gateway makes it anew. */
    const size_t heads = LINK_DATA_HEAD + LINK_BODY_HEAD, body = RIVAL_FRAME - FRAME_HEAD;
    move_frame(out + heads - FRAME_HEAD, i);
    link_data_head(out, f->rig.up.sessions[i].id, 1, heads + body);
    link_body_head(out + LINK_DATA_HEAD, body);
    return heads + body;
}

/* All of a tick's pieces behind each other, link by link. */
static void make_feed(struct fan *f)
{
    const struct upstream *up = &f->rig.up;
    size_t n = 0;

    f->feed = malloc((size_t)f->n * PIECE_MAX);
    if (!f->feed)
        pump_fail("out of memory");
    if (up->n > LINKS_MAX)
        pump_fail("a gateway of more than %d links", LINKS_MAX);
    for (uint32_t link = 0; link < up->n; link++) {
        for (uint32_t i = 0; i < f->n; i++) {
            if (up->sessions[i].conn == link)
                n += fed(f, i, f->feed + n);
        }
        f->end[link] = n;
    }
}

/* --- a round -----------------------------------------------------------------------------------
 */

/* Client `i` read this; it is counted already. */
static void arrived(void *arg, uint32_t i, struct span bytes)
{
    struct fan *f = arg;
    uint8_t piece[PIECE_MAX];

    if (!f->checking)
        return;
    size_t n = expected(f, i, piece);
    size_t at = (f->rig.crowd.bytes[i] - bytes.n) % n;
    if (bytes.n > n - at || memcmp(bytes.p, piece + at, bytes.n) != 0)
        pump_fail("%s: client %u got something else than was sent to it", f->rival->name, i);
}

static void send_tick(struct fan *f)
{
    if (f->rival == &rival_fanout_alone) {
        if (write(f->rig.child.in, "t", 1) != 1)
            pump_fail("%s does not read its ticks", f->rival->name);
        return;
    }
    for (uint32_t link = 0; link < f->rig.up.n; link++) {
        size_t from = link > 0 ? f->end[link - 1] : 0;
        upstream_send(&f->rig.up, link, span_of(f->feed + from, f->end[link] - from));
    }
}

/* Wait until all ticks so far have arrived everywhere. */
static void await_tick(struct fan *f)
{
    const struct mono end = clock_add(clock_mono(), PATIENCE_MS * CLOCK_NS_PER_MS);
    const uint64_t all = f->ticks * f->n * f->piece;

    while (f->rig.crowd.total < all) {
        if (clock_since(end, clock_mono()) <= 0 || !child_alive(&f->rig.child)) {
            child_show_log(&f->rig.child);
            pump_fail("%s: %llu of %llu bytes arrived", f->rival->name,
                      (unsigned long long)f->rig.crowd.total, (unsigned long long)all);
        }
        pump_turn(&f->rig.pump, 100);
    }
}

/* Each client must have had its part, no less and no more. */
static void check_counts(const struct fan *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->rig.crowd.bytes[i] != f->ticks * f->piece)
            pump_fail("%s: client %u got %llu bytes instead of %llu", f->rival->name, i,
                      (unsigned long long)f->rig.crowd.bytes[i],
                      (unsigned long long)(f->ticks * f->piece));
    }
}

static void fanout_open(void *arg, unsigned slot, const struct rival *rival)
{
    struct fanout *all = arg;
    struct fan *f = &all->fans[slot];
    uint8_t piece[PIECE_MAX];

    *f = (struct fan){.rival = rival, .n = all->n};
    rig_start(&f->rig, rival, all->args, f->n, arrived, f);
    if (rival == &rival_nats)
        upstream_adopt(&f->rig.up, crowd_dial(f->rig.child.addr));
    rig_connect(&f->rig, f->n);
    if (rival == &rival_nats)
        rig_run(&f->rig, NATS_PING_MS);
    crowd_reset(&f->rig.crowd);
    f->piece = expected(f, 0, piece);
    make_feed(f);
    all->due = clock_mono();
}

static void fanout_slice(void *arg, unsigned slot, uint64_t k)
{
    struct fanout *all = arg;
    struct fan *f = &all->fans[slot];
    const int64_t left = clock_since(all->due, clock_mono());

    if (left > 0)
        rig_run(&f->rig, (int)((left + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS));
    else if (k > WARM_UP && left < -TICK_NS / 10)
        all->late++;
    all->due = clock_add(left < 0 ? clock_mono() : all->due, TICK_NS);
    f->checking = k < WARM_UP;
    if (k == WARM_UP)
        f->from = child_cpu_ns(&f->rig.child);
    f->ticks++;
    send_tick(f);
    await_tick(f);
}

static double fanout_close(void *arg, unsigned slot)
{
    struct fanout *all = arg;
    struct fan *f = &all->fans[slot];

    rig_run(&f->rig, 20); /* what should not come would have come */
    const int64_t used = child_cpu_ns(&f->rig.child) - f->from;
    check_counts(f);
    free(f->feed);
    rig_end(&f->rig);
    return (double)used / ((double)all->args->ticks * f->n) / 1000;
}

int bench_fanout(const struct gate_args *a)
{
    static const struct rival *const rivals[] = {
        &rival_fanout_link, &rival_aegis, &rival_aegis_ws,     &rival_aegis_tls,
        &rival_aegis_wss,   &rival_other, &rival_fanout_alone, &rival_nats};
    struct tally rows[ARRAY_LEN(rivals)];
    struct fanout all = {.args = a, .n = a->n ? (uint32_t)a->n : CLIENTS};
    const struct gate_job job = {"fanout",           &all,  fanout_open, fanout_slice, fanout_close,
                                 WARM_UP + a->ticks, all.n, false};
    char notes[128], title[160];

    if (!gate_measure(a, &job, rivals, ARRAY_LEN(rivals), rows))
        return 1;
    snprintf(notes, sizeof(notes), "\"n\":%u,\"frame_bytes\":%d,\"ticks\":%llu,\"late_ticks\":%llu",
             all.n, RIVAL_FRAME, (unsigned long long)a->ticks, (unsigned long long)all.late);
    snprintf(title, sizeof(title),
             "n=%u frame=%d B: processor time, %llu runs of %llu ticks; %llu "
             "ticks late",
             all.n, RIVAL_FRAME, (unsigned long long)a->runs, (unsigned long long)a->ticks,
             (unsigned long long)all.late);
    tally_print(&(struct tally_head){"fanout", "us_per_frame", "us a frame", notes, title}, rows,
                ARRAY_LEN(rows), a->json);
    return 0;
}

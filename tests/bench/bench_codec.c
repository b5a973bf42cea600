/* tests/bench/bench_codec.c: what it costs to write and read the hot frames, an item at a time, and
 * what msgpack-c takes for the same content, laid as plain arrays or as maps by name.
 * A row is a function that handles one batch and says what came of it, so that no work is left out
 * by the compiler and what is read can be checked: whoever reads a batch returns the sum of its
 * ids. -neighbours is the number of records in a batch. What is timed is CPU time, all rows in
 * turn, run after run. May touch: proto, world/interest/pack, msgpack-c. On trouble: one line on
 * standard error and exit status 1.
 */
#include "common/err.h"
#include "proto/aoi_move.h"
#include "proto/frame.h"
#include "proto/link.h"
#include "proto/message.h"
#include "proto/walk.h"
#include "tests/bench/bench.h"
#include "world/interest/pack.h"

#include <msgpack.h>
#include <stdlib.h>

#define RECORDS_MAX 1000
#define RUN_NS      10000000 /* of one row in one run, about */
#define LINK_BODY   400      /* bytes of a batch on the link */
#define BUFFER      (256u * RECORDS_MAX)

/* A written body or frame. */
struct bytes {
    uint8_t p[BUFFER];
    size_t n;
};

struct codec {
    uint32_t n; /* records in a batch */
    uint32_t ids[RECORDS_MAX];
    uint16_t x[RECORDS_MAX], y[RECORDS_MAX];
    uint8_t dir[RECORDS_MAX], speed[RECORDS_MAX];
    struct aoi_move_tail tails[RECORDS_MAX];
    struct message_entity entities[RECORDS_MAX];
    struct pack_list list; /* all of them, and all are told */
    pack_fn *pack;
    uint64_t stay[RECORDS_MAX / 64 + 1];
    struct message_reader *reader;
    msgpack_sbuffer sbuffer;
    msgpack_packer packer;
    msgpack_zone zone;
    struct bytes moves, moves_arrays, moves_maps, move_req, adds, removes, link, out;
};

typedef uint64_t row_fn(struct codec *c);

/* --- AoiMove -----------------------------------------------------------------------------------
 */

static uint64_t moves_write(struct codec *c)
{
    uint8_t *first = c->out.p + AOI_MOVE_HEAD(false), *at = first;
    uint32_t previous = 0;

    for (uint32_t i = 0; i < c->n; i++) {
        at += aoi_move_put_wide(at, c->ids[i], previous, &c->tails[i]);
        previous = c->ids[i];
    }
    aoi_move_head(c->out.p, 7, (size_t)(at - first), false);
    c->out.n = (size_t)(at - c->out.p);
    return c->out.n;
}

/* As a world does it: all whose bits are set, by vectors where there are any. */
static uint64_t moves_pack(struct codec *c)
{
    uint8_t *first = c->out.p + AOI_MOVE_HEAD(false), *end;

    if (c->pack(&c->list, c->stay, (c->n + 63) / 64, first, &end) != c->n)
        return 0;
    aoi_move_head(c->out.p, 7, (size_t)(end - first), false);
    c->out.n = (size_t)(end - c->out.p);
    return c->out.n;
}

static uint64_t moves_read(struct codec *c)
{
    struct aoi_move_record r;
    uint32_t previous = 0;
    struct message m;
    uint64_t sum = 0;

    if (message_read(c->reader, span_of(c->moves.p, c->moves.n), &m) != 0)
        return 0;
    while (aoi_move_take(&m.aoi_move.moves, &previous, &r) == 0)
        sum += r.id;
    return sum;
}

static void pack_head(struct codec *c, uint32_t cmd)
{
    msgpack_sbuffer_clear(&c->sbuffer);
    msgpack_pack_array(&c->packer, 3);
    msgpack_pack_uint32(&c->packer, cmd);
    msgpack_pack_uint32(&c->packer, 0);
}

static void pack_name(struct codec *c, const char *name)
{
    size_t n = strlen(name);

    msgpack_pack_str(&c->packer, n);
    msgpack_pack_str_body(&c->packer, name, n);
}

static uint64_t moves_write_arrays(struct codec *c)
{
    pack_head(c, CMD_AOI_MOVE);
    msgpack_pack_array(&c->packer, 2);
    msgpack_pack_uint32(&c->packer, 7);
    msgpack_pack_array(&c->packer, c->n);
    for (uint32_t i = 0; i < c->n; i++) {
        msgpack_pack_array(&c->packer, 5);
        msgpack_pack_uint32(&c->packer, c->ids[i]);
        msgpack_pack_uint16(&c->packer, c->x[i]);
        msgpack_pack_uint16(&c->packer, c->y[i]);
        msgpack_pack_uint8(&c->packer, c->dir[i]);
        msgpack_pack_uint8(&c->packer, c->speed[i]);
    }
    return c->sbuffer.size;
}

static uint64_t moves_write_maps(struct codec *c)
{
    pack_head(c, CMD_AOI_MOVE);
    msgpack_pack_map(&c->packer, 2);
    pack_name(c, "tick");
    msgpack_pack_uint32(&c->packer, 7);
    pack_name(c, "moves");
    msgpack_pack_array(&c->packer, c->n);
    for (uint32_t i = 0; i < c->n; i++) {
        msgpack_pack_map(&c->packer, 5);
        pack_name(c, "id");
        msgpack_pack_uint32(&c->packer, c->ids[i]);
        pack_name(c, "x");
        msgpack_pack_uint16(&c->packer, c->x[i]);
        pack_name(c, "y");
        msgpack_pack_uint16(&c->packer, c->y[i]);
        pack_name(c, "dir");
        msgpack_pack_uint8(&c->packer, c->dir[i]);
        pack_name(c, "speed");
        msgpack_pack_uint8(&c->packer, c->speed[i]);
    }
    return c->sbuffer.size;
}

/* A body's list, the second thing in its payload, as msgpack-c reads it for somebody who trusts the
 * other side; NULL: it is none. */
static const msgpack_object_array *unpack_list(struct codec *c, const struct bytes *b)
{
    const msgpack_object *payload, *list;
    msgpack_object o;
    size_t at = 0;

    msgpack_zone_clear(&c->zone);
    if (msgpack_unpack((const char *)b->p, b->n, &at, &c->zone, &o) != MSGPACK_UNPACK_SUCCESS)
        return NULL;
    payload = &o.via.array.ptr[2];
    list = payload->type == MSGPACK_OBJECT_MAP ? &payload->via.map.ptr[1].val
                                               : &payload->via.array.ptr[1];
    return list->type == MSGPACK_OBJECT_ARRAY ? &list->via.array : NULL;
}

/* The ids of the list's things: themselves, or what stands first in them. */
static uint64_t unpack_ids(struct codec *c, const struct bytes *b)
{
    const msgpack_object_array *list = unpack_list(c, b);
    uint64_t sum = 0;

    for (uint32_t i = 0; list && i < list->size; i++) {
        const msgpack_object *o = &list->ptr[i];

        if (o->type == MSGPACK_OBJECT_ARRAY)
            o = &o->via.array.ptr[0];
        else if (o->type == MSGPACK_OBJECT_MAP)
            o = &o->via.map.ptr[0].val;
        sum += o->via.u64;
    }
    return sum;
}

static uint64_t moves_unpack_arrays(struct codec *c)
{
    return unpack_ids(c, &c->moves_arrays);
}

static uint64_t moves_unpack_maps(struct codec *c)
{
    return unpack_ids(c, &c->moves_maps);
}

/* --- MoveReq -----------------------------------------------------------------------------------
 */

static uint64_t move_req_walk(struct codec *c)
{
    struct walk_head head;
    struct span body;
    size_t used;

    if (frame_split(span_of(c->move_req.p, c->move_req.n), PROTO_FRAME_MAX, &body, &used) != 0 ||
        walk_body(body, &head) != 0)
        return 0;
    return head.seq;
}

static uint64_t move_req_read(struct codec *c)
{
    struct span body;
    struct message m;
    size_t used;

    if (frame_split(span_of(c->move_req.p, c->move_req.n), PROTO_FRAME_MAX, &body, &used) != 0 ||
        message_read(c->reader, body, &m) != 0)
        return 0;
    return m.seq + (m.move_req.x == 0);
}

static uint64_t move_req_unpack(struct codec *c)
{
    const char *body = (const char *)c->move_req.p + FRAME_HEAD;
    msgpack_object o;
    size_t at = 0;

    msgpack_zone_clear(&c->zone);
    if (msgpack_unpack(body, c->move_req.n - FRAME_HEAD, &at, &c->zone, &o) !=
        MSGPACK_UNPACK_SUCCESS)
        return 0;
    return o.via.array.ptr[1].via.u64;
}

/* --- AoiAdd, AoiRemove --------------------------------------------------------------------- */

static uint64_t put(struct codec *c, const struct message *m)
{
    struct span_writer w = span_writer_of(c->out.p, sizeof(c->out.p));

    message_write(&w, m);
    c->out.n = w.len;
    return w.full ? 0 : w.len;
}

static uint64_t adds_write(struct codec *c)
{
    struct message m = {.cmd = CMD_AOI_ADD};

    m.aoi_add.tick = 7;
    m.aoi_add.entities = c->entities;
    m.aoi_add.count = c->n;
    return put(c, &m);
}

static uint64_t adds_write_arrays(struct codec *c)
{
    pack_head(c, CMD_AOI_ADD);
    msgpack_pack_array(&c->packer, 2);
    msgpack_pack_uint32(&c->packer, 7);
    msgpack_pack_array(&c->packer, c->n);
    for (uint32_t i = 0; i < c->n; i++) {
        const struct message_entity *e = &c->entities[i];

        msgpack_pack_array(&c->packer, 7);
        msgpack_pack_uint32(&c->packer, e->id);
        msgpack_pack_uint32(&c->packer, e->kind);
        msgpack_pack_str(&c->packer, e->name.n);
        msgpack_pack_str_body(&c->packer, e->name.p, e->name.n);
        msgpack_pack_double(&c->packer, e->x);
        msgpack_pack_double(&c->packer, e->y);
        msgpack_pack_double(&c->packer, e->dir);
        msgpack_pack_double(&c->packer, e->speed);
    }
    return c->sbuffer.size;
}

static uint64_t adds_read(struct codec *c)
{
    struct message m;
    uint64_t sum = 0;

    if (message_read(c->reader, span_of(c->adds.p, c->adds.n), &m) != 0)
        return 0;
    for (uint32_t i = 0; i < m.aoi_add.count; i++)
        sum += m.aoi_add.entities[i].id;
    return sum;
}

static uint64_t adds_unpack(struct codec *c)
{
    return unpack_ids(c, &c->adds);
}

static uint64_t removes_write(struct codec *c)
{
    struct message m = {.cmd = CMD_AOI_REMOVE};

    m.aoi_remove.tick = 7;
    m.aoi_remove.ids = c->ids;
    m.aoi_remove.count = c->n;
    return put(c, &m);
}

static uint64_t removes_write_arrays(struct codec *c)
{
    pack_head(c, CMD_AOI_REMOVE);
    msgpack_pack_array(&c->packer, 2);
    msgpack_pack_uint32(&c->packer, 7);
    msgpack_pack_array(&c->packer, c->n);
    for (uint32_t i = 0; i < c->n; i++)
        msgpack_pack_uint32(&c->packer, c->ids[i]);
    return c->sbuffer.size;
}

static uint64_t removes_read(struct codec *c)
{
    struct message m;
    uint64_t sum = 0;

    if (message_read(c->reader, span_of(c->removes.p, c->removes.n), &m) != 0)
        return 0;
    for (uint32_t i = 0; i < m.aoi_remove.count; i++)
        sum += m.aoi_remove.ids[i];
    return sum;
}

static uint64_t removes_unpack(struct codec *c)
{
    return unpack_ids(c, &c->removes);
}

/* --- the link: one batch to one session ---------------------------------------------------------
 */

static uint64_t link_write(struct codec *c)
{
    struct span_writer w = span_writer_of(c->out.p, sizeof(c->out.p));
    struct span body = span_of(c->moves.p, LINK_BODY);

    link_write_data(&w, 77, &body, 1);
    c->out.n = w.len;
    return w.full ? 0 : w.len;
}

static uint64_t link_write_arrays(struct codec *c)
{
    msgpack_sbuffer_clear(&c->sbuffer);
    msgpack_pack_array(&c->packer, 3);
    msgpack_pack_uint32(&c->packer, LINK_DATA);
    msgpack_pack_uint64(&c->packer, 77);
    msgpack_pack_bin(&c->packer, LINK_BODY);
    msgpack_pack_bin_body(&c->packer, c->moves.p, LINK_BODY);
    return c->sbuffer.size;
}

static uint64_t link_read_row(struct codec *c)
{
    struct link_frame f;
    struct span body;
    size_t used;

    if (frame_split(span_of(c->link.p, c->link.n), LINK_FRAME_MAX, &body, &used) != 0 ||
        link_read(body, &f) != 0)
        return 0;
    return f.session;
}

static uint64_t link_unpack(struct codec *c)
{
    msgpack_object o;
    size_t at = FRAME_HEAD;

    msgpack_zone_clear(&c->zone);
    if (msgpack_unpack((const char *)c->link.p, c->link.n, &at, &c->zone, &o) !=
        MSGPACK_UNPACK_SUCCESS)
        return 0;
    return o.via.array.ptr[1].via.u64;
}

/* --- the rows ------------------------------------------------------------------------------------
 */

enum expected { EXPECT_BYTES, EXPECT_IDS, EXPECT_SEQ, EXPECT_SESSION };

static const struct row {
    const char *job, *program;
    row_fn *run;
    bool many; /* a batch of records; else one frame */
    enum expected expected;
} rows[] = {
    {"AoiMove write", "aegis", moves_write, true, EXPECT_BYTES},
    {"AoiMove write", "aegis, by masks", moves_pack, true, EXPECT_BYTES},
    {"AoiMove write", "msgpack-c, arrays", moves_write_arrays, true, EXPECT_BYTES},
    {"AoiMove write", "msgpack-c, maps", moves_write_maps, true, EXPECT_BYTES},
    {"AoiMove read", "aegis", moves_read, true, EXPECT_IDS},
    {"AoiMove read", "msgpack-c, arrays", moves_unpack_arrays, true, EXPECT_IDS},
    {"AoiMove read", "msgpack-c, maps", moves_unpack_maps, true, EXPECT_IDS},
    {"AoiAdd write", "aegis", adds_write, true, EXPECT_BYTES},
    {"AoiAdd write", "msgpack-c, arrays", adds_write_arrays, true, EXPECT_BYTES},
    {"AoiAdd read", "aegis", adds_read, true, EXPECT_IDS},
    {"AoiAdd read", "msgpack-c, no checks", adds_unpack, true, EXPECT_IDS},
    {"AoiRemove write", "aegis", removes_write, true, EXPECT_BYTES},
    {"AoiRemove write", "msgpack-c, arrays", removes_write_arrays, true, EXPECT_BYTES},
    {"AoiRemove read", "aegis", removes_read, true, EXPECT_IDS},
    {"AoiRemove read", "msgpack-c, no checks", removes_unpack, true, EXPECT_IDS},
    {"MoveReq walk", "aegis", move_req_walk, false, EXPECT_SEQ},
    {"MoveReq read", "aegis", move_req_read, false, EXPECT_SEQ},
    {"MoveReq read", "msgpack-c, no checks", move_req_unpack, false, EXPECT_SEQ},
    {"link data write", "aegis", link_write, false, EXPECT_BYTES},
    {"link data write", "msgpack-c, arrays", link_write_arrays, false, EXPECT_BYTES},
    {"link data read", "aegis", link_read_row, false, EXPECT_SESSION},
    {"link data read", "msgpack-c, no checks", link_unpack, false, EXPECT_SESSION},
};

static void keep(struct bytes *to, const void *p, size_t n)
{
    memcpy(to->p, p, n);
    to->n = n;
}

/* Batches to read, each as its writer writes it. */
static void write_all(struct codec *c)
{
    struct span_writer w = span_writer_of(c->move_req.p, sizeof(c->move_req.p));
    struct message m = {.cmd = CMD_MOVE_REQ, .seq = 4711};

    (void)moves_write(c);
    keep(&c->moves, c->out.p, c->out.n);
    (void)moves_write_arrays(c);
    keep(&c->moves_arrays, c->sbuffer.data, c->sbuffer.size);
    (void)moves_write_maps(c);
    keep(&c->moves_maps, c->sbuffer.data, c->sbuffer.size);
    (void)adds_write(c);
    keep(&c->adds, c->out.p, c->out.n);
    (void)removes_write(c);
    keep(&c->removes, c->out.p, c->out.n);
    (void)link_write(c);
    keep(&c->link, c->out.p, c->out.n);
    m.move_req.x = 1000.25;
    m.move_req.y = -3.5;
    m.move_req.has_dir = m.move_req.has_speed = true;
    m.move_req.dir = 1.5;
    m.move_req.speed = 6;
    w.len = FRAME_HEAD;
    message_write(&w, &m);
    frame_head(c->move_req.p, (uint32_t)(w.len - FRAME_HEAD));
    c->move_req.n = w.len;
}

static void fill(struct codec *c, struct rng *rng)
{
    uint32_t id = 0;

    for (uint32_t i = 0; i < c->n; i++) {
        c->ids[i] = id += 1 + (uint32_t)rng_below(rng, 2 * 10000 / c->n);
        c->x[i] = (uint16_t)rng_next(rng);
        c->y[i] = (uint16_t)rng_next(rng);
        c->dir[i] = (uint8_t)rng_next(rng);
        c->speed[i] = (uint8_t)rng_next(rng);
        c->tails[i] = aoi_move_tail(c->x[i], c->y[i], true, c->dir[i], true, c->speed[i]);
        c->entities[i] = (struct message_entity){.id = id,
                                                 .name = span_text("somebody"),
                                                 .x = c->x[i] / 64.0,
                                                 .y = c->y[i] / 64.0,
                                                 .dir = 1.5,
                                                 .speed = 6};
        c->list.ids[i] = id;
        c->list.tails[i] = c->tails[i];
        c->list.told[i / 64] = (i % 64 ? c->list.told[i / 64] : 0) | 1ull << (i % 64);
        c->stay[i / 64] |= 1ull << (i % 64);
    }
}

/* CPU ns a call. */
static double time_row(struct codec *c, row_fn *run, uint64_t calls)
{
    int64_t start = bench_cpu_ns();

    for (uint64_t i = 0; i < calls; i++)
        run(c);
    return (double)(bench_cpu_ns() - start) / (double)calls;
}

static bool row_works(struct codec *c, const struct row *r)
{
    uint64_t got = r->run(c), ids = 0;

    for (uint32_t i = 0; i < c->n; i++)
        ids += c->ids[i];
    if (r->expected == EXPECT_BYTES ? got > 0
                                    : got == (r->expected == EXPECT_IDS   ? ids
                                              : r->expected == EXPECT_SEQ ? 4711
                                                                          : 77))
        return true;
    fprintf(stderr, "bench: %s, %s: %llu came of it\n", r->job, r->program,
            (unsigned long long)got);
    return false;
}

static void row_report(struct codec *c, const struct row *r, double *ns, const struct bench_args *a)
{
    double items = r->many ? c->n : 1, median = bench_median(ns, a->runs) / items;
    double bytes = r->expected == EXPECT_BYTES ? (double)r->run(c) / items : 0;
    const char *item = r->many ? "record" : "frame";

    if (a->json)
        printf("{\"bench\":\"codec\",\"job\":\"%s\",\"program\":\"%s\",\"records\":%g,"
               "\"item\":\"%s\",\"ns_per_item\":%.2f,\"min\":%.2f,\"max\":%.2f,"
               "\"bytes_per_item\":%.2f,\"runs\":%llu}\n",
               r->job, r->program, items, item, median, ns[0] / items, ns[a->runs - 1] / items,
               bytes, (unsigned long long)a->runs);
    else
        printf("codec %-16s %-21s %8.2f ns/%-6s (%.2f to %.2f)", r->job, r->program, median, item,
               ns[0] / items, ns[a->runs - 1] / items);
    if (!a->json && bytes > 0)
        printf(" %6.1f bytes", bytes);
    if (!a->json)
        printf("\n");
}

static struct codec *codec_create(const struct bench_args *a)
{
    struct codec *c = calloc(1, sizeof(*c));
    const struct pack_code *codes;
    struct rng rng;

    if (!c || message_reader_create(BUFFER, &c->reader) != 0 ||
        !msgpack_zone_init(&c->zone, BUFFER) || pack_list_init(&c->list, RECORDS_MAX) != 0)
        return NULL;
    (void)pack_codes(&codes);
    c->pack = codes[0].pack;
    rng_init(&rng, a->seed);
    c->n = a->neighbours < 1             ? 1
           : a->neighbours > RECORDS_MAX ? RECORDS_MAX
                                         : (uint32_t)a->neighbours;
    msgpack_sbuffer_init(&c->sbuffer);
    msgpack_packer_init(&c->packer, &c->sbuffer, msgpack_sbuffer_write);
    fill(c, &rng);
    write_all(c);
    return c;
}

static void codec_destroy(struct codec *c)
{
    pack_list_fini(&c->list);
    message_reader_destroy(c->reader);
    msgpack_zone_destroy(&c->zone);
    msgpack_sbuffer_destroy(&c->sbuffer);
    free(c);
}

int bench_codec(const struct bench_args *a)
{
    double *ns = calloc(ARRAY_LEN(rows) * a->runs, sizeof(*ns));
    struct codec *c = codec_create(a);
    uint64_t calls[ARRAY_LEN(rows)];
    bool works = ns && c;

    if (!works) {
        fprintf(stderr, "bench: out of memory\n");
        return 1;
    }
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        works &= row_works(c, &rows[i]);
        calls[i] = 1 + (uint64_t)(RUN_NS / time_row(c, rows[i].run, 200));
    }
    for (uint64_t run = 0; run < a->runs && works; run++) {
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
            ns[i * a->runs + run] = time_row(c, rows[i].run, calls[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(rows) && works; i++)
        row_report(c, &rows[i], &ns[i * a->runs], a);
    codec_destroy(c);
    free(ns);
    return works ? 0 : 1;
}

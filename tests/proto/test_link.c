/* tests/proto/test_link.c: the envelope between gateway and world. PROTOCOL.md, last section. */
#include "proto/link.h"

#include "common/err.h"
#include "proto/frame.h"
#include "tests/leak.h"
#include "tests/mutate.h"
#include "tests/proto/vectors.h"
#include "tests/round_trip.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const char *const KINDS[] = {"hello",      "open",     "data", "data many", "close",
                                    "congestion", "ping",     "pong", "drain",     "bind",
                                    "note",       "redirect", "left", "attach",    "proof"};

static struct span bytes_of(const json_t *m, const char *key, struct vectors_room *room)
{
    const json_t *v = json_object_get(m, key);
    return v != NULL ? vectors_bytes(v, room) : span_of(NULL, 0);
}

static uint64_t uint_of(const json_t *m, const char *key)
{
    const json_t *v = json_object_get(m, key);
    return v != NULL ? vectors_uint(v) : 0;
}

/* A vector's meaning as a frame; its sessions besides, as numbers. */
static void frame_of(const json_t *m, struct vectors_room *room, struct link_frame *f,
                     uint64_t *sessions)
{
    const char *kind = json_string_value(json_object_get(m, "kind"));
    size_t i;
    json_t *v;
    room->used = 0;
    *f = (struct link_frame){
        .session = uint_of(m, "session"),
        .version = (uint32_t)uint_of(m, "version"),
        .id = bytes_of(m, "id", room),
        .key = bytes_of(m, "key", room),
        .text = bytes_of(m, "text", room),
        .note = bytes_of(m, "note", room),
        .world = bytes_of(m, "world", room),
        .entity = (uint32_t)uint_of(m, "entity"),
        .count = (uint32_t)uint_of(m, "count"),
        .code = (uint32_t)uint_of(m, "code"),
        .on = json_is_true(json_object_get(m, "on")),
        .number = uint_of(m, "number"),
    };
    while (strcmp(kind, KINDS[f->kind]) != 0)
        f->kind++;
    json_array_foreach(json_object_get(m, "bodies"), i, v) f->bodies[f->n_bodies++] =
        vectors_bytes(v, room);
    if (json_object_get(m, "body") != NULL)
        f->bodies[f->n_bodies++] = bytes_of(m, "body", room);
    json_array_foreach(json_object_get(m, "sessions"), i, v) sessions[f->n_sessions++] =
        vectors_uint(v);
}

static void write_frame(struct span_writer *w, const struct link_frame *f, const uint64_t *sessions)
{
    uint64_t unused[LINK_MANY_MAX];
    if (f->kind == LINK_DATA_MANY)
        link_write_data_many(w, sessions, f->n_sessions, f->bodies[0]);
    else
        round_trip_link_write(w, f, unused);
}

static void assert_read(const char *name, struct span body, const struct link_frame *want,
                        const uint64_t *sessions)
{
    struct link_frame got;
    cr_assert_eq(link_read(body, &got), 0, "%s", name);
    cr_assert_eq(got.kind, want->kind, "%s", name);
    cr_assert_eq(got.session, want->session, "%s", name);
    cr_assert_eq(got.version, want->version, "%s", name);
    cr_assert(span_equal(got.id, want->id), "%s", name);
    cr_assert(span_equal(got.key, want->key), "%s", name);
    cr_assert(span_equal(got.text, want->text), "%s", name);
    cr_assert(span_equal(got.note, want->note), "%s", name);
    cr_assert(span_equal(got.world, want->world), "%s", name);
    cr_assert_eq(got.entity, want->entity, "%s", name);
    cr_assert_eq(got.count, want->count, "%s", name);
    cr_assert_eq(got.code, want->code, "%s", name);
    cr_assert_eq(got.on, want->on, "%s", name);
    cr_assert_eq(got.number, want->number, "%s", name);
    cr_assert_eq(got.n_bodies, want->n_bodies, "%s", name);
    for (uint32_t i = 0; i < got.n_bodies; i++) {
        cr_assert(span_equal(got.bodies[i], want->bodies[i]), "%s", name);
        cr_assert(got.bodies[i].p > body.p && got.bodies[i].p < body.p + body.n, "%s", name);
    }
    cr_assert_eq(got.n_sessions, want->n_sessions, "%s", name);
    uint64_t session;
    for (uint32_t i = 0; i < got.n_sessions; i++) {
        cr_assert_eq(link_session_take(&got.sessions, &session), 0, "%s", name);
        cr_assert_eq(session, sessions[i], "%s", name);
    }
    cr_assert_eq(link_session_take(&got.sessions, &session), E_SHORT, "%s", name);
}

Test(link, golden_vectors_both_ways)
{
    static struct vectors_room room;
    uint64_t sessions[LINK_MANY_MAX];
    json_t *doc = vectors_load("link.json");
    size_t i, used;
    const json_t *v;
    json_array_foreach(vectors_list(doc, "vectors"), i, v)
    {
        struct link_frame want;
        struct span frame = vectors_hex(v), body;
        frame_of(json_object_get(v, "meaning"), &room, &want, sessions);
        cr_assert_eq(frame_split(frame, LINK_FRAME_MAX, &body, &used), 0);
        cr_assert_eq(used, frame.n);
        assert_read(vectors_name(v), body, &want, sessions);
        if (vectors_canonical(v)) {
            uint8_t out[8192];
            struct span_writer w = span_writer_of(out, sizeof out);
            write_frame(&w, &want, sessions);
            cr_assert(span_equal(span_written(&w), frame), "%s", vectors_name(v));
        }
        free((void *)frame.p);
    }
    json_decref(doc);
    TEST_NO_LEAKS();
}

Test(link, what_is_no_link_frame_is_refused)
{
    json_t *doc = vectors_load("link.json");
    size_t i;
    const json_t *v;
    struct link_frame f;
    json_array_foreach(vectors_list(doc, "bad"), i, v)
    {
        struct span body = vectors_hex(v);
        cr_assert_eq(link_read(body, &f), E_BAD, "%s", vectors_name(v));
        free((void *)body.p);
    }
    json_decref(doc);
    TEST_NO_LEAKS();
}

Test(link, every_cut_and_every_byte_behind_is_refused)
{
    json_t *doc = vectors_load("link.json");
    size_t i;
    const json_t *v;
    struct link_frame f;
    json_array_foreach(vectors_list(doc, "vectors"), i, v)
    {
        struct span frame = vectors_hex(v);
        struct span body = span_of(frame.p + FRAME_HEAD, frame.n - FRAME_HEAD);
        for (size_t n = 0; n < body.n; n++) {
            struct span cut = vectors_copy(span_of(body.p, n));
            cr_assert_eq(link_read(cut, &f), E_BAD, "%s, %zu bytes", vectors_name(v), n);
            free((void *)cut.p);
        }
        uint8_t more[8192];
        memcpy(more, body.p, body.n);
        more[body.n] = 0;
        cr_assert_eq(link_read(span_of(more, body.n + 1), &f), E_BAD, "%s", vectors_name(v));
        free((void *)frame.p);
    }
    json_decref(doc);
    TEST_NO_LEAKS();
}

Test(link, a_frame_that_does_not_fit_makes_the_writer_full)
{
    static struct vectors_room room;
    uint64_t sessions[LINK_MANY_MAX];
    json_t *doc = vectors_load("link.json");
    size_t i;
    const json_t *v;
    json_array_foreach(vectors_list(doc, "vectors"), i, v)
    {
        if (!vectors_canonical(v))
            continue;
        struct link_frame f;
        struct span frame = vectors_hex(v);
        frame_of(json_object_get(v, "meaning"), &room, &f, sessions);
        for (size_t cap = 0; cap <= frame.n; cap++) {
            uint8_t *out = malloc(cap);
            struct span_writer w = span_writer_of(out, cap);
            write_frame(&w, &f, sessions);
            cr_assert_eq(w.full, cap < frame.n, "%s in %zu bytes", vectors_name(v), cap);
            free(out);
        }
        free((void *)frame.p);
    }
    json_decref(doc);
    TEST_NO_LEAKS();
}

Test(link, frames_are_appended_to_what_is_there)
{
    uint8_t out[64];
    struct span_writer w = span_writer_of(out, sizeof out);
    link_write_ping(&w, 5);
    link_write_congestion(&w, 7, true);
    struct span rest = span_written(&w), body;
    struct link_frame f;
    size_t used;
    cr_assert_eq(frame_split(rest, LINK_FRAME_MAX, &body, &used), 0);
    cr_assert_eq(link_read(body, &f), 0);
    cr_assert_eq(f.kind, LINK_PING);
    rest = span_of(rest.p + used, rest.n - used);
    cr_assert_eq(frame_split(rest, LINK_FRAME_MAX, &body, &used), 0);
    cr_assert_eq(link_read(body, &f), 0);
    cr_assert_eq(f.kind, LINK_CONGESTION);
    cr_assert_eq(used, rest.n);
}

Test(link, data_needs_no_more_around_its_bodies_than_is_said)
{
    static uint8_t bytes[65536];
    struct span bodies[LINK_BODIES_MAX];
    size_t cap = LINK_DATA_OVERHEAD + LINK_BODIES_MAX * sizeof bytes;
    uint8_t *out = malloc(cap);
    for (uint32_t i = 0; i < LINK_BODIES_MAX; i++)
        bodies[i] = span_of(bytes, sizeof bytes);
    struct span_writer w = span_writer_of(out, cap);
    link_write_data(&w, UINT64_MAX, bodies, LINK_BODIES_MAX);
    cr_assert_not(w.full);
    cr_assert_eq(w.len, cap);
    free(out);
    TEST_NO_LEAKS();
}

Test(link, a_frame_above_the_limit_is_not_written)
{
    static uint8_t bytes[PROTO_BATCH_MAX];
    struct span bodies[5];
    size_t cap = 6 * sizeof bytes, used;
    uint8_t *out = malloc(cap);
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++)
        bodies[i] = span_of(bytes, sizeof bytes);
    struct span_writer w = span_writer_of(out, cap);
    link_write_data(&w, 1, bodies, 4);
    cr_assert_not(w.full);
    struct span body;
    struct link_frame f;
    cr_assert_eq(frame_split(span_written(&w), LINK_FRAME_MAX, &body, &used), 0);
    cr_assert_eq(link_read(body, &f), 0);
    cr_assert_eq(f.bodies[3].n, sizeof bytes);
    w = span_writer_of(out, cap);
    link_write_data(&w, 1, bodies, 5);
    cr_assert(w.full);
    free(out);
    TEST_NO_LEAKS();
}

Test(link, data_goes_to_as_many_sessions_as_the_limit_says)
{
    static uint64_t sessions[LINK_MANY_MAX];
    static uint8_t out[FRAME_HEAD + 16 + LINK_MANY_MAX * 9];
    for (size_t i = 0; i < LINK_MANY_MAX; i++)
        sessions[i] = UINT64_MAX - i;
    struct span_writer w = span_writer_of(out, sizeof out);
    link_write_data_many(&w, sessions, LINK_MANY_MAX, span_text("b"));
    cr_assert_not(w.full);
    struct span body;
    struct link_frame f;
    size_t used;
    uint64_t session;
    cr_assert_eq(frame_split(span_written(&w), LINK_FRAME_MAX, &body, &used), 0);
    cr_assert_eq(link_read(body, &f), 0);
    cr_assert_eq(f.n_sessions, LINK_MANY_MAX);
    for (size_t i = 0; i < LINK_MANY_MAX; i++) {
        cr_assert_eq(link_session_take(&f.sessions, &session), 0);
        cr_assert_eq(session, UINT64_MAX - i);
    }
    cr_assert_eq(link_session_take(&f.sessions, &session), E_SHORT);
}

Test(link, damaged_frames_keep_the_rules)
{
    struct rng r;
    rng_init(&r, 6);
    json_t *doc = vectors_load("link.json");
    const json_t *list = vectors_list(doc, "vectors");
    size_t taken = 0;
    for (int i = 0; i < 200000; i++) {
        static uint8_t bytes[4096];
        struct link_frame f;
        struct span seed = vectors_hex(json_array_get(list, rng_below(&r, json_array_size(list))));
        size_t n = seed.n - FRAME_HEAD;
        memcpy(bytes, seed.p + FRAME_HEAD, n);
        n = mutate(&r, bytes, n, sizeof bytes);
        free((void *)seed.p);
        struct span copy = vectors_copy(span_of(bytes, n));
        const char *broken = round_trip_link(copy);
        cr_assert(broken == NULL, "round %d: %s", i, broken);
        taken += link_read(copy, &f) == 0;
        free((void *)copy.p);
    }
    cr_assert(taken > 10000, "%zu were taken: too few to show anything", taken);
    json_decref(doc);
    TEST_NO_LEAKS();
}

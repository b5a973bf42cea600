/* tests/common/test_nats_bus.c: subjects and keys, with a real server that dies, hangs and comes
 * back with nothing. Where the build has no nats.c, or the machine no nats-server, they say so.
 */
#include "common/io/nats_bus.h"

#include "common/err.h"
#include "tests/nats_stand.h"
#include "tests/process.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>

#ifdef AEGIS_PART_LIBNATS

/* What a user was told; the last of each. */
struct heard {
    uint32_t ups, downs, follows, followed, entries, messages;
    uint32_t answers;
    struct nats_bus_answer answer;
    uint8_t value[NATS_BUS_VALUE_MAX];
    struct nats_bus_entry entry;
    char entry_key[NATS_BUS_KEY_MAX + 1];
    char subject[NATS_BUS_SUBJECT_MAX + 1];
    uint8_t bytes[512];
    size_t n;
};

struct stand {
    struct nats_stand nats;
    struct loop *loop;
    struct nats_bus *bus;
    struct heard heard;
};

static void on_up(void *arg, bool up)
{
    struct heard *h = arg;

    if (up)
        h->ups++;
    else
        h->downs++;
}

static void on_answer(void *arg, const struct nats_bus_answer *a)
{
    struct heard *h = arg;

    h->answers++;
    h->answer = *a;
    if (a->value.n > 0)
        memcpy(h->value, a->value.p, a->value.n);
    h->answer.value = span_of(h->value, a->value.n);
}

static void on_follow(void *arg)
{
    ((struct heard *)arg)->follows++;
}

static void on_followed(void *arg)
{
    ((struct heard *)arg)->followed++;
}

static void on_entry(void *arg, const struct nats_bus_entry *e)
{
    struct heard *h = arg;

    h->entries++;
    h->entry = *e;
    memcpy(h->entry_key, e->key.p, e->key.n);
    h->entry_key[e->key.n] = '\0';
}

static void on_message(void *arg, struct span subject, struct span bytes)
{
    struct heard *h = arg;

    h->messages++;
    memcpy(h->subject, subject.p, subject.n);
    h->subject[subject.n] = '\0';
    cr_assert_leq(bytes.n, sizeof(h->bytes));
    if (bytes.n > 0)
        memcpy(h->bytes, bytes.p, bytes.n);
    h->n = bytes.n;
}

static const struct nats_bus_user user = {.up = on_up,
                                          .answer = on_answer,
                                          .follow = on_follow,
                                          .entry = on_entry,
                                          .followed = on_followed,
                                          .message = on_message};

/* Turn until the counter has come to `want`. */
static void await(struct stand *s, const uint32_t *counter, uint32_t want, const char *what)
{
    struct mono deadline = process_deadline(3 * PROCESS_PATIENCE_MS);

    while (*counter < want) {
        loop_turn(s->loop, 5 * CLOCK_NS_PER_MS);
        process_rest(deadline, what);
    }
}

static struct nats_bus *connect_more(struct stand *s, int64_t ttl_ns, struct heard *heard)
{
    static const char *const follow[] = {"zone.>", "world.>", NULL};
    struct nats_bus_config c = {.url = s->nats.url,
                                .follow = follow,
                                .name = "test",
                                .bucket = "aegis-test",
                                .ttl_ns = ttl_ns,
                                .message_bytes = 65536,
                                .user = &user,
                                .arg = heard};
    struct nats_bus *bus;

    cr_assert_eq(nats_bus_create(s->loop, &c, &bus), 0);
    return bus;
}

/* False: this machine has no server. */
static bool stand_up(struct stand *s, bool with_server)
{
    memset(s, 0, sizeof(*s));
    if (!nats_stand_up(&s->nats, with_server))
        return false;
    cr_assert_eq(loop_create(&s->loop), 0);
    s->bus = connect_more(s, 0, &s->heard);
    return true;
}

static void stand_down(struct stand *s)
{
    nats_bus_destroy(s->bus);
    loop_destroy(s->loop);
    nats_stand_down(&s->nats);
}

static void ask(struct stand *s, enum nats_bus_op op, const char *key, const char *value,
                uint64_t revision)
{
    uint32_t want = s->heard.answers + 1;

    cr_assert_eq(nats_bus_key(s->bus, op, want, span_text(key), span_text(value), revision), 0);
    await(s, &s->heard.answers, want, "an answer");
    cr_assert_eq(s->heard.answer.ticket, want);
}

/* Ask until the server answers at all. */
static void ask_until_there(struct stand *s, enum nats_bus_op op, const char *key,
                            const char *value)
{
    struct mono deadline = process_deadline(3 * PROCESS_PATIENCE_MS);

    do {
        ask(s, op, key, value, 0);
        process_rest(deadline, "a server that answers");
    } while (s->heard.answer.result == NATS_BUS_AWAY);
}

TestSuite(nats_bus, .fini = process_end_all);

Test(nats_bus, a_key_is_created_once_and_changed_at_its_revision_only)
{
    struct stand s;
    uint64_t first, second;

    if (!stand_up(&s, true))
        return;
    await(&s, &s.heard.ups, 1, "the connection");
    ask_until_there(&s, NATS_BUS_GET, "zone.0", "");
    cr_assert_eq(s.heard.answer.result, NATS_BUS_MISSING);
    ask(&s, NATS_BUS_CREATE, "zone.0", "a", 0);
    cr_assert_eq(s.heard.answer.result, NATS_BUS_DONE);
    first = s.heard.answer.revision;
    ask(&s, NATS_BUS_CREATE, "zone.0", "b", 0);
    cr_assert_eq(s.heard.answer.result, NATS_BUS_LOST);
    ask(&s, NATS_BUS_UPDATE, "zone.0", "c", first + 7);
    cr_assert_eq(s.heard.answer.result, NATS_BUS_LOST);
    ask(&s, NATS_BUS_UPDATE, "zone.0", "c", first);
    cr_assert_eq(s.heard.answer.result, NATS_BUS_DONE);
    second = s.heard.answer.revision;
    cr_assert_gt(second, first);
    ask(&s, NATS_BUS_GET, "zone.0", "", 0);
    cr_assert_eq(s.heard.answer.result, NATS_BUS_DONE);
    cr_assert_eq(s.heard.answer.revision, second);
    cr_assert(span_equal(s.heard.answer.value, span_text("c")));
    ask(&s, NATS_BUS_DELETE, "zone.0", "", first);
    cr_assert_eq(s.heard.answer.result, NATS_BUS_LOST);
    ask(&s, NATS_BUS_DELETE, "zone.0", "", second);
    cr_assert_eq(s.heard.answer.result, NATS_BUS_DONE);
    ask(&s, NATS_BUS_GET, "zone.0", "", 0);
    cr_assert_eq(s.heard.answer.result, NATS_BUS_MISSING);
    ask(&s, NATS_BUS_CREATE, "zone.0", "again", 0);
    cr_assert_eq(s.heard.answer.result, NATS_BUS_DONE, "a deleted key is free");
    cr_assert_gt(s.heard.answer.revision, second);
    stand_down(&s);
}

Test(nats_bus, the_bucket_is_followed_and_ends_by_age_are_told_to_nobody)
{
    struct stand s;
    struct heard other = {0};
    struct nats_bus *bus;
    uint32_t entries;

    /* Not stand_up: its bucket would be without an age, if it were faster. */
    memset(&s, 0, sizeof(s));
    if (!nats_stand_up(&s.nats, true))
        return;
    cr_assert_eq(loop_create(&s.loop), 0);
    s.bus = connect_more(&s, CLOCK_NS_PER_S, &s.heard);
    await(&s, &s.heard.followed, 1, "the bucket");
    ask(&s, NATS_BUS_CREATE, "world.a", "1", 0);
    await(&s, &s.heard.entries, 1, "its entry");
    cr_assert_str_eq(s.heard.entry_key, "world.a");
    cr_assert_eq(s.heard.entry.revision, s.heard.answer.revision);
    bus = connect_more(&s, CLOCK_NS_PER_S, &other);
    await(&s, &other.followed, 1, "the bucket, seen by another");
    cr_assert_eq(other.entries, 1, "what stood there before is told first");
    ask(&s, NATS_BUS_DELETE, "world.a", "", s.heard.answer.revision);
    await(&s, &other.entries, 2, "the end");
    cr_assert(other.entry.deleted);
    ask(&s, NATS_BUS_CREATE, "world.b", "2", 0);
    await(&s, &other.entries, 3, "world.b");
    entries = other.entries;
    do
        ask(&s, NATS_BUS_GET, "world.b", "", 0);
    while (s.heard.answer.result == NATS_BUS_DONE);
    cr_assert_eq(s.heard.answer.result, NATS_BUS_MISSING, "its age is over");
    for (int i = 0; i < 20; i++)
        loop_turn(s.loop, 5 * CLOCK_NS_PER_MS);
    cr_assert_eq(other.entries, entries);
    nats_bus_destroy(bus);
    stand_down(&s);
}

Test(nats_bus, messages_reach_those_who_subscribed_and_not_their_sender)
{
    struct stand s;
    struct heard other = {0};
    struct nats_bus *bus;
    struct span pieces[] = {span_text("he"), span_text("llo")}, zone = span_text("zone.1");
    struct nats_bus_counts counts;
    struct mono deadline = process_deadline(3 * PROCESS_PATIENCE_MS);

    if (!stand_up(&s, true))
        return;
    bus = connect_more(&s, 0, &other);
    cr_assert_eq(nats_bus_subscribe(s.bus, zone), 0);
    cr_assert_eq(nats_bus_subscribe(bus, zone), 0);
    await(&s, &s.heard.ups, 1, "the connection");
    await(&s, &other.ups, 1, "the other's connection");
    while (other.messages == 0) { /* until the server knows the subject */
        cr_assert_eq(nats_bus_publish(s.bus, zone, pieces, 2), 0);
        loop_turn(s.loop, 10 * CLOCK_NS_PER_MS);
        process_rest(deadline, "a message");
    }
    cr_assert_str_eq(other.subject, "zone.1");
    cr_assert(span_equal(span_of(other.bytes, other.n), span_text("hello")));
    cr_assert_eq(s.heard.messages, 0);
    nats_bus_counts(s.bus, &counts);
    cr_assert_gt(counts.published, 0);
    cr_assert_eq(counts.dropped_out, 0);
    nats_bus_destroy(bus);
    stand_down(&s);
}

Test(nats_bus, without_a_server_nothing_is_kept_and_it_comes_by_itself)
{
    struct stand s;
    struct nats_bus_counts counts;
    struct span piece = span_text("x");

    if (!stand_up(&s, false))
        return;
    cr_assert_eq(nats_bus_publish(s.bus, span_text("zone.1"), &piece, 1), E_CLOSED);
    ask(&s, NATS_BUS_GET, "zone.0", "", 0);
    cr_assert_eq(s.heard.answer.result, NATS_BUS_AWAY);
    nats_bus_counts(s.bus, &counts);
    cr_assert_eq(counts.dropped_out, 1);
    cr_assert_eq(counts.keys_away, 1);
    nats_stand_serve(&s.nats);
    await(&s, &s.heard.ups, 1, "the connection");
    ask_until_there(&s, NATS_BUS_CREATE, "zone.0", "a");
    cr_assert_eq(s.heard.answer.result, NATS_BUS_DONE);
    stand_down(&s);
}

Test(nats_bus, of_several_servers_one_that_is_there_is_enough)
{
    struct stand s;
    char url[sizeof(s.nats.url)];

    memset(&s, 0, sizeof(s));
    if (!nats_stand_up(&s.nats, true))
        return;
    cr_assert_eq(loop_create(&s.loop), 0);
    strcpy(url, s.nats.url);
    snprintf(s.nats.url, sizeof(s.nats.url), "nats://%s,%.60s", process_free_port(), url);
    s.bus = connect_more(&s, 0, &s.heard);
    await(&s, &s.heard.ups, 1, "the connection");
    ask_until_there(&s, NATS_BUS_CREATE, "zone.0", "a");
    cr_assert_eq(s.heard.answer.result, NATS_BUS_DONE);
    stand_down(&s);
}

Test(nats_bus, a_server_that_refuses_the_password_is_asked_again_until_it_does_not)
{
    struct span zone = span_text("zone.1"), piece = span_text("x");
    struct mono deadline = process_deadline(3 * PROCESS_PATIENCE_MS);
    struct heard other = {0};
    struct nats_bus *bus;
    struct stand s;

    memset(&s, 0, sizeof(s));
    if (!nats_stand_up(&s.nats, false))
        return;
    cr_assert_eq(loop_create(&s.loop), 0);
    s.nats.password = "old";
    nats_stand_serve(&s.nats);
    snprintf(s.nats.url, sizeof(s.nats.url), "nats://aegis:new@%s", s.nats.addr);
    s.bus = connect_more(&s, 0, &s.heard);
    bus = connect_more(&s, 0, &other);
    cr_assert_eq(nats_bus_subscribe(bus, zone), 0);
    for (uint32_t i = 1; i <= 2; i++) { /* before there was a connection, and after */
        process_await_log(s.nats.server, "authentication error", 3);
        process_kill(s.nats.server);
        s.nats.password = "new";
        nats_stand_serve(&s.nats);
        await(&s, &s.heard.ups, i, "the connection");
        await(&s, &s.heard.followed, i, "the bucket");
        ask_until_there(&s, NATS_BUS_GET, "zone.0", "");
        for (other.messages = 0; other.messages == 0;) {
            cr_assert_neq(nats_bus_publish(s.bus, zone, &piece, 1), E_FULL);
            loop_turn(s.loop, 10 * CLOCK_NS_PER_MS);
            process_rest(deadline, "a message");
        }
        process_kill(s.nats.server);
        s.nats.password = "old";
        nats_stand_serve(&s.nats);
    }
    nats_bus_destroy(bus);
    stand_down(&s);
}

Test(nats_bus, a_server_that_was_killed_is_found_again_with_its_keys)
{
    struct stand s;
    uint64_t revision;

    if (!stand_up(&s, true))
        return;
    await(&s, &s.heard.followed, 1, "the bucket");
    ask(&s, NATS_BUS_CREATE, "zone.0", "a", 0);
    revision = s.heard.answer.revision;
    process_kill(s.nats.server);
    await(&s, &s.heard.downs, 1, "the loss");
    cr_assert(!nats_bus_up(s.bus));
    nats_stand_serve(&s.nats);
    await(&s, &s.heard.ups, 2, "the connection");
    await(&s, &s.heard.followed, 2, "the bucket once more");
    cr_assert_str_eq(s.heard.entry_key, "zone.0");
    cr_assert_eq(s.heard.entry.revision, revision);
    stand_down(&s);
}

Test(nats_bus, a_server_that_lost_everything_gets_a_new_bucket)
{
    struct stand s;

    if (!stand_up(&s, true))
        return;
    await(&s, &s.heard.followed, 1, "the bucket");
    ask(&s, NATS_BUS_CREATE, "zone.0", "a", 0);
    process_kill(s.nats.server);
    nats_stand_forget(&s.nats);
    await(&s, &s.heard.downs, 1, "the loss");
    nats_stand_serve(&s.nats);
    await(&s, &s.heard.ups, 2, "the connection");
    await(&s, &s.heard.followed, 2, "a bucket");
    ask_until_there(&s, NATS_BUS_GET, "zone.0", "");
    cr_assert_eq(s.heard.answer.result, NATS_BUS_MISSING);
    stand_down(&s);
}

Test(nats_bus, a_server_that_hangs_holds_up_neither_the_loop_nor_the_end)
{
    struct stand s;
    struct span piece = span_text("x");
    struct mono deadline = process_deadline(3 * PROCESS_PATIENCE_MS);

    if (!stand_up(&s, true))
        return;
    await(&s, &s.heard.followed, 1, "the bucket");
    process_signal(s.nats.server, SIGSTOP); /* it may take some steps yet */
    do {
        ask(&s, NATS_BUS_GET, "zone.0", "", 0);
        process_rest(deadline, "a server that hangs");
    } while (s.heard.answer.result != NATS_BUS_AWAY);
    for (int i = 0; i < 100; i++) {
        int err = nats_bus_publish(s.bus, span_text("zone.1"), &piece, 1);

        cr_assert(err == 0 || err == E_CLOSED);
        loop_turn(s.loop, 0);
    }
    cr_assert_eq(nats_bus_key(s.bus, NATS_BUS_CREATE, 1, span_text("zone.0"), piece, 0), 0);
    nats_bus_destroy(s.bus);
    s.bus = NULL;
    process_signal(s.nats.server, SIGCONT);
    stand_down(&s);
}

Test(nats_bus, messages_beyond_the_room_are_refused_and_counted)
{
    struct stand s;
    static uint8_t big[40000];
    struct span piece = span_of(big, sizeof(big));
    struct nats_bus_counts counts;
    int err = 0;

    if (!stand_up(&s, true))
        return;
    await(&s, &s.heard.ups, 1, "the connection");
    process_signal(s.nats.server, SIGSTOP);
    for (int i = 0; i < 1000 && err == 0; i++)
        err = nats_bus_publish(s.bus, span_text("zone.1"), &piece, 1);
    cr_assert_eq(err, E_FULL);
    nats_bus_counts(s.bus, &counts);
    cr_assert_eq(counts.dropped_out, 1);
    process_signal(s.nats.server, SIGCONT);
    stand_down(&s);
}

Test(nats_bus, no_such_address_is_said_at_the_start)
{
    struct nats_bus_config c = {.url = "nats://:x:y",
                                .name = "test",
                                .bucket = "aegis-test",
                                .message_bytes = 65536,
                                .user = &user};
    struct nats_bus *bus = NULL;
    struct loop *loop;
    int err;

    cr_assert_eq(loop_create(&loop), 0);
    err = nats_bus_create(loop, &c, &bus);
    cr_assert(err == E_ADDR || err == E_IO, "%d", err);
    loop_destroy(loop);
}

#else

Test(nats_bus, without_the_library_there_is_none)
{
    struct nats_bus *bus = NULL;

    cr_assert_eq(nats_bus_create(NULL, &(struct nats_bus_config){0}, &bus), E_MISSING);
    cr_assert_str_eq(nats_bus_library(), "");
    nats_bus_destroy(NULL);
}

#endif

/* tests/key_writer.c: see the header. */
#include "tests/key_writer.h"

#include "common/io/nats_bus.h"
#include "proto/kv_key.h"
#include "tests/process.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#ifdef AEGIS_PART_LIBNATS

struct key_writer {
    struct loop *loop;
    struct nats_bus *bus;
    bool answered;
    enum nats_bus_result result;
    uint64_t revision;
};

static void on_up(void *arg, bool up)
{
    (void)arg;
    (void)up;
}

static void on_answer(void *arg, const struct nats_bus_answer *a)
{
    struct key_writer *k = arg;

    k->answered = true;
    k->result = a->result;
    k->revision = a->revision;
}

static void on_follow(void *arg)
{
    (void)arg;
}

static void on_entry(void *arg, const struct nats_bus_entry *e)
{
    (void)arg;
    (void)e;
}

static void on_message(void *arg, struct span subject, struct span bytes)
{
    (void)arg;
    (void)subject;
    (void)bytes;
}

static const struct nats_bus_user USER = {.up = on_up,
                                          .answer = on_answer,
                                          .follow = on_follow,
                                          .entry = on_entry,
                                          .followed = on_follow,
                                          .message = on_message};

struct key_writer *key_writer_create(struct loop *l, const char *url)
{
    struct key_writer *k = calloc(1, sizeof(*k));
    const struct nats_bus_config c = {.url = url,
                                      .name = "key-writer",
                                      .bucket = KV_BUCKET,
                                      .message_bytes = 4096,
                                      .user = &USER,
                                      .arg = k};

    cr_assert_not_null(k);
    k->loop = l;
    cr_assert_eq(nats_bus_create(l, &c, &k->bus), 0);
    return k;
}

void key_writer_destroy(struct key_writer *k)
{
    nats_bus_destroy(k->bus);
    free(k);
}

static enum nats_bus_result ask(struct key_writer *k, enum nats_bus_op op, const char *key,
                                struct span value, uint64_t revision)
{
    struct mono deadline = process_deadline(3 * PROCESS_PATIENCE_MS);

    do {
        k->answered = false;
        cr_assert_eq(nats_bus_key(k->bus, op, 0, span_text(key), value, revision), 0);
        while (!k->answered) {
            loop_turn(k->loop, 5 * CLOCK_NS_PER_MS);
            process_rest(deadline, "an answer about a key");
        }
    } while (k->result == NATS_BUS_AWAY);
    return k->result;
}

uint64_t key_writer_put(struct key_writer *k, const char *key, struct span value)
{
    struct mono deadline = process_deadline(PROCESS_PATIENCE_MS);

    for (;;) {
        if (ask(k, NATS_BUS_CREATE, key, value, 0) == NATS_BUS_DONE)
            return k->revision;
        if (ask(k, NATS_BUS_GET, key, (struct span){0}, 0) == NATS_BUS_DONE &&
            ask(k, NATS_BUS_UPDATE, key, value, k->revision) == NATS_BUS_DONE)
            return k->revision;
        process_rest(deadline, "a key that is written");
    }
}

void key_writer_delete(struct key_writer *k, const char *key)
{
    struct mono deadline = process_deadline(PROCESS_PATIENCE_MS);

    while (ask(k, NATS_BUS_GET, key, (struct span){0}, 0) == NATS_BUS_DONE &&
           ask(k, NATS_BUS_DELETE, key, (struct span){0}, k->revision) != NATS_BUS_DONE)
        process_rest(deadline, "a key that is deleted");
}

void key_writer_claim(struct key_writer *k, uint64_t generation, const struct claim *c)
{
    struct kv_key key = {.room = KV_WORLD, .generation = generation, .name = c->world};
    char text[KV_TEXT_MAX + 1], value[CLAIM_BYTES_MAX];

    kv_key_write(&key, text);
    key_writer_put(k, text, span_of(value, claim_write(c, value)));
}

void key_writer_world(struct key_writer *k, uint64_t generation, const char *id,
                      enum claim_state state, const char *address)
{
    struct claim c = {.state = state, .world = claim_name_of(span_text(id)), .nonce = 1};

    claim_set_text(&c, span_text(address));
    key_writer_claim(k, generation, &c);
}

#endif

/* tests/e2e/test_e2e_vectors.c: the golden vectors of what is wrong, sent to a real pair.
 * May touch: tests/vectors, jansson, tests/pair, tests/raw_client. On trouble: the test fails.
 */
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <jansson.h>

TestSuite(e2e_vectors, .fini = process_end_all, .timeout = 60);

/* Tests run in the root of the tree. */
static json_t *load(const char *path)
{
    json_error_t error;
    json_t *all = json_load_file(path, 0, &error);
    if (!all)
        process_fail("%s:%d: %s", path, error.line, error.text);
    return all;
}

static const char *text_of(const json_t *vector, const char *key)
{
    const char *text = json_string_value(json_object_get(vector, key));
    if (!text)
        process_fail("a vector without %s", key);
    return text;
}

static uint32_t number_of(const json_t *vector, const char *key)
{
    const json_t *meaning = json_object_get(vector, "meaning");
    return (uint32_t)json_integer_value(json_object_get(meaning, key));
}

static void send_hex(struct raw_client *c, const char *hex)
{
    static uint8_t bytes[4 + PROTO_FRAME_MAX];
    raw_send(c, span_of(bytes, raw_bytes(hex, bytes, sizeof(bytes))));
}

Test(e2e_vectors, each_bad_frame_gets_bye_1_and_harms_nobody)
{
    struct pair pair = pair_start(NULL, PROCESS_ARGS("-rate", "0"));
    json_t *all = load("tests/vectors/bad_frames.json"), *vector;
    struct raw_client neighbour, c;
    size_t i;

    raw_join(&neighbour, pair.gateway->addr, "neighbour");
    json_array_foreach(json_object_get(all, "vectors"), i, vector)
    {
        uint8_t body[PROTO_FRAME_MAX];
        raw_connect(&c, pair.gateway->addr);
        raw_send_body(&c, span_of(body, raw_bytes(text_of(vector, "hex"), body, sizeof(body))));
        raw_must_bye(&c, PE_BAD_FRAME);
        raw_must_serve(&neighbour);
    }
    cr_assert_gt(i, 100u);
    json_array_foreach(json_object_get(all, "heads"), i, vector)
    {
        raw_connect(&c, pair.gateway->addr);
        send_hex(&c, text_of(vector, "hex"));
        raw_must_bye(&c, PE_BAD_FRAME);
        raw_must_serve(&neighbour);
    }
    cr_assert_gt(i, 4u);
    json_decref(all);
    raw_close(&neighbour);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* The vectors hold for somebody in the right state to ask. */
Test(e2e_vectors, each_bad_payload_gets_its_error_and_changes_nothing)
{
    struct pair pair = pair_start(NULL, PROCESS_ARGS("-rate", "0"));
    json_t *all = load("tests/vectors/bad_payloads.json"), *vector;
    struct raw_client stranger, logged, inside;
    size_t i;

    raw_connect(&stranger, pair.gateway->addr);
    raw_connect(&logged, pair.gateway->addr);
    raw_must(&logged, raw_login(&logged, "logged"), CMD_LOGIN_RESP);
    raw_join(&inside, pair.gateway->addr, "inside");
    json_array_foreach(json_object_get(all, "vectors"), i, vector)
    {
        uint32_t cmd = number_of(vector, "cmd"), code = number_of(vector, "code");
        struct raw_client *c = cmd == CMD_LOGIN_REQ   ? &stranger
                               : cmd == CMD_ENTER_REQ ? &logged
                                                      : &inside;
        send_hex(c, text_of(vector, "hex"));
        const struct message *m = raw_next(c);
        if (m->cmd != CMD_ERROR_NOTIFY || m->seq != number_of(vector, "seq") ||
            m->error_notify.code != code || m->error_notify.cmd != cmd)
            process_fail("%s: cmd %u, seq %u, code %u", text_of(vector, "name"), m->cmd, m->seq,
                         m->cmd == CMD_ERROR_NOTIFY ? m->error_notify.code : 0);
    }
    cr_assert_gt(i, 100u);
    raw_must(&stranger, raw_login(&stranger, "stranger"), CMD_LOGIN_RESP);
    raw_must(&logged, raw_nil(&logged, CMD_ENTER_REQ), CMD_ENTER_RESP);
    raw_must(&inside, raw_move(&inside, 16, 0), CMD_MOVE_RESP); /* where it stood all the time */
    json_decref(all);
    raw_close(&stranger);
    raw_close(&logged);
    raw_close(&inside);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

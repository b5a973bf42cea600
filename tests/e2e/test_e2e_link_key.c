/* tests/e2e/test_e2e_link_key.c: a world and gateways that have the same key, or have not.
 * May touch: tests/pair, tests/e2e/stage, files of its own. On trouble: the test fails.
 */
#include "common/parts.h"
#include "proto/link.h"
#include "proto/link_proof.h"
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define OLD_KEY "the old key of the link"
#define NEW_KEY "the new key of the link"

static char dir[] = "/tmp/link-key-XXXXXX";
static char file_a[64], file_b[64];

static void setup(void)
{
    cr_assert_not_null(mkdtemp(dir));
    snprintf(file_a, sizeof(file_a), "%s/a", dir);
    snprintf(file_b, sizeof(file_b), "%s/b", dir);
}

static void teardown(void)
{
    process_end_all();
    unlink(file_a);
    unlink(file_b);
    rmdir(dir);
}

TestSuite(e2e_link_key, .init = setup, .fini = teardown, .timeout = 60);

static const char *write_keys(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    chmod(path, 0600);
    return path;
}

static void must_end_with(const char *const *args, int status, const char *line)
{
    struct process *p = process_start("aegis", args);
    struct span log;

    process_await_exit(p, PROCESS_PATIENCE_MS, status);
    log = process_log(p);
    cr_assert_not_null(memmem(log.p, log.n, line, strlen(line)), "%.*s", (int)log.n,
                       (const char *)log.p);
    cr_assert_eq((const uint8_t *)memchr(log.p, '\n', log.n), log.p + log.n - 1, "one line");
}

Test(e2e_link_key, a_world_that_others_can_reach_wants_a_key_or_to_be_told_otherwise)
{
    static const char *const open[] = {"0.0.0.0:0", "[::]:0", "192.0.2.1:0", "world:0"};

    for (size_t i = 0; i < ARRAY_LEN(open); i++)
        must_end_with(PROCESS_ARGS("-role=world", "-listen", open[i]), 2,
                      "needs -link-key FILE (or -insecure)");
    struct process *p =
        process_start("aegis", PROCESS_ARGS("-role=world", "-listen", "0.0.0.0:0", "-insecure"));
    process_await_addr(p);
    pair_end_one(p);
    process_check_all();
    TEST_NO_LEAKS();
}

#ifdef AEGIS_PART_LIBCRYPTO

Test(e2e_link_key, a_pair_with_one_key_serves)
{
    const char *const flags[] = {"-link-key", write_keys(file_a, OLD_KEY "\n"), NULL};
    struct pair pair = pair_start(flags, PROCESS_ARGS("-link-key", file_a, "-threads", "2"));
    struct raw_client c;

    pair_await_link(pair.gateway, 2);
    for (int i = 0; i < 4; i++) { /* whichever thread it meets */
        char name[] = {'a', (char)('0' + i), '\0'};
        raw_join(&c, pair.gateway->addr, name);
        raw_close(&c);
    }
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* Refused, said once on each side, and not tried for ever in a line each. */
static void must_not_meet(const char *const *world, const char *const *gateway,
                          const char *world_says, const char *gateway_says)
{
    struct pair pair = {.world = pair_world(world)};
    struct raw_client c;

    pair.gateway = pair_gateway(pair.world->addr, gateway);
    process_await_log(pair.gateway, gateway_says, 1);
    process_await_log(pair.world, world_says, 1);
    raw_connect(&c, pair.gateway->addr);
    raw_must_fail(&c, raw_login(&c, "alpha"), PE_UNAVAILABLE);
    raw_close(&c);
    cr_assert_leq(process_logged(pair.gateway, gateway_says), 2u);
    cr_assert_eq(process_logged(pair.gateway, " link up "), 0u);
    cr_assert_eq(process_logged(pair.world, "gateway up"), 0u);
    cr_assert_eq(process_logged(pair.world, "the link"), 0u, "no key is in the log");
    pair_end(&pair);
}

Test(e2e_link_key, a_gateway_with_another_key_or_none_is_refused_and_told_of_once)
{
    write_keys(file_a, OLD_KEY "\n");
    write_keys(file_b, NEW_KEY "\n");
    must_not_meet(PROCESS_ARGS("-link-key", file_a), PROCESS_ARGS("-link-key", file_b),
                  "its -link-key is none of ours", "closed by the world at our -link-key");
    must_not_meet(PROCESS_ARGS("-link-key", file_a), NULL, "it has no -link-key",
                  "the world wants a -link-key");
    must_not_meet(NULL, PROCESS_ARGS("-link-key", file_a), "it has a -link-key, we have none",
                  "the world has no -link-key");
    TEST_NO_LEAKS();
}

/* The world takes both while gateways change, one after the other. */
Test(e2e_link_key, keys_are_changed_by_sighup_without_anybody_leaving)
{
    write_keys(file_a, OLD_KEY "\n");
    write_keys(file_b, OLD_KEY "\n");
    struct pair pair =
        pair_start(PROCESS_ARGS("-link-key", file_a), PROCESS_ARGS("-link-key", file_b));
    struct stage stage;

    stage_init(&stage);
    struct player *a = stage_join(&stage, pair.gateway->addr, "a");
    write_keys(file_a, NEW_KEY "\n" OLD_KEY "\n");
    process_signal(pair.world, SIGHUP);
    process_await_log(pair.world, "read anew flag=-link-key", 1);
    write_keys(file_b, NEW_KEY "\n");
    process_signal(pair.gateway, SIGHUP);
    process_await_log(pair.gateway, "read anew flag=-link-key", 1);
    player_ping(a);
    player_move(a, a->facts->x + 0.25, a->facts->y);
    struct process *second = pair_gateway(pair.world->addr, PROCESS_ARGS("-link-key", file_b));
    pair_await_link(second, 1);

    write_keys(file_a, "too short\n");
    process_signal(pair.world, SIGHUP);
    process_await_log(pair.world, "not read anew, what there was stays flag=-link-key", 1);
    struct process *third = pair_gateway(pair.world->addr, PROCESS_ARGS("-link-key", file_b));
    pair_await_link(third, 1);
    player_move(a, a->facts->x + 0.5, a->facts->y);
    cr_assert_eq(a->told[PE_UNAVAILABLE], 0u);
    stage_fini(&stage);
    pair_end_one(second);
    pair_end_one(third);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_link_key, a_file_that_cannot_be_used_ends_the_start)
{
    write_keys(file_a, "short\n");
    must_end_with(PROCESS_ARGS("-role=world", "-listen", "127.0.0.1:0", "-link-key", file_a), 1,
                  "line 1: a key has 16 to 256 bytes");
    must_end_with(PROCESS_ARGS("-role=gateway", "-listen", "127.0.0.1:0", "-link-key", file_a), 1,
                  "line 1: a key has 16 to 256 bytes");
    must_end_with(
        PROCESS_ARGS("-role=gateway", "-listen", "127.0.0.1:0", "-link-key", "/nowhere/key"), 1,
        "-link-key: \"/nowhere/key\": No such file or directory");
    TEST_NO_LEAKS();
}

/* What a gateway said once is of no use to who heard it. */
Test(e2e_link_key, a_meeting_that_was_heard_cannot_be_said_again)
{
    uint8_t bytes[256], proof[LINK_PROOF_BYTES];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    struct link_meeting m = {.gateway_id = span_text("gw")};
    struct raw_client c;
    struct link_frame f;
    char world_id[LINK_ID_MAX];

    struct process *world = pair_world(PROCESS_ARGS("-link-key", write_keys(file_a, OLD_KEY "\n")));
    for (int again = 0; again < 2; again++) {
        raw_connect(&c, world->addr);
        w.len = 0;
        link_write_hello(&w, span_text("gw"), span_of(m.gateway_nonce, LINK_NONCE_BYTES));
        raw_send(&c, span_written(&w));
        cr_assert_eq(link_read(raw_body(&c), &f), 0);
        cr_assert_eq(f.key.n, (size_t)LINK_NONCE_BYTES);
        w.len = 0;
        if (!again) {
            memcpy(m.world_nonce, f.key.p, LINK_NONCE_BYTES);
            memcpy(world_id, f.id.p, f.id.n);
            m.world_id = span_of(world_id, f.id.n);
            link_proof(proof, span_text(OLD_KEY), LINK_SIDE_GATEWAY, &m);
        }
        link_write_proof(&w, span_of(proof, sizeof(proof)));
        raw_send(&c, span_written(&w));
        if (again) {
            cr_assert_null(raw_body_within(&c, PROCESS_PATIENCE_MS).p, "it was let in");
        } else {
            cr_assert_eq(link_read(raw_body(&c), &f), 0);
            cr_assert_eq(f.kind, LINK_PROOF);
            cr_assert(link_proof_good(f.key, span_text(OLD_KEY), LINK_SIDE_WORLD, &m));
        }
        raw_close(&c);
    }
    process_await_log(world, "its -link-key is none of ours", 1);
    pair_end_one(world);
    process_check_all();
    TEST_NO_LEAKS();
}

#endif

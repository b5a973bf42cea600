/* tests/proto/test_claim.c: keys and values of a cluster's store of keys, byte for byte.
 * May touch: proto/claim, proto/kv_key.
 */
#include "tests/round_trip_keys.h"

#include "tests/leak.h"

static const char HELD[] =
    "held w1 epoch=17 nonce=1f load=250 to=- draining=0 text=127.0.0.1:19002";

static struct claim held(void)
{
    struct claim c = {.state = CLAIM_HELD,
                      .world = claim_name_of(span_text("w1")),
                      .epoch = 17,
                      .nonce = 31,
                      .load = 250};

    claim_set_text(&c, span_text("127.0.0.1:19002"));
    return c;
}

Test(claim, a_value_is_a_line_that_people_can_read)
{
    struct claim c = held();
    char out[CLAIM_BYTES_MAX];

    cr_assert(span_equal(span_of(out, claim_write(&c, out)), span_text(HELD)));
    c = (struct claim){.state = CLAIM_FREE,
                       .to = claim_name_of(span_text("w2")),
                       .epoch = UINT64_MAX,
                       .nonce = UINT64_MAX,
                       .draining = true};
    cr_assert(span_equal(span_of(out, claim_write(&c, out)),
                         span_text("free - epoch=18446744073709551615 nonce=ffffffffffffffff "
                                   "load=0 to=w2 draining=1 text=")));
}

Test(claim, a_value_is_read_back)
{
    struct claim c, want = held();

    cr_assert_eq(claim_read(span_text(HELD), &c), 0);
    cr_assert_eq(c.state, want.state);
    cr_assert(claim_name_equal(&c.world, &want.world));
    cr_assert_eq(c.to.len, 0);
    cr_assert_eq(c.epoch, 17);
    cr_assert_eq(c.nonce, 31);
    cr_assert_eq(c.load, 250);
    cr_assert(!c.draining);
    cr_assert(span_equal(claim_text(&c), span_text("127.0.0.1:19002")));
}

Test(claim, the_longest_value_has_room)
{
    struct claim c = {.state = CLAIM_BURIED,
                      .epoch = UINT64_MAX,
                      .nonce = UINT64_MAX,
                      .load = UINT64_MAX,
                      .draining = true};
    char out[CLAIM_BYTES_MAX], text[CLAIM_TEXT_MAX];

    memset(text, 'x', sizeof(text));
    c.world = c.to = claim_name_of(span_of(text, CLAIM_NAME_MAX));
    claim_set_text(&c, span_of(text, CLAIM_TEXT_MAX));
    cr_assert_null(round_trip_claim(span_of(out, claim_write(&c, out))));
}

Test(claim, what_is_cut_short_is_refused_or_says_less)
{
    struct claim c;

    /* Up to "text=" every byte is needed; behind it a text may end anywhere. */
    for (size_t n = 0; n < strlen(HELD); n++) {
        int err = claim_read(span_of(HELD, n), &c);

        cr_assert_eq(err, n < strlen(HELD) - 15 ? E_BAD : 0, "%zu bytes", n);
        cr_assert_null(round_trip_claim(span_of(HELD, n)));
    }
}

Test(claim, what_is_no_value_is_refused)
{
    static const char *const bad[] = {
        "none w1 epoch=17 nonce=1f load=250 to=- draining=0 text=",
        "had w1 epoch=17 nonce=1f load=250 to=- draining=0 text=",
        "held  epoch=17 nonce=1f load=250 to=- draining=0 text=",
        "held w1 epoch=017 nonce=1f load=250 to=- draining=0 text=",
        "held w1 epoch=-1 nonce=1f load=250 to=- draining=0 text=",
        "held w1 epoch=18446744073709551616 nonce=1f load=250 to=- draining=0 text=",
        "held w1 epoch=17 nonce=1F load=250 to=- draining=0 text=",
        "held w1 epoch=17 nonce= load=250 to=- draining=0 text=",
        "held w1 epoch=17 nonce=1f load=250 to= draining=0 text=",
        "held w1 epoch=17 nonce=1f load=250 to=- draining=2 text=",
        "held w1 epoch=17 nonce=1f load=250 to=- draining=0 txt=",
        "held w1 nonce=1f epoch=17 load=250 to=- draining=0 text=",
    };
    struct claim c;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_assert_eq(claim_read(span_text(bad[i]), &c), E_BAD, "%s", bad[i]);
}

Test(claim, keys_stand_under_their_generation)
{
    struct kv_key k = {.room = KV_ZONE, .generation = 0x18bcfe56d4d37fe, .number = 12};
    char out[KV_TEXT_MAX + 1];

    kv_key_write(&k, out);
    cr_assert_str_eq(out, "018bcfe56d4d37fe.zone.12");
    k.room = KV_IDS;
    kv_key_write(&k, out);
    cr_assert_str_eq(out, "018bcfe56d4d37fe.ids");
    k.room = KV_NAME;
    k.name = claim_name_of(span_text("Ada \xc3\xa9?"));
    kv_key_write(&k, out);
    cr_assert_str_eq(out, "018bcfe56d4d37fe.name.QWRhIMOpPw");
    k.room = KV_WORLD;
    k.name = claim_name_of(span_text("w1"));
    kv_key_write(&k, out);
    cr_assert_str_eq(out, "018bcfe56d4d37fe.world.dzE");
    k.room = KV_GENERATION;
    kv_key_write(&k, out);
    cr_assert_str_eq(out, "gen");
}

Test(claim, keys_are_read_back_and_no_other_text_is_one)
{
    static const char *const good[] = {
        "gen",
        "018bcfe56d4d37fe.zone.0",
        "018bcfe56d4d37fe.zone.4294967295",
        "018bcfe56d4d37fe.ids",
        "018bcfe56d4d37fe.world.dzE",
        "018bcfe56d4d37fe.name.QWRhIMOpPw",
    };
    static const char *const bad[] = {
        "",
        "Gen",
        "18bcfe56d4d37fe.zone.0",
        "018bcfe56d4d37fe",
        "018bcfe56d4d37fe.zone.",
        "018bcfe56d4d37fe.zone.01",
        "018bcfe56d4d37fe.zone.4294967296",
        "018bcfe56d4d37fe.zone.-1",
        "018BCFE56D4D37FE.zone.0",
        "018bcfe56d4d37fe.ids.",
        "018bcfe56d4d37fe.world.",
        "018bcfe56d4d37fe.world.dzF", /* bits beyond the bytes */
        "018bcfe56d4d37fe.world.d",   /* not a byte */
        "018bcfe56d4d37fe.name.QW=",
        "018bcfe56d4d37fe.person.QWRh",
    };
    struct kv_key k;

    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        cr_assert_eq(kv_key_read(span_text(good[i]), &k), 0, "%s", good[i]);
        cr_assert_null(round_trip_key(span_text(good[i])));
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_assert_eq(kv_key_read(span_text(bad[i]), &k), E_BAD, "%s", bad[i]);
}

Test(claim, an_id_is_of_letters_that_subjects_and_keys_can_have)
{
    char longest[CLAIM_NAME_MAX + 1];
    memset(longest, 'w', sizeof longest);
    cr_assert(claim_world_ok(span_text("w-1_A")));
    cr_assert(claim_world_ok(span_of(longest, CLAIM_NAME_MAX)));
    cr_assert_not(claim_world_ok(span_of(longest, CLAIM_NAME_MAX + 1)));
    cr_assert_not(claim_world_ok(span_text("")));
    cr_assert_not(claim_world_ok(span_text("a.b")));
    cr_assert_not(claim_world_ok(span_text("a b")));
    cr_assert_not(claim_world_ok(span_text("*")));
}

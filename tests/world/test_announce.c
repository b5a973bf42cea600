/* tests/world/test_announce.c: an announcement as it is asked for: what is one, and what is not.
 */
#include "world/edge/announce.h"

#include "common/rng.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static int read_two(const char *query, const char *body, struct announce *out)
{
    const char *why = NULL;
    int err = announce_read(span_text(query), span_text(body), out, &why);

    cr_assert_eq(err == 0, why == NULL);
    if (why) {
        cr_assert_null(strchr(why, '"'), "it goes into JSON as it is");
        cr_assert_null(strchr(why, '\\'));
    }
    return err;
}

Test(announce, everybody_a_scene_or_a_rectangle)
{
    struct announce a;

    cr_assert_eq(read_two("", "hello", &a), 0);
    cr_expect(!a.has_scene && !a.has_rect);
    cr_expect(span_equal(a.text, span_text("hello")));
    cr_assert_eq(read_two("scene=open", "h\xc3\xb6rt!", &a), 0);
    cr_expect(a.has_scene && !a.has_rect);
    cr_expect_str_eq(a.scene, "open");
    cr_assert_eq(read_two("scene=a%20b%26c%3D", "x", &a), 0);
    cr_expect_str_eq(a.scene, "a b&c=");
    cr_assert_eq(read_two("rect=-1,-2.5,3e2,4", "x", &a), 0);
    cr_expect(!a.has_scene && a.has_rect);
    cr_expect_eq(a.rect[0], -1);
    cr_expect_eq(a.rect[1], -2.5);
    cr_expect_eq(a.rect[2], 300);
    cr_expect_eq(a.rect[3], 4);
    cr_assert_eq(read_two("rect=0%2C0%2c0,0&scene=s", "x", &a), 0);
    cr_expect(a.has_scene && a.has_rect && !a.has_at);
    cr_assert_eq(read_two("at=1.5,-2&scene=s", "x", &a), 0);
    cr_expect(a.has_at && !a.has_rect);
    cr_expect_eq(a.at[0], 1.5);
    cr_expect_eq(a.at[1], -2);
}

Test(announce, whatever_else_stands_in_the_query_is_refused)
{
    static const char *const bad[] = {
        "at=1",
        "at=1,2,3",
        "at=1,2&at=1,2",
        "at=1,2&rect=0,0,1,1",
        "at=nan,1",
        "x",
        "scene",
        "scene=",
        "scene=a&scene=b",
        "=a",
        "Scene=a",
        "scene=a&",
        "&scene=a",
        "scene=a&&rect=0,0,1,1",
        "scene=%",
        "scene=%4",
        "scene=%4g",
        "scene=%00",
        "rect=",
        "rect=1,2,3",
        "rect=1,2,3,4,",
        "rect=1,2,3,4,5",
        "rect=1,,3,4",
        "rect=a,2,3,4",
        "rect=nan,0,0,0",
        "rect=0x1,2,3,4",
        "rect=1e999,2,3,4",
        "rect= 1,2,3,4",
        "rect=2,0,1,1",
        "rect=0,2,1,1",
        "rect=0,0,1,1&rect=0,0,1,1",
        "rect=inf,0,inf,0",
        "rect=1-1,0,5,5",
    };
    struct announce a;
    char long_one[600] = "scene=";

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(read_two(bad[i], "x", &a), E_BAD, "%s", bad[i]);
    memset(long_one + 6, 's', ANNOUNCE_SCENE_MAX + 1);
    cr_expect_eq(read_two(long_one, "x", &a), E_BAD);
    long_one[6 + ANNOUNCE_SCENE_MAX] = '\0';
    cr_expect_eq(read_two(long_one, "x", &a), 0);
    memset(long_one + 6, 's', 500);
    cr_expect_eq(read_two(long_one, "x", &a), E_BAD);
}

Test(announce, a_text_is_up_to_512_bytes_of_utf8_without_control_characters)
{
    static const char *const bad[] = {"",
                                      "a\n",
                                      "\x7f",
                                      "\xc2\x85",
                                      "\xff",
                                      "\xc3",
                                      "\xed\xa0\x80",
                                      "a\tb",
                                      ("\xe2\x80\xae"
                                       "a")};
    struct announce a;
    char text[PROTO_SAY_MAX + 2];

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(read_two("", bad[i], &a), E_BAD, "case %zu", i);
    memset(text, 'x', sizeof(text));
    text[PROTO_SAY_MAX + 1] = '\0';
    cr_expect_eq(read_two("", text, &a), E_BAD);
    text[PROTO_SAY_MAX] = '\0';
    cr_expect_eq(read_two("", text, &a), 0);
}

/* Whatever comes: no read outside the bytes. */
Test(announce, damaged_queries_are_read_within_their_bytes)
{
    static const char good[] = "scene=a%20b&rect=-1,-2.5,3e2,4";
    static const char telling[] = "%&=,0.e-\0\xff";
    struct rng r;

    rng_init(&r, 5);
    for (int round = 0; round < 20000; round++) {
        size_t n = 1 + (size_t)rng_below(&r, sizeof(good) - 1);
        uint8_t *copy = malloc(n);
        struct announce a;
        const char *why;

        memcpy(copy, good, n);
        for (uint64_t hits = rng_below(&r, 4); hits > 0; hits--)
            copy[rng_below(&r, n)] = (uint8_t)telling[rng_below(&r, sizeof(telling))];
        if (announce_read(span_of(copy, n), span_text("x"), &a, &why) == 0) {
            cr_assert_leq(strlen(a.scene), ANNOUNCE_SCENE_MAX);
            cr_assert(!a.has_rect || (a.rect[0] <= a.rect[2] && a.rect[1] <= a.rect[3]));
        }
        free(copy);
    }
}

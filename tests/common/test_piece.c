/* tests/common/test_piece.c: a buffer that grows at its end and is used up from its front. */
#include "common/io/piece.h"

#include "common/rng.h"
#include "tests/leak.h"

#include <criterion/criterion.h>

Test(piece, what_is_consumed_is_what_was_appended_whatever_the_portions)
{
    struct piece *p = NULL;
    struct rng rng;
    uint8_t next_in = 0, next_out = 0, bytes[300];

    rng_init(&rng, 7);
    for (int i = 0; i < 2000; i++) {
        size_t n = rng_below(&rng, sizeof(bytes));
        for (size_t k = 0; k < n; k++)
            bytes[k] = next_in++;
        cr_assert(piece_room(&p, n, 512));
        piece_append(p, span_of(bytes, n));
        size_t gone = rng_below(&rng, (uint32_t)p->len + 1);
        for (size_t k = 0; k < gone; k++)
            cr_assert_eq(piece_span(p).p[k], next_out++);
        piece_consume(&p, gone, 0);
    }
    piece_drop(&p);
    TEST_NO_LEAKS();
}

Test(piece, an_empty_one_is_freed_unless_it_is_to_be_kept)
{
    struct piece *p = NULL;

    cr_assert(piece_room(&p, 10, 100));
    piece_append(p, span_text("0123456789"));
    piece_consume(&p, 10, 99);
    cr_assert_null(p);
    cr_assert(piece_room(&p, 10, 100));
    piece_append(p, span_text("0123456789"));
    piece_consume(&p, 10, 100);
    cr_assert_not_null(p);
    cr_assert_eq(p->len, 0);
    cr_assert_eq(p->off, 0, "all of it is room again");
    piece_drop(&p);
    TEST_NO_LEAKS();
}

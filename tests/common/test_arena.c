/* tests/common/test_arena.c: the tick's scratch. */
#include "common/arena.h"

#include "tests/leak.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

Test(arena, pieces_are_aligned_and_do_not_overlap)
{
    struct arena a;
    uint8_t *piece[20];
    cr_assert_eq(arena_init(&a, 4096), 0);
    for (size_t i = 0; i < ARRAY_LEN(piece); i++) {
        piece[i] = arena_take(&a, i + 1);
        cr_assert_not_null(piece[i]);
        cr_assert_eq((uintptr_t)piece[i] % 16, 0);
        memset(piece[i], (int)i, i + 1);
    }
    for (size_t i = 0; i < ARRAY_LEN(piece); i++)
        for (size_t k = 0; k <= i; k++)
            cr_assert_eq(piece[i][k], i);
    arena_fini(&a);
    TEST_NO_LEAKS();
}

Test(arena, what_does_not_fit_is_refused_and_counted_and_changes_nothing)
{
    struct arena a;
    cr_assert_eq(arena_init(&a, 100), 0);
    cr_assert_not_null(arena_take(&a, 90));
    cr_assert_null(arena_take(&a, 5), "96 is the next aligned place, and 4 bytes are left there");
    cr_assert_null(arena_take(&a, SIZE_MAX));
    cr_assert_eq(a.refused, 2);
    cr_assert_eq(a.used, 90);
    cr_assert_not_null(arena_take(&a, 4));
    cr_assert_null(arena_take(&a, 1));
    arena_fini(&a);
    TEST_NO_LEAKS();
}

Test(arena, rewinding_gives_back_what_was_taken_since_and_peak_remembers)
{
    struct arena a;
    cr_assert_eq(arena_init(&a, 64), 0);
    void *first = arena_take(&a, 16);
    size_t mark = a.used;
    void *second = arena_take(&a, 48);
    cr_assert_not_null(second);
    arena_rewind(&a, mark);
    cr_assert_eq(arena_take(&a, 16), second);
    arena_rewind(&a, 0);
    cr_assert_eq(arena_take(&a, 64), first);
    arena_rewind(&a, 0);
    cr_assert_eq(a.used, 0);
    cr_assert_eq(a.peak, 64);
    cr_assert_eq(a.refused, 0);
    arena_fini(&a);
    TEST_NO_LEAKS();
}

Test(arena, rewinding_forward_is_our_bug, .signal = SIGABRT)
{
    struct arena a;
    cr_assert_eq(arena_init(&a, 64), 0);
    arena_rewind(&a, 1);
}

Test(arena, ending_what_was_never_begun_is_fine)
{
    struct arena a = {0};
    arena_fini(&a);
    arena_fini(NULL);
}

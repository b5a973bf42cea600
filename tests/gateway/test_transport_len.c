/* tests/gateway/test_transport_len.c: four bytes of length, in and out. PROTOCOL.md, Framing. */
#include "gateway/transport.h"

#include "common/err.h"
#include "proto/limits.h"

#include <criterion/criterion.h>

Test(transport_len, a_frame_is_split_wherever_it_is_cut)
{
    const uint8_t in[] = {0, 0, 0, 3, 'a', 'b', 'c', 0, 0};
    struct transport_piece piece;

    for (size_t n = 0; n < 7; n++)
        cr_assert_eq(transport_len.split(NULL, span_of(in, n), 16, &piece), E_SHORT);
    for (size_t n = 7; n <= sizeof(in); n++) {
        cr_assert_eq(transport_len.split(NULL, span_of(in, n), 16, &piece), 0);
        cr_assert_eq(piece.kind, TRANSPORT_BODY);
        cr_assert_eq(piece.used, 7);
        cr_assert_eq(piece.bytes.n, 3);
        cr_assert_eq(piece.bytes.p, in + 4);
    }
}

Test(transport_len, a_length_that_is_not_allowed_is_told_at_the_head)
{
    const uint8_t heads[][4] = {
        {0, 0, 0, 0},    {0, 0, 0x40, 1},          {0x7f, 0xff, 0xff, 0xff},
        {0x80, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff},
    };
    struct transport_piece piece;

    for (size_t i = 0; i < 5; i++)
        cr_assert_eq(transport_len.split(NULL, span_of(heads[i], 4), PROTO_FRAME_MAX, &piece),
                     E_BAD);
}

Test(transport_len, the_head_that_goes_out_is_the_length)
{
    uint8_t head[TRANSPORT_HEAD_MAX];

    cr_assert_eq(transport_len.head(head, 0x123456), 4);
    cr_assert_eq(head[0], 0);
    cr_assert_eq(head[1], 0x12);
    cr_assert_eq(head[2], 0x34);
    cr_assert_eq(head[3], 0x56);
}

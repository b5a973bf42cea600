/* tests/proto/test_link_proof.c: a proof is good for one key, one side and one meeting. */
#include "proto/link_proof.h"

#include "common/parts.h"
#include "tests/leak.h"

#include <criterion/criterion.h>

#ifdef AEGIS_PART_LIBCRYPTO

static struct link_meeting meeting(void)
{
    struct link_meeting m = {.gateway_id = span_text("gw-1"), .world_id = span_text("world-1")};

    for (uint8_t i = 0; i < LINK_NONCE_BYTES; i++) {
        m.gateway_nonce[i] = i;
        m.world_nonce[i] = (uint8_t)(0x80 + i);
    }
    return m;
}

/* Made by another hand: python3 -c 'import hmac; m=b"aegis link gateway"+bytes([0,0,0,3])
 * +bytes(range(32))+bytes(range(128,160))+b"\0\0\0\4gw-1\0\0\0\7world-1";
 * print(hmac.new(b"0123456789abcdef", m, "sha256").hexdigest())' */
static const uint8_t GATEWAYS[LINK_PROOF_BYTES] = {
    0xec, 0x51, 0xcb, 0xe2, 0xd2, 0x2c, 0xd7, 0x14, 0x21, 0x5e, 0xcc, 0x78, 0x4e, 0x9e, 0x8f, 0xb7,
    0xc6, 0xf9, 0x55, 0xaf, 0xc3, 0xc3, 0x01, 0x75, 0xfd, 0x94, 0x20, 0x16, 0x1b, 0x21, 0x77, 0x04,
};
/* The same with "aegis link world  ". */
static const uint8_t WORLDS[LINK_PROOF_BYTES] = {
    0x67, 0xa3, 0x60, 0xdb, 0x3b, 0x8b, 0xe7, 0x8e, 0xd7, 0x37, 0x3b, 0x29, 0x76, 0x8c, 0x66, 0xa5,
    0xdf, 0xe1, 0x89, 0x43, 0x1f, 0x08, 0x32, 0xff, 0xbd, 0xb0, 0x5a, 0x00, 0x67, 0x0d, 0x4a, 0xc9,
};

Test(link_proof, golden_vectors)
{
    const struct link_meeting m = meeting();
    const struct span key = span_text("0123456789abcdef");
    uint8_t out[LINK_PROOF_BYTES];

    cr_assert(link_proof_built());
    link_proof(out, key, LINK_SIDE_GATEWAY, &m);
    cr_assert_arr_eq(out, GATEWAYS, LINK_PROOF_BYTES);
    link_proof(out, key, LINK_SIDE_WORLD, &m);
    cr_assert_arr_eq(out, WORLDS, LINK_PROOF_BYTES);
}

Test(link_proof, any_other_key_side_nonce_id_or_byte_is_no_proof)
{
    const struct span key = span_text("0123456789abcdef");
    const struct link_meeting m = meeting();
    struct link_meeting other;
    uint8_t said[LINK_PROOF_BYTES + 1];
    const struct span whole = span_of(said, LINK_PROOF_BYTES);

    link_proof(said, key, LINK_SIDE_GATEWAY, &m);
    cr_assert(link_proof_good(whole, key, LINK_SIDE_GATEWAY, &m));
    cr_assert_not(link_proof_good(whole, span_text("0123456789abcdeg"), LINK_SIDE_GATEWAY, &m));
    cr_assert_not(link_proof_good(whole, key, LINK_SIDE_WORLD, &m), "said back to who said it");
    for (uint32_t i = 0; i < 2 * LINK_NONCE_BYTES; i++) {
        other = m;
        (i < LINK_NONCE_BYTES ? other.gateway_nonce : other.world_nonce)[i % LINK_NONCE_BYTES] ^= 1;
        cr_assert_not(link_proof_good(whole, key, LINK_SIDE_GATEWAY, &other));
    }
    other = m;
    other.gateway_id = span_text("gw-2");
    cr_assert_not(link_proof_good(whole, key, LINK_SIDE_GATEWAY, &other));
    other = m;
    other.gateway_id = span_text("gw-");
    other.world_id = span_text("1world-1");
    cr_assert_not(link_proof_good(whole, key, LINK_SIDE_GATEWAY, &other), "where one ends counts");
    for (size_t n = 0; n <= LINK_PROOF_BYTES + 1; n++)
        cr_assert_eq(link_proof_good(span_of(said, n), key, LINK_SIDE_GATEWAY, &m),
                     n == LINK_PROOF_BYTES);
    for (size_t i = 0; i < 8 * LINK_PROOF_BYTES; i++) {
        said[i / 8] ^= (uint8_t)(1 << i % 8);
        cr_assert_not(link_proof_good(whole, key, LINK_SIDE_GATEWAY, &m));
        said[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    TEST_NO_LEAKS();
}

#else

Test(link_proof, without_libcrypto_nothing_is_proved)
{
    const struct link_meeting m = {.gateway_id = span_text("a"), .world_id = span_text("b")};

    cr_assert_not(link_proof_built());
    cr_assert_not(link_proof_good((struct span){0}, span_text("key"), LINK_SIDE_WORLD, &m));
}

#endif

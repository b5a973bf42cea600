/* tests/fuzz/fuzz_proxy.c: the header of PROXY protocol version 2.
 * The bytes as they are, and as edits (place, byte) of a good header, since seeds that know nothing
 * of it hold no signature. May touch: common, proto.
 * What must hold: how many bytes a header has never shrinks while more of it comes, and what is
 * refused once stays refused; who was named is named again by a header written anew.
 */
#include "tests/fuzz/fuzz_target.h"

#include "common/err.h"
#include "proto/proxy_head.h"

static const uint8_t GOOD[] = {0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49,
                               0x54, 0x0a, 0x21, 0x11, 0x00, 0x17, 192,  0,    2,    1,
                               127,  0,    0,    1,    0xdf, 0x6e, 0x01, 0xbb, 0x04, 0x00,
                               0x01, 'x',  0x03, 0x00, 0x04, 0,    0,    0,    0};

static const char *name_again(const struct proxy_head *h)
{
    uint8_t bytes[PROXY_START_BYTES + 36] = {0};
    struct span s = span_of(bytes, sizeof(bytes));
    struct proxy_head again;

    memcpy(bytes, GOOD, 13);
    bytes[13] = 0x21;
    bytes[15] = 36;
    memcpy(bytes + PROXY_START_BYTES, h->host, 16);
    bytes[PROXY_START_BYTES + 32] = (uint8_t)(h->port >> 8);
    bytes[PROXY_START_BYTES + 33] = (uint8_t)h->port;
    if (proxy_head_read(s, &again) != 0)
        return "a header written anew is not read";
    if (!again.named || again.port != h->port || memcmp(again.host, h->host, 16) != 0)
        return "a header written anew names another";
    return NULL;
}

static const char *check(struct span in)
{
    struct proxy_head h;
    size_t before = PROXY_START_BYTES;

    for (size_t n = 0; n <= in.n; n++) {
        const size_t bytes = proxy_head_bytes(span_of(in.p, n));
        if (before == 0 && bytes != 0)
            return "what was no header became one";
        if (bytes != 0 && bytes < before)
            return "a header became shorter";
        if (bytes > PROXY_HEAD_MAX)
            return "a header is too long";
        if (bytes != n && n > 0 && proxy_head_read(span_of(in.p, n), &h) != E_BAD)
            return "a part of a header was read";
        before = bytes;
        if (bytes == n)
            break;
    }
    if (before == 0 || before > in.n)
        return NULL;
    if (proxy_head_read(span_of(in.p, before), &h) != 0 || !h.named)
        return NULL;
    return name_again(&h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t edited[sizeof(GOOD)];

    fuzz_target_must(check(span_of(data, size)));
    memcpy(edited, GOOD, sizeof(edited));
    for (size_t i = 0; i + 1 < size; i += 2) {
        edited[data[i] % sizeof(edited)] = data[i + 1];
        fuzz_target_must(check(span_of(edited, sizeof(edited))));
    }
    return 0;
}

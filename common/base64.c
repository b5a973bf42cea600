/* common/base64.c: see the header. */
#include "common/base64.h"

static int digit(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

bool base64_read(struct span text, uint8_t *out, size_t cap, size_t *n)
{
    uint32_t bits = 0;
    unsigned held = 0;
    size_t pad = 0;

    while (pad < 2 && text.n > 0 && text.p[text.n - 1] == '=') {
        text.n--;
        pad++;
    }
    *n = 0;
    if (text.n % 4 == 1 || (pad > 0 && (text.n + pad) % 4 != 0))
        return false;
    for (size_t i = 0; i < text.n; i++) {
        int d = digit(text.p[i]);

        if (d < 0)
            return false;
        bits = (bits << 6 | (uint32_t)d) & 0xffff;
        held += 6;
        if (held < 8)
            continue;
        if (*n == cap)
            return false;
        held -= 8;
        out[(*n)++] = (uint8_t)(bits >> held);
    }
    return (bits & ((1u << held) - 1)) == 0;
}

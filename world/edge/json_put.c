/* world/edge/json_put.c: see the header. */
#include "world/edge/json_put.h"

#include <math.h>
#include <stdbool.h>

#define PIECE 768 /* bytes that are encoded at once; a multiple of 3 */

/* How long the UTF-8 sequence at the front is; 0: none is there. */
static size_t sequence(struct span s)
{
    uint8_t c = s.p[0];
    size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : 4;

    if (c >= 0xf5 || (c >= 0x80 && c < 0xc2) || n > s.n)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((s.p[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((c == 0xe0 && s.p[1] < 0xa0) || (c == 0xed && s.p[1] >= 0xa0) ||
        (c == 0xf0 && s.p[1] < 0x90) || (c == 0xf4 && s.p[1] >= 0x90))
        return 0;
    return n;
}

void json_put_text(FILE *to, struct span text)
{
    putc('"', to);
    while (text.n > 0) {
        size_t n = sequence(text);
        uint8_t c = text.p[0];

        if (n == 0)
            fputs("\\ufffd", to);
        else if (n == 1 && (c < ' ' || c == 0x7f || c == '"' || c == '\\' || c == '<' || c == '&'))
            fprintf(to, "\\u%04x", c);
        else
            fwrite(text.p, 1, n, to);
        n = n > 0 ? n : 1;
        text = span_of(text.p + n, text.n - n);
    }
    putc('"', to);
}

void json_put_number(FILE *to, double v)
{
    fprintf(to, "%.12g", isfinite(v) ? v : 0);
}

size_t json_put_base64(const uint8_t *bytes, size_t n, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *at = out;

    for (; n >= 3; n -= 3, bytes += 3) {
        uint32_t v = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];

        *at++ = digits[v >> 18];
        *at++ = digits[v >> 12 & 63];
        *at++ = digits[v >> 6 & 63];
        *at++ = digits[v & 63];
    }
    if (n > 0) {
        uint32_t v = (uint32_t)bytes[0] << 16 | (n == 2 ? (uint32_t)bytes[1] << 8 : 0);

        *at++ = digits[v >> 18];
        *at++ = digits[v >> 12 & 63];
        *at++ = n == 2 ? digits[v >> 6 & 63] : '=';
        *at++ = '=';
    }
    return (size_t)(at - out);
}

void json_put_bytes(FILE *to, const uint8_t *bytes, size_t n)
{
    char text[JSON_PUT_BASE64(PIECE)];

    putc('"', to);
    while (n > 0) {
        size_t piece = n < PIECE ? n : PIECE, written = json_put_base64(bytes, piece, text);

        fwrite(text, 1, written, to);
        bytes += piece;
        n -= piece;
    }
    putc('"', to);
}

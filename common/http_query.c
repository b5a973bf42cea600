/* common/http_query.c: see the header. */
#include "common/http_query.h"

#include "common/err.h"

#include <math.h>
#include <stdlib.h>

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Take the percent signs out. E_BAD: not well formed, a NUL in it, or too long. */
static int decode(struct span in, char out[HTTP_QUERY_VALUE_MAX + 1])
{
    size_t n = 0;

    for (size_t i = 0; i < in.n; i++) {
        int c = in.p[i];

        if (c == '%') {
            int high = i + 2 < in.n ? hex_digit(in.p[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(in.p[i + 2]) : -1;

            if (low < 0)
                return E_BAD;
            c = high << 4 | low;
            i += 2;
        }
        if (c == 0 || n == HTTP_QUERY_VALUE_MAX)
            return E_BAD;
        out[n++] = (char)c;
    }
    out[n] = '\0';
    return 0;
}

int http_query_next(struct span *rest, struct http_query *out)
{
    const uint8_t *amp = memchr(rest->p, '&', rest->n);
    size_t n = amp ? (size_t)(amp - rest->p) : rest->n;
    const uint8_t *equals = n > 0 ? memchr(rest->p, '=', n) : NULL;
    size_t name;

    out->why = "the query must be name=value, parted by &";
    if (!equals || n + 1 == rest->n) /* an & at the end has nothing behind it */
        return E_BAD;
    name = (size_t)(equals - rest->p);
    out->name = span_of(rest->p, name);
    out->why = "a value in the query is not well formed";
    if (decode(span_of(equals + 1, n - name - 1), out->value) != 0)
        return E_BAD;
    n += amp != NULL;
    *rest = span_of(rest->p + n, rest->n - n);
    return 0;
}

/* A decimal number from the front, and the comma behind it unless it is the last. */
static bool take_number(const char **at, bool last, double *out)
{
    size_t n = strspn(*at, "+-.0123456789eE");
    char *end;

    if (n == 0 || (*at)[n] != (last ? '\0' : ','))
        return false;
    *out = strtod(*at, &end);
    if (end != *at + n || !isfinite(*out))
        return false;
    *at = end + !last;
    return true;
}

bool http_query_numbers(const char *text, double *out, int n)
{
    for (int i = 0; i < n; i++) {
        if (!take_number(&text, i == n - 1, &out[i]))
            return false;
    }
    return true;
}

bool http_query_count(const char *text, uint64_t max, uint64_t *out)
{
    uint64_t v = 0;

    if (text[0] == '\0')
        return false;
    for (const char *c = text; *c; c++) {
        uint64_t digit = (uint64_t)(*c - '0');

        if (*c < '0' || *c > '9' || digit > max || v > (max - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *out = v;
    return true;
}

/* world/edge/announce.c: see the header. */
#include "world/edge/announce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MAX 256 /* bytes of a parameter's value */

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Take the percent signs out. E_BAD: not well formed, a NUL in it, or too long. */
static int decode(struct span in, char out[VALUE_MAX + 1])
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
        if (c == 0 || n == VALUE_MAX)
            return E_BAD;
        out[n++] = (char)c;
    }
    out[n] = '\0';
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

static bool read_numbers(const char *text, double *out, int n)
{
    for (int i = 0; i < n; i++) {
        if (!take_number(&text, i == n - 1, &out[i]))
            return false;
    }
    return true;
}

static const char *take_rect(struct announce *a, const char *value)
{
    if (a->has_rect)
        return "rect is given twice";
    if (!read_numbers(value, a->rect, 4) || a->rect[0] > a->rect[2] || a->rect[1] > a->rect[3])
        return "rect must be x0,y0,x1,y1, finite, x0 <= x1 and y0 <= y1";
    a->has_rect = true;
    return NULL;
}

static const char *take_at(struct announce *a, const char *value)
{
    if (a->has_at)
        return "at is given twice";
    if (!read_numbers(value, a->at, 2))
        return "at must be x,y, finite";
    a->has_at = true;
    return NULL;
}

static const char *take_scene(struct announce *a, const char *value)
{
    if (a->has_scene)
        return "scene is given twice";
    if (strlen(value) == 0 || strlen(value) > ANNOUNCE_SCENE_MAX)
        return "scene must be a scene's name";
    a->has_scene = true;
    memcpy(a->scene, value, strlen(value) + 1);
    return NULL;
}

/* One `name=value`. */
static const char *take_parameter(struct announce *a, struct span name, const char *value)
{
    if (span_equal(name, span_text("scene")))
        return take_scene(a, value);
    if (span_equal(name, span_text("rect")))
        return take_rect(a, value);
    if (span_equal(name, span_text("at")))
        return take_at(a, value);
    return "only scene, rect and at may stand in the query";
}

static const char *read_query(struct announce *a, struct span query)
{
    while (query.n > 0) {
        const uint8_t *amp = memchr(query.p, '&', query.n);
        size_t n = amp ? (size_t)(amp - query.p) : query.n;
        const uint8_t *equals = memchr(query.p, '=', n);
        char value[VALUE_MAX + 1];
        const char *why;
        size_t name;

        if (!equals || n + 1 == query.n) /* an & at the end has nothing behind it */
            return "the query must be name=value, parted by &";
        name = (size_t)(equals - query.p);
        if (decode(span_of(equals + 1, n - name - 1), value) != 0)
            return "a value in the query is not well formed";
        why = take_parameter(a, span_of(query.p, name), value);
        if (why)
            return why;
        n += amp != NULL;
        query = span_of(query.p + n, query.n - n);
    }
    return NULL;
}

int announce_read(struct span query, struct span body, struct announce *out, const char **why)
{
    *out = (struct announce){.text = body};
    *why = read_query(out, query);
    if (!*why && out->has_rect && out->has_at)
        *why = "rect and at cannot both be given";
    if (!*why && !message_plain_ok(body))
        *why = "the body must be 1 to 512 bytes of UTF-8 without control characters";
    return *why ? E_BAD : 0;
}

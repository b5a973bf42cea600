/* common/http_head.c: the head of an HTTP/1.x request, read strictly.
 * Lines end in CRLF and nothing else, a field's name touches its colon, and a field is one line:
 * what two readers could take in two ways is refused. May touch: common/span.
 * On trouble: E_SHORT, E_BAD. Source: RFC 9112.
 */
#include "common/http_head.h"

#include "common/err.h"

static const char END_OF_HEAD[] = "\r\n\r\n";
static const char TOKEN[] = "!#$%&'*+-.^_`|~0123456789"
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

static bool is_token(struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '\0' || !strchr(TOKEN, s.p[i]))
            return false;
    return s.n > 0;
}

static bool is_visible(struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] >= 0x7f)
            return false;
    return true;
}

/* Blanks and what can be seen; bytes above ASCII pass, as the standard wants. */
static bool is_field_value(struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((s.p[i] < ' ' && s.p[i] != '\t') || s.p[i] == 0x7f)
            return false;
    return true;
}

/* Split at the first `sep`; the separator belongs to neither. False where there is none. */
static bool split(struct span in, char sep, struct span *before, struct span *after)
{
    const uint8_t *at = in.n > 0 ? memchr(in.p, sep, in.n) : NULL;
    if (!at)
        return false;
    size_t n = (size_t)(at - in.p);
    *before = span_of(in.p, n);
    *after = span_of(at + 1, in.n - n - 1);
    return true;
}

/* Take a line that ends in CRLF off the front. */
static bool take_line(struct span *in, struct span *line)
{
    struct span rest;
    if (!split(*in, '\n', line, &rest) || line->n == 0 || line->p[line->n - 1] != '\r')
        return false;
    line->n--;
    *in = rest;
    return true;
}

static bool split_field(struct span line, struct span *name, struct span *value)
{
    if (!split(line, ':', name, value))
        return false;
    while (value->n > 0 && (value->p[0] == ' ' || value->p[0] == '\t')) {
        value->p++;
        value->n--;
    }
    while (value->n > 0 && (value->p[value->n - 1] == ' ' || value->p[value->n - 1] == '\t'))
        value->n--;
    return true;
}

static bool read_request_line(struct span line, struct http_head *out)
{
    struct span rest, target, version, path, query;
    if (!split(line, ' ', &out->method, &rest) || !split(rest, ' ', &target, &version))
        return false;
    if (!is_token(out->method) || !is_visible(target) || target.n == 0 || target.p[0] != '/')
        return false;
    if (span_equal(version, span_text("HTTP/1.1")))
        out->minor = 1;
    else if (span_equal(version, span_text("HTTP/1.0")))
        out->minor = 0;
    else
        return false;
    out->path = target;
    out->query = span_of(target.p + target.n, 0);
    if (split(target, '?', &path, &query)) {
        out->path = path;
        out->query = query;
    }
    return true;
}

static bool fields_good(struct span fields)
{
    struct span line, name, value;
    while (fields.n > 0) {
        if (!take_line(&fields, &line) || !split_field(line, &name, &value))
            return false;
        if (!is_token(name) || !is_field_value(value))
            return false;
    }
    return true;
}

int http_head_read(struct span in, struct http_head *out, size_t *used)
{
    struct span line;
    const uint8_t *end = in.n > 0 ? memmem(in.p, in.n, END_OF_HEAD, strlen(END_OF_HEAD)) : NULL;
    if (!end)
        return E_SHORT;
    *out = (struct http_head){0};
    *used = (size_t)(end - in.p) + strlen(END_OF_HEAD);
    /* With the CRLF of the last line, without that of the empty one. */
    struct span head = span_of(in.p, (size_t)(end - in.p) + 2);
    if (!take_line(&head, &line) || !read_request_line(line, out) || !fields_good(head))
        return E_BAD;
    out->fields = head;
    return 0;
}

static bool same_name(struct span a, const char *lower)
{
    if (a.n != strlen(lower))
        return false;
    for (size_t i = 0; i < a.n; i++) {
        uint8_t c = a.p[i];
        if (c >= 'A' && c <= 'Z')
            c = (uint8_t)(c + ('a' - 'A'));
        if (c != (uint8_t)lower[i])
            return false;
    }
    return true;
}

bool http_head_find(const struct http_head *h, const char *name, struct span *value)
{
    struct span rest = h->fields, line, found;
    while (take_line(&rest, &line))
        if (split_field(line, &found, value) && same_name(found, name))
            return true;
    return false;
}

uint32_t http_head_count(const struct http_head *h, const char *name)
{
    struct span rest = h->fields, line, found, value;
    uint32_t n = 0;
    while (take_line(&rest, &line))
        n += split_field(line, &found, &value) && same_name(found, name);
    return n;
}

/* tests/fuzz/fuzz_http_head.c: the head of an HTTP request.
 * The bytes as they are, and as edits (place, byte) of a good head, since seeds that know nothing
 * of HTTP hold no end of one. May touch: common.
 * What must hold: every span lies in the head, and a head written again from its parts reads the
 * same.
 */
#include "tests/fuzz/fuzz_target.h"

#include "common/http_head.h"

static const char GOOD[] = "GET /metrics?a=b HTTP/1.1\r\nHost: a:1\r\nX-Y:\t z \r\n\r\n";

static bool inside(struct span part, struct span whole)
{
    return part.p >= whole.p && part.p + part.n <= whole.p + whole.n;
}

static const char *round_trip(struct span head, const struct http_head *h)
{
    uint8_t bytes[8192];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    struct http_head again;
    size_t used;

    span_put(&w, h->method.p, h->method.n);
    span_put_u8(&w, ' ');
    span_put(&w, h->path.p, h->path.n);
    span_put_u8(&w, '?');
    span_put(&w, h->query.p, h->query.n);
    span_put(&w, h->minor ? " HTTP/1.1\r\n" : " HTTP/1.0\r\n", 11);
    span_put(&w, h->fields.p, h->fields.n);
    span_put(&w, "\r\n", 2);
    if (w.full)
        return NULL;
    if (http_head_read(span_written(&w), &again, &used) != 0)
        return "what was read is written and not read again";
    if (used != w.len || used < head.n)
        return "the head written again ends elsewhere";
    if (!span_equal(again.method, h->method) || !span_equal(again.path, h->path) ||
        !span_equal(again.query, h->query) || !span_equal(again.fields, h->fields))
        return "the head written again has other parts";
    return NULL;
}

static const char *check(struct span in)
{
    struct http_head h;
    struct span value;
    size_t used = 0;

    if (http_head_read(in, &h, &used) != 0)
        return NULL;
    if (used == 0 || used > in.n)
        return "a head longer than its bytes";
    struct span head = span_of(in.p, used);
    if (!inside(h.method, head) || !inside(h.path, head) || !inside(h.query, head) ||
        !inside(h.fields, head))
        return "a part outside the head";
    if (http_head_find(&h, "host", &value) && !inside(value, h.fields))
        return "a field's value outside the fields";
    return round_trip(head, &h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t edited[sizeof(GOOD) - 1];

    fuzz_target_must(check(span_of(data, size)));
    memcpy(edited, GOOD, sizeof(edited));
    for (size_t i = 0; i + 1 < size; i += 2) {
        edited[data[i] % sizeof(edited)] = data[i + 1];
        fuzz_target_must(check(span_of(edited, sizeof(edited))));
    }
    return 0;
}

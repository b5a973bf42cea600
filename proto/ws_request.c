/* proto/ws_request.c: from the bytes of a request to a verdict.
 * http-parser takes the head in one piece once its end is there, so each name and value is one
 * piece too; a value that comes in two was folded over lines, which is refused.
 * May touch: common, http-parser, libcrypto. On trouble: see the header. Source: RFC 6455, 4.2.
 */
#include "proto/ws_request.h"

#ifdef PARTS_WEBSOCKET

#include "common/err.h"

#include <http_parser.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <string.h>
#include <strings.h>

#define KEY_TEXT  24 /* characters of a key: 16 bytes in base64 */
#define KEY_BYTES 18 /* what they decode to, the padding's zeroes included */

static const char END_OF_HEAD[] = "\r\n\r\n";
static const char ACCEPT_GUID[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/* A head being read: what is found, and the field at hand. */
struct reading {
    struct ws_request *out;
    struct span target, name;
    bool valued;                                       /* the field at hand has its value */
    uint32_t keys, versions, origins, hosts, upgrades; /* fields of that name */
};

static bool is_name(struct span s, const char *name)
{
    return s.n == strlen(name) && strncasecmp((const char *)s.p, name, s.n) == 0;
}

/* Is the token in this list between commas? In either case. */
static bool has_token(struct span list, const char *token)
{
    while (list.n > 0) {
        const uint8_t *comma = memchr(list.p, ',', list.n);
        struct span one = span_of(list.p, comma ? (size_t)(comma - list.p) : list.n);
        list = comma ? span_of(comma + 1, list.n - one.n - 1) : span_of(NULL, 0);
        while (one.n > 0 && (one.p[0] == ' ' || one.p[0] == '\t'))
            one = span_of(one.p + 1, one.n - 1);
        while (one.n > 0 && (one.p[one.n - 1] == ' ' || one.p[one.n - 1] == '\t'))
            one.n--;
        if (is_name(one, token))
            return true;
    }
    return false;
}

/* --- what http-parser tells ------------------------------------------------------------------- */

static int on_url(http_parser *p, const char *at, size_t n)
{
    struct reading *r = p->data;
    r->target = span_of(at, n);
    return 0;
}

static int on_field(http_parser *p, const char *at, size_t n)
{
    struct reading *r = p->data;
    r->name = span_of(at, n);
    r->valued = false;
    return memchr(at, ' ', n) ? 1 : 0;
}

static int on_value(http_parser *p, const char *at, size_t n)
{
    struct reading *r = p->data;
    struct ws_request *out = r->out;
    struct span value = span_of(at, n);

    if (r->valued)
        return 1;
    r->valued = true;
    while (value.n > 0 && (value.p[value.n - 1] == ' ' || value.p[value.n - 1] == '\t'))
        value.n--;
    if (is_name(r->name, "host")) {
        out->host = value;
        r->hosts++;
    } else if (is_name(r->name, "upgrade")) {
        out->websocket = out->websocket || has_token(value, "websocket");
    } else if (is_name(r->name, "connection")) {
        out->upgrade = out->upgrade || has_token(value, "upgrade");
    } else if (is_name(r->name, "sec-websocket-key")) {
        out->key = value;
        r->keys++;
    } else if (is_name(r->name, "sec-websocket-version")) {
        out->wants = value;
        r->versions++;
    } else if (is_name(r->name, "origin")) {
        out->origin = value;
        out->from = true;
        r->origins++;
    }
    return 0;
}

/* --- the head --------------------------------------------------------------------------------- */

/* Every line ends in CRLF, and neither stands elsewhere, nor another control byte than the tab;
 * http-parser would take less. */
static bool lines_good(struct span head)
{
    for (size_t i = 0; i < head.n; i++) {
        const uint8_t c = head.p[i];
        if ((c < ' ' && c != '\t' && c != '\r' && c != '\n') || c == 0x7f)
            return false;
        if (c == '\n' && (i == 0 || head.p[i - 1] != '\r'))
            return false;
        if (c == '\r' && (i + 1 == head.n || head.p[i + 1] != '\n'))
            return false;
    }
    return true;
}

/* As Debian builds it, http-parser takes tabs and more in a target, and other letters for HTTP. */
static bool target_good(struct span target, struct span head)
{
    static const char version[] = " HTTP/1.";
    const uint8_t *end = target.p + target.n;

    if (target.n == 0 || (size_t)(head.p + head.n - end) < strlen(version) ||
        memcmp(end, version, strlen(version)) != 0)
        return false;
    for (size_t i = 0; i < target.n; i++) {
        if (target.p[i] <= ' ' || target.p[i] >= 0x7f)
            return false;
    }
    return target.p[0] == '/';
}

static bool once_at_most(const struct reading *r)
{
    return r->keys <= 1 && r->versions <= 1 && r->origins <= 1 && r->hosts <= 1;
}

static int read_head(struct span head, struct ws_request *out)
{
    struct reading r = {.out = out};
    http_parser_settings settings;
    http_parser p;

    http_parser_settings_init(&settings);
    settings.on_url = on_url;
    settings.on_header_field = on_field;
    settings.on_header_value = on_value;
    http_parser_init(&p, HTTP_REQUEST);
    p.data = &r;
    const size_t read = http_parser_execute(&p, &settings, (const char *)head.p, head.n);
    if (HTTP_PARSER_ERRNO(&p) != HPE_OK || read != head.n)
        return E_BAD;
    /* content_length: what is left of a body; all ones where none was announced. */
    const bool body = (p.flags & F_CHUNKED) != 0 || p.uses_transfer_encoding ||
                      ((p.flags & F_CONTENTLENGTH) != 0 && p.content_length != 0);
    if (body || p.http_major != 1 || p.http_minor > 1 || !once_at_most(&r))
        return E_BAD;
    if (!target_good(r.target, head) || (p.http_minor == 1 && r.hosts != 1))
        return E_BAD;
    const uint8_t *query = memchr(r.target.p, '?', r.target.n);
    out->path = span_of(r.target.p, query ? (size_t)(query - r.target.p) : r.target.n);
    out->minor = p.http_minor;
    out->method = p.method == HTTP_GET    ? WS_METHOD_GET
                  : p.method == HTTP_HEAD ? WS_METHOD_HEAD
                                          : WS_METHOD_OTHER;
    return 0;
}

int ws_request_read(struct span in, struct ws_request *out, size_t *used)
{
    /* Whoever speaks something else need not wait for an end that never comes. */
    if (in.n > 0 && (in.p[0] < 'A' || in.p[0] > 'Z'))
        return E_BAD;
    const struct span most = span_of(in.p, in.n < WS_REQUEST_MAX ? in.n : WS_REQUEST_MAX);
    const uint8_t *end = in.n > 0 ? memmem(most.p, most.n, END_OF_HEAD, strlen(END_OF_HEAD)) : NULL;
    if (!end)
        return in.n < WS_REQUEST_MAX ? E_SHORT : E_FULL;
    *used = (size_t)(end - in.p) + strlen(END_OF_HEAD);
    *out = (struct ws_request){0};
    const struct span head = span_of(in.p, *used);
    return lines_good(head) ? read_head(head, out) : E_BAD;
}

/* --- the verdict ------------------------------------------------------------------------------ */

static bool key_good(struct span key)
{
    uint8_t bytes[KEY_BYTES];

    if (key.n != KEY_TEXT || key.p[KEY_TEXT - 1] != '=' || key.p[KEY_TEXT - 2] != '=' ||
        key.p[KEY_TEXT - 3] == '=')
        return false;
    return EVP_DecodeBlock(bytes, key.p, KEY_TEXT) == KEY_BYTES;
}

int ws_request_refusal(const struct ws_request *q)
{
    if (q->method != WS_METHOD_GET)
        return 405;
    if (q->minor != 1)
        return 400;
    if (!q->websocket || !q->upgrade || !span_equal(q->wants, span_text(WS_VERSION)))
        return 426;
    return key_good(q->key) ? 0 : 400;
}

void ws_request_accept(struct span key, char out[WS_ACCEPT_MAX])
{
    uint8_t text[KEY_TEXT + sizeof(ACCEPT_GUID)];
    uint8_t digest[SHA_DIGEST_LENGTH];

    ASSERT(key.n == KEY_TEXT);
    memcpy(text, key.p, KEY_TEXT);
    memcpy(text + KEY_TEXT, ACCEPT_GUID, sizeof(ACCEPT_GUID) - 1);
    SHA1(text, KEY_TEXT + sizeof(ACCEPT_GUID) - 1, digest);
    EVP_EncodeBlock((unsigned char *)out, digest, SHA_DIGEST_LENGTH);
}

#endif

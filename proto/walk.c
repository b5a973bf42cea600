/* proto/walk.c: the bounded walk over a MessagePack body.
 * One loop, and one counter for each open level: how many values are still to come there.
 * Every count is held against the bytes that are there the moment it is read, so that a walk costs
 * no more than the bytes it walks. May touch: common, proto/limits.
 * On trouble: E_BAD, wherever it is.
 */
#include "proto/walk.h"

#include "common/err.h"
#include "proto/limits.h"

#include <endian.h>

/* Bytes of a whole value whose head says it all, by that head; 0: look closer. Most values of most
 * bodies are such. */
static const uint8_t WHOLE[256] = {
    [0x00 ... 0x7f] = 1, /* positive fixint */
    [0xa0] = 1,          [0xa1] = 2,  [0xa2] = 3,  [0xa3] = 4,  [0xa4] = 5,  [0xa5] = 6,
    [0xa6] = 7,          [0xa7] = 8,  [0xa8] = 9,  [0xa9] = 10, [0xaa] = 11, [0xab] = 12,
    [0xac] = 13,         [0xad] = 14, [0xae] = 15, [0xaf] = 16, [0xb0] = 17, [0xb1] = 18,
    [0xb2] = 19,         [0xb3] = 20, [0xb4] = 21, [0xb5] = 22, [0xb6] = 23, [0xb7] = 24,
    [0xb8] = 25,         [0xb9] = 26, [0xba] = 27, [0xbb] = 28, [0xbc] = 29, [0xbd] = 30,
    [0xbe] = 31,         [0xbf] = 32,                           /* short str */
    [0xc0] = 1,                                                 /* nil */
    [0xc2 ... 0xc3] = 1,                                        /* false, true */
    [0xca] = 5,          [0xcb] = 9,                            /* float32, float64 */
    [0xcc] = 2,          [0xcd] = 3,  [0xce] = 5,  [0xcf] = 9,  /* uint8 to uint64 */
    [0xd0] = 2,          [0xd1] = 3,  [0xd2] = 5,  [0xd3] = 9,  /* int8 to int64 */
    [0xd4] = 3,          [0xd5] = 4,  [0xd6] = 6,  [0xd7] = 10, /* fixext1 to fixext8 */
    [0xd8] = 18,                                                /* fixext16 */
    [0xe0 ... 0xff] = 1,                                        /* negative fixint */
};

/* What any other head says, and the bytes behind it that belong to the same value. */
enum item_kind { ITEM_BAD, ITEM_PLAIN, ITEM_STR, ITEM_ARRAY, ITEM_MAP };

struct item {
    enum item_kind kind;
    uint8_t length_bytes; /* 1, 2 or 4: a big-endian length or count follows */
    uint8_t extra;        /* bytes besides that length: an ext's type byte */
};

/* 0xc0 to 0xdf, the heads of long forms; what is not here is never used, or WHOLE. */
static const struct item ITEMS[32] = {
    [0x04] = {ITEM_PLAIN, 1, 0}, /* c4 bin8 */
    [0x05] = {ITEM_PLAIN, 2, 0}, /* c5 bin16 */
    [0x06] = {ITEM_PLAIN, 4, 0}, /* c6 bin32 */
    [0x07] = {ITEM_PLAIN, 1, 1}, /* c7 ext8 */
    [0x08] = {ITEM_PLAIN, 2, 1}, /* c8 ext16 */
    [0x09] = {ITEM_PLAIN, 4, 1}, /* c9 ext32 */
    [0x19] = {ITEM_STR, 1, 0},   /* d9 str8 */
    [0x1a] = {ITEM_STR, 2, 0},   /* da str16 */
    [0x1b] = {ITEM_STR, 4, 0},   /* db str32 */
    [0x1c] = {ITEM_ARRAY, 2, 0}, /* dc array16 */
    [0x1d] = {ITEM_ARRAY, 4, 0}, /* dd array32 */
    [0x1e] = {ITEM_MAP, 2, 0},   /* de map16 */
    [0x1f] = {ITEM_MAP, 4, 0},   /* df map32 */
};

/* `bytes` is 1, 2, 4 or 8. */
static inline uint64_t big_endian(const uint8_t *p, size_t bytes)
{
    uint64_t v8;
    uint32_t v4;

    if (bytes == 1)
        return p[0];
    if (bytes == 2)
        return (uint64_t)p[0] << 8 | p[1];
    if (bytes == 4) {
        memcpy(&v4, p, sizeof(v4));
        return be32toh(v4);
    }
    memcpy(&v8, p, sizeof(v8));
    return be64toh(v8);
}

/* Take the head of one value of a long form, and the whole of it where it holds no others:
 * `values` is how many must follow inside it, `nests` whether it opens a level. */
static int take_item(struct span *rest, bool *nests, uint64_t *values)
{
    struct item item = ITEMS[rest->p[0] & 0x1f];
    size_t head = 1u + item.length_bytes;
    if (item.kind == ITEM_BAD || rest->n < head)
        return E_BAD;
    uint64_t length = big_endian(rest->p + 1, item.length_bytes);
    rest->p += head;
    rest->n -= head;

    *nests = item.kind == ITEM_ARRAY || item.kind == ITEM_MAP;
    if (*nests) {
        *values = item.kind == ITEM_MAP ? 2 * length : length;
        return 0;
    }
    *values = 0;
    length += item.extra;
    if (length > rest->n)
        return E_BAD;
    if (item.kind == ITEM_STR && !walk_utf8(span_of(rest->p, (size_t)length)))
        return E_BAD;
    rest->p += length;
    rest->n -= (size_t)length;
    return 0;
}

/* Is a str of less than 32 bytes, such as nearly all keys are, sound? It is all there. */
static inline bool short_text_ok(const uint8_t *p, size_t n)
{
    uint8_t any = 0;

    for (size_t i = 0; i < n; i++)
        any |= p[i];
    return any < 0x80 || walk_utf8(span_of(p, n));
}

int walk_value(struct span in, unsigned depth, size_t *used)
{
    ASSERT(depth <= PROTO_DEPTH_MAX);
    const uint8_t *p = in.p, *const end = in.p + in.n;
    uint64_t outer[PROTO_DEPTH_MAX + 1]; /* what is still to come at the levels around this one */
    uint64_t left = 1;
    unsigned level = 0;

    outer[0] = 0;
    while (left > 0 || level > 0) {
        if (left == 0) {
            left = outer[--level];
            continue;
        }
        if (p == end)
            return E_BAD;
        const uint8_t head = *p;
        const size_t whole = WHOLE[head];
        if (whole > (size_t)(end - p))
            return E_BAD;
        left--;
        p += whole;
        if ((head & 0xe0) == 0xa0 && !short_text_ok(p - whole + 1, whole - 1))
            return E_BAD;
        if (whole > 0)
            continue;

        bool nests = true;
        uint64_t values = head & 0x0f; /* of a short map, or array */
        if (head < 0xa0) {
            p++;
            values <<= head < 0x90;
        } else {
            struct span rest = span_of(p, (size_t)(end - p));
            if (take_item(&rest, &nests, &values) != 0)
                return E_BAD;
            p = rest.p;
        }
        if (!nests)
            continue;
        if (values > (size_t)(end - p) || depth + level >= PROTO_DEPTH_MAX)
            return E_BAD;
        outer[level++] = left;
        left = values;
    }
    *used = (size_t)(p - in.p);
    return 0;
}

/* Inlined where bodies begin. */
static inline int uint_take(struct span *rest, uint64_t max, uint64_t *out)
{
    if (rest->n == 0)
        return E_BAD;
    uint8_t head = rest->p[0];
    size_t bytes = 0;
    uint64_t v = head;
    if (head >= 0x80) {
        if (head < 0xcc || head > 0xd3)
            return E_BAD;
        bytes = (size_t)1 << (head & 3);
        if (rest->n < 1 + bytes)
            return E_BAD;
        v = big_endian(rest->p + 1, bytes);
        if (head >= 0xd0 && v >> (8 * bytes - 1) != 0)
            return E_BAD; /* negative */
    }
    if (v > max)
        return E_BAD;
    rest->p += 1 + bytes;
    rest->n -= 1 + bytes;
    *out = v;
    return 0;
}

int walk_uint(struct span *rest, uint64_t max, uint64_t *out)
{
    return uint_take(rest, max, out);
}

/* The head of an array of exactly three, in any of its forms. */
static int take_three(struct span *rest)
{
    if (rest->n == 0)
        return E_BAD;
    uint8_t head = rest->p[0];
    size_t bytes = head == 0x93 ? 0 : head == 0xdc ? 2 : head == 0xdd ? 4 : rest->n;
    if (rest->n < 1 + bytes)
        return E_BAD;
    if (bytes > 0 && big_endian(rest->p + 1, bytes) != 3)
        return E_BAD;
    rest->p += 1 + bytes;
    rest->n -= 1 + bytes;
    return 0;
}

int walk_body(struct span body, struct walk_head *head)
{
    struct span rest = body;
    uint64_t cmd, seq;
    size_t used;
    int err = take_three(&rest);
    if (err == 0)
        err = uint_take(&rest, UINT32_MAX, &cmd);
    if (err == 0)
        err = uint_take(&rest, UINT32_MAX, &seq);
    if (err == 0)
        err = walk_value(rest, 1, &used);
    if (err != 0)
        return err;
    if (used != rest.n)
        return E_BAD;
    *head = (struct walk_head){.cmd = (uint32_t)cmd, .seq = (uint32_t)seq, .payload = rest};
    return 0;
}

/* The length of the sequence that `lead` opens, and where its second byte must lie: the ranges of
 * Unicode's table of well-formed sequences, which leave out overlong forms, surrogates and what is
 * beyond U+10FFFF. 0: no sequence begins so. */
static size_t utf8_lead(uint8_t lead, uint8_t *low, uint8_t *high)
{
    *low = 0x80;
    *high = 0xbf;
    if (lead >= 0xc2 && lead <= 0xdf)
        return 2;
    if (lead >= 0xe0 && lead <= 0xef) {
        if (lead == 0xe0)
            *low = 0xa0;
        if (lead == 0xed)
            *high = 0x9f;
        return 3;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        if (lead == 0xf0)
            *low = 0x90;
        if (lead == 0xf4)
            *high = 0x8f;
        return 4;
    }
    return 0;
}

bool walk_utf8(struct span text)
{
    size_t i = 0;
    while (i < text.n) {
        if (text.p[i] < 0x80) {
            i++;
            continue;
        }
        uint8_t low, high;
        size_t n = utf8_lead(text.p[i], &low, &high);
        if (n == 0 || text.n - i < n)
            return false;
        if (text.p[i + 1] < low || text.p[i + 1] > high)
            return false;
        for (size_t k = 2; k < n; k++) {
            if ((text.p[i + k] & 0xc0) != 0x80)
                return false;
        }
        i += n;
    }
    return true;
}

/* proto/walk.c: the bounded walk over a MessagePack body.
 * One loop, and one counter for each open level: `left[i]` values are still to come at level i.
 * Every count is held against the bytes that are there the moment it is read, so that a walk costs
 * no more than the bytes it walks. May touch: common, proto/limits.
 * On trouble: E_BAD, wherever it is.
 */
#include "proto/walk.h"

#include "common/err.h"
#include "proto/limits.h"

/* What one head byte says, and the bytes behind it that belong to the same value. */
enum item_kind { ITEM_BAD, ITEM_PLAIN, ITEM_STR, ITEM_ARRAY, ITEM_MAP };

struct item {
    enum item_kind kind;
    uint8_t length_bytes; /* 0, 1, 2 or 4: a big-endian length or count follows */
    uint8_t extra;        /* bytes besides that length: a number's, an ext's type byte */
    uint8_t small;        /* the length or count where length_bytes is 0 */
};

/* 0xc0 to 0xdf, one row a byte. */
static const struct item ITEMS[32] = {
    {ITEM_PLAIN, 0, 0, 0},  /* c0 nil */
    {ITEM_BAD, 0, 0, 0},    /* c1 never used */
    {ITEM_PLAIN, 0, 0, 0},  /* c2 false */
    {ITEM_PLAIN, 0, 0, 0},  /* c3 true */
    {ITEM_PLAIN, 1, 0, 0},  /* c4 bin8 */
    {ITEM_PLAIN, 2, 0, 0},  /* c5 bin16 */
    {ITEM_PLAIN, 4, 0, 0},  /* c6 bin32 */
    {ITEM_PLAIN, 1, 1, 0},  /* c7 ext8 */
    {ITEM_PLAIN, 2, 1, 0},  /* c8 ext16 */
    {ITEM_PLAIN, 4, 1, 0},  /* c9 ext32 */
    {ITEM_PLAIN, 0, 4, 0},  /* ca float32 */
    {ITEM_PLAIN, 0, 8, 0},  /* cb float64 */
    {ITEM_PLAIN, 0, 1, 0},  /* cc uint8 */
    {ITEM_PLAIN, 0, 2, 0},  /* cd uint16 */
    {ITEM_PLAIN, 0, 4, 0},  /* ce uint32 */
    {ITEM_PLAIN, 0, 8, 0},  /* cf uint64 */
    {ITEM_PLAIN, 0, 1, 0},  /* d0 int8 */
    {ITEM_PLAIN, 0, 2, 0},  /* d1 int16 */
    {ITEM_PLAIN, 0, 4, 0},  /* d2 int32 */
    {ITEM_PLAIN, 0, 8, 0},  /* d3 int64 */
    {ITEM_PLAIN, 0, 2, 0},  /* d4 fixext1 */
    {ITEM_PLAIN, 0, 3, 0},  /* d5 fixext2 */
    {ITEM_PLAIN, 0, 5, 0},  /* d6 fixext4 */
    {ITEM_PLAIN, 0, 9, 0},  /* d7 fixext8 */
    {ITEM_PLAIN, 0, 17, 0}, /* d8 fixext16 */
    {ITEM_STR, 1, 0, 0},    /* d9 str8 */
    {ITEM_STR, 2, 0, 0},    /* da str16 */
    {ITEM_STR, 4, 0, 0},    /* db str32 */
    {ITEM_ARRAY, 2, 0, 0},  /* dc array16 */
    {ITEM_ARRAY, 4, 0, 0},  /* dd array32 */
    {ITEM_MAP, 2, 0, 0},    /* de map16 */
    {ITEM_MAP, 4, 0, 0},    /* df map32 */
};

static struct item item_of(uint8_t head)
{
    if (head >= 0xc0 && head < 0xe0)
        return ITEMS[head - 0xc0];
    if (head < 0x80 || head >= 0xe0)
        return (struct item){ITEM_PLAIN, 0, 0, 0};
    if (head >= 0xa0)
        return (struct item){ITEM_STR, 0, 0, head & 0x1f};
    return (struct item){head < 0x90 ? ITEM_MAP : ITEM_ARRAY, 0, 0, head & 0x0f};
}

static uint64_t big_endian(const uint8_t *p, size_t bytes)
{
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; i++)
        v = v << 8 | p[i];
    return v;
}

/* Take the head of one value, and the whole of it where it holds no others: `values` is how many
 * values must follow inside it, `nests` whether it opens a level. */
static int take_item(struct span *rest, bool *nests, uint64_t *values)
{
    if (rest->n == 0)
        return E_BAD;
    struct item item = item_of(rest->p[0]);
    size_t head = 1u + item.length_bytes;
    if (item.kind == ITEM_BAD || rest->n < head)
        return E_BAD;
    uint64_t length = item.small;
    if (item.length_bytes > 0)
        length = big_endian(rest->p + 1, item.length_bytes);
    rest->p += head;
    rest->n -= head;

    *nests = item.kind == ITEM_ARRAY || item.kind == ITEM_MAP;
    if (*nests) {
        *values = item.kind == ITEM_MAP ? 2 * length : length;
        return *values <= rest->n ? 0 : E_BAD;
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

int walk_value(struct span in, unsigned depth, size_t *used)
{
    ASSERT(depth <= PROTO_DEPTH_MAX);
    struct span rest = in;
    uint64_t left[PROTO_DEPTH_MAX + 1];
    unsigned level = 0;
    left[0] = 1;
    for (;;) {
        if (left[level] == 0) {
            if (level == 0)
                break;
            level--;
            continue;
        }
        left[level]--;
        bool nests;
        uint64_t values;
        int err = take_item(&rest, &nests, &values);
        if (err != 0)
            return err;
        if (!nests)
            continue;
        if (depth + level >= PROTO_DEPTH_MAX)
            return E_BAD;
        left[++level] = values;
    }
    *used = in.n - rest.n;
    return 0;
}

int walk_uint(struct span *rest, uint64_t max, uint64_t *out)
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
        err = walk_uint(&rest, UINT32_MAX, &cmd);
    if (err == 0)
        err = walk_uint(&rest, UINT32_MAX, &seq);
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

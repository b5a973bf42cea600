/* proto/kv_key.c: see the header. */
#include "proto/kv_key.h"

#include "common/err.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const room_names[KV_ROOMS] = {"gen", "world", "zone", "ids", "name"};
static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#define PREFIX 16 /* digits of a generation */

/* base64url without padding. */
static size_t encode(struct span s, char *out)
{
    size_t n = 0;
    uint32_t held = 0, bits = 0;

    for (size_t i = 0; i < s.n; i++) {
        held = held << 8 | s.p[i];
        for (bits += 8; bits >= 6; bits -= 6)
            out[n++] = letters[held >> (bits - 6) & 63];
    }
    if (bits > 0)
        out[n++] = letters[held << (6 - bits) & 63];
    out[n] = '\0';
    return n;
}

static int decode(struct span s, struct claim_name *out)
{
    uint32_t held = 0, bits = 0;

    *out = (struct claim_name){0};
    for (size_t i = 0; i < s.n; i++) {
        const char *at = s.p[i] ? strchr(letters, s.p[i]) : NULL;

        if (!at)
            return E_BAD;
        held = held << 6 | (uint32_t)(at - letters);
        bits += 6;
        if (bits >= 8) {
            if (out->len == CLAIM_NAME_MAX)
                return E_BAD;
            bits -= 8;
            out->p[out->len++] = (char)(held >> bits & 255);
        }
    }
    return out->len == 0 || bits >= 6 || (held & ((1u << bits) - 1)) != 0 ? E_BAD : 0;
}

size_t kv_key_write(const struct kv_key *k, char out[KV_TEXT_MAX + 1])
{
    char last[KV_TEXT_MAX + 1];
    int n;

    if (k->room == KV_GENERATION)
        return (size_t)snprintf(out, KV_TEXT_MAX + 1, "gen");
    if (k->room == KV_IDS)
        return (size_t)snprintf(out, KV_TEXT_MAX + 1, "%016" PRIx64 ".ids", k->generation);
    if (k->room == KV_ZONE)
        snprintf(last, sizeof(last), "%" PRIu32, k->number);
    else
        encode(claim_name_span(&k->name), last);
    n = snprintf(out, KV_TEXT_MAX + 1, "%016" PRIx64 ".%s.%.100s", k->generation,
                 room_names[k->room], last);
    ASSERT(n > 0 && n <= KV_TEXT_MAX);
    return (size_t)n;
}

static int read_number(struct span s, uint32_t *out)
{
    uint64_t v = 0;

    if (s.n == 0 || s.n > 10 || (s.n > 1 && s.p[0] == '0'))
        return E_BAD;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return E_BAD;
        v = v * 10 + (uint64_t)(s.p[i] - '0');
    }
    *out = (uint32_t)v;
    return v > UINT32_MAX ? E_BAD : 0;
}

static bool skip(struct span *s, const char *what)
{
    size_t n = strlen(what);

    if (s->n < n || memcmp(s->p, what, n) != 0)
        return false;
    *s = span_of(s->p + n, s->n - n);
    return true;
}

int kv_key_read(struct span text, struct kv_key *out)
{
    struct kv_key k = {.room = KV_GENERATION};
    struct span at = text;
    int err = E_BAD;

    if (span_equal(text, span_text("gen"))) {
        *out = k;
        return 0;
    }
    if (text.n > KV_TEXT_MAX || text.n <= PREFIX)
        return E_BAD;
    for (int i = 0; i < PREFIX; i++) {
        const char *hex = "0123456789abcdef", *d = at.p[i] ? strchr(hex, at.p[i]) : NULL;

        if (!d)
            return E_BAD;
        k.generation = k.generation << 4 | (uint64_t)(d - hex);
    }
    at = span_of(at.p + PREFIX, at.n - PREFIX);
    if (skip(&at, ".ids")) {
        k.room = KV_IDS;
        err = at.n == 0 ? 0 : E_BAD;
    } else if (skip(&at, ".zone.")) {
        k.room = KV_ZONE;
        err = read_number(at, &k.number);
    } else if (skip(&at, ".world.")) {
        k.room = KV_WORLD;
        err = decode(at, &k.name);
    } else if (skip(&at, ".name.")) {
        k.room = KV_NAME;
        err = decode(at, &k.name);
    }
    if (err == 0)
        *out = k;
    return err;
}

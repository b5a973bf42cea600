/* proto/claim.c: see the header. */
#include "proto/claim.h"

#include "common/err.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

static const char *const state_names[CLAIM_STATES] = {"none",   "held",   "free",
                                                      "buried", "closed", "open"};

bool claim_world_ok(struct span id)
{
    for (size_t i = 0; i < id.n; i++) {
        uint8_t c = id.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '_'))
            return false;
    }
    return id.n > 0 && id.n <= CLAIM_NAME_MAX;
}

bool claim_name_equal(const struct claim_name *a, const struct claim_name *b)
{
    return a->len == b->len && memcmp(a->p, b->p, a->len) == 0;
}

struct claim_name claim_name_of(struct span s)
{
    struct claim_name n = {.len = (uint8_t)s.n};

    ASSERT(s.n <= CLAIM_NAME_MAX);
    if (s.n > 0)
        memcpy(n.p, s.p, s.n);
    return n;
}

void claim_set_text(struct claim *c, struct span text)
{
    ASSERT(text.n <= CLAIM_TEXT_MAX);
    c->text_len = (uint8_t)text.n;
    memset(c->text, 0, sizeof(c->text));
    if (text.n > 0)
        memcpy(c->text, text.p, text.n);
}

/* An empty name is "-", which is no name. */
static void put_name(char out[CLAIM_NAME_MAX + 1], const struct claim_name *n)
{
    snprintf(out, CLAIM_NAME_MAX + 1, "%.*s", n->len ? n->len : 1, n->len ? n->p : "-");
}

size_t claim_write(const struct claim *c, char out[CLAIM_BYTES_MAX])
{
    char world[CLAIM_NAME_MAX + 1], to[CLAIM_NAME_MAX + 1];
    int n;

    ASSERT(c->state != CLAIM_NONE);
    put_name(world, &c->world);
    put_name(to, &c->to);
    n = snprintf(out, CLAIM_BYTES_MAX,
                 "%s %s epoch=%" PRIu64 " nonce=%" PRIx64 " load=%" PRIu64
                 " to=%s draining=%d text=%.*s",
                 state_names[c->state], world, c->epoch, c->nonce, c->load, to, c->draining,
                 c->text_len, c->text);
    ASSERT(n > 0 && n < CLAIM_BYTES_MAX);
    return (size_t)n;
}

/* The word up to the next space, which is passed over; false where there is none. */
static bool word(struct span *at, struct span *out)
{
    for (size_t i = 0; i < at->n; i++) {
        if (at->p[i] != ' ')
            continue;
        *out = span_of(at->p, i);
        *at = span_of(at->p + i + 1, at->n - i - 1);
        return true;
    }
    return false;
}

/* What stands behind `key=` in the next word. */
static bool field(struct span *at, const char *key, struct span *out)
{
    size_t n = strlen(key);

    if (!word(at, out) || out->n < n || memcmp(out->p, key, n) != 0)
        return false;
    *out = span_of(out->p + n, out->n - n);
    return true;
}

static unsigned digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - 48u;
    if (c >= 'a' && c <= 'f')
        return c - 97u + 10u;
    return UINT_MAX;
}

/* As we write them: no sign, no zero in front, small letters. */
static bool number(struct span s, unsigned base, uint64_t *out)
{
    uint64_t v = 0;

    if (s.n == 0 || (s.n > 1 && s.p[0] == '0'))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned d = digit(s.p[i]);

        if (d >= base || v > (UINT64_MAX - d) / base)
            return false;
        v = v * base + d;
    }
    *out = v;
    return true;
}

static bool name(struct span s, struct claim_name *out)
{
    if (s.n == 0 || s.n > CLAIM_NAME_MAX || memchr(s.p, '\0', s.n))
        return false;
    *out = claim_name_of(s);
    if (s.n == 1 && s.p[0] == '-')
        out->len = 0;
    return true;
}

int claim_read(struct span bytes, struct claim *out)
{
    struct claim c = {.state = CLAIM_NONE};
    struct span at = bytes, s;
    uint64_t draining = 0;

    if (bytes.n >= CLAIM_BYTES_MAX || !word(&at, &s))
        return E_BAD;
    for (int i = CLAIM_HELD; i < CLAIM_STATES; i++) {
        if (span_equal(s, span_text(state_names[i])))
            c.state = (enum claim_state)i;
    }
    if (c.state == CLAIM_NONE || !word(&at, &s) || !name(s, &c.world) ||
        !field(&at, "epoch=", &s) || !number(s, 10, &c.epoch) || !field(&at, "nonce=", &s) ||
        !number(s, 16, &c.nonce) || !field(&at, "load=", &s) || !number(s, 10, &c.load) ||
        !field(&at, "to=", &s) || !name(s, &c.to) || !field(&at, "draining=", &s) ||
        !number(s, 2, &draining) || draining > 1)
        return E_BAD;
    if (at.n < 5 || at.n > 5 + CLAIM_TEXT_MAX || memcmp(at.p, "text=", 5) != 0 ||
        memchr(at.p, '\0', at.n))
        return E_BAD;
    c.draining = draining == 1;
    claim_set_text(&c, span_of(at.p + 5, at.n - 5));
    *out = c;
    return 0;
}

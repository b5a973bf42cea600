/* gateway/roster.c: see the header. */
#include "gateway/roster.h"

#include "common/addr.h"
#include "common/err.h"
#include "proto/kv_key.h"

const struct roster_world *roster_find(const struct roster *r, const struct claim_name *id)
{
    for (uint32_t i = 0; i < r->n; i++) {
        if (claim_name_equal(&r->worlds[i].id, id))
            return &r->worlds[i];
    }
    return NULL;
}

static struct roster_world *find(struct roster *r, const struct claim_name *id)
{
    const struct roster_world *w = roster_find(r, id);

    return w ? &r->worlds[w - r->worlds] : NULL;
}

static void drop(struct roster *r, struct roster_world *w)
{
    *w = r->worlds[--r->n];
    r->version++;
}

static void doubt(struct roster *r, struct roster_world *w, struct mono now)
{
    struct mono until = clock_add(now, ROSTER_DOUBT_NS);

    if (!w->doubted || clock_since(w->until, until) > 0)
        w->until = until;
    r->version += !w->doubted;
    w->doubted = true;
}

/* How long it may say nothing. */
static int64_t patience(const struct roster_world *w)
{
    const int64_t ns = ROSTER_GAPS * w->gap_ns;

    if (w->gap_ns == 0 || ns > ROSTER_SILENCE_NS)
        return ROSTER_SILENCE_NS;
    return ns > ROSTER_SILENCE_MIN_NS ? ns : ROSTER_SILENCE_MIN_NS;
}

static void trust(struct roster *r, struct roster_world *w, struct mono now)
{
    r->version += w->doubted;
    w->doubted = false;
    w->until = clock_add(now, patience(w));
}

/* Nobody knows what they said meanwhile: they have their whole time again. */
void roster_back(struct roster *r, struct mono now)
{
    if (r->there)
        return;
    r->there = true;
    for (uint32_t i = 0; i < r->n; i++) {
        struct roster_world *w = &r->worlds[i];

        w->renewed = now;
        w->until = clock_add(now, w->doubted ? ROSTER_DOUBT_NS : patience(w));
    }
}

void roster_follow(struct roster *r, struct mono now)
{
    roster_back(r, now);
    r->followed = false;
    for (uint32_t i = 0; i < r->n; i++)
        r->worlds[i].told = false;
}

void roster_followed(struct roster *r, struct mono now)
{
    for (uint32_t i = 0; i < r->n; i++) {
        struct roster_world *w = &r->worlds[i];

        if (w->told && w->generation == r->generation)
            trust(r, w, now);
        else
            doubt(r, w, now);
    }
    r->followed = true;
}

void roster_away(struct roster *r)
{
    r->there = false;
}

void roster_turn(struct roster *r, struct mono now)
{
    if (!r->there)
        return;
    for (uint32_t i = r->n; i-- > 0;) {
        if (clock_since(now, r->worlds[i].until) >= 0)
            drop(r, &r->worlds[i]);
    }
}

/* Another generation, in which none of the worlds has been seen yet. */
static void begin(struct roster *r, uint64_t generation, struct mono now)
{
    r->generation = generation;
    for (uint32_t i = 0; i < r->n; i++)
        doubt(r, &r->worlds[i], now);
}

/* One can be dialled there. */
static bool is_address(const struct claim *c)
{
    char text[CLAIM_TEXT_MAX + 1];
    struct addr addr;
    const char *why;

    memcpy(text, c->text, c->text_len);
    text[c->text_len] = '\0';
    return addr_parse(text, &addr, &why) == 0 && addr.port != 0;
}

static void keep(struct roster_world *w, const struct claim *c)
{
    memset(w->addr, 0, sizeof(w->addr));
    memcpy(w->addr, c->text, c->text_len);
    w->nonce = c->nonce;
    w->draining = c->draining;
}

/* Another one is at this address; NULL: none. */
static struct roster_world *find_at(struct roster *r, const struct claim *c)
{
    for (uint32_t i = 0; i < r->n; i++) {
        struct roster_world *w = &r->worlds[i];

        if (!claim_name_equal(&w->id, &c->world) && span_equal(span_text(w->addr), claim_text(c)))
            return w;
    }
    return NULL;
}

static bool says_else(const struct roster_world *w, const struct claim *c)
{
    return w->nonce != c->nonce || w->draining != c->draining ||
           !span_equal(span_text(w->addr), claim_text(c));
}

static int add(struct roster *r, const struct kv_key *k, const struct claim *c, uint64_t revision,
               struct mono now)
{
    struct roster_world *w;

    if (r->n == ROSTER_MAX)
        return E_FULL;
    w = &r->worlds[r->n++];
    *w = (struct roster_world){.id = k->name,
                               .told = true,
                               .revision = revision,
                               .generation = k->generation,
                               .renewed = now};
    keep(w, c);
    trust(r, w, now);
    r->version++;
    return 0;
}

/* It says again that it lives, or something else than before. */
static void renew(struct roster *r, struct roster_world *w, const struct kv_key *k,
                  const struct claim *c, uint64_t revision, struct mono now)
{
    w->told = true;
    if (w->generation == k->generation && w->revision == revision)
        return;
    if (w->nonce == c->nonce && !w->doubted && clock_since(now, w->renewed) > w->gap_ns)
        w->gap_ns = clock_since(now, w->renewed);
    if (w->nonce != c->nonce)
        w->gap_ns = 0;
    r->version += says_else(w, c);
    keep(w, c);
    w->generation = k->generation;
    w->revision = revision;
    w->renewed = now;
    trust(r, w, now);
}

/* A world is there, by its claim. `w`: as it was known; NULL: it was not. */
static int lives(struct roster *r, struct roster_world *w, const struct kv_key *k,
                 const struct claim *c, uint64_t revision, struct mono now)
{
    const uint64_t epoch = c->epoch != 0 ? c->epoch : revision;
    struct roster_world *other;
    int err = 0;

    if (k->generation > r->generation)
        begin(r, k->generation, now);
    other = find_at(r, c);
    if (other && other->generation == k->generation && other->epoch > epoch) {
        if (w)
            drop(r, w);
        return E_ADDR;
    }
    if (other) {
        drop(r, other);
        w = find(r, &k->name); /* it may stand elsewhere now */
    }
    if (w)
        renew(r, w, k, c, revision, now);
    else
        err = add(r, k, c, revision, now);
    if (err == 0)
        find(r, &k->name)->epoch = epoch;
    return err;
}

int roster_entry(struct roster *r, struct span key, struct span value, uint64_t revision,
                 bool deleted, struct mono now)
{
    struct claim c = {.state = CLAIM_NONE};
    struct roster_world *w;
    struct kv_key k;

    if (kv_key_read(key, &k) != 0 || k.room != KV_WORLD || k.generation == 0 ||
        !claim_world_ok(claim_name_span(&k.name)))
        return E_BAD;
    if (!deleted && (claim_read(value, &c) != 0 || !claim_name_equal(&c.world, &k.name)))
        return E_BAD;
    if (c.state == CLAIM_HELD && !is_address(&c))
        return E_BAD;
    if (k.generation < r->generation)
        return 0; /* of one that is over */
    w = find(r, &k.name);
    if (c.state == CLAIM_HELD)
        return lives(r, w, &k, &c, revision, now);
    if (w)
        drop(r, w);
    return 0;
}

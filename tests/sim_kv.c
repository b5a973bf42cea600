/* tests/sim_kv.c: see the header. */
#include "tests/sim_kv.h"

#include <string.h>

void sim_kv_wipe(struct sim_kv *kv)
{
    kv->n = 0;
    kv->revision = 0;
}

static struct sim_entry *find(struct sim_kv *kv, const char *key, size_t n)
{
    for (uint32_t i = 0; i < kv->n; i++) {
        if (kv->entries[i].key_len == n && memcmp(kv->entries[i].key, key, n) == 0)
            return &kv->entries[i];
    }
    return NULL;
}

static struct claim claim_of(const struct sim_entry *e)
{
    struct claim c = {.state = CLAIM_NONE};

    if (!e->deleted) {
        int err = claim_read(span_of(e->value, e->value_len), &c);
        ASSERT(err == 0);
    }
    return c;
}

struct kv_entry sim_kv_entry(const struct sim_entry *e)
{
    struct kv_entry out = {.revision = e->revision, .deleted = e->deleted, .value = claim_of(e)};
    int err = kv_key_read(span_of(e->key, e->key_len), &out.key);

    ASSERT(err == 0);
    return out;
}

static bool may(const struct sim_entry *e, const struct kv_command *c, bool blind)
{
    bool there = e && !e->deleted;

    if (c->op == KV_CREATE)
        return !there || blind;
    return blind || (e && e->revision == c->revision);
}

struct kv_result sim_kv_do(struct sim_kv *kv, const struct kv_command *c, bool blind,
                           const struct sim_entry **changed)
{
    struct kv_result r = {.command = *c, .outcome = KV_LOST};
    char key[KV_TEXT_MAX + 1];
    size_t n = kv_key_write(&c->key, key);
    struct sim_entry *e = find(kv, key, n);

    *changed = NULL;
    if (c->op == KV_GET) {
        r.outcome = e && !e->deleted ? KV_DONE : KV_MISSING;
        if (r.outcome == KV_DONE) {
            r.revision = e->revision;
            r.value = claim_of(e);
        }
        return r;
    }
    if (!may(e, c, blind))
        return r;
    if (!e) {
        ASSERT(kv->n < SIM_KEYS);
        e = &kv->entries[kv->n++];
        memcpy(e->key, key, n + 1);
        e->key_len = n;
    }
    e->deleted = c->op == KV_DELETE;
    e->value_len = e->deleted ? 0 : claim_write(&c->value, e->value);
    e->revision = ++kv->revision;
    r.outcome = KV_DONE;
    r.revision = e->revision;
    *changed = e;
    return r;
}

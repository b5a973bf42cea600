/* common/io/nats_keys.c: see the header. */
#include "common/io/nats_keys.h"

/* Bytes up to the next dot. */
static size_t word(struct span s)
{
    size_t n = 0;

    while (n < s.n && s.p[n] != '.')
        n++;
    return n;
}

bool nats_keys_match(const char *pattern, struct span key)
{
    struct span want = span_text(pattern);

    for (;;) {
        size_t n = word(want), k = word(key);

        if (n == 1 && want.p[0] == '>')
            return k > 0;
        if (k == 0 ||
            (!(n == 1 && want.p[0] == '*') && !span_equal(span_of(want.p, n), span_of(key.p, k))))
            return false;
        if (n == want.n || k == key.n)
            return n == want.n && k == key.n;
        want = span_of(want.p + n + 1, want.n - n - 1);
        key = span_of(key.p + k + 1, key.n - k - 1);
    }
}

#ifdef AEGIS_PART_LIBNATS

#include <nats/nats.h>
#include <stdio.h>

#define OPERATION   "KV-Operation"
#define SUBJECT_MAX (sizeof(((struct nats_keys_config *)0)->prefix) + NATS_BUS_KEY_MAX)

void nats_keys_configure(struct nats_keys_config *c, const char *bucket, int64_t ttl_ns,
                         int replicas)
{
    *c = (struct nats_keys_config){.ttl_ns = ttl_ns, .replicas = replicas > 0 ? replicas : 1};
    snprintf(c->bucket, sizeof(c->bucket), "%s", bucket);
    snprintf(c->stream, sizeof(c->stream), "KV_%s", c->bucket);
    snprintf(c->prefix, sizeof(c->prefix), "$KV.%s.", c->bucket);
    c->prefix_bytes = strlen(c->prefix);
}

void nats_keys_close(struct nats_keys *k)
{
    jsCtx_Destroy(k->js);
    *k = (struct nats_keys){0};
}

static bool make_bucket(jsCtx *js, const struct nats_keys_config *c)
{
    kvStore *kv = NULL;
    kvConfig o;
    bool well;

    kvConfig_Init(&o);
    o.Bucket = c->bucket;
    o.History = 1;
    o.TTL = c->ttl_ns;
    o.Replicas = c->replicas;
    o.MaxValueSize = NATS_BUS_VALUE_MAX;
    well = js_KeyValue(&kv, js, c->bucket) == NATS_OK || js_CreateKeyValue(&kv, js, &o) == NATS_OK;
    kvStore_Destroy(kv);
    return well;
}

bool nats_keys_open(struct nats_keys *k, struct __natsConnection *nc, uint32_t life,
                    const struct nats_keys_config *c)
{
    jsOptions o;

    if (k->js && k->life == life)
        return true;
    nats_keys_close(k);
    jsOptions_Init(&o);
    o.Wait = NATS_BUS_WAIT_MS;
    if (natsConnection_JetStream(&k->js, nc, &o) != NATS_OK || !make_bucket(k->js, c)) {
        nats_keys_close(k);
        return false;
    }
    k->config = c;
    k->life = life;
    return true;
}

/* The server does not do what it should: the bucket may be gone, and is looked for again. */
static enum nats_bus_result away(struct nats_keys *k)
{
    nats_keys_close(k);
    return NATS_BUS_AWAY;
}

enum nats_bus_result nats_keys_get(struct nats_keys *k, const char *key, struct nats_keys_read *out)
{
    char subject[SUBJECT_MAX + 1];
    const char *operation = NULL;
    natsMsg *msg = NULL;
    jsErrCode code = 0;
    natsStatus err;

    if (!k->js)
        return NATS_BUS_AWAY;
    snprintf(subject, sizeof(subject), "%s%s", k->config->prefix, key);
    *out = (struct nats_keys_read){0};
    err = js_GetLastMsg(&msg, k->js, k->config->stream, subject, NULL, &code);
    if (err == NATS_NOT_FOUND && code != JSStreamNotFoundErr)
        return NATS_BUS_MISSING;
    if (err != NATS_OK || natsMsg_GetDataLength(msg) > NATS_BUS_VALUE_MAX) {
        natsMsg_Destroy(msg);
        return away(k);
    }
    out->revision = natsMsg_GetSequence(msg);
    out->deleted =
        natsMsgHeader_Get(msg, OPERATION, &operation) == NATS_OK && strcmp(operation, "PUT") != 0;
    if (!out->deleted) {
        out->n = (size_t)natsMsg_GetDataLength(msg);
        if (out->n > 0)
            memcpy(out->value, natsMsg_GetData(msg), out->n);
    }
    natsMsg_Destroy(msg);
    return NATS_BUS_DONE;
}

/* Write at a revision; 0: no message may be there. */
static enum nats_bus_result write_at(struct nats_keys *k, const char *key, struct span value,
                                     bool delete, uint64_t *revision)
{
    char subject[SUBJECT_MAX + 1];
    enum nats_bus_result result = NATS_BUS_DONE;
    natsMsg *msg = NULL;
    jsPubAck *ack = NULL;
    jsPubOptions o;
    jsErrCode code = 0;
    natsStatus err;

    if (!k->js)
        return NATS_BUS_AWAY;
    snprintf(subject, sizeof(subject), "%s%s", k->config->prefix, key);
    jsPubOptions_Init(&o);
    o.ExpectLastSubjectSeq = *revision;
    o.ExpectNoMessage = *revision == 0;
    err = natsMsg_Create(&msg, subject, NULL, (const char *)value.p, (int)value.n);
    if (err == NATS_OK && delete)
        err = natsMsgHeader_Set(msg, OPERATION, "DEL");
    if (err == NATS_OK)
        err = js_PublishMsg(&ack, k->js, msg, &o, &code);
    if (err == NATS_OK)
        *revision = ack->Sequence;
    else
        result = code == JSStreamWrongLastSequenceErr ? NATS_BUS_LOST : away(k);
    jsPubAck_Destroy(ack);
    natsMsg_Destroy(msg);
    return result;
}

/* Where a key's last message says that it was deleted, a create is an update of that. */
enum nats_bus_result nats_keys_create(struct nats_keys *k, const char *key, struct span value,
                                      uint64_t *revision)
{
    enum nats_bus_result result;
    struct nats_keys_read read;

    *revision = 0;
    result = write_at(k, key, value, false, revision);
    if (result != NATS_BUS_LOST)
        return result;
    result = nats_keys_get(k, key, &read);
    if (result == NATS_BUS_AWAY)
        return result;
    if (result != NATS_BUS_DONE || !read.deleted)
        return NATS_BUS_LOST; /* or it ended just now: whoever wants it asks again */
    *revision = read.revision;
    return write_at(k, key, value, false, revision);
}

enum nats_bus_result nats_keys_update(struct nats_keys *k, const char *key, struct span value,
                                      uint64_t *revision)
{
    return write_at(k, key, value, false, revision);
}

enum nats_bus_result nats_keys_delete(struct nats_keys *k, const char *key, uint64_t *revision)
{
    return write_at(k, key, (struct span){0}, true, revision);
}

bool nats_keys_list(struct nats_keys *k, const char *pattern,
                    bool (*fn)(void *arg, const char *key), void *arg)
{
    char subject[SUBJECT_MAX + 1];
    jsStreamInfo *info = NULL;
    jsOptions o;
    bool well = false;

    if (!k->js)
        return false;
    snprintf(subject, sizeof(subject), "%s%s", k->config->prefix, pattern);
    jsOptions_Init(&o);
    o.Wait = NATS_BUS_WAIT_MS;
    o.Stream.Info.SubjectsFilter = subject;
    if (js_GetStreamInfo(&info, k->js, k->config->stream, &o, NULL) == NATS_OK) {
        const jsStreamStateSubjects *all = info->State.Subjects;

        well = true;
        for (int i = 0; well && all && i < all->Count; i++)
            well = fn(arg, all->List[i].Subject + k->config->prefix_bytes);
    }
    jsStreamInfo_Destroy(info);
    return well;
}

#endif

/* world/session/session.c: see the header. */
#include "world/session/session.h"

#include "common/err.h"

#include <stdlib.h>
#include <string.h>

/* The key of the (link, sid) table. */
struct sid_key {
    uint32_t slot, gen;
    uint64_t sid;
};

static struct span sid_span(const struct sid_key *k)
{
    return span_of(k, sizeof(*k));
}

static bool equal_sid(void *arg, uint32_t slot, struct span key)
{
    const struct sessions *s = arg;
    const struct session *x = &s->list[slot];
    struct sid_key k = {x->link.slot, x->link.gen, x->sid};

    return span_equal(sid_span(&k), key);
}

static struct span session_name(const struct session *x)
{
    return span_of(x->name, x->name_len);
}

static bool equal_name(void *arg, uint32_t slot, struct span key)
{
    const struct sessions *s = arg;

    return span_equal(session_name(&s->list[slot]), key);
}

int sessions_init(struct sessions *s, uint32_t cap, uint64_t seed)
{
    memset(s, 0, sizeof(*s));
    s->wait_first = s->wait_last = SLOTS_NONE;
    s->list = calloc(cap, sizeof(*s->list));
    s->links = calloc(SESSION_LINKS_MAX, sizeof(*s->links));
    if (!s->list || !s->links || slots_init(&s->slots, cap) != 0 ||
        slots_init(&s->links_slots, SESSION_LINKS_MAX) != 0 ||
        table_init(&s->by_sid, cap, seed, equal_sid, s) != 0 ||
        table_init(&s->by_name, cap, seed ^ 1, equal_name, s) != 0) {
        sessions_fini(s);
        return E_NOMEM;
    }
    return 0;
}

void sessions_fini(struct sessions *s)
{
    table_fini(&s->by_name);
    table_fini(&s->by_sid);
    slots_fini(&s->links_slots);
    slots_fini(&s->slots);
    free(s->links);
    free(s->list);
    memset(s, 0, sizeof(*s));
}

int sessions_link_open(struct sessions *s, struct span id, struct link_ref *out)
{
    struct session_link *l;
    uint32_t slot, gen;
    int err = slots_take(&s->links_slots, &slot, &gen);

    if (err != 0)
        return err;
    ASSERT(id.n <= LINK_ID_MAX);
    l = &s->links[slot];
    *l = (struct session_link){.first = SLOTS_NONE};
    memcpy(l->id, id.p, id.n);
    *out = (struct link_ref){slot, gen};
    return 0;
}

void sessions_link_close(struct sessions *s, struct link_ref ref)
{
    ASSERT(s->links[ref.slot].count == 0);
    slots_give(&s->links_slots, ref.slot, ref.gen);
}

bool sessions_link_find(const struct sessions *s, struct link_ref ref, struct session_link **out)
{
    if (!slots_alive(&s->links_slots, ref.slot, ref.gen))
        return false;
    *out = &s->links[ref.slot];
    return true;
}

bool sessions_link_named(const struct sessions *s, struct span id, struct link_ref *out)
{
    for (uint32_t i = 0; i < SESSION_LINKS_MAX; i++) {
        uint32_t gen = s->links_slots.gen[i];

        if (slots_alive(&s->links_slots, i, gen) && span_equal(span_text(s->links[i].id), id)) {
            *out = (struct link_ref){i, gen};
            return true;
        }
    }
    return false;
}

static void list_add(struct sessions *s, uint32_t slot)
{
    struct session_link *l = &s->links[s->list[slot].link.slot];

    s->list[slot].prev = SLOTS_NONE;
    s->list[slot].next = l->first;
    if (l->first != SLOTS_NONE)
        s->list[l->first].prev = slot;
    l->first = slot;
    l->count++;
}

static void list_remove(struct sessions *s, uint32_t slot)
{
    struct session *x = &s->list[slot];
    struct session_link *l = &s->links[x->link.slot];

    if (x->prev == SLOTS_NONE)
        l->first = x->next;
    else
        s->list[x->prev].next = x->next;
    if (x->next != SLOTS_NONE)
        s->list[x->next].prev = x->prev;
    l->count--;
}

static void wait_remove(struct sessions *s, uint32_t slot)
{
    struct session *x = &s->list[slot];

    if (x->prev == SLOTS_NONE)
        s->wait_first = x->next;
    else
        s->list[x->prev].next = x->next;
    if (x->next == SLOTS_NONE)
        s->wait_last = x->prev;
    else
        s->list[x->next].prev = x->prev;
    s->waiting--;
}

/* The link forgets it. */
static void leave_link(struct sessions *s, uint32_t slot)
{
    struct session *x = &s->list[slot];
    struct sid_key key = {x->link.slot, x->link.gen, x->sid};
    bool found = table_remove(&s->by_sid, sid_span(&key));

    ASSERT(found);
    list_remove(s, slot);
    x->link = (struct link_ref){0};
}

static void wait_add(struct sessions *s, uint32_t slot, struct mono until)
{
    struct session *x = &s->list[slot];

    x->state = SESSION_WAITING;
    x->until = until;
    x->next = SLOTS_NONE;
    x->prev = s->wait_last;
    if (s->wait_last == SLOTS_NONE)
        s->wait_first = slot;
    else
        s->list[s->wait_last].next = slot;
    s->wait_last = slot;
    s->waiting++;
}

void sessions_wait(struct sessions *s, struct session_ref ref, struct mono until)
{
    struct session *x = &s->list[ref.slot];

    ASSERT(slots_alive(&s->slots, ref.slot, ref.gen));
    ASSERT(x->name_len > 0);
    ASSERT(x->link.gen != 0);
    leave_link(s, ref.slot);
    wait_add(s, ref.slot, until);
}

int sessions_open_waiting(struct sessions *s, struct span name, struct mono until,
                          struct session_ref *out)
{
    uint32_t slot, gen;
    int err = slots_take(&s->slots, &slot, &gen);

    if (err != 0)
        return err;
    s->list[slot] = (struct session){.state = SESSION_WAITING};
    *out = (struct session_ref){slot, gen};
    sessions_take_name(s, *out, name);
    wait_add(s, slot, until);
    return 0;
}

const char *session_text(const struct sessions *s, const struct session *one,
                         char out[LOG_SESSION_MAX])
{
    struct session_link *l;
    const bool linked = sessions_link_find(s, one->link, &l);

    return log_session(out, span_text(linked ? l->id : "-"), one->sid);
}

int sessions_open(struct sessions *s, struct link_ref link, uint64_t sid, struct span peer,
                  struct session_ref *out)
{
    struct sid_key key = {link.slot, link.gen, sid};
    struct session *x;
    uint32_t slot, gen;
    int err;

    ASSERT(slots_alive(&s->links_slots, link.slot, link.gen));
    if (table_find(&s->by_sid, sid_span(&key), &slot))
        return E_BAD;
    err = slots_take(&s->slots, &slot, &gen);
    if (err != 0)
        return err;
    x = &s->list[slot];
    *x = (struct session){.link = link, .sid = sid, .state = SESSION_NEW};
    if (peer.n > sizeof(x->peer) - 1)
        peer.n = sizeof(x->peer) - 1;
    memcpy(x->peer, peer.p, peer.n);
    err = table_add(&s->by_sid, sid_span(&key), slot);
    ASSERT(err == 0); /* a place for each slot */
    list_add(s, slot);
    *out = (struct session_ref){slot, gen};
    return 0;
}

void sessions_end(struct sessions *s, struct session_ref ref)
{
    struct session *x;
    bool found = sessions_find(s, ref, &x);

    ASSERT(found);
    ASSERT(x->state != SESSION_INSIDE); /* its entity goes first */
    ASSERT(x->state != SESSION_WAITING);
    if (x->name_len > 0)
        sessions_drop_name(s, ref);
    if (x->link.gen != 0)
        leave_link(s, ref.slot);
    else
        wait_remove(s, ref.slot);
    *x = (struct session){0}; /* its key does not stay behind */
    slots_give(&s->slots, ref.slot, ref.gen);
}

bool sessions_find(const struct sessions *s, struct session_ref ref, struct session **out)
{
    if (!slots_alive(&s->slots, ref.slot, ref.gen))
        return false;
    *out = &s->list[ref.slot];
    return true;
}

bool sessions_by_sid(const struct sessions *s, struct link_ref link, uint64_t sid,
                     struct session_ref *out)
{
    struct sid_key key = {link.slot, link.gen, sid};
    uint32_t slot;

    if (!table_find(&s->by_sid, sid_span(&key), &slot))
        return false;
    *out = (struct session_ref){slot, s->slots.gen[slot]};
    return true;
}

bool sessions_by_name(const struct sessions *s, struct span name, struct session_ref *out)
{
    uint32_t slot;

    if (!table_find(&s->by_name, name, &slot))
        return false;
    *out = (struct session_ref){slot, s->slots.gen[slot]};
    return true;
}

void sessions_take_name(struct sessions *s, struct session_ref ref, struct span name)
{
    struct session *x = &s->list[ref.slot];
    int err;

    ASSERT(x->name_len == 0);
    ASSERT(name.n >= 1);
    ASSERT(name.n <= PROTO_NAME_MAX);
    memcpy(x->name, name.p, name.n);
    x->name_len = (uint8_t)name.n;
    err = table_add(&s->by_name, name, ref.slot);
    ASSERT(err == 0); /* a place for each slot */
    s->logged++;
}

void sessions_drop_name(struct sessions *s, struct session_ref ref)
{
    struct session *x = &s->list[ref.slot];
    bool found = table_remove(&s->by_name, session_name(x));

    ASSERT(found);
    x->name_len = 0;
    s->logged--;
}

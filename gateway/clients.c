/* gateway/clients.c: all clients by slot. May touch: common, proto, client, wheel.
 * On trouble: see clients.h.
 */
#include "gateway/clients.h"

#include "common/err.h"
#include "proto/protocol.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A PingResp around the largest payload, at most; its body is the PingReq's but for the numbers. */
#define CLIENTS_SCRATCH_SLACK 64

/* One more, unless there are `most`: exact, however many threads count. */
static bool clients_count(_Atomic uint32_t *count, uint32_t most)
{
    uint32_t n = atomic_load_explicit(count, memory_order_relaxed);

    while (n < most) {
        if (atomic_compare_exchange_weak_explicit(count, &n, n + 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    }
    return false;
}

uint32_t clients_open(const struct clients *all)
{
    return atomic_load_explicit(&all->total->open, memory_order_relaxed);
}

bool clients_enter(struct clients *all)
{
    if (!clients_count(&all->total->open, all->limits.clients_max))
        return false;
    all->open++;
    return true;
}

void clients_leave(struct clients *all)
{
    all->open--;
    atomic_fetch_sub_explicit(&all->total->open, 1, memory_order_relaxed);
}

bool clients_hold(struct clients *all)
{
    return clients_count(&all->total->live, all->slots.cap);
}

void clients_release(struct clients *all)
{
    atomic_fetch_sub_explicit(&all->total->live, 1, memory_order_relaxed);
}

bool clients_visit(struct clients *all)
{
    return clients_count(&all->total->visiting, all->limits.visitors_max);
}

void clients_visit_end(struct clients *all)
{
    atomic_fetch_sub_explicit(&all->total->visiting, 1, memory_order_relaxed);
}

int clients_init(struct clients *all)
{
    ASSERT(all->limits.clients_max >= 1);
    const uint32_t beside = CLIENTS_REFUSED_MAX + all->limits.visitors_max +
                            all->limits.proxied_max + all->limits.handshakes_max;
    ASSERT(all->limits.clients_max + beside < 1u << CLIENT_SLOT_BITS);
    const uint32_t cap = all->limits.clients_max + beside;

    if (!all->total)
        all->total = &all->own;
    all->dead = WHEEL_NONE;
    all->scratch_cap = all->limits.frame_max + CLIENTS_SCRATCH_SLACK;
    all->scratch = malloc(all->scratch_cap);
    all->by_slot = calloc(cap, sizeof(struct client *));
    all->parts = all->ws ? calloc(cap, sizeof(*all->parts)) : NULL;
    all->address = all->addresses ? malloc(cap * sizeof(*all->address)) : NULL;
    int r = all->scratch && all->by_slot && (all->parts || !all->ws) &&
                    (all->address || !all->addresses)
                ? 0
                : E_NOMEM;
    if (r == 0)
        r = slots_init(&all->slots, cap);
    if (r == 0)
        r = wheel_init(&all->wheel, cap);
    if (r == 0)
        r = drains_init(&all->drains, cap);
    if (r != 0)
        clients_fini(all);
    return r;
}

static void clients_leave_address(struct clients *all, uint32_t slot)
{
    if (!all->address)
        return;
    addresses_leave(all->addresses, all->address[slot], all->ops->now_ms(all->ops_arg));
    all->address[slot] = ADDRESSES_NONE;
}

void clients_came_from(struct clients *all, const struct client *c, uint32_t address)
{
    if (all->address)
        all->address[c->slot] = address;
}

bool clients_may_login(struct clients *all, const struct client *c, uint32_t now_ms)
{
    return !all->address || addresses_login(all->addresses, all->address[c->slot], now_ms);
}

void clients_fini(struct clients *all)
{
    for (uint32_t slot = 0; all->by_slot && slot < all->slots.fresh; slot++) {
        struct client *c = all->by_slot[slot];
        if (!c)
            continue;
        if (c->conn)
            all->conn->destroy(c->conn);
        if (all->parts)
            free(all->parts[slot]);
        clients_leave_address(all, slot);
        free(c);
        atomic_fetch_sub_explicit(&all->total->live, 1, memory_order_relaxed);
    }
    if (all->total)
        atomic_fetch_sub_explicit(&all->total->open, all->open, memory_order_relaxed);
    free(all->by_slot);
    free(all->scratch);
    free(all->parts);
    free(all->address);
    all->address = NULL;
    all->parts = NULL;
    all->by_slot = NULL;
    all->scratch = NULL;
    all->open = 0;
    slots_fini(&all->slots);
    wheel_fini(&all->wheel);
    drains_fini(&all->drains);
}

int clients_add(struct clients *all, const char *peer, struct client **out)
{
    uint32_t slot, gen;

    if (!clients_hold(all))
        return E_FULL;
    const int r = slots_take(&all->slots, &slot, &gen);
    const size_t peer_bytes = strlen(peer) + 1;
    struct client *c = r == 0 ? calloc(1, offsetof(struct client, peer) + peer_bytes) : NULL;
    if (!c) {
        if (r == 0)
            slots_give(&all->slots, slot, gen);
        clients_release(all);
        return r == 0 ? E_NOMEM : r;
    }
    c->home = all;
    c->slot = slot & ((1u << CLIENT_SLOT_BITS) - 1);
    c->state = CLIENT_NEW;
    memcpy(c->peer, peer, peer_bytes);
    all->by_slot[slot] = c;
    if (all->address)
        all->address[slot] = ADDRESSES_NONE;
    *out = c;
    return 0;
}

/* The client's memory and slot. */
static void clients_free(struct clients *all, struct client *c)
{
    const uint32_t slot = c->slot;

    all->by_slot[slot] = NULL;
    if (all->parts) {
        free(all->parts[slot]);
        all->parts[slot] = NULL;
    }
    clients_leave_address(all, slot);
    slots_give(&all->slots, slot, all->slots.gen[slot]);
    clients_release(all);
    free(c);
}

void clients_drop(struct clients *all, struct client *c)
{
    ASSERT(c->state == CLIENT_NEW);
    clients_free(all, c);
}

void clients_bury(struct clients *all, struct client *c)
{
    ASSERT(c->state == CLIENT_DEAD);
    c->dead_next = all->dead;
    all->dead = c->slot;
    all->ops->reap_soon(all->ops_arg);
}

void clients_reap(struct clients *all)
{
    while (all->dead != WHEEL_NONE) {
        struct client *c = all->by_slot[all->dead];
        all->dead = c->dead_next;
        clients_free(all, c);
    }
}

struct client *clients_find(const struct clients *all, uint32_t slot)
{
    struct client *c = slot < all->slots.cap ? all->by_slot[slot] : NULL;
    return c && c->state == CLIENT_OPEN ? c : NULL;
}

static uint32_t clients_look(void *arg, uint32_t slot)
{
    const struct clients *all = arg;
    return client_look(all->by_slot[slot]);
}

void clients_step(struct clients *all, uint32_t ms)
{
    if (all->paused)
        return;
    all->awake_ms += ms;
    while (all->awake_ms - all->turned_ms >= WHEEL_STEP_MS) {
        all->turned_ms += WHEEL_STEP_MS;
        wheel_turn(&all->wheel, clients_look, all);
    }
    drains_step(all);
}

void clients_pause(struct clients *all, bool paused)
{
    if (all->paused == paused)
        return;
    all->paused = paused;
    if (!paused)
        drains_restart(all);
    for (uint32_t slot = 0; slot < all->slots.fresh; slot++) {
        struct client *c = clients_find(all, slot);
        if (c)
            all->conn->read_pause(c->conn, paused);
    }
}

void clients_bye(struct clients *all, uint32_t code, enum client_end end)
{
    for (uint32_t slot = 0; slot < all->slots.fresh; slot++) {
        struct client *c = clients_find(all, slot);
        if (c)
            client_bye(c, code, (struct span){0}, end);
    }
}

struct clients_sum clients_summed(const struct clients *all)
{
    struct clients_sum sum = {0};
    for (uint32_t slot = 0; slot < all->slots.fresh; slot++) {
        const struct client *c = all->by_slot[slot];
        if (!c || !c->conn)
            continue;
        const size_t queued = all->conn->queued(c->conn);
        sum.queued += queued;
        if (queued > sum.queued_most)
            sum.queued_most = queued;
        sum.slow += c->state == CLIENT_OPEN && c->slow;
    }
    return sum;
}

/* world/edge/world_link_end.c: how a connection from a gateway ends; see world_link.c.
 * In one place, for one reason of LINK_ENDS. Where that happens inside a drain, with the core on
 * the stack, it is only marked and ended at the end of the turn.
 * May touch: common, common/io, the core's doors. On trouble: as world_link.c.
 */
#include "world/edge/world_link_own.h"

#include "common/log.h"
#include "world/command/inbox.h"

#include <inttypes.h>
#include <stdlib.h>

#define END_ROW(name, word) {#word, offsetof(struct edge_metrics, ended_##word)},
static const struct {
    const char *word;
    size_t counter;
} end_table[END_COUNT] = {LINK_ENDS(END_ROW)};
#undef END_ROW

static void count_end(struct world_link *k, enum link_end why)
{
    uint64_t *counter = (uint64_t *)((char *)k->metrics + end_table[why].counter);
    (*counter)++;
}

uint32_t world_link_sessions(const struct world_link *k, struct link_ref ref)
{
    struct session_link *sl;
    return sessions_link_find(&k->world->sessions, ref, &sl) ? sl->count : 0;
}

static void log_end(const struct connection *c, enum link_end why, uint32_t sessions)
{
    const char *word = end_table[why].word;
    if (is_up(c))
        log_often(why == END_DRAINING ? LOG_INFO : LOG_WARN,
                  "gateway lost id=%s peer=%s reason=%s sessions=%" PRIu32, c->id, c->peer, word,
                  sessions);
    else if (why != END_DRAINING && why != END_KEY) /* that one said more */
        log_often(LOG_WARN, "connection refused peer=%s reason=%s", c->peer, word);
}

static void forget(struct connection *c)
{
    struct world_link *k = c->owner;

    if (c->prev)
        c->prev->next = c->next;
    else
        k->first = c->next;
    if (c->next)
        c->next->prev = c->prev;
    k->connections--;
    if (is_up(c) && k->by_slot[c->ref.slot] == c)
        k->by_slot[c->ref.slot] = NULL;
    k->metrics->connections = k->connections;
    k->metrics->links_pressed -= c->pressed;
}

void world_link_end_with(struct connection *c, enum link_end why, uint32_t sessions)
{
    struct world_link *k = c->owner;
    struct link_ref ref = c->ref;

    count_end(k, why);
    log_end(c, why, sessions);
    forget(c);
    loop_defer_cancel(k->loop, &c->ending);
    loop_timer_destroy(c->timer);
    stream_destroy(c->stream);
    free(c);
    if (k->done) {
        if (!k->first)
            k->done(k->done_arg);
        return;
    }
    if (ref.gen != 0) {
        inbox_link_down(k->world, ref, loop_now(k->loop));
        outbox_flush(&k->world->outbox);
    }
}

void world_link_end(struct connection *c, enum link_end why)
{
    world_link_end_with(c, why, is_up(c) ? world_link_sessions(c->owner, c->ref) : 0);
}

void world_link_on_ending(void *arg)
{
    struct connection *c = arg;
    world_link_end(c, c->end);
}

void world_link_end_later(struct connection *c, enum link_end why)
{
    if (c->ends)
        return;
    c->ends = true;
    c->end = why;
    loop_defer(c->owner->loop, &c->ending);
}

void world_link_end_slowly(struct connection *c, enum link_end why, int64_t linger_ns)
{
    c->finishing = true;
    c->end = why;
    if (c->timer)
        loop_timer_cancel(c->timer);
    stream_finish(c->stream, linger_ns);
}

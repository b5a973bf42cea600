/* world/edge/cluster_nats_door.c: what the core asks of its cluster: messages, and names.
 * A message leaves only while the lease lasts; a name is asked for with the next turn of the loop.
 * May touch: what cluster_nats.h may. On trouble: see there.
 */
#include "world/edge/cluster_nats_own.h"

#include "common/err.h"

#include <inttypes.h>
#include <stdio.h>

/* --- what worlds say ---------------------------------------------------------------------------
 */

struct span cluster_nats_subject(const struct cluster_nats *c, char out[NATS_BUS_SUBJECT_MAX + 1],
                                 const char *kind, struct span last)
{
    int n = snprintf(out, NATS_BUS_SUBJECT_MAX + 1, "aegis.%016" PRIx64 ".%s%s%.*s", c->generation,
                     kind, last.n > 0 ? "." : "", (int)last.n, (const char *)last.p);

    ASSERT(n > 0);
    ASSERT(n <= NATS_BUS_SUBJECT_MAX);
    return span_of(out, (size_t)n);
}

static void say(struct cluster_nats *c, const char *kind, struct span last, struct span message)
{
    char text[NATS_BUS_SUBJECT_MAX + 1];

    if (c->generation == 0 || !member_may_act(&c->member, clock_mono())) {
        c->barred++;
        return;
    }
    if (nats_bus_publish(c->bus, cluster_nats_subject(c, text, kind, last), &message, 1) != 0)
        return; /* counted there; whoever needs it asks again */
}

static void door_send(void *arg, struct span world, struct span message)
{
    say(arg, "world", world, message);
}

struct span cluster_nats_zone(char out[16], uint32_t zone)
{
    return span_of(out, (size_t)snprintf(out, 16, "%" PRIu32, zone));
}

static void door_publish(void *arg, uint32_t zone, struct span message)
{
    char number[16];

    say(arg, "zone", cluster_nats_zone(number, zone), message);
}

static void door_tell(void *arg, struct span message)
{
    say(arg, "all", (struct span){0}, message);
}

/* Asked for with the next turn of the loop. */
static void hurry(struct cluster_nats *c)
{
    loop_timer_arm(c->timer, 0);
}

static void door_name_claim(void *arg, uint32_t place, struct span name)
{
    struct cluster_nats *c = arg;

    names_claim(&c->member.names, place, name);
    hurry(c);
}

static void door_name_take(void *arg, uint32_t place, struct span name, uint64_t token)
{
    struct cluster_nats *c = arg;

    names_take(&c->member.names, place, name, token);
    hurry(c);
}

static void door_name_take_back(void *arg, uint32_t place)
{
    struct cluster_nats *c = arg;

    names_take_back(&c->member.names, place);
    hurry(c);
}

static void door_name_release(void *arg, uint32_t place)
{
    struct cluster_nats *c = arg;

    names_release(&c->member.names, place);
    hurry(c);
}

static void door_name_forget(void *arg, uint32_t place)
{
    struct cluster_nats *c = arg;

    names_forget(&c->member.names, place);
}

static const struct cluster_door_ops door_ops = {.send = door_send,
                                                 .publish = door_publish,
                                                 .tell = door_tell,
                                                 .name_claim = door_name_claim,
                                                 .name_take = door_name_take,
                                                 .name_take_back = door_name_take_back,
                                                 .name_release = door_name_release,
                                                 .name_forget = door_name_forget};

struct cluster_door cluster_nats_door(struct cluster_nats *c)
{
    return (struct cluster_door){.ops = &door_ops,
                                 .arg = c,
                                 .world = span_text(c->id),
                                 .nx = c->config.nx,
                                 .ny = c->config.ny,
                                 .ids = CLUSTER_NATS_IDS,
                                 .margin = c->config.margin};
}

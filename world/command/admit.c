/* world/command/admit.c: see the header.
 * The pace is kept by one number: the time at which the next login would be due if all so far had
 * come evenly. It may run ahead of now by a burst.
 */
#include "world/command/admit.h"

#include "world/command/router.h"

#define BURST_NS (100 * CLOCK_NS_PER_MS) /* logins of so long may come at once */

static int64_t interval_ns(const struct world *w)
{
    return (int64_t)(CLOCK_NS_PER_S / (int64_t)w->config.login_rate);
}

/* Time until the pace lets one more in; <= 0: now. */
static int64_t due_in_ns(const struct world *w, struct mono now)
{
    if (w->config.login_rate == 0)
        return 0;
    return clock_since(w->login_due, clock_add(now, BURST_NS));
}

/* Can one more token be looked at before the next tick? */
static bool may_check(const struct world *w)
{
    return !w->ops.auth.ops || w->config.auth_checks == 0 ||
           w->auth_checked < w->config.auth_checks;
}

/* How long the line is, in time. */
static int64_t line_ns(const struct world *w)
{
    int64_t count = w->characters.turn.count, ns = 0;

    if (w->config.login_rate != 0)
        ns = count * interval_ns(w);
    if (w->ops.auth.ops && w->config.auth_checks != 0) {
        int64_t checks_ns =
            (1 + count / (int64_t)w->config.auth_checks) * (int64_t)w->config.tick_ns;

        ns = ns > checks_ns ? ns : checks_ns;
    }
    return ns;
}

static void pay(struct world *w, struct mono now)
{
    if (w->config.login_rate == 0)
        return;
    if (clock_since(w->login_due, now) < 0)
        w->login_due = now;
    w->login_due = clock_add(w->login_due, interval_ns(w));
}

int admit_login(struct world *w, struct session_ref who, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];
    struct character_line *line = &w->characters.turn;
    int64_t wait_ns = due_in_ns(w, now);

    if (s->admitted) {
        s->admitted = false;
        return 0;
    }
    if (line->count == 0 && wait_ns <= 0 && may_check(w)) {
        pay(w, now);
        w->characters.list[who.slot].since = now;
        return 0;
    }
    wait_ns += line_ns(w);
    if (w->config.login_wait_ns != 0 && wait_ns > w->config.login_wait_ns) {
        w->metrics.logins_turned_away++;
        w->reason = "too many log in at this time: try again later";
        return PE_UNAVAILABLE;
    }
    s->hold = SESSION_WAITS;
    characters_line_add(&w->characters, line, who.slot, now);
    w->metrics.logins_waited++;
    return ROUTER_WAITS;
}

int admit_again(struct world *w, struct session_ref who)
{
    struct session *s = &w->sessions.list[who.slot];

    s->hold = SESSION_WAITS;
    s->admitted = true;
    characters_line_front(&w->characters, &w->characters.turn, who.slot);
    return ROUTER_WAITS;
}

void admit_leave(struct world *w, struct session_ref who)
{
    struct session *s = &w->sessions.list[who.slot];

    ASSERT(s->hold == SESSION_WAITS);
    s->hold = SESSION_FREE;
    s->admitted = false;
    characters_line_remove(&w->characters, &w->characters.turn, who.slot);
}

/* The first in line goes on. False: it is in front again, the store is full. */
static bool call_first(struct world *w, struct mono now)
{
    struct character_line *line = &w->characters.turn;
    uint32_t slot = line->first;
    struct session_ref who = {slot, w->sessions.slots.gen[slot]};
    struct session *s = &w->sessions.list[slot];

    if (!s->admitted)
        pay(w, now);
    admit_leave(w, who);
    s->admitted = true;
    router_replay(w, who, now);
    return line->first != slot;
}

/* It has waited too long: the store was full all the time. */
static void turn_away_first(struct world *w, struct mono now)
{
    struct character_line *line = &w->characters.turn;
    uint32_t slot = line->first;
    struct session_ref who = {slot, w->sessions.slots.gen[slot]};

    admit_leave(w, who);
    w->metrics.logins_turned_away++;
    router_refuse(w, who, "the store is busy: try again later", now);
}

void admit_run(struct world *w, struct mono now)
{
    const struct characters *c = &w->characters;
    int64_t limit_ns = w->config.login_wait_ns;

    w->auth_checked = 0;
    while (c->turn.count > 0) {
        const struct session *s = &w->sessions.list[c->turn.first];

        if (!may_check(w) || (!s->admitted && due_in_ns(w, now) > 0))
            break;
        if (!call_first(w, now))
            break;
    }
    while (limit_ns != 0 && c->turn.count > 0 &&
           clock_since(now, c->list[c->turn.first].since) > limit_ns + BURST_NS)
        turn_away_first(w, now);
}

static uint32_t ms_of(struct mono now)
{
    return (uint32_t)(now.ns / CLOCK_NS_PER_MS);
}

bool admit_name(struct world *w, struct span name, struct mono now)
{
    uint32_t slot;

    if (w->config.login_rate_name == 0)
        return true;
    slot = paces_get(&w->names, name, ms_of(now));
    ASSERT(slot != PACES_NONE); /* nobody is held */
    if (paces_has(&w->names, slot, 0, ms_of(now)))
        return true;
    w->metrics.logins_paced++;
    w->reason = "too many logins of this name: try again later";
    return false;
}

void admit_name_count(struct world *w, struct span name, struct mono now)
{
    if (w->config.login_rate_name != 0)
        (void)paces_take(&w->names, paces_get(&w->names, name, ms_of(now)), 0, ms_of(now));
}

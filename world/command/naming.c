/* world/command/naming.c: see the header. */
#include "world/command/naming.h"

#include "common/err.h"
#include "world/cluster/handover.h"
#include "world/cluster/registry.h"
#include "world/command/courier.h"
#include "world/command/give.h"
#include "world/command/inbox.h"
#include "world/command/keep.h"
#include "world/command/receive.h"
#include "world/command/router.h"

static struct registry_name *name_at(const struct world *w, uint32_t place)
{
    ASSERT(place < w->cluster->registry->slots.cap);
    return &w->cluster->registry->list[place];
}

static const struct cluster_door_ops *door_of(const struct world *w)
{
    return w->cluster->door.ops;
}

/* --- asking ------------------------------------------------------------------------------------
 */

static void ask(struct world *w, uint32_t place)
{
    struct registry_name *n = name_at(w, place);

    n->state = REGISTRY_CLAIMS;
    w->metrics.names_asked++;
    door_of(w)->name_claim(w->cluster->door.arg, place, registry_text(n));
}

static void release(struct world *w, uint32_t place)
{
    struct registry_name *n = name_at(w, place);

    n->state = REGISTRY_RELEASES;
    n->again = false;
    w->metrics.names_released++;
    door_of(w)->name_release(w->cluster->door.arg, place);
}

/* The store is asked, or it will be in a tick. */
static void ask_store(struct world *w, uint32_t place)
{
    struct registry_name *n = name_at(w, place);
    struct store_settle what = {place, n->number};

    if (!w->store.ops)
        release(w, place);
    else if (w->characters.left_count == 0 &&
             w->store.ops->settle(w->store.arg, what, registry_text(n)) == 0)
        n->asked = true;
    else
        registry_work(w->cluster->registry, place);
}

static void detach(struct world *w, struct registry_name *n)
{
    if (n->who.gen != 0)
        w->cluster->registry->of[n->who.slot] = REGISTRY_NONE;
    n->who = (struct session_ref){0};
}

void naming_leave(struct world *w, uint32_t place)
{
    struct registry_name *n = name_at(w, place);

    ASSERT(n->state == REGISTRY_HELD);
    detach(w, n);
    n->state = REGISTRY_SETTLES;
    n->asked = n->loads = false;
    n->number = ++w->cluster->registry->questions;
    ask_store(w, place);
}

static void attach(struct world *w, uint32_t place, struct session_ref who)
{
    name_at(w, place)->who = who;
    w->cluster->registry->of[who.slot] = place;
}

int naming_claim(struct world *w, struct session_ref who, enum cluster_want want)
{
    struct registry *r = w->cluster->registry;
    const struct session *s = &w->sessions.list[who.slot];
    struct span text = span_of(s->name, s->name_len);
    uint32_t place = registry_find(r, text);
    struct registry_name *n;

    if (place == REGISTRY_NONE && registry_add(r, text, &place) != 0) {
        w->metrics.names_full++;
        return E_FULL;
    }
    n = name_at(w, place);
    switch (n->state) {
    case REGISTRY_FREE:
        ask(w, place);
        break;
    case REGISTRY_SETTLES: /* nobody had it meanwhile */
        n->state = REGISTRY_HELD;
        break;
    case REGISTRY_RELEASES:
        n->again = true;
        break;
    case REGISTRY_CLAIMS:
        if (n->who.gen == 0)
            break;
        return E_FULL;
    default: /* on its way to another world, or from there */
        return E_FULL;
    }
    attach(w, place, who);
    n->want = want;
    n->number = ++r->questions;
    return n->state == REGISTRY_HELD ? 0 : NAMING_WAITS;
}

/* The place is nobody's; what is under way for it is looked at when it comes. */
static void abandon(struct world *w, uint32_t place)
{
    struct registry_name *n = name_at(w, place);

    detach(w, n);
    n->again = false;
    if (n->state == REGISTRY_SEEKS)
        registry_remove(w->cluster->registry, place);
}

void naming_end(struct world *w, struct session_ref who)
{
    uint32_t place = w->cluster ? w->cluster->registry->of[who.slot] : REGISTRY_NONE;

    if (place == REGISTRY_NONE)
        return;
    if (name_at(w, place)->state == REGISTRY_HELD)
        naming_leave(w, place);
    else
        abandon(w, place);
}

void naming_move(struct world *w, struct session_ref from, struct session_ref to)
{
    uint32_t place = w->cluster ? w->cluster->registry->of[from.slot] : REGISTRY_NONE;

    if (place == REGISTRY_NONE)
        return;
    detach(w, name_at(w, place));
    attach(w, place, to);
}

void naming_load_again(struct world *w, struct session_ref who)
{
    uint32_t place = w->cluster->registry->of[who.slot];

    name_at(w, place)->loads = true;
    registry_work(w->cluster->registry, place);
}

static struct store_fence fence_of(const struct world *w, uint32_t place)
{
    if (place == REGISTRY_NONE)
        return (struct store_fence){0};
    return (struct store_fence){w->cluster->registry->generation, name_at(w, place)->token, 0};
}

struct store_fence naming_fence(const struct world *w, uint32_t slot)
{
    return fence_of(w, w->cluster ? w->cluster->name[slot] : REGISTRY_NONE);
}

struct store_fence naming_session_fence(const struct world *w, struct session_ref who)
{
    return fence_of(w, w->cluster ? w->cluster->registry->of[who.slot] : REGISTRY_NONE);
}

/* --- hand-over ---------------------------------------------------------------------------------
 */

uint32_t naming_give(struct world *w, struct session_ref who)
{
    uint32_t place = w->cluster->registry->of[who.slot];
    struct registry_name *n = name_at(w, place);

    ASSERT(n->state == REGISTRY_HELD);
    n->state = REGISTRY_GIVEN;
    detach(w, n);
    return place;
}

uint64_t naming_token(const struct world *w, uint32_t place)
{
    return name_at(w, place)->token;
}

void naming_given(struct world *w, uint32_t place)
{
    if (place == REGISTRY_NONE)
        return;
    door_of(w)->name_forget(w->cluster->door.arg, place);
    registry_remove(w->cluster->registry, place);
}

void naming_take_back(struct world *w, uint32_t place)
{
    ASSERT(name_at(w, place)->state == REGISTRY_GIVEN);
    name_at(w, place)->state = REGISTRY_BACK;
    door_of(w)->name_take_back(w->cluster->door.arg, place);
}

int naming_take(struct world *w, struct span name, uint64_t token, uint32_t *place)
{
    struct registry *r = w->cluster->registry;

    *place = registry_find(r, name);
    if (*place != REGISTRY_NONE && name_at(w, *place)->state == REGISTRY_GIVEN &&
        name_at(w, *place)->token < token) { /* it was taken from us, and comes back */
        give_name_taken(w, *place);
        naming_given(w, *place);
        *place = REGISTRY_NONE;
    }
    if (*place != REGISTRY_NONE)
        return E_FULL;
    if (registry_add(r, name, place) != 0) {
        w->metrics.names_full++;
        return E_FULL;
    }
    name_at(w, *place)->state = REGISTRY_TAKES;
    door_of(w)->name_take(w->cluster->door.arg, *place, name, token);
    return 0;
}

void naming_own(struct world *w, uint32_t place, struct session_ref who)
{
    ASSERT(name_at(w, place)->state == REGISTRY_HELD);
    attach(w, place, who);
}

void naming_lose(struct world *w)
{
    registry_clear(w->cluster->registry);
}

/* --- answers -----------------------------------------------------------------------------------
 */

static void held(struct world *w, uint32_t place, struct mono now)
{
    struct registry_name *n = name_at(w, place);
    enum registry_state was = n->state;

    n->state = REGISTRY_HELD;
    if (was == REGISTRY_TAKES)
        receive_named(w, place, true, now);
    else if (was == REGISTRY_BACK)
        give_named(w, place, true, now);
    else if (n->who.gen == 0)
        naming_leave(w, place);
    else
        keep_named(w, n->who, now);
}

static void seek(struct world *w, uint32_t place, struct span holder, struct mono now)
{
    struct registry_name *n = name_at(w, place);
    const struct session *s = &w->sessions.list[n->who.slot];
    struct cluster_message m = {
        .kind = CLUSTER_SEEK, .name = registry_text(n), .number = n->number, .want = n->want};

    n->state = REGISTRY_SEEKS;
    n->said = now;
    registry_work(w->cluster->registry, place);
    if (n->want == CLUSTER_RESUME)
        m.key = span_of(s->key, sizeof(s->key));
    w->metrics.names_sought++;
    handover_tell_of_name(w, holder, &m);
}

static void elsewhere(struct world *w, uint32_t place, struct span holder, struct mono now)
{
    if (name_at(w, place)->who.gen == 0)
        registry_remove(w->cluster->registry, place);
    else
        seek(w, place, holder, now);
}

static void gone(struct world *w, uint32_t place, struct mono now)
{
    struct registry_name *n = name_at(w, place);
    struct session_ref who = n->who;
    enum registry_state was = n->state;

    if (was == REGISTRY_TAKES)
        receive_named(w, place, false, now);
    else if (was == REGISTRY_BACK)
        give_named(w, place, false, now);
    registry_remove(w->cluster->registry, place);
    if (was == REGISTRY_CLAIMS && who.gen != 0)
        keep_refused(w, who, PE_UNAVAILABLE, "the cluster cannot tell of this name", now);
}

static void freed(struct world *w, uint32_t place)
{
    struct registry_name *n = name_at(w, place);

    if (n->again && n->who.gen != 0)
        ask(w, place);
    else
        registry_remove(w->cluster->registry, place);
}

/* Is it the answer to what this place waits for? */
static bool is_awaited(const struct registry_name *n, enum courier_name_word word)
{
    switch (n->state) {
    case REGISTRY_CLAIMS:
        return word != COURIER_NAME_FREE;
    case REGISTRY_TAKES:
    case REGISTRY_BACK:
        return word == COURIER_NAME_HELD || word == COURIER_NAME_GONE;
    case REGISTRY_RELEASES:
        return word == COURIER_NAME_FREE;
    default:
        return false;
    }
}

void naming_heard(struct world *w, const struct courier_name *x, struct mono now)
{
    struct registry_name *n = name_at(w, x->place);

    if (!is_awaited(n, x->word))
        return;
    switch (x->word) {
    case COURIER_NAME_HELD:
        n->token = x->token;
        w->cluster->registry->generation = x->generation;
        held(w, x->place, now);
        break;
    case COURIER_NAME_ELSEWHERE:
        elsewhere(w, x->place, x->holder, now);
        break;
    case COURIER_NAME_GONE:
        gone(w, x->place, now);
        break;
    case COURIER_NAME_FREE:
        freed(w, x->place);
        break;
    }
}

void inbox_stored(struct world *w, const struct store_settle *what, struct mono now)
{
    const struct registry_name *n = NULL;

    w->now = now;
    if (w->cluster && what->place < w->cluster->registry->slots.cap)
        n = name_at(w, what->place);
    if (n && n->state == REGISTRY_SETTLES && n->number == what->number)
        release(w, what->place);
    else
        w->metrics.stored_late++; /* somebody has it again */
}

/* --- between worlds ----------------------------------------------------------------------------
 */

static void say_found(struct world *w, const struct cluster_message *asked,
                      enum cluster_verdict verdict, uint32_t id, bool inside)
{
    struct cluster_message m = {.kind = CLUSTER_FOUND,
                                .name = asked->name,
                                .number = asked->number,
                                .verdict = verdict,
                                .id = id,
                                .inside = inside};

    handover_tell_of_name(w, asked->world, &m);
}

void naming_sought(struct world *w, const struct cluster_message *m, struct mono now)
{
    struct session_ref who;
    struct session *s;
    uint32_t id;

    if (!sessions_by_name(&w->sessions, m->name, &who) || !sessions_find(&w->sessions, who, &s) ||
        s->state == SESSION_NEW || s->hold == SESSION_HANDED)
        return; /* not here, or not for long */
    if (m->want == CLUSTER_RESUME) {
        if (!resume_find(&w->sessions, m->name, m->key.p, &who))
            say_found(w, m, CLUSTER_NOT_KEY, 0, false);
        else if (cmd_resume_id(w, s, now, &id))
            say_found(w, m, CLUSTER_GOES_ON, id, s->state != SESSION_LOGGED);
    } else if (m->want == CLUSTER_OWNER || s->state == SESSION_WAITING) {
        cmd_login_end(w, who, now);
    } else {
        say_found(w, m, CLUSTER_IN_USE, 0, false);
    }
}

void naming_found(struct world *w, const struct cluster_message *m, struct mono now)
{
    uint32_t place = registry_find(w->cluster->registry, m->name);
    struct registry_name *n = place == REGISTRY_NONE ? NULL : name_at(w, place);
    struct session_ref who;

    if (!n || n->number != m->number || n->who.gen == 0 ||
        (n->state != REGISTRY_SEEKS && n->state != REGISTRY_CLAIMS)) {
        w->metrics.handover_old++;
        return;
    }
    who = n->who;
    abandon(w, place);
    if (m->verdict == CLUSTER_GOES_ON)
        cmd_resume_elsewhere(w, who, m, now);
    else
        keep_refused(w, who, m->verdict == CLUSTER_IN_USE ? PE_NAME_IN_USE : PE_AUTH_FAILED, NULL,
                     now);
}

/* --- in a tick ---------------------------------------------------------------------------------
 */

/* Does it want to be looked at again? */
static bool look(struct world *w, uint32_t place, struct mono now)
{
    struct registry_name *n = name_at(w, place);

    if (n->state == REGISTRY_SEEKS && clock_since(now, n->said) >= NAMING_SEEK_NS) {
        ask(w, place);
    } else if (n->state == REGISTRY_SETTLES && !n->asked) {
        ask_store(w, place);
    } else if (n->state == REGISTRY_HELD && n->loads) {
        n->loads = false;
        keep_named(w, n->who, now);
    }
    return n->state == REGISTRY_SEEKS || (n->state == REGISTRY_SETTLES && !n->asked) ||
           (n->state == REGISTRY_HELD && n->loads);
}

void naming_tick(struct world *w, struct mono now)
{
    struct registry *r = w->cluster->registry;
    uint32_t kept = 0, n = r->n_work;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t place = r->work[i];

        if (look(w, place, now))
            r->work[kept++] = place;
        else
            r->list[place].listed = false;
    }
    for (uint32_t i = n; i < r->n_work; i++) /* those that came meanwhile */
        r->work[kept++] = r->work[i];
    r->n_work = kept;
}

/* tests/world/shelf.c: see the header. */
#include "tests/world/shelf.h"

#include "common/err.h"

#include <string.h>

static int take_load(void *arg, struct store_ticket ticket, struct span name)
{
    struct shelf *s = arg;

    if (s->load_full)
        return E_FULL;
    if (s->n_asked == SHELF_MAX)
        rig_fail("the shelf has no room for more questions");
    memcpy(s->asked_name[s->n_asked], name.p, name.n);
    s->asked_name[s->n_asked][name.n] = '\0';
    s->asked[s->n_asked++] = ticket;
    return 0;
}

static int take_save(void *arg, const struct store_character *c)
{
    struct shelf *s = arg;

    if (s->save_full)
        return E_FULL;
    if (s->n_saved == SHELF_MAX)
        rig_fail("the shelf has no room for more saves");
    s->saved[s->n_saved++] = *c;
    return 0;
}

static int take_settle(void *arg, struct store_settle what, struct span name)
{
    struct shelf *s = arg;

    if (s->settle_full)
        return E_FULL;
    if (s->n_settles == SHELF_MAX)
        rig_fail("the shelf has no room for more who wait");
    memcpy(s->settle_name[s->n_settles], name.p, name.n);
    s->settle_name[s->n_settles][name.n] = '\0';
    s->settles[s->n_settles++] = what;
    return 0;
}

const struct store_ops shelf_ops = {.load = take_load, .save = take_save, .settle = take_settle};

struct rig *shelf_rig(struct shelf *s, const struct world_config *c)
{
    memset(s, 0, sizeof(*s));
    s->rig = rig_create_kept(c, NULL, 0, (struct store_door){&shelf_ops, s});
    s->rig->patient = true;
    return s->rig;
}

const struct store_character *shelf_find(const struct shelf *s, const char *name)
{
    for (uint32_t i = s->n_saved; i-- > 0;)
        if (span_equal(span_of(s->saved[i].name, s->saved[i].name_len), span_text(name)))
            return &s->saved[i];
    return NULL;
}

void shelf_put(struct shelf *s, const char *name, const char *scene, double x, double y, double dir)
{
    struct store_character c = {.x = x, .y = y, .dir = dir};

    c.name_len = (uint8_t)strlen(name);
    memcpy(c.name, name, c.name_len);
    c.scene_len = (uint8_t)strlen(scene);
    memcpy(c.scene, scene, c.scene_len);
    if (take_save(s, &c) != 0)
        rig_fail("the shelf is full");
}

static void answer(struct shelf *s, struct store_answer *a)
{
    if (s->n_asked == 0)
        rig_fail("nothing was asked");
    a->ticket = s->asked[0];
    s->n_asked--;
    memmove(s->asked, s->asked + 1, s->n_asked * sizeof(s->asked[0]));
    memmove(s->asked_name, s->asked_name + 1, s->n_asked * sizeof(s->asked_name[0]));
    rig_loaded(s->rig, a);
}

void shelf_answer(struct shelf *s)
{
    const struct store_character *c = shelf_find(s, s->asked_name[0]);
    struct store_answer a = {.result = c ? STORE_FOUND : STORE_UNKNOWN};

    if (c)
        a.character = *c;
    answer(s, &a);
}

void shelf_fail(struct shelf *s)
{
    struct store_answer a = {.result = STORE_FAILED};
    answer(s, &a);
}

void shelf_answer_all(struct shelf *s)
{
    while (s->n_asked > 0)
        shelf_answer(s);
}

void shelf_tell_stored(struct shelf *s)
{
    struct store_settle what = s->settles[0];

    if (s->n_settles == 0)
        rig_fail("nobody asked whether it is stored");
    s->n_settles--;
    memmove(s->settles, s->settles + 1, s->n_settles * sizeof(s->settles[0]));
    memmove(s->settle_name, s->settle_name + 1, s->n_settles * sizeof(s->settle_name[0]));
    rig_stored(s->rig, &what);
}

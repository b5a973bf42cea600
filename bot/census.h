/* bot/census.h: while all rest: is every view exactly what it should be?
 * Bodies are where the bots know themselves to be, confirmed by the server; views are what others
 * were told of them. Brute force over a strip by x; shares nothing with the server. Pure.
 * May touch: common, proto, bot/view.
 * On trouble: a difference is counted, the first one told as a text.
 */
#pragma once

#include "bot/view.h"

#define CENSUS_WHY_MAX 192 /* bytes of a difference's text, with its NUL */

/* One who is in the world. */
struct census_body {
    uint32_t id;
    const char *scene;  /* its name; NULL: as others without one. Borrowed until census_clear */
    double x, y;        /* world units, exact */
    uint8_t dir, speed; /* as AoiMove would tell them */
    bool walked;        /* the world turned it: its dir is not known */
    bool sure;          /* false: it may be gone without knowing it */
};

/* May an entity of this name stand in a view though no body has its id? Not ours, or not gone for
 * long. */
typedef bool census_stray_fn(void *arg, struct span name);

struct census {
    struct census_body *by_x; /* [n] ascending by x */
    uint32_t *by_id;          /* [n] indices into by_x, ascending by id */
    uint32_t n, cap;
    double radius; /* world units: who stands within it is known */
    double reach;  /* world units: who stands further away is not */
    census_stray_fn *stray;
    void *stray_arg;
    char why[CENSUS_WHY_MAX];
};

/* Owns its arrays; room for `cap` bodies. E_NOMEM. */
int census_init(struct census *c, uint32_t cap, census_stray_fn *stray, void *arg) MUST_CHECK;
void census_fini(struct census *c);

/* Begin anew with nobody. */
void census_clear(struct census *c, double radius, double hysteresis);
/* At most `cap` bodies. */
void census_add(struct census *c, const struct census_body *body);
/* All have been added. */
void census_sort(struct census *c);

/* How does this view of `self` differ from what it should be?
 *   seen   how many bodies it should and does know are added to it
 * The number of differences; c->why tells the first. */
uint32_t census_check(struct census *c, const struct census_body *self, const struct view *v,
                      uint64_t *seen);

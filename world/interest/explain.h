/* world/interest/explain.h: why somebody sees somebody else, or does not.
 * For operators, between two ticks: computed from the state that sight itself decides on, so what
 * is said here is what the viewer was told. `sees` is what the viewer's client knows as of the last
 * tick; `why` is the one reason, the first that holds; the numbers are all there are, whatever the
 * reason. Changes nothing. Pure. May touch: common, world.
 * On trouble: nothing can fail; whoever is not in the world is a reason.
 * Cost: constant, with -aoi-max one look at each place.
 */
#pragma once

#include "world/world.h"

#define EXPLAIN_NOBODY   UINT32_MAX /* in place of a slot: not in the world */
#define EXPLAIN_TEXT_MAX 320        /* bytes of a sentence with its NUL */

enum explain_why {
    /* It sees it. */
    EXPLAIN_IN_RADIUS, /* within the radius */
    EXPLAIN_KEPT,      /* past it, within the hysteresis, and was known before */
    EXPLAIN_HELD,      /* the viewer's batches wait, so it knows what it knew */
    EXPLAIN_LEAVING,   /* it is out of sight just now; that is told soon */
    /* It does not. */
    EXPLAIN_VIEWER_OUT,  /* the viewer has not entered the world */
    EXPLAIN_SUBJECT_OUT, /* the other one has not */
    EXPLAIN_SELF,
    EXPLAIN_NPC,       /* the viewer is an NPC */
    EXPLAIN_ELSEWHERE, /* the viewer is another world's, which tells it */
    EXPLAIN_WAITING,   /* the viewer waits for its client */
    EXPLAIN_ASLEEP,    /* the other one is an NPC that sleeps */
    EXPLAIN_SCENE,     /* they stand in different scenes */
    EXPLAIN_FAR,       /* past the radius */
    EXPLAIN_RIM,       /* past the radius, within the hysteresis, and was not known before */
    EXPLAIN_PAUSED,    /* the viewer's batches wait */
    EXPLAIN_NO_ROOM,   /* the lists are full: -max-pairs */
    EXPLAIN_CAP,       /* -aoi-max others are kept */
    EXPLAIN_REFRESH,   /* -aoi-refresh: who is in sight is looked up later */
    EXPLAIN_TURN,      /* -aoi-tiers: its turn in its ring comes later */
    EXPLAIN_NEXT_TICK, /* since the last tick one of them came, or came near */
    EXPLAIN_WHYS
};

struct explain {
    bool sees;
    enum explain_why why;
    bool same_scene;  /* of two who are there */
    double distance;  /* units; where same_scene, as the next three */
    double distance2; /* its square, which is what sight compares */
    bool within;      /* the radius, as sight decides it: by squares, at the edge to the last bit */
    bool kept_within; /* the radius and the hysteresis together */
    double radius;    /* units: who comes within is seen */
    double hysteresis; /* units: who is known stays so for so much more */
    uint32_t tiers;    /* rings; 1: no -aoi-tiers */
    uint32_t tier;     /* that the distance is in, from 0; where same_scene */
    uint32_t every;    /* ticks of that ring */
    uint32_t due;      /* ticks until it is told of, forgotten or looked for; 0: not by turns */
    uint32_t refresh;  /* ticks; 1: at each */
    uint32_t max;      /* -aoi-max; 0: off */
    uint32_t in_sight; /* within the radius; where max > 0 */
    uint32_t nearer;   /* of those who are nearer; where max > 0 */
    uint32_t ahead;  /* who take a place before it: nearer, or kept by the margin; where max > 0 */
    uint64_t bytes;  /* budget of the viewer in a tick; 0: off */
    uint32_t waited; /* ticks that the last change has waited for bytes; 0: none waits */
    bool slow_client, slow_link; /* why the viewer's batches wait */
};

/* Why does `viewer` (a slot, or EXPLAIN_NOBODY) see `subject`, or not? */
void explain_pair(struct world *w, uint32_t viewer, uint32_t subject, struct explain *out);
/* A word for programs: "too_far". */
const char *explain_word(enum explain_why why);
/* One sentence for people, NUL-terminated, without names. */
void explain_text(const struct explain *x, char out[EXPLAIN_TEXT_MAX]);

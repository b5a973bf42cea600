/* bot/witness.h: while all walk: is what each is told of the others what it may be, tick by tick?
 * Each bot knows where it was: its own place counts from the move's answer on, and the ticks that
 * its connection brought before and after that answer say between which ticks the place became so.
 * A view that has been told tick t is held against where the others were at t, or up to so many
 * ticks before; or after, since of two worlds one may be ahead. No clock says what is late.
 *
 *   heard tick 70 ─ MoveResp (3, 4) ─ heard tick 72:   at (3, 4) from 71 or 72 on, until the next
 *
 * A view is judged a second after it was looked at, when the answers of all others are here.
 * Brute force; shares nothing with the server. One scene, no -aoi-tiers. Pure: time is passed.
 * May touch: common, bot/view.
 * On trouble: what cannot be judged is counted as unsure; a breach is counted, the first told.
 */
#pragma once

#include "bot/view.h"
#include "common/clock.h"

#define WITNESS_LATE_MAX 16 /* ticks of lateness that are told apart */
#define WITNESS_PLACES   64 /* of each bot that are remembered */
#define WITNESS_WHY_MAX  256

struct witness_place {
    uint32_t after; /* the last tick heard before: it became so later than that */
    uint32_t from;  /* the first tick heard after: since then it is so; 0: not heard yet */
    double x, y;
};

struct witness_body {
    bool here; /* in the world */
    uint32_t id;
    uint32_t tick;           /* last heard */
    const uint32_t *pending; /* requests without an answer; borrowed */
    struct mono answered;    /* when the last request that was answered had been sent */
    uint32_t n;              /* places so far; place i is at i % WITNESS_PLACES */
    struct witness_place place[WITNESS_PLACES];
};

/* What a view held of one entity. */
struct witness_seen {
    uint32_t id;
    double x, y;
};

/* A view as it was after its tick. */
struct witness_look {
    uint32_t body, id, tick;
    double radius;
    struct mono at;
    uint64_t first; /* of its `n` in `seen`, as a running number */
    uint32_t n;
};

struct witness_count {
    uint64_t views;                      /* judged */
    uint64_t pairs;                      /* in them */
    uint64_t unsure;                     /* pairs that could not be judged */
    uint64_t left_out;                   /* views for which there was no room */
    uint64_t late[WITNESS_LATE_MAX + 1]; /* views by the ticks that they were late */
    uint64_t breaches;                   /* views later than allowed, or never right */
    uint32_t silence;                    /* ticks at most from what a view was told last to what
                                            anybody had been told */
};

struct witness {
    struct witness_body *bodies; /* [n], owned */
    uint32_t n;
    double reach;               /* units past the radius at which one may still be known */
    uint32_t late;              /* ticks that are allowed */
    uint32_t newest;            /* tick that anybody heard of */
    struct witness_look *looks; /* ring [looks_cap], owned */
    uint32_t looks_cap, looks_head, looks_n;
    struct witness_seen *seen; /* ring [seen_cap], owned */
    uint64_t seen_cap, seen_head, seen_n;
    struct witness_count counted;
    char why[WITNESS_WHY_MAX]; /* of the last breach */
};

/* E_NOMEM; witness_fini is due in any case. */
int witness_init(struct witness *w, uint32_t bodies, double hysteresis, uint32_t late) MUST_CHECK;
void witness_fini(struct witness *w); /* a zeroed one is fine */

/* Bot `i` is in the world, afresh, under this id. `pending` is borrowed until it is gone. */
void witness_entered(struct witness *w, uint32_t i, uint32_t id, double x, double y,
                     const uint32_t *pending);
void witness_gone(struct witness *w, uint32_t i);
/* Its connection brought something of this tick. */
void witness_heard(struct witness *w, uint32_t i, uint32_t tick);
/* A request that was sent then is answered; `moved`: it stands at (x, y) now. */
void witness_answered(struct witness *w, uint32_t i, struct mono sent, bool moved, double x,
                      double y);
/* Remember its view. To be called between two ticks of its connection. */
void witness_look(struct witness *w, uint32_t i, const struct view *v, struct mono now);
/* Judge what is due. Returns how many breaches were found; `why` tells the last one. */
uint32_t witness_judge(struct witness *w, struct mono now);

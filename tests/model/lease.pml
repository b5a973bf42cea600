/* tests/model/lease.pml: a lease that is counted by its owner, and a burial by who sees it unchanged.
 *
 * An owner and a rival; in a store of compare-and-set the owner's key (its lease) and the key of a
 * zone. What the owner writes travels: it lands at any later time or never, also after it was given
 * up and others were sent behind it, and so does the answer. The owner counts its lease from the
 * sending of a renewal, and its clock may be slow by what the guard allows; it may crash at any
 * step, and comes back knowing nothing. The rival, who has seen the key unchanged for lease and
 * guard, buries it by compare-and-set at the revision it saw. Whose key is buried has lost all it
 * held in that epoch: the rival takes the zone by compare-and-set.
 *
 * Checked: never do both act for the zone, whatever lands when; and a zone whose owner is buried is
 * never its owner's again without a claim. That somebody acts in the end is a matter of time, which
 * is not modelled that far (tests/sim).
 *
 *   -DPLANT=1   the lease is counted from the answer
 *   -DPLANT=2   the rival buries without a wait
 *   -DPLANT=3   a renewal is written whatever the revision
 *   -DREACH     fails where the rival acts after the owner did: that this is reached at all
 */
#ifndef PLANT
#define PLANT 0
#endif

#define LEASE 1 /* ticks that the owner counts */
#define SLOW  1 /* ticks more that they take by a slow clock */
#define GUARD 1 /* ticks that the rival waits beyond LEASE: not less than SLOW */
#ifndef WRITES
#define WRITES 7 /* that land, in one run: what bounds it */
#endif

mtype = {none, renew, claim, take};

/* The store. */
byte revision;  /* of the last write of all */
byte key_at;    /* revision of the owner's key; 0: never written */
byte key_epoch; /* 0: none, or buried */
byte zone_at;
byte zone_epoch; /* of the owner, in which it is its; 0: nobody's */
bool zone_rival; /* it is the rival's */

/* The owner. */
byte epoch, own_at; /* 0: none */
byte left;          /* ticks for which it may act */
bool owns;          /* the zone, as it believes */
bool acted, crashed;

/* What it wrote and awaits the answer of, and what it wrote before and gave up. */
mtype new_kind = none, old_kind = none;
byte new_at, old_at, new_epoch, old_epoch;
bool awaits, answered, took;
byte answer_at;
byte since_sent; /* left of the lease that the awaited write will give */

/* The rival. */
byte saw_at, wait;
bool rival_owns;

#define acts (owns && left > 0)

inline ask(kind, at, e)
{
    new_kind = kind;
    new_at = at;
    new_epoch = e;
    awaits = true;
    if
    :: kind != take -> since_sent = LEASE
    :: kind != take -> since_sent = LEASE + SLOW
    :: kind == take
    fi
}

/* The answer is listened to no more. */
inline forget()
{
    awaits = false;
    answered = false;
    took = false;
    answer_at = 0;
    since_sent = 0;
    if
    :: new_kind != none ->
        old_kind = new_kind;
        old_at = new_at;
        old_epoch = new_epoch;
        new_kind = none;
        new_at = 0;
        new_epoch = 0
    :: else
    fi
}

/* All it had in this epoch is gone. */
inline lose()
{
    epoch = 0;
    own_at = 0;
    left = 0;
    owns = false
}

/* Look at the own key: is it still ours? */
inline look()
{
    if
    :: epoch != 0 && key_epoch == epoch -> own_at = key_at
    :: else -> lose()
    fi
}

inline lands(kind, at, e)
{
    took = true;
    revision++;
    if
    :: kind == renew && (key_at == at || PLANT == 3) -> key_at = revision; key_epoch = e
    :: kind == claim && key_at == at -> key_at = revision; key_epoch = revision
    :: kind == take && zone_at == at && !zone_rival -> zone_at = revision; zone_epoch = e
    :: else -> revision--; took = false
    fi
}

inline hear(kind, e)
{
    if
    :: !took -> look()
    :: took && kind == take -> owns = true
    :: took && kind != take ->
        epoch = (kind == claim -> answer_at : epoch);
        own_at = answer_at;
        left = (PLANT == 1 -> LEASE + SLOW : since_sent)
    fi;
    forget();
    assert(!(acts && rival_owns));
    acted = acted || acts
}

mtype asked = none;

#define idle (!awaits && revision < WRITES)

active proctype owner()
{
end:do
    :: atomic { idle && epoch == 0 && key_epoch == 0 -> ask(claim, key_at, 0); asked = claim }
    :: atomic { idle && epoch != 0 -> ask(renew, own_at, epoch); asked = renew }
    :: atomic { idle && left > 0 && !owns && zone_epoch != epoch ->
        ask(take, zone_at, epoch); asked = take }
    :: atomic { idle && epoch != 0 && !owns && zone_epoch == epoch ->
        owns = true; /* a claim that was given up has landed */
        assert(!(acts && rival_owns)) }
    :: atomic { answered -> hear(asked, new_epoch); asked = none }
    :: atomic { awaits -> forget(); asked = none; look() } /* it took too long */
    :: atomic { !crashed -> crashed = true; forget(); asked = none; lose() }
    od
}

active proctype store()
{
end:do
    :: atomic { new_kind != none && revision < WRITES ->
        lands(new_kind, new_at, new_epoch);
        answered = true;
        answer_at = (took -> revision : 0);
        new_kind = none;
        new_at = 0;
        new_epoch = 0 }
    :: atomic { old_kind != none && revision < WRITES ->
        bool before = took;
        lands(old_kind, old_at, old_epoch);
        took = before;
        before = false;
        old_kind = none;
        old_at = 0;
        old_epoch = 0 }
    od
}

active proctype rival()
{
end:do
    :: atomic { saw_at != key_at -> saw_at = key_at; wait = LEASE + GUARD }
    :: atomic { saw_at != 0 && key_epoch != 0 && (wait == 0 || PLANT == 2) ->
        if
        :: key_at == saw_at && revision < WRITES -> revision++; key_at = revision; key_epoch = 0
        :: else
        fi;
        saw_at = 0 }
    :: atomic { !zone_rival && key_epoch != zone_epoch && revision < WRITES ->
        revision++;
        zone_at = revision;
        zone_rival = true;
        zone_epoch = 0;
        rival_owns = true;
        assert(!(acts && rival_owns));
#ifdef REACH
        assert(!acted)
#endif
        }
    od
}

inline one_less(x)
{
    x = (x > 0 -> x - 1 : 0)
}

/* Time passes for both alike; a slow clock is a longer lease. */
active proctype time()
{
end:do
    :: atomic { left + since_sent + wait > 0 -> one_less(left); one_less(since_sent); one_less(wait) }
    od
}

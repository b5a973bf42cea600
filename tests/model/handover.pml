/* tests/model/handover.pml: an entity is handed to and fro between two worlds, and a third may
 * have to bring it back.
 *
 * Worlds 0 and 1 hand an entity over in the steps of world/cluster/handover: prepare, accept,
 * switch, confirm. Whose it is stands in its name's key, in a store of compare-and-set; `at` is the
 * revision of that key as its holder knows it. From the sending of the switch the old world does
 * not act for it; the new one acts when it took the key from the revision that the switch carries;
 * the old one may take it back in the same way, so that the key decides between the two. Where the
 * key's holder is buried (lease.pml: then it never acts again in that epoch) a login at world 2
 * takes the key and loads the entity.
 *
 * The network is the worst there is: what was once sent may arrive at any later time, in any order,
 * any number of times, or never (`prepare[at]` and so on only say that it was sent). So is the way
 * to the store: a compare-and-set lands at any later time. Worlds lapse (a pause, the store out of
 * reach) and come back or are buried, and crash between any two steps.
 *
 * Checked: at most one acts; who acts has all that was done before; no state that is not the end
 * has no way on, no cycle exists, and at each end exactly one acts.
 *
 *   -DPLANT=1   the new world acts on the switch, before it took the key
 *   -DPLANT=2   the old world takes back by its own watch, without the key
 *   -DPLANT=3   the guest goes on with what the prepare told, not the switch
 *   -DPLANT=4   a login takes the key of a holder that has only lapsed
 */
#ifndef PLANT
#define PLANT 0
#endif

/* What bounds a run. */
#ifndef MOVES
#define MOVES 2
#endif
#define DEEDS    2 /* that change the entity */
#define GIVE_UPS 1 /* of a prepare that nobody answers */
#define EXPIRIES 1 /* of a guest whose switch does not come */
#define BACKS    1 /* takings back from a world that is not buried */
#define LATE     1 /* messages about an older revision that are taken up */
#define LAPSES   2
#define CRASHES  1
#define KEYS     (2 * MOVES + BACKS + 3) /* revisions of the key */

mtype = {out, has, asked, sent, back, guest, takes};
mtype = {lives, lapsed, buried};

/* The store: the key's revision and holder; what each world asked for and has not landed. */
byte key = 1, holder = 0;
byte from[KEYS + 1]; /* who held it at a revision, and speaks of it */
bool cas[3 * KEYS];
#define CAS(w, at) ((w) * KEYS + (at))

/* The network, by the revision that each message is about. */
bool prepare[KEYS], accept[KEYS], switched[KEYS], confirm[KEYS];
byte told[KEYS], final[KEYS]; /* the state that prepare and switch carry */

/* The worlds. */
mtype state[3] = out, lease[3] = lives;
bool down[3];
byte at[3], deeds[3];

byte done; /* deeds of all, in truth */
byte moves, give_ups, expiries, backs, late, lapses, crashes;

#define holds(w) (state[w] == has || state[w] == asked)
#define acts(w)  (holds(w) && lease[w] == lives)
#define other(w) (1 - (w))
#define none_doubled (acts(0) + acts(1) + acts(2) <= 1)

inline leave(w)
{
    state[w] = out;
    at[w] = 0;
    deeds[w] = 0
}

inline is_ours(w)
{
    state[w] = has;
    at[w] = key;
    assert(none_doubled);
    assert(lease[w] != lives || deeds[w] == done)
}

/* The key has changed since it asked: is it ours? */
inline hear(w, to_tell)
{
    if
    :: key == at[w] + 1 && holder == w ->
        confirm[at[w]] = confirm[at[w]] || to_tell;
        is_ours(w)
    :: else -> leave(w)
    fi
}

proctype world(byte w)
{
end:do
    /* as the one who has it */
    :: atomic { acts(w) && done < DEEDS -> done++; deeds[w] = done }
    :: atomic { state[w] == has && lease[w] == lives && moves < MOVES ->
        moves++;
        state[w] = asked;
        prepare[at[w]] = true;
        told[at[w]] = deeds[w] }
    :: atomic { state[w] == asked && give_ups < GIVE_UPS -> give_ups++; state[w] = has }
    :: atomic { state[w] == asked && lease[w] == lives && accept[at[w]] ->
        state[w] = sent;
        final[at[w]] = deeds[w];
        switched[at[w]] = true }
    :: atomic { state[w] == sent && confirm[at[w]] -> leave(w) }
    :: atomic { state[w] == sent && (backs < BACKS || lease[other(w)] == buried) ->
        backs = (backs < BACKS -> backs + 1 : backs);
        state[w] = back;
        if
        :: PLANT == 2 -> is_ours(w)
        :: PLANT != 2 -> cas[CAS(w, at[w])] = true
        fi }
    :: atomic { state[w] == back && key != at[w] -> hear(w, false) }
    /* as the one to whom it comes: the other's prepare is about a revision that the other held */
    :: atomic { state[w] == out && !down[w] && lease[w] == lives && holder == other(w) &&
        prepare[key] && !switched[key] && lease[other(w)] != buried ->
        state[w] = guest;
        at[w] = key;
        deeds[w] = told[key];
        accept[key] = true }
    :: atomic { state[w] == guest && expiries < EXPIRIES -> expiries++; leave(w) }
    :: atomic { state[w] == guest && key != at[w] -> leave(w) }
    :: atomic { state[w] == guest && !switched[at[w]] && lease[other(w)] == buried -> leave(w) }
    :: atomic { (state[w] == guest || state[w] == out) && !down[w] && lease[w] != buried &&
        holder == other(w) && switched[key] ->
        deeds[w] = (PLANT == 3 && state[w] == guest -> deeds[w] : final[key]);
        at[w] = key;
        state[w] = takes;
        cas[CAS(w, at[w])] = true;
        if
        :: PLANT == 1 -> is_ours(w)
        :: PLANT != 1
        fi }
    :: atomic { state[w] == takes && key != at[w] -> hear(w, true) }
    :: atomic { state[w] == out && !down[w] && lease[w] == lives && late < LATE && key > 1 &&
        from[key - 1] == other(w) && prepare[key - 1] ->
        late++;
        at[w] = key - 1;
        state[w] = guest;
        deeds[w] = told[at[w]] }
    :: atomic { (state[w] == guest || state[w] == out) && !down[w] && lease[w] == lives &&
        late < LATE && key > 1 && from[key - 1] == other(w) && switched[key - 1] ->
        late++;
        at[w] = key - 1;
        state[w] = takes;
        deeds[w] = final[at[w]] }
    /* whatever it is: it learns that it was buried */
    :: atomic { lease[w] == buried && state[w] != out -> leave(w) }
    od
}

/* A login, where the key's holder is buried. */
active proctype login()
{
end:do
    :: atomic { state[2] == out && holder != 2 &&
        (lease[holder] == buried || (PLANT == 4 && lease[holder] == lapsed)) ->
        state[2] = takes;
        at[2] = key;
        cas[CAS(2, at[2])] = true }
    :: atomic { state[2] == takes && key != at[2] ->
        deeds[2] = done; /* what it loads; how much of it was saved is another matter */
        hear(2, false) }
    od
}

inline land(w)
{
    cas[CAS(w, key)] = false;
    from[key + 1] = w;
    key++;
    holder = w
}

active proctype store()
{
end:do
    :: atomic { cas[CAS(0, key)] -> land(0) }
    :: atomic { cas[CAS(1, key)] -> land(1) }
    :: atomic { cas[CAS(2, key)] -> land(2) }
    od
}

proctype fate(byte w)
{
end:do
    :: atomic { lease[w] == lives && lapses < LAPSES -> lapses++; lease[w] = lapsed }
    :: atomic { lease[w] == lapsed && !down[w] -> lease[w] = lives;
        assert(none_doubled) }
    :: atomic { lease[w] == lapsed -> lease[w] = buried }
    :: atomic { !down[w] && lease[w] != buried && crashes < CRASHES ->
        crashes++;
        down[w] = true;
        lease[w] = lapsed;
        leave(w) }
    od
}

active proctype end()
{
    timeout -> assert(acts(0) + acts(1) + acts(2) == 1)
}

init {
    atomic {
        state[0] = has;
        at[0] = 1;
        run world(0);
        run world(1);
        run fate(0);
        run fate(1)
    }
}

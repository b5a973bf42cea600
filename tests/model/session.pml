/* tests/model/session.pml: a client's requests while its entity is handed over, and over again.
 *
 * A gateway sends the client's requests to one world, over a link that keeps their order, and
 * brings back answers. From the switch on (handover.pml) the old world keeps what still comes to
 * it; when the hand-over is confirmed it tells the gateway to go to the other world, behind all that
 * it ever told the client, and passes on what it kept as numbered messages. The gateway's last word
 * to the old world is `left`, its first to the new one `attach`, and its requests follow that. Told
 * of `left`, the old world says how many it has passed on; the new one executes those in their
 * order, and only then the client's own. What it has to say to the client waits for the attach.
 * Where the hand-over is taken back, what was kept is executed where it is. A world hands on only
 * when the client was attached, all that was late is executed, and all that waited was said.
 *
 * Messages between worlds may come at any later time, in any order, any number of times (`kept`
 * stands for what was sent; whoever reads it reads it when it likes, again and again).
 *
 * Checked: each request is executed once, in order, by the world that has the entity; its answer
 * reaches the client once, in order; and no run stops before all were answered.
 *
 *   -DPLANT=1   the client's own requests do not wait for the end of what is late
 *   -DPLANT=2   what is late is executed as it comes
 *   -DPLANT=3   answers to what is late do not wait for the attach
 *   -DPLANT=4   the old world goes on executing after the switch
 */
#ifndef PLANT
#define PLANT 0
#endif

#define REQUESTS 6
#define MOVES    3 /* hand-overs, of which each may be taken back */
#define HOLDS    10 /* of a link: more than is ever on it */

mtype = {request, left, attach, answer, redirect};

chan up[2] = [HOLDS] of {mtype, byte};
chan down[2] = [HOLDS] of {mtype, byte};

/* The client and the gateway. */
byte asked, answered, at;

/* The worlds: who has the entity, and to which hand-over each belongs (0: none yet). */
bool has[2];
bool attached[2], settled[2];
bool given[2], told[2]; /* the switch was sent; it was confirmed and the gateway told */
byte giving[2], taking[2];
byte moves, executed;
bool taken[MOVES + 1], back[MOVES + 1]; /* how a hand-over went: the name's key decides */

/* Of a hand-over: what was kept, how much of it, how much was executed, and the last word. */
byte kept[(MOVES + 1) * (REQUESTS + 1)];
byte n_kept[MOVES + 1], n_done[MOVES + 1];
bool ended[MOVES + 1];
bool late_done[(MOVES + 1) * (REQUESTS + 1)]; /* for PLANT 2: by number */

#define KEPT(h, i) ((h) * (REQUESTS + 1) + (i))
#define other(w)   (1 - (w))

/* What cannot be said before the attach waits for it: as a queue of its own. */
chan waits[2] = [HOLDS] of {byte};

inline execute(w, n)
{
    assert(has[w] || PLANT == 4);
    assert(n == executed + 1);
    executed = n;
    if
    :: (attached[w] && len(waits[w]) == 0) || PLANT == 3 -> down[w]!answer, n
    :: (!attached[w] || len(waits[w]) > 0) && PLANT != 3 -> waits[w]!n
    fi
}

active proctype gateway()
{
    byte n;

end:do
    :: atomic { asked < REQUESTS -> asked++; up[at]!request, asked }
    :: atomic { down[0]?answer, n -> assert(n == answered + 1); answered = n; n = 0 }
    :: atomic { down[1]?answer, n -> assert(n == answered + 1); answered = n; n = 0 }
    :: atomic { down[at]?redirect, n ->
        up[at]!left, 0;
        at = other(at);
        up[at]!attach, 0;
        n = 0 }
    od
}

proctype world(byte w)
{
    byte n;

end:do
    /* as the one who has it, and whose client is there */
    :: atomic { has[w] && attached[w] && (settled[w] || PLANT == 1) && up[w]?[request, _] ->
        up[w]?request, n;
        execute(w, n);
        n = 0 }
    :: atomic { has[w] && attached[w] && settled[w] && len(waits[w]) == 0 && moves < MOVES ->
        moves++;
        giving[w] = moves;
        given[w] = true;
        told[w] = false;
        has[w] = false }
    /* as the one who gives it */
    :: atomic { given[w] && up[w]?[request, _] ->
        up[w]?request, n;
        if
        :: PLANT == 4 -> execute(w, n)
        :: PLANT != 4 -> n_kept[giving[w]]++; kept[KEPT(giving[w], n_kept[giving[w]])] = n
        fi;
        n = 0 }
    :: atomic { given[w] && taken[giving[w]] && !told[w] -> told[w] = true; down[w]!redirect, 0 }
    :: atomic { given[w] && told[w] && up[w]?[left, _] ->
        up[w]?left, n;
        ended[giving[w]] = true;
        given[w] = false;
        attached[w] = false;
        settled[w] = false }
    :: atomic { given[w] && !taken[giving[w]] && !back[giving[w]] ->
        back[giving[w]] = true;
        given[w] = false;
        has[w] = true;
        settled[w] = false;
        taking[w] = giving[w];
        ended[giving[w]] = true }
    /* as the one to whom it comes */
    :: atomic { given[other(w)] && !taken[giving[other(w)]] && !back[giving[other(w)]] ->
        taken[giving[other(w)]] = true;
        taking[w] = giving[other(w)];
        has[w] = true;
        settled[w] = false;
        attached[w] = false }
    :: atomic { has[w] && !settled[w] && PLANT != 2 && n_done[taking[w]] < n_kept[taking[w]] &&
        (back[taking[w]] || told[other(w)] || ended[taking[w]]) ->
        n_done[taking[w]]++;
        execute(w, kept[KEPT(taking[w], n_done[taking[w]])]) }
    :: atomic { has[w] && !settled[w] && PLANT == 2 && n_kept[taking[w]] > 1 &&
        !late_done[KEPT(taking[w], n_kept[taking[w]])] &&
        (back[taking[w]] || told[other(w)] || ended[taking[w]]) ->
        late_done[KEPT(taking[w], n_kept[taking[w]])] = true;
        execute(w, kept[KEPT(taking[w], n_kept[taking[w]])]) }
    :: atomic { has[w] && !settled[w] && ended[taking[w]] &&
        n_done[taking[w]] == n_kept[taking[w]] -> settled[w] = true }
    :: atomic { !given[w] && !attached[w] && up[w]?[attach, _] -> up[w]?attach, n; attached[w] = true }
    :: atomic { attached[w] && nempty(waits[w]) -> waits[w]?n; down[w]!answer, n; n = 0 }
    od
}

active proctype end()
{
    timeout -> assert(answered == REQUESTS)
}

init {
    atomic {
        has[0] = true;
        attached[0] = true;
        settled[0] = true;
        run world(0);
        run world(1)
    }
}

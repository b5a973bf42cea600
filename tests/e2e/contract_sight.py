"""tests/e2e/contract_sight.py: PROTOCOL.md, What a client may rely on: sight, order, coming, going.

Order, ids and ticks of every frame are held by audit.py; here is what must be told, and
what must not. May touch: the stage. On trouble: a failed check.
"""
import math
import random
import time

from client import (AOI_ADD, AOI_MOVE, AOI_REMOVE, BYE, ENTER, ENTER_RESP, LEAVE, LEAVE_RESP, MOVE,
                    SAY_NOTIFY, SAY_RESP, Late, pump, walk)
from aegis_client import read_moves
from aegis_client.moves import TURN
from audit import dir_byte, speed_byte
from contract_stage import BAD_PAYLOAD, MOVE_SPEED, is_refusal, rest

JUST = 1e-9  # past the radius, and far below a quantum
AOI = (AOI_ADD, AOI_REMOVE, AOI_MOVE)


def records_since(client, mark):
    """All records of AoiMoves after frame number `mark`."""
    return [record for frame in client.frames[mark:] if frame.cmd == AOI_MOVE
            for record in read_moves(frame.payload["moves"])]


def aoi_since(client, mark):
    return [frame[:3] for frame in client.frames[mark:] if frame.cmd in AOI]


def near(client, other, quantum=None):
    """Does the view hold the other where it is, to half a quantum?"""
    told = client.view.get(other.id)
    grain = (quantum or client.entered["quantum"]) / 2 + 1e-9
    return told and abs(told.x - other.x) <= grain and abs(told.y - other.y) <= grain


def knows(client, other):
    return other.id in client.view


def tick_of(client, cmd, one):
    """The tick of the last frame of that kind that holds that id."""
    for frame in reversed(client.frames):
        if frame.cmd == cmd:
            ids = frame.payload["ids"] if cmd == AOI_REMOVE else [
                fields[0] for fields in frame.payload["entities"]]
            if one in ids:
                return frame.payload["tick"]
    return None


# --- the edge of sight ----------------------------------------------------------------------------


def parted(stage, what, viewer, mover):
    both = [viewer, mover]
    try:
        viewer.wait(lambda: not knows(viewer, mover), 2)
        mover.wait(lambda: not knows(mover, viewer), 2)
    except Late:
        pass
    stage.check(f"{what} each loses the other in the same tick", not knows(viewer, mover)
                and not knows(mover, viewer) and tick_of(viewer, AOI_REMOVE, mover.id)
                == tick_of(mover, AOI_REMOVE, viewer.id), [sorted(c.view) for c in both])


def met(stage, what, viewer, mover):
    try:
        viewer.wait(lambda: knows(viewer, mover), 2)
        mover.wait(lambda: knows(mover, viewer), 2)
    except Late:
        pass
    together = knows(viewer, mover) and knows(mover, viewer) and tick_of(
        viewer, AOI_ADD, mover.id) == tick_of(mover, AOI_ADD, viewer.id)
    stage.check(f"{what} each sees the other in the same tick", together)
    if together:
        told = viewer.view[mover.id]
        stage.check("by name, at the exact place", (told.name, told.x, told.y) == (
            mover.name, mover.x, mover.y) or mover.id not in viewer.audit.exact, vars(told))


def sight_ends_just_past_the_radius(stage):
    along, viewer, near_by, slant = stage.group(4)
    radius = viewer.entered["radius"]
    side = (viewer.x + radius * 0.6, viewer.y + radius * 0.8)  # 18, 24, 30: exact
    walk([(along, viewer.x - radius, viewer.y), (slant, *side)], [viewer])
    everyone = [viewer, along, slant, near_by]
    rest(everyone)
    stage.check("at exactly the radius along an axis each still knows the other",
                knows(viewer, along) and knows(along, viewer))
    stage.check("and on a slant", knows(viewer, slant) and knows(slant, viewer))
    stage.check("those two, further apart, do not know each other",
                not knows(along, slant) and not knows(slant, along))
    along.move(viewer.x - radius - JUST, viewer.y)
    slant.move(side[0], side[1] + 1 / 64)
    parted(stage, "1e-9 past the radius", viewer, along)
    parted(stage, "1/64 past the radius on a slant", viewer, slant)
    talk_is_for_those_who_know(stage, viewer, along)
    mark = len(viewer.frames)
    rest(everyone, 3)
    along.move(viewer.x - radius - JUST * 2, viewer.y, dir=1)
    rest(everyone)
    stage.check("nothing more is told of those out of sight", not aoi_since(viewer, mark),
                aoi_since(viewer, mark))
    along.move(viewer.x - radius, viewer.y)
    slant.move(*side)
    met(stage, "back at exactly the radius", viewer, along)
    met(stage, "and on the slant", viewer, slant)
    one_tick_may_bring_all(stage, everyone, side)


def kinds_of(client, mark):
    """The Aoi commands of each tick."""
    ticks = {}
    for frame in client.frames[mark:]:
        if frame.cmd in AOI:
            ticks.setdefault(frame.payload["tick"], []).append(frame.cmd)
    return list(ticks.values())


def one_tick_may_bring_all(stage, everyone, side):
    """One steps out, one in, one about, until a tick has all three."""
    viewer, along, slant, near_by = everyone
    radius, mark = viewer.entered["radius"], len(viewer.frames)
    slant.move(side[0], side[1] + 1 / 64)
    viewer.wait(lambda: not knows(viewer, slant))
    for n in range(12):
        out = n % 2 == 0
        along.send(MOVE, {"x": viewer.x - radius - (JUST if out else 0), "y": viewer.y})
        slant.send(MOVE, {"x": side[0], "y": side[1] + (0 if out else 1 / 64)})
        near_by.send(MOVE, {"x": near_by.x, "y": near_by.y + 0.2})
        for member in (along, slant, near_by):
            member.answer(member.seq)
        viewer.wait(lambda o=out: (knows(viewer, along), knows(viewer, slant)) == (not o, o))
        rest(everyone, 3)
    ticks = kinds_of(viewer, mark)
    stage.check("in one tick AoiRemove, then AoiAdd, then AoiMove",
                [AOI_REMOVE, AOI_ADD, AOI_MOVE] in ticks, ticks)


def talk_is_for_those_who_know(stage, speaker, stranger):
    marks = len(speaker.frames), len(stranger.frames)
    stage.check("Say is answered", speaker.say("anybody?").cmd == SAY_RESP)
    rest([speaker, stranger])
    stage.check("one who does not know the speaker hears nothing", not any(
        f.cmd == SAY_NOTIFY for f in stranger.frames[marks[1]:]))
    stage.check("nor does the speaker", not any(
        f.cmd == SAY_NOTIFY for f in speaker.frames[marks[0]:]))


def talk_is_heard(stage):
    speaker, one, two = stage.group(3)
    mark, text = len(speaker.frames), "grüß dich, 世界 😀\n"
    speaker.say(text)
    speaker.say("s" * 512)
    wanted = [{"id": speaker.id, "text": text}, {"id": speaker.id, "text": "s" * 512}]
    for hearer in (one, two):
        hearer.wait(lambda h=hearer: sum(f.cmd == SAY_NOTIFY for f in h.frames) == 2)
        heard = [f.payload for f in hearer.frames if f.cmd == SAY_NOTIFY]
        stage.check("everyone who knows the speaker hears it, in order", heard == wanted, heard)
    rest([speaker])
    stage.check("but not the speaker", not any(f.cmd == SAY_NOTIFY for f in speaker.frames[mark:]))


def a_wandering_line_is_seen_exactly(stage):
    """Newcomers stand in a line that is longer than sight; all wander, then all views are held
    against the places that MoveResp told."""
    members = [stage.member() for _ in range(16)]
    chance = random.Random(7)
    turns = []
    for n in range(27):
        if n % 9 == 0:
            turns = [chance.random() * TURN for _ in members]
        for member, turn in zip(members, turns):
            way = chance.random()
            member.send(MOVE, {"x": member.x + way * math.cos(turn), "dir": turn,
                               "y": member.y + way * math.sin(turn), "speed": way * 12})
        pump(members, 0.08)
    for member in members:
        member.answer(member.seq)
    rest(members, 8)
    radius, wrong, crossed = members[0].entered["radius"], [], 0
    for viewer in members:
        ids = {m.id for m in members if m is not viewer
               and (m.x - viewer.x) ** 2 + (m.y - viewer.y) ** 2 <= radius ** 2}
        crossed += sum(len(f.payload["ids"]) for f in viewer.frames if f.cmd == AOI_REMOVE)
        if set(viewer.view) != ids or not all(
                near(viewer, m) for m in members if m.id in ids):
            wrong.append((viewer.id, sorted(ids), sorted(viewer.view)))
    stage.check("16 who wander: everyone knows exactly those in the radius, where they are",
                not wrong, wrong)
    stage.check("and some came and went meanwhile", crossed > 0, crossed)


# --- what is told ---------------------------------------------------------------------------------


def the_last_place_of_a_tick_is_told(stage):
    viewer, mover, other = stage.group(3)
    rest([viewer, mover, other], 3)
    mark = len(viewer.frames)
    x, bodies = mover.x, b""
    for n in range(1, 11):
        bodies += mover.framed(mover.body(MOVE, {"x": x + 0.04 * n, "y": mover.y - 0.01 * n}))
    mover.send_bytes(bodies)
    mover.answer(mover.seq)
    viewer.wait(lambda: near(viewer, mover))
    told = records_since(viewer, mark)
    stage.check("ten moves at once: the last place, merged by tick", len(told) <= 2, told)
    stage.check("a record without dir and speed where these stayed", all(
        record.dir is None and record.speed is None for record in told), told)
    both = [mover, other]
    for member in both:
        member.send(MOVE, {"x": member.x + 0.2, "y": member.y + 0.2})
    for member in both:
        member.answer(member.seq)
    viewer.wait(lambda: all(near(viewer, member) for member in both))
    stage.check("two who move are told, each where it is", True)
    rest([viewer, mover, other])
    mark = len(mover.frames)
    rest([viewer, mover, other])
    stage.check("nobody hears of its own moves", not any(
        record.id == mover.id for record in records_since(mover, 0)))
    stage.check("nothing is told where nothing changed", not aoi_since(mover, mark),
                aoi_since(mover, mark))


def small_steps_add_up(stage):
    viewer, mover = stage.group(2)
    grain = viewer.entered["quantum"]
    rest([viewer, mover], 3)
    x = mover.x
    stage.check("a newcomer's place is exact", viewer.view[mover.id].x == x)
    x = math.floor(x / grain + 0.5) * grain
    mover.move(x, mover.y)
    rest([viewer, mover])
    mark = len(viewer.frames)
    mover.move(x + grain / 4, mover.y)
    rest([viewer, mover])
    stage.check("a step that is the same on the wire is not told", not aoi_since(viewer, mark),
                aoi_since(viewer, mark))
    mover.move(x + grain / 2, mover.y)
    viewer.wait(lambda: aoi_since(viewer, mark))
    rest([viewer, mover])
    told = records_since(viewer, mark)
    stage.check("small steps add up", len(told) == 1 and viewer.view[mover.id].x == x + grain, told)
    mark = len(viewer.frames)
    mover.move(mover.x, mover.y, dir=TURN - 1e-6)
    mover.move(mover.x, mover.y, dir=TURN * 3)
    mover.move(mover.x, mover.y, speed=0)
    rest([viewer, mover])
    stage.check("nor is a dir that rounds to the one told, across a turn",
                not aoi_since(viewer, mark), aoi_since(viewer, mark))


def dir_and_speed_are_told(stage):
    viewer, mover = stage.group(2)
    top = viewer.entered["max_speed"]
    for what, more, heading, speed in (
            ("dir alone", {"dir": 1.0}, 1.0, 0),
            ("speed alone; dir stays", {"speed": top / 2}, 1.0, top / 2),
            ("a negative dir", {"dir": -7.5}, -7.5 % TURN, top / 2),
            ("a dir of many turns", {"dir": 1000}, 1000 % TURN, top / 2),
            ("a small turn", {"dir": 1000 + TURN / 256}, (1000 + TURN / 256) % TURN, top / 2),
            ("a speed above max_speed", {"speed": 1e9}, (1000 + TURN / 256) % TURN, top),
            ("both", {"dir": 3, "speed": 1}, 3, 1)):
        mark = len(viewer.frames)
        mover.move(mover.x, mover.y, **more)
        try:
            viewer.wait(lambda m=mark: aoi_since(viewer, m), 2)
        except Late:
            pass  # said below
        rest([viewer, mover], 3)
        told, known = records_since(viewer, mark), viewer.audit.told[mover.id]
        stage.check(f"{what}: told once, as it should be", len(told) == 1 and known[2:] == [
            dir_byte(heading), speed_byte(speed, top)], (told, known))
        stage.check(f"{what}: with what changed and nothing else", len(told) == 1 and (
            told[0].dir is not None, told[0].speed is not None) == (
                "dir" in more, "speed" in more), told)
    mover.move(mover.x, mover.y, dir=-1, speed=1e9)
    late = stage.known()
    late.enter()
    if not math.hypot(late.x - mover.x, late.y - mover.y) <= late.entered["radius"]:
        walk([(late, mover.x, mover.y + 1)], [viewer, mover])
    late.wait(lambda: knows(late, mover))
    told = late.view[mover.id]
    stage.check("AoiAdd tells dir in [0, 2 pi) and speed cut to max_speed",
                abs(told.dir - (TURN - 1)) < TURN / 512 and told.speed == top, vars(told))
    moved_nothing(stage, viewer, mover)


def moved_nothing(stage, viewer, mover):
    rest([viewer, mover])
    mark = len(viewer.frames)
    frames = [mover.move(mover.x + 1e3, mover.y, dir=2, speed=2),
              mover.move(mover.x, mover.y, dir=2, speed=-2)]
    rest([viewer, mover])
    refused = all(is_refusal(f, code, MOVE) for f, code in zip(frames, (MOVE_SPEED, BAD_PAYLOAD)))
    stage.check("a rejected move changes nothing, neither dir nor speed",
                refused and not aoi_since(viewer, mark), aoi_since(viewer, mark))


def coordinates_wrap(stage):
    """Walk over a place where the 16 bits on the wire wrap; newcomers' places lead there."""
    for _ in range(80):
        mover = stage.member()
        if -mover.x % 512 <= 16 and mover.x > 400:
            break
        mover.close()
    else:
        return stage.check("a place near the wrap can be reached", False, mover.x)
    edge = math.ceil(mover.x / 512 + 1e-9) * 512
    viewer = stage.member()
    mover.wait(lambda: knows(mover, viewer))
    walk([(mover, edge - 0.5, mover.y)], [viewer])
    for n in range(8):
        pump([mover, viewer], 0.05)
        mover.move(edge - 0.25 + n * 0.125, mover.y)
        viewer.wait(lambda: near(viewer, mover))
    return stage.check(f"places are right over the wrap at {edge}", viewer.view[mover.id].x > edge)


# --- coming and going -----------------------------------------------------------------------------


def entering_brings_everyone(stage):
    everyone_is_there(stage, stage.group(3), stage.known())


def entering_again_brings_everyone_again(stage):
    everyone_is_there(stage, stage.group(2), stage.known())


def everyone_is_there(stage, walkers, late):
    for _ in range(4 - len(walkers)):  # each newcomer stands further away
        for n_walker, walker in enumerate(walkers):
            walker.send(MOVE, {"x": walker.x, "y": walker.y + 0.1 * (n_walker + 1)})
        late.send(ENTER)
        entered = late.answer(late.seq)
        if not all(math.hypot(late.x - w.x, late.y - w.y) < 29 for w in walkers):
            return stage.check("newcomers stand near each other", False, entered[:3])
        for walker in walkers:
            walker.answer(walker.seq)
        mark = late.frames.index(entered)
        late.wait(lambda: len(late.view) == len(walkers))
        first = [f for f in late.frames[mark:] if f.cmd in AOI][0]
        stage.check("the first frame after EnterResp brings everyone in sight, and no AoiMove",
                    first.cmd == AOI_ADD and [e[0] for e in first.payload["entities"]]
                    == sorted(w.id for w in walkers), first[:3])
        rest(walkers + [late])
        stage.check("all know each other where they are", all(
            near(a, b) for a in walkers + [late] for b in walkers + [late] if a is not b))
        late.leave()


def leaving_ends_it(stage):
    stayer, leaver, mover = stage.group(3)
    rest([stayer, leaver, mover], 3)
    mover.send(MOVE, {"x": mover.x, "y": mover.y + 0.2})
    answer = leaver.leave()
    stage.check("LeaveReq is answered by LeaveResp", answer.cmd == LEAVE_RESP, answer[:3])
    stayer.wait(lambda: not knows(stayer, leaver))
    stage.check("who leaves is removed from every viewer", True)
    mark, old = leaver.frames.index(answer) + 1, leaver.id
    mover.answer(mover.seq)
    mover.move(mover.x, mover.y + 0.2, dir=1)
    mover.say("gone?")
    rest([stayer, leaver, mover])
    stage.check("no frame at all comes after LeaveResp", not leaver.frames[mark:],
                [f[:3] for f in leaver.frames[mark:]])
    again = leaver.enter()
    stage.check("an EnterReq brings another id, since the old one rests", again.cmd == ENTER_RESP
                and again.payload["id"] != old, again[:3])
    if math.hypot(leaver.x - stayer.x, leaver.y - stayer.y) <= stayer.entered["radius"]:
        stayer.wait(lambda: knows(stayer, leaver))
        stage.check("and others see it by its name again",
                    stayer.view[leaver.id].name == leaver.name)
    return None


def what_came_and_went_is_never_told_by_halves(stage):
    stayer, guest = stage.group(2)
    guest.leave()
    stayer.wait(lambda: not stayer.view)
    mark = len(stayer.frames)
    for _ in range(3):
        guest.send_bytes(guest.framed(guest.body(ENTER)) + guest.framed(guest.body(LEAVE)))
        guest.answer(guest.seq)
        rest([stayer, guest], 3)
    told = [f.cmd for f in stayer.frames[mark:]]
    stage.check("who enters and leaves in a tick is not told; else added, then removed",
                not stayer.view and told.count(AOI_ADD) == told.count(AOI_REMOVE) < 3, told)


def a_lost_connection_ends_it(stage):
    stayer, fin, rst, bad = stage.group(4)
    for what, lost, reset in (("FIN", fin, False), ("RST", rst, True), ("a bad frame", bad, None)):
        if reset is None:
            lost.send_body(b"\xc1")
        else:
            lost.close(reset=reset)
        try:
            stayer.wait(lambda one=lost: not knows(stayer, one), 3)
        except Late:
            pass
        stage.check(f"without a resume window, {what} removes from every viewer",
                    not knows(stayer, lost))


def ticks_pass_evenly(stage):
    viewer, mover = stage.group(2)
    mark, started = len(viewer.frames), time.monotonic()
    while time.monotonic() < started + 0.8:
        mover.move(mover.x + 0.02, mover.y + 0.05)
        pump([viewer, mover], 0.02)
    ticks = [f.payload["tick"] for f in viewer.frames[mark:] if f.cmd in AOI]
    count = 0.8 * 1000 / viewer.entered["tick_ms"]
    stage.check("one batch a tick for one who moves all the time",
                len(ticks) == len(set(ticks)) and count / 3 <= len(ticks) <= count + 2, len(ticks))
    stage.check("no Bye came", not any(f.cmd == BYE for f in viewer.frames))


SCENES = (sight_ends_just_past_the_radius, a_wandering_line_is_seen_exactly, talk_is_heard,
          the_last_place_of_a_tick_is_told, small_steps_add_up, dir_and_speed_are_told,
          entering_brings_everyone, entering_again_brings_everyone_again, leaving_ends_it,
          what_came_and_went_is_never_told_by_halves, a_lost_connection_ends_it, ticks_pass_evenly,
          coordinates_wrap)

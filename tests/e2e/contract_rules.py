"""tests/e2e/contract_rules.py: PROTOCOL.md, Login, Errors, Ids and Speed: who may ask what, when.

May touch: the stage. On trouble: a failed check.
"""
import math
import time

from client import (ENTER, ENTER_RESP, LEAVE, LEAVE_RESP, LOGIN, LOGIN_RESP, MOVE, MOVE_RESP, SAY,
                    SAY_RESP, pump)
from contract_stage import (ALREADY_IN_WORLD, ALREADY_LOGGED_IN, AUTH_FAILED, BAD_PAYLOAD,
                            BAD_VERSION, MOVE_BOUNDS, MOVE_SPEED, NAME_IN_USE, NO_SUCH_SCENE,
                            NOT_IN_WORLD, NOT_LOGGED_IN, UNKNOWN_CMD, is_refusal, rest)

START = 0.02      # seconds of credit on entering
OVERDRAFT = 0.02
BURST = 1.0       # -move-burst
FULL = 1.25       # seconds after which credit is full, whatever the clock's grain
FREED = 5.0       # seconds in which a closed connection's name must be free
HASTY_TRIES = 8   # a check that must be quick is tried so often
OUTSIDE = 1e6     # beyond any scene's bounds that these checks meet


# --- login ----------------------------------------------------------------------------------------


def a_login_puts_nobody_in_the_world(stage):
    first, = stage.group(1)
    client = stage.client()
    name = stage.name()
    frame = client.login(name, version=1)
    stage.check("LoginReq with version 1 is answered by LoginResp",
                frame.cmd == LOGIN_RESP and frame.payload["name"] == name, frame[:3])
    stage.check("a first login is not resumed", frame.payload["resumed"] is False)
    rest([first])
    stage.check("nobody sees one that has not entered", not first.view, first.view)
    entered = client.enter()
    stage.check("EnterReq brings the id that LoginResp told",
                entered.payload["id"] == frame.payload["id"], entered[:3])
    first.wait(lambda: first.view)
    stage.check("and others see it then", list(first.view) == [client.id])
    told = first.view[client.id]
    stage.check("by its name, as a player, at its place, at rest",
                (told.name, told.kind, told.x, told.y, told.dir, told.speed)
                == (name, 0, client.x, client.y, 0, 0), vars(told))


FORBIDDEN = ([*range(0x20)] + [*range(0x7F, 0xA0)] + [*range(0x2028, 0x202F)]
             + [*range(0x2066, 0x206A)])
BESIDE = (0x20, 0x7E, 0xA0, 0xAD, 0x200B, 0x200F, 0x2027, 0x202F, 0x2065, 0x206A, 0xE000, 0xFEFF,
          0xFFFF, 0x10FFFF)


def names_have_limits(stage):
    client = stage.client()
    wrong = [hex(code) for code in FORBIDDEN
             if not is_refusal(client.login(f"a{chr(code)}b"), BAD_PAYLOAD, LOGIN)]
    stage.check(f"{len(FORBIDDEN)} characters are forbidden in names", not wrong, wrong)
    wrong = []
    for code in BESIDE:
        beside = stage.client()
        name = f"{stage.name()}{chr(code)}"
        frame = beside.login(name)
        if frame.cmd != LOGIN_RESP or frame.payload["name"] != name:
            wrong.append(hex(code))
    stage.check("those beside them are not", not wrong, wrong)
    for what, name in (("empty", ""), ("of 33 bytes", "n" * 33), ("of 33 bytes in 32 characters",
                                                                  "n" * 31 + "é")):
        stage.refused(f"a name {what} is bad_payload", client.login(name), BAD_PAYLOAD, LOGIN)
    for what, name in (("32 bytes", "n" * 32), ("32 bytes in 8 characters", "🐉" * 8),
                       ("one byte", "n"), ("a space", " ")):
        stage.check(f"a name of {what} is taken", stage.client().login(name).cmd == LOGIN_RESP)
    stage.check("the refused client logs in on the same connection",
                client.login(stage.name()).cmd == LOGIN_RESP)


def a_name_has_one_live_connection(stage):
    holder, other, third = stage.member(), stage.client(), stage.client()
    stage.refused("a name with a live connection is name_in_use", other.login(holder.name),
                  NAME_IN_USE, LOGIN)
    stage.check("case counts", third.login(holder.name.upper()).cmd == LOGIN_RESP)
    stage.stays("after name_in_use", other)
    stage.stays("and that of the holder", holder)
    stage.refused("so is a name whose holder has not entered", other.login(stage.known().name),
                  NAME_IN_USE, LOGIN)
    holder.leave()
    stage.refused("or has left", other.login(holder.name), NAME_IN_USE, LOGIN)
    stage.refused("a second login is already_logged_in", holder.login(stage.name()),
                  ALREADY_LOGGED_IN, LOGIN)
    holder.close()
    until, frame = time.monotonic() + FREED, None
    while time.monotonic() < until:
        frame = other.login(holder.name)
        if frame.cmd == LOGIN_RESP:
            break
        time.sleep(0.05)
    stage.check("the name is free again when that connection closes", frame.cmd == LOGIN_RESP,
                frame[:3])
    stage.check("and what comes is fresh", frame.payload.get("resumed") is False)
    stage.check("with another id", frame.payload.get("id") != holder.id)


def keys_and_versions_are_checked(stage):
    client = stage.client()
    for version in (0, 2, (1 << 64) - 1):
        frame = client.login(stage.name(), version=version)
        stage.refused(f"version {version} is bad_version", frame, BAD_VERSION, LOGIN)
    stage.check("LoginReq with an empty token and an empty key is a plain one",
                client.login(stage.name(), token="", resume="").cmd == LOGIN_RESP)
    client = stage.client()
    for n in range(3):
        stage.refused(f"an unknown resume key is auth_failed (time {n + 1})",
                      client.login(stage.name(), resume="0" * 32), AUTH_FAILED, LOGIN)
        if n == 1:
            stage.stays("after the second", client)
    stage.bye("the third closes with Bye 14", client, AUTH_FAILED)
    client = stage.client()
    client.login(stage.name(), resume="x")
    stage.check("after a refused key a plain login is taken",
                client.login(stage.name()).cmd == LOGIN_RESP)


# --- states and precedence ------------------------------------------------------------------------


def states_have_their_codes(stage):
    client = stage.known()
    place = {"x": 0, "y": 0}
    for cmd, payload in ((MOVE, place), (SAY, {"text": "?"}), (LEAVE, None)):
        stage.refused(f"cmd {cmd} before enter is not_in_world", client.ask(cmd, payload),
                      NOT_IN_WORLD, cmd)
    frame = client.ask(MOVE, place)
    stage.check('and says "move before enter world"',
                frame.payload["error"] == "move before enter world", frame.payload)
    stage.refused("an unknown scene is no_such_scene", client.enter({"scene": "no such scene"}),
                  NO_SUCH_SCENE, ENTER)
    entered = client.enter({})
    stage.check("EnterReq takes an empty map", entered.cmd == ENTER_RESP, entered[:3])
    stage.refused("a second EnterReq is already_in_world", client.enter(), ALREADY_IN_WORLD, ENTER)
    stage.check("LeaveReq takes a map of anything", client.ask(LEAVE, {"a": [1]}).cmd == LEAVE_RESP)
    for cmd, payload in ((MOVE, place), (SAY, {"text": "?"}), (LEAVE, None)):
        stage.refused(f"cmd {cmd} after leave is not_in_world", client.ask(cmd, payload),
                      NOT_IN_WORLD, cmd)
    again = client.enter({"scene": entered.payload["scene"]})
    stage.check("EnterReq takes the scene that EnterResp named", again.cmd == ENTER_RESP, again[:3])
    stage.stays("after all these refusals", client)


def the_first_error_in_order_is_told(stage):
    fresh, known, member = stage.client(), stage.known(), stage.member()
    used = member.name
    key = {"resume": "f" * 32}
    cases = [
        ("2 before 4", fresh, 99, {"x": "?"}, UNKNOWN_CMD),
        ("2 before 3", member, 8, {"x": "?"}, UNKNOWN_CMD),
        ("4 before 3", fresh, MOVE, {"x": "?"}, NOT_LOGGED_IN),
        ("4 before 18", fresh, ENTER, {"scene": "?"}, NOT_LOGGED_IN),
        ("3 before 7", known, MOVE, {"x": "?"}, BAD_PAYLOAD),
        ("3 before 7, in Say", known, SAY, {"text": ""}, BAD_PAYLOAD),
        ("3 before 5", known, LOGIN, {"name": ""}, BAD_PAYLOAD),
        ("3 before 8", member, ENTER, {"scene": 1}, BAD_PAYLOAD),
        ("3 before 20", fresh, LOGIN, {"name": "", "version": 2}, BAD_PAYLOAD),
        ("3 before 6", fresh, LOGIN, {"name": used, "token": 1}, BAD_PAYLOAD),
        ("3 before 11", member, MOVE, {"x": OUTSIDE, "y": 0, "speed": -1}, BAD_PAYLOAD),
        ("5 before 20", known, LOGIN, {"name": "x", "version": 2}, ALREADY_LOGGED_IN),
        ("5 before 6", known, LOGIN, {"name": used}, ALREADY_LOGGED_IN),
        ("5 before 14", known, LOGIN, {"name": "x", **key}, ALREADY_LOGGED_IN),
        ("7 before 11", known, MOVE, {"x": OUTSIDE, "y": 0}, NOT_IN_WORLD),
        ("8 before 18", member, ENTER, {"scene": "?"}, ALREADY_IN_WORLD),
        ("20 before 6", fresh, LOGIN, {"name": used, "version": 2}, BAD_VERSION),
        ("20 before 14", fresh, LOGIN, {"name": "x", "version": 2, **key}, BAD_VERSION),
        ("11 before 9", member, MOVE, {"x": OUTSIDE, "y": -OUTSIDE}, MOVE_BOUNDS),
    ]
    for what, client, cmd, payload, code in cases:
        stage.refused(f"of two errors the first is told: {what}", client.ask(cmd, payload), code,
                      cmd)
    frame = fresh.login(used, **key)
    stage.check("6 and 14 stand side by side: one of them",
                is_refusal(frame, NAME_IN_USE, LOGIN) or is_refusal(frame, AUTH_FAILED, LOGIN))


def ids_are_fresh_and_small(stage):
    members = [stage.member() for _ in range(4)]
    ids = [m.id for m in members]
    stage.check("ids are unique among the living", len(set(ids)) == 4, ids)
    gone = []
    client = members[1]
    for _ in range(3):
        gone.append(client.id)
        client.leave()
        client.enter()
    stage.check("an entity that enters again has an id that rests for none",
                len({*gone, *ids, client.id}) == 7, (gone, client.id))
    newcomer = stage.member()
    stage.check("an ended entity's id rests", newcomer.id not in {*gone, *ids, client.id})
    stage.check("the lowest free id is given first: ids stay small",
                newcomer.id <= max(*ids, client.id) + 1, newcomer.id)


# --- moves ----------------------------------------------------------------------------------------


def moves(client, *ways):
    """Several moves in one write, each from where the last should have led; their answers."""
    x, y, bodies = client.x, client.y, b""
    for dx, dy in ways:
        x, y = x + dx, y + dy
        bodies += client.framed(client.body(MOVE, {"x": x, "y": y}))
    client.send_bytes(bodies)
    client.answer(client.seq)
    return [client.answer(client.seq - n) for n in range(len(ways) - 1, -1, -1)]


def codes(frames):
    return [0 if f.cmd == MOVE_RESP else f.payload["code"] for f in frames]


def credit_starts_small(stage):
    for _ in range(HASTY_TRIES):
        started = time.monotonic()
        client = stage.member()
        speed, place = client.entered["max_speed"], (client.x, client.y)
        refused = client.move(client.x + speed * 0.4, client.y)
        answers = codes([client.move(client.x + (START + OVERDRAFT) * speed - 1e-6, client.y)])
        answers += codes([client.move(client.x + speed * 0.4, client.y)])
        if time.monotonic() - started < 0.3:
            break
    else:
        return stage.check("this machine is fast enough to see credit start small", False)
    stage.refused("on entering there is no credit for a long way", refused, MOVE_SPEED, MOVE)
    stage.check("the refusal tells the last legal place, that of EnterResp",
                (refused.payload["x"], refused.payload["y"]) == place, refused[:3])
    return stage.check("0.02 s of credit and 0.02 s of overdraft may be used at once, then no more",
                       answers == [0, MOVE_SPEED], answers)


def credit_does_not_outlive_its_entity(stage, client):
    """One whose credit is full enters again."""
    for _ in range(HASTY_TRIES):
        started = time.monotonic()
        client.leave()
        client.enter()
        answer = client.move(client.x + client.entered["max_speed"] * 0.4, client.y)
        if time.monotonic() - started < 0.3:
            return stage.refused("credit starts small again on entering again", answer, MOVE_SPEED,
                                 MOVE)
        pump([client], FULL)
    return stage.check("this machine is fast enough to see credit start again", False)


def credit_ends_at_the_burst(stage):
    members = straight, slanted, still, again = [stage.member() for _ in range(4)]
    speed = straight.entered["max_speed"]
    pump(members, FULL)
    most, drained = speed * (BURST + OVERDRAFT), time.monotonic()
    answers = codes([straight.move(straight.x + most + 1e-4, straight.y)])
    answers += codes(moves(straight, (most - 1e-6, 0), (speed / 4, 0)))
    stage.check("credit is 1 s and an overdraft of 0.02 s; a refusal costs none",
                answers == [MOVE_SPEED, 0, MOVE_SPEED], answers)
    gains_nothing_by_hurry(stage, straight, drained)
    side = speed * (BURST + OVERDRAFT) / math.sqrt(2)
    answers = codes([slanted.move(slanted.x + side + 1e-4, slanted.y + side + 1e-4),
                     slanted.move(slanted.x + side - 1e-4, slanted.y - side + 1e-4)])
    stage.check("the way is measured along the slant", answers == [MOVE_SPEED, 0], answers)
    answers = codes(moves(still, *[(speed / 50, 0)] * 50))
    stage.check("50 moves of one second that arrive together pass", answers == [0] * 50, answers)
    credit_does_not_outlive_its_entity(stage, again)


def gains_nothing_by_hurry(stage, client, since):
    """Steps of an overdrawn client, far more than time allows."""
    start, speed = client.x, client.entered["max_speed"]
    until = time.monotonic() + 1.0
    while time.monotonic() < until:
        client.move(client.x + speed / 10, client.y)
        client.pump(0.03)
    passed = time.monotonic() - since
    way = abs(client.x - start) / speed
    stage.check("sending faster than time gains no distance", 0.5 <= way <= passed + 2 * OVERDRAFT,
                f"{way} s of way in {passed} s")


def moves_have_bounds_and_exact_places(stage):
    client = stage.member()
    bound = 16384.0  # -bounds' default
    for x, y, code in ((bound, 0, MOVE_SPEED), (-bound, bound, MOVE_SPEED),
                       (bound + 1 / 64, 0, MOVE_BOUNDS), (0, -bound - 1e-9, MOVE_BOUNDS),
                       (1e308, 5e-324, MOVE_BOUNDS), ((1 << 64) - 1, -(1 << 63), MOVE_BOUNDS)):
        frame = client.ask(MOVE, {"x": x, "y": y})
        where = "in" if code == MOVE_SPEED else "out of"
        stage.refused(f"a move to ({x:g}, {y:g}) is {where} bounds", frame, code, MOVE)
        stage.check("and tells the last legal place", (frame.payload["x"], frame.payload["y"]) == (
            client.entered["x"], client.entered["y"]), frame[:3])
    client.pump(0.1)
    x, y = client.x + 0.1, client.y - 1 / 3
    frame = client.move(x, y, dir=-1e300, speed=1e300)
    stage.check("MoveResp tells the place with all its bits", frame.cmd == MOVE_RESP and (
        frame.payload["x"], frame.payload["y"]) == (x, y), frame[:3])
    for what, more in (("a negative speed", {"speed": -0.001}), ("dir as a string", {"dir": "1"}),
                       ("speed nil", {"speed": None}), ("dir NaN", {"dir": math.nan}),
                       ("an infinite speed", {"speed": math.inf})):
        stage.refused(f"{what} is bad_payload", client.move(x, y, **more), BAD_PAYLOAD, MOVE)
    frame = client.move(x, 5e-324 if abs(y) < 1 else y)
    stage.check("down to the least bit", frame.cmd == MOVE_RESP and frame.payload["y"] == client.y
                and (abs(y) >= 1 or client.y == 5e-324), frame[:3])
    y = client.y
    stage.check("a speed of -0.0 is not negative", client.move(x, y, speed=-0.0).cmd == MOVE_RESP)
    stage.stays("after refused moves", client)


def say_has_limits(stage):
    client = stage.member()
    for what, text in (("nothing", ""), ("513 bytes", "s" * 513), ("513 bytes in 512 characters",
                                                                   "s" * 511 + "é")):
        stage.refused(f"to say {what} is bad_payload", client.say(text), BAD_PAYLOAD, SAY)
    for what, text in (("512 bytes", "s" * 512), ("one byte", "s"), ("a zero character", "\0")):
        stage.check(f"to say {what} is fine", client.say(text).cmd == SAY_RESP)


SCENES = (a_login_puts_nobody_in_the_world, names_have_limits, a_name_has_one_live_connection,
          keys_and_versions_are_checked, states_have_their_codes, the_first_error_in_order_is_told,
          ids_are_fresh_and_small, credit_starts_small, credit_ends_at_the_burst,
          moves_have_bounds_and_exact_places, say_has_limits)

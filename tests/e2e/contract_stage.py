"""tests/e2e/contract_stage.py: what every check of the contract stands on.

The exact keys and types of all that a server may send, and the stage: clients that hold each frame
against them, a line for each check, and the count. May touch: connections to the gateway, stdout.
On trouble: a failed check says what was seen; an exception in a scene is a failed check.
"""
import math
import os
import time
import traceback

from client import (AOI_ADD, AOI_MOVE, AOI_REMOVE, BYE, ENTER_RESP, ERROR, LEAVE_RESP, LOGIN_RESP,
                    MOVE_FAIL, MOVE_RESP, PING_RESP, SAY_NOTIFY, SAY_RESP, WALK_RESP, Client,
                    Closed, Late, pump, walk)
from wire import address_of, wire_of

BAD_FRAME, UNKNOWN_CMD, BAD_PAYLOAD, NOT_LOGGED_IN, ALREADY_LOGGED_IN = 1, 2, 3, 4, 5
NAME_IN_USE, NOT_IN_WORLD, ALREADY_IN_WORLD, MOVE_SPEED, MOVE_BLOCKED = 6, 7, 8, 9, 10
MOVE_BOUNDS, RATE_LIMITED, AUTH_FAILED, NO_SUCH_SCENE, BAD_VERSION = 11, 12, 14, 18, 20

SHOWN = 300  # characters of what was seen that a failed check prints


# --- shapes ---------------------------------------------------------------------------------------


def is_uint(value):
    return type(value) is int and 0 <= value < 1 << 64


def is_id(value):
    return type(value) is int and 1 <= value < 1 << 32


def is_true(value):
    return value is True


def is_bool(value):
    return type(value) is bool


def is_str(value):
    return type(value) is str


def is_text(value):
    return type(value) is str and value != ""


def is_float(value):
    return type(value) is float and math.isfinite(value)


def is_number(value):
    return type(value) in (int, float) and math.isfinite(value)


def is_code(value):
    return type(value) is int and 1 <= value <= 20


def is_entity(value):
    """[id, kind, name, x, y, dir, speed, ...]"""
    kinds = (is_id, is_uint, is_text, is_float, is_float, is_number, is_number)
    return type(value) is list and len(value) >= 7 and all(
        check(element) for check, element in zip(kinds, value)) and value[1] in (0, 1)


def list_of(check):
    return lambda value: type(value) is list and all(check(element) for element in value)


def is_bytes(value):
    return type(value) is bytes


PLACE = {"x": is_float, "y": is_float}
SHAPES = {
    LOGIN_RESP: {"ok": is_true, "id": is_id, "name": is_text, "resume": is_str, "resumed": is_bool},
    ENTER_RESP: {"ok": is_true, "id": is_id, "scene": is_str, **PLACE, "tick_ms": is_uint,
                 "radius": is_number, "quantum": is_number, "max_speed": is_number},
    LEAVE_RESP: {"ok": is_true},
    MOVE_RESP: {"ok": is_true, **PLACE},
    WALK_RESP: {"ok": is_true, **PLACE},
    SAY_RESP: {"ok": is_true},
    AOI_ADD: {"tick": is_uint, "entities": list_of(is_entity)},
    AOI_REMOVE: {"tick": is_uint, "ids": list_of(is_id)},
    AOI_MOVE: {"tick": is_uint, "moves": is_bytes},
    MOVE_FAIL: {**PLACE, "code": is_code},
    SAY_NOTIFY: {"id": is_id, "text": is_text},
    BYE: {"code": is_code, "reason": is_str},
}
UNASKED = (AOI_ADD, AOI_REMOVE, AOI_MOVE, MOVE_FAIL, SAY_NOTIFY, BYE)
ERROR_SHAPE = {"code": is_code, "error": is_text, "cmd": is_uint}


def shape_of(frame):
    if frame.cmd != ERROR:
        return SHAPES.get(frame.cmd)
    placed = type(frame.payload) is dict and frame.payload.get("code") in (
        MOVE_SPEED, MOVE_BLOCKED, MOVE_BOUNDS)
    return {**ERROR_SHAPE, **PLACE} if placed else ERROR_SHAPE


def inspect(frame):
    """What is wrong with a frame of the server, or ""."""
    told = f"cmd {frame.cmd} seq {frame.seq} {frame.payload!r}"[:SHOWN]
    if (frame.seq == 0) != (frame.cmd in UNASKED):
        return f"a seq that does not fit: {told}"
    if frame.cmd == PING_RESP:
        return ""
    shape = shape_of(frame)
    if shape is None:
        return f"no command of a server: {told}"
    if type(frame.payload) is not dict or set(frame.payload) != set(shape):
        return f"the keys are not {sorted(shape)}: {told}"
    wrong = [key for key, check in shape.items() if not check(frame.payload[key])]
    return f"mistyped {wrong}: {told}" if wrong else ""


# --- the stage ------------------------------------------------------------------------------------


class Stage:
    def __init__(self, addr, trust=None):
        self.addr, self.trust = addr, trust
        self.web = address_of(addr).web
        self.over = f"over {addr.split('://')[0]}: " if "://" in addr else ""
        self.passed = self.failed = 0
        self.names = 0
        self.clients = []

    # checks

    def check(self, what, holds, saw=""):
        if holds:
            self.passed += 1
            print(f"ok - {self.over}{what}", flush=True)
        else:
            self.failed += 1
            print(f"not ok - {self.over}{what}: {saw!s}"[:SHOWN + len(what)], flush=True)
        return bool(holds)

    def refused(self, what, frame, code, cmd):
        """The frame is ErrorNotify with that code, about that command."""
        return self.check(what, is_refusal(frame, code, cmd), frame[:3])

    def stays(self, what, client):
        """The connection is alive and answers."""
        try:
            return self.check(f"{what}: the connection stays", client.ping("?").cmd == PING_RESP)
        except (Closed, Late) as error:
            return self.check(f"{what}: the connection stays", False, repr(error))

    def bye(self, what, client, code):
        """Bye with that code is the last frame, and the connection closes; under TLS with its own
        goodbye."""
        try:
            last = client.until_end()
        except Late:
            return self.check(what, False, "the connection stays open")
        return self.check(what, last and last.cmd == BYE and last.payload["code"] == code
                          and client.wire.closed_with(code) and client.goodbye, last and last[:3])

    def scene(self, play):
        """One function of checks; its clients are held to the contract and closed after it."""
        started = time.monotonic()
        title = play.__name__.replace("_", " ")
        try:
            play(self)
        except Exception as error:  # whatever it is, the next scene must come
            where = traceback.extract_tb(error.__traceback__)
            line = next((f"{f.filename.rsplit('/', 1)[-1]}:{f.lineno}" for f in reversed(where)
                         if "contract_" in f.filename), "")
            self.check(title, False, f"{line} {error!r}")
        faults = [f"{c.name}: {fault}" for c in self.clients for fault in c.faults]
        self.check(f"{title}: every frame has its keys, types, order and ids", not faults,
                   "; ".join(faults[:4]))
        for client in self.clients:
            client.close()
        self.clients = []
        return time.monotonic() - started

    # clients

    def name(self):
        self.names += 1
        return f"c{os.getpid()}-{self.names}"

    def wire(self):
        return wire_of(self.addr)

    def client(self):
        client = Client(self.addr, inspect, trust=self.trust)
        self.clients.append(client)
        return client

    def known(self, **more):
        """A client that has logged in."""
        client = self.client()
        frame = client.login(self.name(), **more)
        if frame.cmd != LOGIN_RESP:
            raise AssertionError(f"a login was refused: {frame.payload}")
        return client

    def member(self):
        """A client in the world."""
        client = self.known()
        frame = client.enter()
        if frame.cmd != ENTER_RESP:
            raise AssertionError(f"an enter was refused: {frame.payload}")
        return client

    def group(self, count):
        """So many clients in the world, in sight of each other and of nobody else."""
        members = [self.known() for _ in range(count)]
        for member in members:
            member.enter()
        middle = members[count // 2]
        near = middle.entered["radius"] * 0.6
        far = [(m, middle.x + n, middle.y) for n, m in enumerate(members)
               if math.hypot(m.x - middle.x, m.y - middle.y) >= near]
        if far:  # where newcomers stand is the server's choice
            walk(far, members)
        ids = {m.id for m in members}
        for member in members:
            member.wait(lambda m=member: set(m.view) == ids - {m.id})
        return members


def is_refusal(frame, code, cmd):
    return (frame.cmd == ERROR and frame.payload["code"] == code
            and frame.payload["cmd"] == cmd)


def rest(clients, ticks=5):
    """Let so many ticks pass."""
    pump(clients, ticks * clients[0].entered["tick_ms"] / 1000)

#!/usr/bin/python3
"""tests/e2e/client.py: a small client in another language, written from proto/PROTOCOL.md alone.

Frames over TCP or WebSocket (wire.py), requests and their answers, and the view that Aoi frames add up to. It takes what
the server says at its word and notes in `faults` whatever breaks the contract's rules about order,
ids and ticks. May touch: the socket. Never: anything of ours but PROTOCOL.md.
On trouble: Closed when the connection ended, Late when nothing came in time.
Needs: Python 3.9, msgpack (Debian: python3-msgpack).

    c = Client("127.0.0.1:19001")
    c.login("alpha")
    c.enter()
    c.move(c.x + 0.25, c.y)
    c.wait(lambda: len(c.view) == 2)
"""
import math
import select
import socket
import struct
import time
from collections import namedtuple

import msgpack

from wire import Broken, wire_of

LOGIN, LOGIN_RESP, ENTER, ENTER_RESP, LEAVE, LEAVE_RESP = 1, 2, 3, 4, 5, 6
MOVE, MOVE_RESP, WALK, WALK_RESP, PING, PING_RESP, SAY, SAY_RESP = 7, 8, 9, 10, 11, 12, 13, 14
AOI_ADD, AOI_REMOVE, AOI_MOVE, MOVE_FAIL, SAY_NOTIFY = 32, 33, 34, 35, 36
ERROR, BYE = 48, 49

NOT_LOGGED_IN = 4  # of the errors, the one that ends a session unasked

TURN = 2 * math.pi

Frame = namedtuple("Frame", "cmd seq payload body")  # a PingResp's payload is its bytes


class Late(Exception):
    """Nothing (of that kind) came in time."""


class Closed(Exception):
    """The connection has ended."""


# --- bytes ----------------------------------------------------------------------------------------


def pack(value):
    return msgpack.packb(value, use_bin_type=True)


def unpack(data):
    return msgpack.unpackb(data, raw=False, strict_map_key=False)


def body_of(cmd, seq, payload=None):
    return pack([cmd, seq, payload])


def split(body):
    """cmd, seq and the bytes of the payload as they stand there."""
    reader = msgpack.Unpacker()
    reader.feed(body)
    try:
        if reader.read_array_header() != 3:
            raise Broken(f"a body that is no array of three: {body.hex()}")
        cmd, seq = reader.unpack(), reader.unpack()
        start = reader.tell()
        reader.skip()
    except (ValueError, msgpack.UnpackException) as error:
        raise Broken(f"a body that is no array of three: {body.hex()}") from error
    if reader.tell() != len(body):
        raise Broken(f"a body with something behind: {body.hex()}")
    return cmd, seq, body[start:]


_SIZES = {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8,
          0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}
_LENGTHS = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4}


def heads(data):
    """The first byte of every value in sound msgpack, so that its number forms can be told."""
    at = 0
    while at < len(data):
        head = data[at]
        yield head
        at += 1
        if 0xA0 <= head < 0xC0:
            at += head & 31
        elif head in _SIZES:
            at += _SIZES[head]
        elif head in _LENGTHS:
            width = _LENGTHS[head]
            length = int.from_bytes(data[at:at + width], "big")
            at += width + length + (1 if 0xC7 <= head <= 0xC9 else 0)


# --- AoiMove's records ----------------------------------------------------------------------------

Record = namedtuple("Record", "id x y dir speed")  # numbers on the wire; dir, speed None if absent


def read_varint(data, at):
    value = 0
    for n in range(5):
        if at + n >= len(data):
            raise Broken("a varint is cut")
        value |= (data[at + n] & 0x7F) << (7 * n)
        if data[at + n] < 0x80:
            if value >= 1 << 34:
                raise Broken("a varint has more than 34 bits")
            return value, at + n + 1
    raise Broken("a varint has more than five bytes")


def read_moves(data):
    """The records of `moves`; Broken where one cannot be taken."""
    records, at, last = [], 0, 0
    while at < len(data):
        head, at = read_varint(data, at)
        if head >> 2 == 0:
            raise Broken("an id that does not ascend")
        last += head >> 2
        if last >= 1 << 32:
            raise Broken("an id beyond 32 bits")
        end = at + 4 + (head & 1) + (head >> 1 & 1)
        if end > len(data):
            raise Broken("a record is cut")
        x, y = struct.unpack_from("<HH", data, at)
        heading = data[at + 4] if head & 1 else None
        records.append(Record(last, x, y, heading, data[end - 1] if head & 2 else None))
        at = end
    return records


def grains(coordinate, quantum):
    return math.floor(coordinate / quantum + 0.5)


def place_of(wire, last, quantum):
    """The coordinate congruent to `wire` that lies nearest to the last known one."""
    return (wire + 65536 * round((last / quantum - wire) / 65536)) * quantum


def dir_byte(heading):
    return math.floor(heading / TURN * 256 + 0.5) % 256


def speed_byte(speed, max_speed):
    return min(255, math.floor(speed / max_speed * 255 + 0.5))


# --- what is in sight -----------------------------------------------------------------------------


class Entity:
    def __init__(self, fields):
        self.id, self.kind, self.name, self.x, self.y, self.dir, self.speed = fields[:7]
        self.exact = True  # as AoiAdd told it; False once an AoiMove moved it
        self.told = None


class View:
    """What the server has told of others; `faults` lists what it should not have told so."""

    def __init__(self, entered):
        self.own = entered["id"]
        self.quantum = entered["quantum"]
        self.max_speed = entered["max_speed"]
        self.entities = {}
        self.faults = []
        self.tick = -1
        self.stage = 0  # in this tick: 1 after AoiRemove, 2 after AoiAdd, 3 after AoiMove
        self.removed, self.added = set(), set()

    def take(self, cmd, payload):
        tick, stage = payload["tick"], {AOI_REMOVE: 1, AOI_ADD: 2, AOI_MOVE: 3}[cmd]
        if tick < self.tick:
            self.faults.append(f"tick {tick} after {self.tick}")
        if tick > self.tick:
            self.tick, self.stage = tick, 0
            self.removed, self.added = set(), set()
        if stage <= self.stage:
            self.faults.append(f"tick {tick}: frame {cmd} comes out of order or twice")
        self.stage = stage
        if cmd == AOI_REMOVE:
            self._remove(payload["ids"])
        elif cmd == AOI_ADD:
            self._add(payload["entities"])
        else:
            self._move(read_moves(payload["moves"]))

    def _ascend(self, ids, what):
        if any(a >= b for a, b in zip(ids, ids[1:])):
            self.faults.append(f"{what}: ids do not ascend: {ids}")
        if not ids:
            self.faults.append(f"{what}: of nobody")
        if self.own in ids:
            self.faults.append(f"{what}: of the viewer itself")

    def _remove(self, ids):
        self._ascend(ids, "AoiRemove")
        for one in ids:
            if self.entities.pop(one, None) is None:
                self.faults.append(f"AoiRemove of {one}, which is not known")
            self.removed.add(one)

    def _add(self, entities):
        self._ascend([fields[0] for fields in entities], "AoiAdd")
        for fields in entities:
            new = Entity(fields)
            if new.id in self.entities:
                self.faults.append(f"AoiAdd of {new.id}, which is known")
            if new.id in self.removed:  # right only for a jump of a quarter of the wrap
                self.faults.append(f"AoiRemove and AoiAdd of {new.id} in one tick")
            new.told = [grains(new.x, self.quantum) % 65536, grains(new.y, self.quantum) % 65536,
                        dir_byte(new.dir), speed_byte(new.speed, self.max_speed)]
            self.entities[new.id] = new
            self.added.add(new.id)

    def _move(self, records):
        self._ascend([record.id for record in records], "AoiMove")
        for record in records:
            known = self.entities.get(record.id)
            if known is None:
                self.faults.append(f"AoiMove of {record.id}, which is not known")
                continue
            if record.id in self.added:
                self.faults.append(f"AoiAdd and AoiMove of {record.id} in one tick")
            self._apply(known, record)

    def _apply(self, known, record):
        told = [record.x, record.y, known.told[2] if record.dir is None else record.dir,
                known.told[3] if record.speed is None else record.speed]
        if told == known.told:
            self.faults.append(f"AoiMove of {known.id} tells nothing new")
        known.told = told
        known.x = place_of(record.x, known.x, self.quantum)
        known.y = place_of(record.y, known.y, self.quantum)
        known.exact = False
        if record.dir is not None:
            known.dir = record.dir / 256 * TURN
        if record.speed is not None:
            known.speed = record.speed / 255 * self.max_speed


# --- the connection -------------------------------------------------------------------------------


class Client:
    """One connection. `frames` keeps all that came, in order; `view` is what is in sight.

    `addr` is host:port, or ws://host:port. `inspect`, where given, is called with each frame and
    returns what is wrong with it, or "".
    """

    def __init__(self, addr, inspect=None, timeout=10.0):
        self.wire = wire_of(addr)
        addr = addr.split("://")[-1]
        host, port = addr.rsplit(":", 1)
        self.sock = socket.create_connection((host.strip("[]"), int(port)), timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.timeout = timeout
        self.inspect = inspect
        self.seq = 0
        self.buffer = bytearray()
        self.frames = []
        self.faults = []
        self.ended = False
        self.key = ""  # of LoginResp, to take the entity back by another connection
        self.name = self.id = self.x = self.y = self.entered = None
        self.sight = None
        self.send_bytes(self.wire.greeting(addr))

    @property
    def view(self):
        return self.sight.entities if self.sight else {}

    def close(self, reset=False):
        if reset:  # RST instead of FIN
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    # sending

    def send_bytes(self, data):
        self.sock.sendall(data)

    def send_body(self, body):
        self.send_bytes(self.framed(body))

    def framed(self, body):
        return self.wire.frame(body)

    def body(self, cmd, payload=None):
        """The next request's body; its seq is self.seq."""
        self.seq += 1
        return body_of(cmd, self.seq, payload)

    def send(self, cmd, payload=None):
        self.send_body(self.body(cmd, payload))
        return self.seq

    # receiving

    def _receive(self, seconds):
        """Read what is there, waiting for it that long; False when nothing came."""
        if self.ended:
            raise Closed()
        if not select.select([self.sock], [], [], max(0.0, seconds))[0]:
            return False
        try:
            data = self.sock.recv(1 << 16)
        except ConnectionError as error:
            self.ended = True
            raise Closed(str(error)) from error
        if not data:
            self.ended = True
            raise Closed()
        self.buffer += data
        for body in self.wire.bodies(self.buffer):
            self._take(body)
        return True

    def _take(self, body):
        cmd, seq, payload = split(body)
        # a ping's payload may be what no dict can hold, so it stays as it came
        frame = Frame(cmd, seq, payload if cmd == PING_RESP else unpack(payload), body)
        if any(old.cmd == BYE for old in self.frames[-1:]):
            self.faults.append(f"frame {frame.cmd} after Bye")
        self.frames.append(frame)
        wrong = self.inspect(frame) if self.inspect else ""
        if wrong:
            self.faults.append(wrong)
        elif frame.cmd == ENTER_RESP:
            self.sight = View(frame.payload)
            self.entered = frame.payload
            self.id, self.x, self.y = (frame.payload[key] for key in ("id", "x", "y"))
        elif frame.cmd == LOGIN_RESP:
            self.key = frame.payload.get("resume", "")
        elif frame.cmd == LEAVE_RESP:
            self.sight = None
        elif frame.cmd == ERROR and frame.seq == 0 and frame.payload["code"] == NOT_LOGGED_IN:
            self.sight = None  # the session could not be kept: log in again
        elif frame.cmd in (AOI_ADD, AOI_REMOVE, AOI_MOVE):
            if self.sight is None:
                self.faults.append(f"frame {frame.cmd} to somebody who is not in the world")
            else:
                self.sight.take(frame.cmd, frame.payload)
                self.faults += self.sight.faults
                self.sight.faults = []
        elif frame.cmd in (MOVE_RESP, MOVE_FAIL) or frame.cmd == ERROR and "x" in frame.payload:
            self.x, self.y = frame.payload["x"], frame.payload["y"]

    def wait(self, holds, seconds=None):
        """Read until holds() is true; what it returned. Late, Closed."""
        until = time.monotonic() + (self.timeout if seconds is None else seconds)
        while True:
            result = holds()
            if result:
                return result
            if not self._receive(until - time.monotonic()) and time.monotonic() >= until:
                raise Late()

    def pump(self, seconds):
        """Read for that long."""
        pump([self], seconds)

    def answer(self, seq):
        """Wait for the answer to a request."""
        def found():
            return next((f for f in reversed(self.frames) if f.seq == seq), None)
        return self.wait(found)

    def until_end(self, seconds=None):
        """Read to the end of the connection; the last frame, or None. Late if it stays open."""
        try:
            self.wait(lambda: False, seconds)
        except Closed:
            return self.frames[-1] if self.frames else None

    # requests

    def ask(self, cmd, payload=None):
        return self.answer(self.send(cmd, payload))

    def ask_body(self, body, seq):
        self.send_body(body)
        return self.answer(seq)

    def login(self, name, **more):
        self.name = name
        frame = self.ask(LOGIN, {"name": name, **more})
        if frame.cmd == LOGIN_RESP:
            self.id = frame.payload["id"]
        return frame

    def resume(self, older):
        """What another client was, whose connection was lost or still looks alive."""
        return self.login(older.name, resume=older.key)

    def enter(self, payload=None):
        return self.ask(ENTER, payload)

    def leave(self):
        return self.ask(LEAVE)

    def move(self, x, y, **more):
        return self.ask(MOVE, {"x": x, "y": y, **more})

    def say(self, text):
        return self.ask(SAY, {"text": text})

    def ping(self, payload=None):
        return self.ask(PING, payload)


def pump(clients, seconds):
    """Read for all of them for that long; those whose connection ended drop out."""
    until = time.monotonic() + seconds
    live = [c for c in clients if not c.ended]
    while True:
        left = until - time.monotonic()
        if left <= 0:
            return
        ready = select.select([c.sock for c in live], [], [], left)[0]
        for c in [c for c in live if c.sock in ready]:
            try:
                c._receive(0)
            except Closed:
                live.remove(c)


def walk(steps, pumped=()):
    """Walk several clients at once at their legal speed: steps is [(client, x, y), ...]."""
    starts = [(c, c.x, c.y) for c, _, _ in steps]
    longest = max(math.hypot(x - c.x, y - c.y) / c.entered["max_speed"] for c, x, y in steps)
    count = max(1, math.ceil(longest / 0.5))
    for n in range(1, count + 1):
        pump([c for c, _, _ in steps] + list(pumped), longest / count)
        for (c, x0, y0), (_, x, y) in zip(starts, steps):
            part = n / count
            frame = c.move(x, y) if n == count else c.move(
                x0 + (x - x0) * part, y0 + (y - y0) * part)
            if frame.cmd != MOVE_RESP:
                raise Broken(f"a legal step was refused: {frame.payload}")

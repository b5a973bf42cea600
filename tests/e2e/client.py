#!/usr/bin/python3
"""tests/e2e/client.py: the client of proto/py as tests want it: every frame seen, every byte in hand.

Bodies, frames and the view that Aoi frames add up to are the Python client's; here are a socket that
is read when the test says so, the raw sending of whatever it likes, and `faults`: what breaks the
contract's rules about order, ids and ticks (audit.py).
May touch: the socket, proto/py. On trouble: Closed when the connection ended, Late when nothing came
in time. Needs: Python 3.9, msgpack (Debian: python3-msgpack).

    c = Client("127.0.0.1:19001")
    c.login("alpha")
    c.enter()
    c.move(c.x + 0.25, c.y)
    c.wait(lambda: len(c.view) == 2)
"""
import math
import select
import socket
import ssl
import struct
import time
from collections import namedtuple

from wire import Broken, address_of, wire_of
from aegis_client import CMD, Session, read_body
from aegis_client.bodies import pack, split, unpack
from audit import Audit

LOGIN, LOGIN_RESP, ENTER, ENTER_RESP, LEAVE, LEAVE_RESP = (
    CMD.LoginReq, CMD.LoginResp, CMD.EnterReq, CMD.EnterResp, CMD.LeaveReq, CMD.LeaveResp)
MOVE, MOVE_RESP, WALK, WALK_RESP = CMD.MoveReq, CMD.MoveResp, CMD.WalkReq, CMD.WalkResp
PING, PING_RESP, SAY, SAY_RESP = CMD.PingReq, CMD.PingResp, CMD.SayReq, CMD.SayResp
AOI_ADD, AOI_REMOVE, AOI_MOVE, MOVE_FAIL, SAY_NOTIFY = (
    CMD.AoiAdd, CMD.AoiRemove, CMD.AoiMove, CMD.MoveFail, CMD.SayNotify)
ERROR, BYE = CMD.ErrorNotify, CMD.Bye

Frame = namedtuple("Frame", "cmd seq payload body")  # a PingResp's payload is its bytes


class Late(Exception):
    """Nothing (of that kind) came in time."""


class Closed(Exception):
    """The connection has ended."""


def body_of(cmd, seq, payload=None):
    """A body with any payload at all, sound or not."""
    return pack([int(cmd), seq, payload])


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


def connect_to(addr, trust=None, timeout=10.0):
    """A socket, under TLS where the address says so; `trust`: a file of roots."""
    to = address_of(addr)
    sock = socket.create_connection((to.host, to.port), timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not to.secure:
        return sock
    return ssl.create_default_context(cafile=trust).wrap_socket(
        sock, server_hostname=to.host, suppress_ragged_eofs=False)


class Client:
    """One connection. `frames` keeps all that came, in order; `view` is what is in sight.

    `addr` is host:port, or with tls://, ws:// or wss:// before it. `inspect`, where given, is called
    with each frame and returns what is wrong with it, or "". `trust`: a file of roots, for TLS.
    """

    def __init__(self, addr, inspect=None, timeout=10.0, trust=None):
        self.wire = wire_of(addr)
        self.sock = connect_to(addr, trust, timeout)
        self.goodbye = True  # the end came with one, where it must (TLS)
        self.timeout = timeout
        self.inspect = inspect
        self.seq = 0
        self.frames = []
        self.ended = False
        self.session = Session()
        self.audit = Audit(self.session)
        self.faults = self.audit.faults
        self.name = self.id = self.x = self.y = self.entered = None
        self.send_bytes(self.wire.replies())

    @property
    def view(self):
        return self.session.view.entities

    @property
    def key(self):
        """Of LoginResp, to take the entity back by another connection."""
        return self.session.key

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

    def pending(self):
        """Is something read that no socket tells of?"""
        return isinstance(self.sock, ssl.SSLSocket) and self.sock.pending() > 0

    def _read(self):
        if not isinstance(self.sock, ssl.SSLSocket):
            return self.sock.recv(1 << 16)
        self.sock.settimeout(0)
        try:
            return self.sock.recv(1 << 16)
        finally:
            self.sock.settimeout(self.timeout)

    def _receive(self, seconds):
        """Read what is there, waiting for it that long; False when nothing came."""
        if self.ended:
            raise Closed()
        if not self.pending() and not select.select([self.sock], [], [], max(0.0, seconds))[0]:
            return False
        try:
            data = self._read()
        except ssl.SSLWantReadError:
            return False  # a part of a record, or what TLS has to say by itself
        except (ConnectionError, ssl.SSLError) as error:
            self.ended, self.goodbye = True, False
            raise Closed(str(error)) from error
        if not data:
            self.ended = True
            raise Closed()
        for body in self.wire.feed(data):
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
            return
        self.audit.take(read_body(body))
        if frame.cmd == ENTER_RESP:
            self.entered, self.id = frame.payload, frame.payload["id"]
        if self.session.me:
            self.x, self.y = self.session.me.x, self.session.me.y

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
        ready = [c for c in live if c.pending()]
        if not ready:
            socks = select.select([c.sock for c in live], [], [], left)[0]
            ready = [c for c in live if c.sock in socks]
        for c in ready:
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

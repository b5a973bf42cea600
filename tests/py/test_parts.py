"""tests/py/test_parts.py: the Python client's parts without sockets: wires, the view, Smooth, the audit.

May touch: proto/py, tests/e2e/audit.py.
"""
import ast
import os
import unittest

from aegis_client import (CMD, CODE, Body, ContractError, Session, Smooth, Tcp, Ws, address_of,
                          wire_to, write_body)
from aegis_client.wire import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, ws_accept, ws_frame
from audit import Audit

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../proto/py/aegis_client")
ENTERED = {"ok": True, "id": 1, "scene": "open", "x": 8.0, "y": 0.0, "tick_ms": 50, "radius": 30.0,
           "quantum": 1 / 64, "max_speed": 12.0}
KEY = "dGhlIHNhbXBsZSBub25jZQ=="  # RFC 6455, 1.3


def served(payload, opcode=BINARY, fin=True):
    """A server's frame."""
    head = bytes([(0x80 if fin else 0) | opcode])
    if len(payload) < 126:
        return head + bytes([len(payload)]) + payload
    return head + b"\x7e" + len(payload).to_bytes(2, "big") + payload


AGREED = (f"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nSec-WebSocket-Accept: "
          f"{ws_accept(KEY)}\r\n\r\n").encode()


def opened():
    wire = Ws("a", key=KEY)
    list(wire.feed(AGREED))
    wire.replies()
    return wire


class Wires(unittest.TestCase):
    def test_addresses_are_read(self):
        for text, wanted in (("127.0.0.1:19001", (False, False, "127.0.0.1", 19001)),
                             ("tls://[::1]:7", (True, False, "::1", 7)),
                             ("ws://a.example/ws", (False, True, "a.example", 80)),
                             ("wss://a.example", (True, True, "a.example", 443))):
            self.assertEqual(address_of(text)[:4], wanted)
        self.assertEqual(address_of("ws://a:1/other").path, "/other")
        for text in ("", "a", "a:", ":1", "a:99999", "a:b", "ftp://a:1", "http://a"):
            with self.subTest(text), self.assertRaises(ValueError):
                address_of(text)

    def test_frames_over_tcp_come_however_they_are_cut(self):
        run = Tcp().frame(b"abc") + Tcp().frame(b"d" * 300)
        for cut in range(len(run)):
            wire = Tcp()
            self.assertEqual([*wire.feed(run[:cut]), *wire.feed(run[cut:])], [b"abc", b"d" * 300])
        for head in (b"\0\0\0\0", b"\0\x10\0\1", b"\xff\xff\xff\xff"):
            with self.assertRaises(ContractError):
                list(Tcp().feed(head))

    def test_the_handshake_is_that_of_the_rfc(self):
        self.assertEqual(ws_accept(KEY), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        greeting = wire_to(address_of("ws://[::1]:8/x")).replies()
        self.assertTrue(greeting.startswith(b"GET /x HTTP/1.1\r\nHost: [::1]:8\r\n"), greeting)
        for cut in range(len(AGREED)):
            wire = Ws("a", key=KEY)
            self.assertEqual([*wire.feed(AGREED[:cut]), *wire.feed(AGREED[cut:] + served(b"x"))], [b"x"])
        for answer in (AGREED.replace(b"101", b"200"), AGREED.replace(b"s3p", b"S3p"),
                       AGREED[:-2] + b"Sec-WebSocket-Extensions: x\r\n\r\n", b"x" * 20000):
            with self.assertRaises(ContractError):
                list(Ws("a", key=KEY).feed(answer))

    def test_frames_over_websocket_come_however_they_are_cut(self):
        run = (served(b"abc") + served(b"de", fin=False) + served(b"?", PING)
               + served(b"f", CONTINUATION) + served(b"g" * 300) + served(b"\x0f\xa1bye", CLOSE))
        for cut in range(len(run)):
            wire = opened()
            self.assertEqual([*wire.feed(run[:cut]), *wire.feed(run[cut:])],
                             [b"abc", b"def", b"g" * 300])
            self.assertEqual(wire.closed, 4001)
            replies = wire.replies()
            self.assertEqual((replies[0], replies[1]), (0x80 | PONG, 0x81))
            self.assertEqual((replies[7], replies[8]), (0x80 | CLOSE, 0x82))

    def test_frames_that_rfc_6455_forbids_are_a_breach(self):
        for what, data in (("text", served(b"a", TEXT)), ("masked", ws_frame(b"a")),
                           ("a reserved bit", b"\xc2\x01a"), ("a rest of nothing", served(b"", CONTINUATION)),
                           ("one inside another", served(b"a", fin=False) + served(b"b")),
                           ("a ping in parts", served(b"", PING, fin=False)),
                           ("a long ping", served(b"x" * 126, PING)), ("an opcode", served(b"", 11)),
                           ("a close of one byte", served(b"\x03", CLOSE)),
                           ("a long form", b"\x82\x7e\0\x05hello"),
                           ("more than a body has", b"\x82\x7f" + (1 << 21).to_bytes(8, "big")),
                           ("one behind the close", served(b"", CLOSE) + served(b"a"))):
            with self.subTest(what), self.assertRaises(ContractError):
                list(opened().feed(data))

    def test_what_a_client_sends_is_masked_at_random(self):
        frames = {opened().frame(b"hello") for _ in range(8)}
        self.assertGreater(len(frames), 1)
        for frame in frames:
            self.assertEqual(frame[:2], b"\x82\x85")
            self.assertEqual(bytes(a ^ b for a, b in zip(frame[6:], frame[2:6] * 2)), b"hello")


def told(session, cmd, payload, seq=0):
    return session.take(Body(cmd, seq, payload))


def inside():
    session = Session()
    told(session, CMD.EnterResp, ENTERED, 1)
    return session


def row(number, x=10.0, y=0.0):
    return [number, 0, f"n{number}", x, y, 0.0, 0.0]


class Sessions(unittest.TestCase):
    def test_aoi_frames_add_up(self):
        session = inside()
        events = told(session, CMD.AoiAdd, {"tick": 1, "entities": [row(2), row(3)], "hidden": 4})
        self.assertEqual([event for event, _ in events], ["add", "add", "tick"])
        self.assertEqual(session.view.hidden, 4)
        told(session, CMD.AoiMove, {"tick": 2, "moves": bytes.fromhex("0b 8102 ffff 40 ff")})
        moved = session.view.entities[2]
        self.assertEqual((moved.x, moved.y, moved.speed), (641 / 64, -1 / 64, 12.0))
        self.assertAlmostEqual(moved.dir, 3.14159265 / 2, 6)
        told(session, CMD.AoiRemove, {"tick": 3, "ids": [2]})
        self.assertEqual(list(session.view.entities), [3])
        told(session, CMD.LeaveResp, {"ok": True}, 5)
        self.assertEqual((session.me, session.view.entities, session.view.hidden), (None, {}, 0))

    def test_what_cannot_be_told_is_a_breach(self):
        for cmd, payload in ((CMD.AoiAdd, {"tick": 1, "entities": [row(2), row(2)]}),
                             (CMD.AoiRemove, {"tick": 1, "ids": [9]}),
                             (CMD.AoiMove, {"tick": 1, "moves": bytes.fromhex("24 0000 0000")})):
            with self.assertRaises(ContractError):
                told(inside(), cmd, payload)
        with self.assertRaises(ContractError):
            told(Session(), CMD.AoiAdd, {"tick": 1, "entities": []})

    def test_our_place_is_the_one_last_told(self):
        session = inside()
        told(session, CMD.MoveResp, {"ok": True, "x": 9.0, "y": 1.0}, 2)
        self.assertEqual((session.me.x, session.me.y), (9.0, 1.0))
        (event, (_, error)), = told(session, CMD.ErrorNotify, {
            "code": 9, "error": "no", "cmd": 7, "x": 9.5, "y": 1.0}, 3)
        self.assertEqual((event, error.code, error.x, session.me.x), ("refused", 9, 9.5, 9.5))
        told(session, CMD.MoveFail, {"x": 7.0, "y": 2.0, "code": 10})
        self.assertEqual((session.me.x, session.me.y), (7.0, 2.0))

    def test_unasked_errors_tell_that_the_world_is_away_or_lost_us(self):
        session = inside()
        for code, wanted in ((CODE.unavailable, "unavailable"), (CODE.not_logged_in, "forgotten")):
            events = told(session, CMD.ErrorNotify, {"code": code, "error": "?", "cmd": 0})
            self.assertEqual(events, [(wanted, ())])
        self.assertIsNone(session.me)

    def test_smooth_goes_from_place_to_place_and_jumps_far_ones(self):
        smooth = Smooth(0.5)
        self.assertIsNone(smooth.get(1, 0))
        smooth.put(1, 0, 0, 0)
        smooth.put(1, 1, 2, 1.0)
        self.assertEqual([smooth.get(1, t) for t in (1.0, 1.25, 1.5, 9)],
                         [(0, 0), (0.5, 1.0), (1, 2), (1, 2)])
        smooth.put(1, 100, 2, 2.0)
        self.assertEqual(smooth.get(1, 2.0), (100, 2))
        smooth.drop(1)
        self.assertIsNone(smooth.get(1, 3))

    def test_the_package_parses_in_python_3_9(self):
        for name in sorted(os.listdir(PACKAGE)):
            if name.endswith(".py"):
                with open(os.path.join(PACKAGE, name), encoding="utf-8") as file:
                    ast.parse(file.read(), name, feature_version=(3, 9))


class Audits(unittest.TestCase):
    """The rules that tests/e2e holds a server to are noticed when they are broken."""

    def faults(self, *frames):
        audit = Audit(Session())
        audit.take(Body(CMD.EnterResp, 1, ENTERED))
        for cmd, payload in frames:
            audit.take(Body(cmd, 0, payload))
        return audit.faults

    def test_a_sound_run_has_no_faults(self):
        self.assertEqual(self.faults(
            (CMD.AoiAdd, {"tick": 1, "entities": [row(2), row(3)]}),
            (CMD.AoiMove, {"tick": 2, "moves": bytes.fromhex("08 8102 0000 04 8302 0000")}),
            (CMD.AoiRemove, {"tick": 3, "ids": [3]}), (CMD.AoiAdd, {"tick": 3, "entities": [row(4)]}),
            (CMD.AoiMove, {"tick": 3, "moves": bytes.fromhex("08 8202 0000")})), [])

    def test_each_broken_rule_is_a_fault(self):
        add = (CMD.AoiAdd, {"tick": 5, "entities": [row(2), row(3)]})
        same = bytes.fromhex("08 8002 0000")
        for wanted, frames in (
                ("after 5", [add, (CMD.AoiRemove, {"tick": 4, "ids": [2]})]),
                ("out of order", [add, (CMD.AoiRemove, {"tick": 5, "ids": [2]})]),
                ("do not ascend", [(CMD.AoiAdd, {"tick": 1, "entities": [row(3), row(2)]})]),
                ("of nobody", [(CMD.AoiRemove, {"tick": 1, "ids": []})]),
                ("viewer itself", [(CMD.AoiAdd, {"tick": 1, "entities": [row(1)]})]),
                ("added twice", [add, (CMD.AoiAdd, {"tick": 6, "entities": [row(2)]})]),
                ("not known", [(CMD.AoiRemove, {"tick": 1, "ids": [2]})]),
                ("AoiRemove and AoiAdd", [add, (CMD.AoiRemove, {"tick": 6, "ids": [2]}),
                                          (CMD.AoiAdd, {"tick": 6, "entities": [row(2)]})]),
                ("AoiAdd and AoiMove", [add, (CMD.AoiMove, {"tick": 5, "moves": bytes.fromhex(
                    "08 8102 0000")})]),
                ("nothing new", [add, (CMD.AoiMove, {"tick": 6, "moves": same})]),
                ("varint", [add, (CMD.AoiMove, {"tick": 6, "moves": b"\x84"})])):
            with self.subTest(wanted):
                faults = self.faults(*frames)
                self.assertTrue(any(wanted in fault for fault in faults), faults)

    def test_a_frame_to_one_outside_is_a_fault(self):
        audit = Audit(Session())
        audit.take(Body(CMD.AoiAdd, 0, {"tick": 1, "entities": [row(2)]}))
        self.assertEqual(len(audit.faults), 1)
        self.assertEqual(write_body(CMD.LeaveReq, 1).hex(), "930501c0")

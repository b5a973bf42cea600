"""tests/e2e/contract_frames.py: PROTOCOL.md, Framing: vectors, lengths, bodies, forms, pings, rate.

May touch: the stage, tests/vectors. On trouble: a failed check.
"""
import json
import os
import select
import struct
import time

from client import (ENTER, ENTER_RESP, ERROR, LEAVE, LEAVE_RESP, LOGIN, LOGIN_RESP, MOVE, MOVE_RESP,
                    PING, PING_RESP, SAY, SAY_RESP, WALK, body_of, heads, pack)
from contract_stage import (BAD_FRAME, BAD_PAYLOAD, NOT_LOGGED_IN, RATE_LIMITED, UNKNOWN_CMD,
                            is_refusal)

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vectors")
AT_ONCE = 60  # connections of the vectors that are open together
LIMIT = 16384


def load(name):
    with open(os.path.join(VECTORS, name), encoding="utf-8") as file:
        return json.load(file)


# --- vectors sent to the server -------------------------------------------------------------------


def ends_with_bye(client):
    last = client.until_end()
    return len(client.frames) == 1 and last.payload.get("code") == BAD_FRAME


def the_bad_bodies_get_bye_1(stage):
    data = load("bad_frames.json")
    wire = stage.wire()
    streams = [(v["name"], wire.frame(bytes.fromhex(v["hex"]))) for v in data["vectors"]]
    if wire.name == "tcp":
        streams += [(v["name"], bytes.fromhex(v["hex"])) for v in data["heads"]]
    wrong = []
    for start in range(0, len(streams), AT_ONCE):
        batch = [(name, stream, stage.client()) for name, stream in streams[start:start + AT_ONCE]]
        for _, stream, client in batch:
            client.send_bytes(stream)
        for name, _, client in batch:
            if not ends_with_bye(client):
                wrong.append(name)
            client.close()
    stage.check(f"vectors: {len(streams)} bad bodies and lengths get Bye 1 and nothing else",
                not wrong, wrong)


def asker(stage, cmd):
    """Somebody in the right state to ask for that command."""
    if cmd == LOGIN:
        return stage.client()
    return stage.known() if cmd == ENTER else stage.member()


def the_bad_payloads_are_refused(stage):
    groups = {}
    for vector in load("bad_payloads.json")["vectors"]:
        cmd = vector["meaning"]["cmd"]
        groups.setdefault(cmd if cmd <= SAY and cmd % 2 else None, []).append(vector)
    for cmd, vectors in groups.items():
        client, wrong = asker(stage, cmd), []
        before = len(client.frames)
        client.send_bytes(b"".join(client.framed(bytes.fromhex(v["hex"])[4:]) for v in vectors))
        client.wait(lambda: sum(f.seq == 5 for f in client.frames[before:]) == len(vectors))
        answers = [f for f in client.frames[before:] if f.seq == 5]
        for vector, answer in zip(vectors, answers):
            meaning = vector["meaning"]
            if not is_refusal(answer, meaning["code"], meaning["cmd"]):
                wrong.append(f"{vector['name']} {answer.payload}")
        what = f"vectors: {len(vectors)} bad payloads of cmd {cmd or 'none'}"
        stage.check(f"{what} are refused", not wrong, wrong)
        stage.stays(what, client)


def the_table_has_these_requests(stage):
    frame = stage.member().ask(WALK, {"x": 8, "y": 0})
    stage.check("WalkReq is answered by WalkResp", frame.cmd == WALK + 1, frame[:3])


# --- lengths and pieces ---------------------------------------------------------------------------


def lengths_have_limits(stage):
    client = stage.client()
    body = body_of(PING, 1, bytes(LIMIT - 6))
    client.send_body(body)
    stage.check("a body of 16384 bytes is taken", len(body) == LIMIT and
                client.answer(1).body[2:] == body[2:])
    for length in (0, LIMIT + 1, 1 << 31):
        client = stage.client()
        client.send_bytes(client.wire.head(length))
        stage.bye(f"a length of {length} gets Bye 1 as soon as its head is there", client,
                  BAD_FRAME)
    client = stage.client()
    client.send_bytes(client.framed(b"") + client.framed(body_of(PING, 1)))
    stage.bye("what comes behind a bad frame is not answered", client, BAD_FRAME)


def bye_is_read_by_one_who_still_sends(stage):
    wire = stage.wire()
    for what, start in (("a bad length", wire.head(0)), ("a bad body", wire.frame(b"\xc1"))):
        client = stage.client()
        client.send_bytes(start)
        until, sent = time.monotonic() + 0.4, 0
        try:
            while time.monotonic() < until:
                if select.select([], [client.sock], [], 0.05)[1]:
                    sent += client.sock.send(b"\xff" * 65536)
        except OSError:
            pass  # it may be closed by now; the Bye must be there all the same
        stage.bye(f"Bye 1 is read by a client that goes on sending after {what}", client,
                  BAD_FRAME)


def bye_comes_behind_the_answers(stage):
    """What the world had not answered by then may get lost with the connection."""
    client = stage.client()
    client.send_bytes(client.framed(client.body(PING)) * 3 + client.framed(b"\xc1"))
    stage.bye("a bad frame behind pings gets Bye 1", client, BAD_FRAME)
    stage.check("and the pings before it were answered", [f.cmd for f in client.frames[:-1]]
                == [PING_RESP] * 3, [f[:3] for f in client.frames])


def frames_come_in_any_pieces(stage):
    client = stage.client()
    login = client.framed(client.body(LOGIN, {"name": stage.name()}))
    for n in range(len(login)):
        client.send_bytes(login[n:n + 1])
    stage.check("a frame that comes byte by byte is taken", client.answer(1).cmd == LOGIN_RESP)
    pings = [client.framed(client.body(PING, text)) for text in "abc"]
    client.send_bytes(pings[0] + pings[1] + pings[2][:5])
    stage.check("two joined frames and a piece: two answers",
                client.answer(client.seq - 1).payload == pack("b"))
    client.pump(0.1)
    stage.check("the piece waits for its rest", client.frames[-1].payload == pack("b"))
    client.send_bytes(pings[2][5:])
    stage.check("and is answered once that is there",
                client.answer(client.seq).payload == pack("c"))


def pipelined_requests_are_answered_in_order(stage):
    client = stage.client()
    wanted = [(LOGIN, {"name": stage.name()}, LOGIN_RESP), (MOVE, {"x": 0, "y": 0}, ERROR),
              (ENTER, None, ENTER_RESP), (SAY, {"text": "hello"}, SAY_RESP), (99, None, ERROR),
              (MOVE, {"x": "0", "y": 0}, ERROR), (ENTER, None, ERROR), (LEAVE, None, LEAVE_RESP),
              (SAY, {"text": "hello"}, ERROR), (ENTER, None, ENTER_RESP), (LEAVE, {}, LEAVE_RESP)]
    client.send_bytes(b"".join(client.framed(client.body(cmd, payload))
                               for cmd, payload, _ in wanted))
    client.answer(client.seq)
    answers = [(f.seq, f.cmd) for f in client.frames if f.seq]
    stage.check("pipelined requests are answered in their order, each once", answers == [
        (n + 1, cmd) for n, (_, _, cmd) in enumerate(wanted)], answers)


# --- bodies ---------------------------------------------------------------------------------------


def nested(levels):
    return b"\x91" * (levels - 1) + b"\x90"


def depth_and_text_are_walked(stage):
    client = stage.member()
    x, y = pack(client.x), pack(client.y)
    client.send_body(b"\x93\x0b\x7e" + nested(7))
    stage.check("a ping at level 8 is answered", client.answer(0x7E).payload == nested(7))
    move = b"\x83\xa1x" + x + b"\xa1y" + y + b"\xa1u"
    answer = client.ask_body(b"\x93\x07\x7d" + move + nested(6), 0x7D)
    stage.check("an unknown key that reaches level 8 is ignored", answer.cmd == MOVE_RESP,
                answer[:3])
    mixed = b"\x81\x01" * 6 + b"\x80"
    stage.check("maps count like arrays, and their keys may be anything in a ping",
                client.ask_body(b"\x93\x0b\x7c" + mixed, 0x7C).payload == mixed)
    for what, body in (("a ping at level 9", b"\x93\x0b\x01" + nested(8)),
                       ("an unknown key at level 9", b"\x93\x07\x01" + move + nested(7)),
                       ("bad UTF-8 in a ping", b"\x93\x0b\x01\xa2\xc3\x28"),
                       ("bad UTF-8 in say", b"\x93\x0d\x01\x81\xa4text\xa1\xff"),
                       ("a body with a byte behind", body_of(PING, 1) + b"\xc0"),
                       ("a body that is cut", body_of(PING, 1, "abc")[:-1])):
        client = stage.known()
        client.send_body(body)
        stage.bye(f"{what} gets Bye 1", client, BAD_FRAME)


INT_FORMS = {"fixint": lambda n: pack(n), "uint8": lambda n: struct.pack(">BB", 0xCC, n),
             "uint16": lambda n: struct.pack(">BH", 0xCD, n),
             "uint32": lambda n: struct.pack(">BI", 0xCE, n),
             "uint64": lambda n: struct.pack(">BQ", 0xCF, n),
             "int8": lambda n: struct.pack(">Bb", 0xD0, n),
             "int16": lambda n: struct.pack(">Bh", 0xD1, n),
             "int32": lambda n: struct.pack(">Bi", 0xD2, n),
             "int64": lambda n: struct.pack(">Bq", 0xD3, n)}
SIGNED = ("int8", "int16", "int32", "int64")


def whole_place(client):
    """Stand on whole numbers, small enough for the form in question."""
    x, y = round(client.x), round(client.y)
    if (x, y) != (client.x, client.y):
        client.pump(0.1)
        client.move(x, y)
    return x, y


def numbers_come_in_any_form(stage):
    client = stage.member()
    x, y = whole_place(client)
    wrong, forms = [], {**INT_FORMS, "float32": lambda n: struct.pack(">Bf", 0xCA, n),
                        "float64": lambda n: struct.pack(">Bd", 0xCB, n)}
    for n, (name, form) in enumerate(forms.items()):
        try:
            place = form(x), form(y)
        except struct.error:
            continue  # where we stand does not fit
        answer = client.ask_body(b"\x93\x07" + pack(100 + n) + b"\x82\xa1x" + place[0] + b"\xa1y"
                                 + place[1], 100 + n)
        if answer.cmd != MOVE_RESP or (answer.payload["x"], answer.payload["y"]) != (x, y):
            wrong.append((name, answer[:3]))
    stage.check("a place may come in any form of number", not wrong, wrong)
    wrong = [name for n, (name, form) in enumerate(INT_FORMS.items()) if client.ask_body(
        b"\x93" + form(PING) + form(10 + n) + b"\xc0", 10 + n).cmd != PING_RESP]
    stage.check("cmd and seq may come in any form of integer", not wrong, wrong)
    for form in ("ceffffffff", "cf00000000fffffffe", "d300000000fffffffd"):
        seq = int(form[2:], 16)
        answer = client.ask_body(b"\x93\x07" + bytes.fromhex(form) + b"\xc0", seq)
        stage.check(f"seq {seq} as {form} comes back", answer.cmd == ERROR, answer[:3])
    small = b"\x82\xa1x" + pack(x) + b"\xa1y" + pack(y)
    answers = [client.ask_body(b"\xdc\0\3\7\x51" + small, 0x51),
               client.ask_body(b"\xdd\0\0\0\3\7\x52" + small, 0x52),
               client.ask_body(b"\x93\7\x53\xde\0\2" + small[1:], 0x53),
               client.ask_body(b"\x93\7\x54\xdf\0\0\0\2" + small[1:], 0x54),
               client.ask_body(b"\x93\7\x55\x82\xd9\1x" + pack(x) + b"\xda\0\1y" + pack(y), 0x55),
               client.ask_body(b"\x93\7\x56\x82\xdb\0\0\0\1x" + pack(x) + b"\xa1y" + pack(y), 0x56)]
    stage.check("longer heads than needed are taken for arrays, maps and strings",
                all(a.cmd == MOVE_RESP for a in answers), [a[:3] for a in answers])
    stage.check("the server's places are float64, each", all(
        list(heads(a.body)).count(0xCB) == 2 for a in answers))


def unknown_and_doubled_keys(stage):
    client = stage.member()
    place = b"\xa1x" + pack(client.x) + b"\xa1y" + pack(client.y)
    for what, fields in (
            ("unknown keys of any kind are ignored", b"\x84\xa0\xc0\xa1X\x91\x80" + place),
            ("of a doubled key the last counts", b"\x83\xa1x\xcb\x7f\xf0\0\0\0\0\0\0" + place),
            ("whatever the first one is", b"\x84\xa1x\xa1?\xa1y\xc0" + place)):
        client.seq += 1
        answer = client.ask_body(b"\x93\x07" + pack(client.seq) + fields, client.seq)
        stage.check(what, answer.cmd == MOVE_RESP, answer[:3])
    for what, fields in (
            ("a doubled key whose last is mistyped", b"\x83" + place + b"\xa1x\xa1?"),
            ("a key that is an integer", b"\x83" + place + b"\x01\x01"),
            ("a key that is bin", b"\x83" + place + b"\xc4\1u\x01")):
        client.seq += 1
        answer = client.ask_body(b"\x93\x07" + pack(client.seq) + fields, client.seq)
        stage.refused(f"{what} is bad_payload", answer, BAD_PAYLOAD, MOVE)
    stage.stays("after bad keys", client)


# --- pings, rate ----------------------------------------------------------------------------------


def pings_come_back_byte_for_byte(stage):
    client = stage.client()
    payloads = [b"\xc0", b"\x80", b"\x01", b"\xcd\0\1", b"\xd3\xff\xff\xff\xff\xff\xff\xff\xff",
                b"\xca\x7f\xc0\0\0", b"\xcb\xff\xf0\0\0\0\0\0\0", b"\xdb\0\0\0\2hi",
                b"\xc4\2\xff\xfe", b"\xd4\1\2", b"\xc7\0\x7f", b"\x82\1\2\1\3", b"\x81\xc0\xc2",
                b"\xdf\0\0\0\0", b"\xdc\0\1\xc3", b"\x81\x90\x80"]
    wrong = []
    for n, payload in enumerate(payloads):
        client.send_body(b"\x93\x0b" + pack(n + 1) + payload)
    for n, payload in enumerate(payloads):
        frame = client.answer(n + 1)
        if frame.cmd != PING_RESP or frame.payload != payload:
            wrong.append(payload.hex())
    stage.check("PingResp brings back the same payload, byte for byte, before a login", not wrong,
                wrong)


def the_rate_is_limited(stage):
    client = stage.client()
    client.send_bytes(b"".join(client.framed(client.body(PING)) for _ in range(60)))
    client.answer(client.seq)
    stage.check("60 pings at once are answered (-rate is 60)",
                all(f.cmd == PING_RESP for f in client.frames))
    client.send_bytes(b"".join(client.framed(client.body(PING)) for _ in range(100))
                      + client.framed(client.body(MOVE, {"x": "?"})) + client.framed(client.body(99)))
    frames = [client.answer(client.seq - 1), client.answer(client.seq)]
    stage.refused("past the rate a request is refused with 12, before 4 and 3", frames[0],
                  RATE_LIMITED, MOVE)
    stage.refused("and before 2", frames[1], RATE_LIMITED, 99)
    refused = [f for f in client.frames if f.cmd == ERROR]
    stage.check("pings count", any(f.payload["cmd"] == PING for f in refused))
    stage.check("every request up to there got one answer",
                sorted(f.seq for f in client.frames) == list(range(1, client.seq + 1)))
    client.pump(0.2)
    stage.check("after a while it is answered again", client.ping().cmd == PING_RESP)
    other = stage.client()
    client.send_bytes(b"".join(client.framed(client.body(PING)) for _ in range(400)))
    stage.check("another client is answered meanwhile", other.ping().cmd == PING_RESP)
    stage.bye("more than 200 refused in 10 s: Bye 12", client, RATE_LIMITED)
    refused = sum(f.cmd == ERROR for f in client.frames)
    stage.check("and not before the 201st", 200 <= refused <= 201, refused)


def before_login_only_login_and_ping(stage):
    client = stage.client()
    for cmd, payload in ((ENTER, None), (LEAVE, None), (MOVE, {"x": 0, "y": 0}),
                         (SAY, {"text": "?"})):
        stage.refused(f"cmd {cmd} before login is not_logged_in", client.ask(cmd, payload),
                      NOT_LOGGED_IN, cmd)
    stage.stays("before login", client)
    for cmd in (0, 2, 4, 15, 16, 32, 36, 48, 49, 255, (1 << 32) - 1):
        if not is_refusal(client.ask(cmd), UNKNOWN_CMD, cmd):
            return stage.check("numbers that are no request are unknown_cmd", False, cmd)
    stage.check("numbers that are no request are unknown_cmd", True)
    return stage.stays("after unknown commands", client)


SCENES = (the_bad_bodies_get_bye_1, the_bad_payloads_are_refused, the_table_has_these_requests,
          lengths_have_limits, bye_is_read_by_one_who_still_sends, bye_comes_behind_the_answers,
          frames_come_in_any_pieces, pipelined_requests_are_answered_in_order,
          depth_and_text_are_walked, numbers_come_in_any_form, unknown_and_doubled_keys,
          pings_come_back_byte_for_byte, the_rate_is_limited, before_login_only_login_and_ping)

"""tests/e2e/contract_websocket.py: PROTOCOL.md, Framing, on WebSocket: the bytes beside the bodies.

Raw sockets against a gateway with -ws-listen: handshakes cut anywhere, frames split and joined at
each byte, and what breaks RFC 6455, case by case as Autobahn's.
May touch: connections to the gateway. On trouble: a failed check.
"""
import socket
import ssl
import struct

from client import PING, PING_RESP, Broken, Late, body_of, connect_to, split
from wire import (BINARY, CLOSE, CONTINUATION, PONG, TEXT, Ws, ws_accept, ws_close, ws_frame,
                  ws_greeting, ws_head)
from wire import PING as WS_PING

BAD_FRAME, RATE_LIMITED = 1, 12
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
PATIENCE = 10


def connect(stage):
    return connect_to(stage.addr, stage.trust, PATIENCE)


def read_all(sock):
    """All that comes, to the end."""
    data = b""
    try:
        while more := sock.recv(1 << 16):
            data += more
    except (ConnectionError, ssl.SSLError):
        pass
    return data


def status_of(stage, request):
    """The status that a request is answered with, and the whole answer."""
    with connect(stage) as sock:
        sock.sendall(request)
        answer = read_all(sock)
    return int(answer.split(b" ")[1]) if answer.startswith(b"HTTP/1.1 ") else 0, answer


# --- the handshake --------------------------------------------------------------------------------


def handshakes_are_answered_however_they_are_cut(stage):
    greeting, wrong = ws_greeting("a", KEY), []
    ping = ws_frame(body_of(PING, 1))
    for cut in range(1, len(greeting), 3):
        client = stage.client()
        client.sock.close()  # its own greeting is of no use here
        client.sock, client.wire = connect(stage), Ws("a", key=KEY)
        client.send_bytes(greeting[:cut])
        client.send_bytes(greeting[cut:] + ping)
        if client.answer(1).cmd != PING_RESP:
            wrong.append(cut)
        client.close()
        stage.clients.pop()
    stage.check("a handshake cut in two anywhere is answered, and what is joined to it", not wrong,
                wrong)
    wrong = []
    for cut in range(0, len(greeting)):
        with connect(stage) as sock:
            sock.sendall(greeting[:cut])
            socket.socket.shutdown(sock, socket.SHUT_WR)  # of the socket, under TLS too
            if read_all(sock):
                wrong.append(cut)
    stage.check("one that ends early is not", not wrong, wrong)
    with connect(stage) as sock:
        sock.sendall(greeting)
        answer = sock.recv(4096).decode()
    fields = [line.lower() for line in answer.split("\r\n")]
    stage.check("its answer has the key of RFC 6455's example",
                f"sec-websocket-accept: {ws_accept(KEY)}".lower() in fields
                and ws_accept(KEY) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", answer)


def handshakes_that_are_none_are_refused(stage):
    lines = ws_greeting("a", KEY).decode().split("\r\n")[1:-2]

    def request(first="GET /ws HTTP/1.1", without="", more=()):
        kept = [line for line in lines if not without or not line.startswith(without)]
        return "\r\n".join([first, *kept, *more, "", ""]).encode()

    key, version = "Sec-WebSocket-Key", "Sec-WebSocket-Version"
    for what, status, wanted in (
            ("as it should be", request(), 101),
            ("with other offers", request(more=["Sec-WebSocket-Protocol: chat",
                                                "Sec-WebSocket-Extensions: permessage-deflate"]), 101),
            ("with tokens among others", request(without="Connection", more=[
                "connection: keep-alive, UPGRADE"]), 101),
            ("by POST", request("POST /ws HTTP/1.1"), 405),
            ("of HTTP/1.0", request("GET /ws HTTP/1.0"), 400),
            ("of HTTP/2.0", request("GET /ws HTTP/2.0"), 400),
            ("without Host", request(without="Host"), 400),
            ("with two Hosts", request(more=["Host: b"]), 400),
            ("without Upgrade", request(without="Upgrade"), 426),
            ("without Connection", request(without="Connection"), 426),
            ("without version", request(without=version), 426),
            ("of version 8", request(without=version, more=[f"{version}: 8"]), 426),
            ("without key", request(without=key), 400),
            ("with a key of 15 bytes", request(without=key, more=[
                f"{key}: AAAAAAAAAAAAAAAAAAAA"]), 400),
            ("with a key that is no base64", request(without=key, more=[
                f"{key}: ?GhlIHNhbXBsZSBub25jZQ=="]), 400),
            ("with two keys", request(more=[f"{key}: {KEY}"]), 400),
            ("with a body", request(more=["Content-Length: 4"]), 400),
            ("with a folded line", request(more=["X: a", " b"]), 400),
            ("from a page that is not on the list", request(more=["Origin: http://evil"]), 403),
            ("of another path", request("GET /wsx HTTP/1.1"), 404),
            ("of a path out of the folder", request("GET /../../etc/passwd HTTP/1.1"), 404)):
        if wanted == 101:
            with connect(stage) as sock:
                sock.sendall(status)
                got = sock.recv(4096)
            offers = b"sec-websocket-protocol" in got.lower() or b"extensions" in got.lower()
            stage.check(f"a handshake {what} is taken, no offer with it",
                        got.startswith(b"HTTP/1.1 101 ") and not offers, got)
        else:
            got, answer = status_of(stage, status)
            stage.check(f"one {what} is refused with {wanted}", got == wanted, answer[:80])
    got, answer = status_of(stage, request(without=version, more=[f"{version}: 7"]))
    stage.check("426 says the version", b"\r\nSec-WebSocket-Version: 13\r\n" in answer)
    got, answer = status_of(stage, b"GET /ws HTTP/1.1\r\nX: " + b"x" * 9000)
    stage.check("a head that is too long is refused with 431", got == 431, answer[:80])
    got, answer = status_of(stage, b"\0\0\0\x04\x93\x0b\x01\xc0")
    stage.check("one who speaks the TCP framing is told at once", got == 400, answer[:80])
    got, answer = status_of(stage, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    stage.check("the port has a page", got == 200 and b"text/html" in answer
                and b"Content-Security-Policy: default-src 'none'" in answer, answer[:80])


# --- frames ---------------------------------------------------------------------------------------


def frames_come_cut_and_joined_at_each_byte(stage):
    client = stage.client()
    client.ping()
    frames = [ws_frame(body_of(PING, 100, "abc")), ws_frame(b"12", WS_PING),
              ws_frame(body_of(PING, 101)[:2], fin=False), ws_frame(b"", PONG),
              ws_frame(body_of(PING, 101)[2:], CONTINUATION)]
    run, wrong = b"".join(frames), []
    for cut in range(1, len(run)):
        before = len(client.frames), len(client.wire.controls)
        client.send_bytes(run[:cut])
        client.pump(0.09)  # a read of its own, and no faster than the rate
        client.send_bytes(run[cut:])
        client.wait(lambda n=before: len(client.frames) >= n[0] + 2)
        seqs = [frame.seq for frame in client.frames[before[0]:]]
        if seqs != [100, 101] or client.wire.controls[before[1]:] != [(PONG, b"12")]:
            wrong.append((cut, seqs))
    stage.check(f"frames cut at any of {len(run) - 1} bytes say the same", not wrong, wrong[:3])


def ends(stage, what, data, bye, close):
    """The Bye and the close that these bytes get, and nothing else."""
    client = stage.client()
    client.send_bytes(data)
    try:
        client.until_end()
    except Late:
        return stage.check(what, False, "the connection stays open")
    code = client.frames[0].payload["code"] if client.frames else None
    return stage.check(f"{what}: {'Bye %s, then ' % bye if bye else ''}close {close}",
                       len(client.frames) == (1 if bye else 0) and code == bye
                       and client.wire.closed == close, (client.frames, client.wire.closed))


def what_breaks_the_framing_ends_it(stage):
    body, long = body_of(PING, 1), b"x" * 126
    for what, data in (
            [(f"reserved bit {n}", ws_frame(body, rsv=1 << (3 - n))) for n in (1, 2, 3)]
            + [(f"opcode {n}", ws_frame(body, n)) for n in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)]
            + [("an unmasked message", ws_frame(body, masked=False)),
               ("an unmasked ping", ws_frame(b"", WS_PING, masked=False)),
               ("a ping of 126 bytes", ws_frame(long, WS_PING)),
               ("a pong of 126 bytes", ws_frame(long, PONG)),
               ("a close of 126 bytes", ws_frame(struct.pack(">H", 1000) + long[2:], CLOSE)),
               ("a ping in fragments", ws_frame(b"", WS_PING, fin=False)),
               ("a pong in fragments", ws_frame(b"", PONG, fin=False)),
               ("a rest of nothing", ws_frame(body, CONTINUATION)),
               ("a rest that goes on", ws_frame(body, CONTINUATION, fin=False)),
               ("a message inside another", ws_frame(body, fin=False) + ws_frame(body)),
               ("a text inside another", ws_frame(body, fin=False) + ws_frame(b"a", TEXT)),
               ("a length that is longer than it needs", b"\x82\xfe\x00\x04\0\0\0\0" + body),
               ("a length of 2^63", b"\x82\xff" + struct.pack(">Q", 1 << 63) + b"\0\0\0\0"),
               ("a close of one byte", ws_frame(b"\x03", CLOSE)),
               ("bytes of nothing", b"\xff" * 64)]):
        ends(stage, what, data, BAD_FRAME, 4001)
    for code in (0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65535):
        ends(stage, f"a close with {code}", ws_close(code), BAD_FRAME, 4001)
    ends(stage, "a close whose reason is no UTF-8", ws_close(1000, b"\xce\xba\xe1\xed\xa0\x80"),
         BAD_FRAME, 4001)


def what_is_no_body_gets_bye_1(stage):
    body = body_of(PING, 1)
    for what, data in (
            ("a text", ws_frame(b"hello", TEXT)), ("an empty text", ws_frame(b"", TEXT)),
            ("a text in fragments", ws_frame(b"a", TEXT, fin=False)),
            ("an empty message", ws_frame(b"")),
            ("an empty one in fragments", ws_frame(b"", fin=False) + ws_frame(b"", CONTINUATION)),
            ("a length of 16385", ws_head(16385)), ("a length of 2^40", ws_head(1 << 40)),
            ("a length of 2^63 - 1", ws_head((1 << 63) - 1)),
            ("fragments beyond the limit", ws_frame(body + b"\0" * 16000, fin=False)
             + ws_head(1000, CONTINUATION, fin=False)),
            ("two bodies in a message", ws_frame(body + body)),
            ("the TCP framing in a message", ws_frame(struct.pack(">I", len(body)) + body))):
        ends(stage, what, data, BAD_FRAME, 4001)


def closes_are_answered(stage):
    for code in (1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999):
        ends(stage, f"a close with {code}", ws_close(code), None, code)
    ends(stage, "a close without a code", ws_close(), None, 1005)
    ends(stage, "a close with a reason of 123 bytes", ws_close(1000, b"r" * 123), None, 1000)
    ends(stage, "a close and more behind it", ws_close(1000) + ws_frame(b"hello", TEXT), None, 1000)
    ends(stage, "a close inside a message", ws_frame(b"\x93", fin=False) + ws_close(1001), None, 1001)
    client = stage.known()
    client.send_bytes(ws_close(1000))
    client.until_end()
    again = stage.client()
    again.wait(lambda: again.login(client.name).cmd == 2)
    stage.check("whoever closed has left: the name is free", True)


def pings_of_its_own_are_answered(stage):
    client = stage.client()
    wanted = []
    for payload in (b"", b"hello", bytes(range(125)), b"\xff" * 125):
        client.send_bytes(ws_frame(payload, WS_PING))
        wanted.append((PONG, payload))
    client.send_bytes(ws_frame(b"unasked", PONG))
    client.wait(lambda: len(client.wire.controls) >= 4)
    stage.check("a pong brings back its ping's payload", client.wire.controls == wanted,
                client.wire.controls)
    stage.stays("after a pong that nobody asked for", client)
    client = stage.client()
    body = body_of(PING, 9, "in parts")
    for n in range(len(body)):
        client.send_bytes(ws_frame(body[n:n + 1], CONTINUATION if n else BINARY,
                                   n == len(body) - 1) + ws_frame(bytes([n]), WS_PING))
    client.answer(9)
    client.wait(lambda: len(client.wire.controls) == len(body))
    stage.check("a message in fragments of a byte, pings between them",
                [payload[0] for _, payload in client.wire.controls] == list(range(len(body))))
    client = stage.client()
    client.send_bytes(ws_frame(b"?", WS_PING) * 500)
    stage.bye("a flood of pings gets Bye 12", client, RATE_LIMITED)
    stage.check("and no more pongs than the rate allows", sum(
        opcode == PONG for opcode, _ in client.wire.controls) <= 125, len(client.wire.controls))


def the_server_frames_each_body_alone(stage):
    client = stage.member()
    other = stage.known()
    other.enter()
    client.wait(lambda: client.view)
    bodies = [frame.body for frame in client.frames]
    try:
        [split(body) for body in bodies]
        stage.check("each message is one body, whole", len(bodies) >= 3)
    except Broken as error:
        stage.check("each message is one body, whole", False, error)


SCENES = (handshakes_are_answered_however_they_are_cut, handshakes_that_are_none_are_refused,
          frames_come_cut_and_joined_at_each_byte, what_breaks_the_framing_ends_it,
          what_is_no_body_gets_bye_1, closes_are_answered, pings_of_its_own_are_answered,
          the_server_frames_each_body_alone)

"""tests/e2e/wire.py: how a body goes over a connection, from proto/PROTOCOL.md, Framing.

Tcp: four bytes of length and the body. Ws: a masked binary message of WebSocket (RFC 6455) each.
Both write what a client sends and split what a server sent, however it is cut; Ws also keeps the
close that ended it. May touch: the standard library. On trouble: Broken.
"""
import base64
import hashlib
import os
import struct

MAX_FROM_SERVER = 1 << 20
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


class Broken(Exception):
    """What came is not what PROTOCOL.md says."""


class Tcp:
    name = "tcp"

    def greeting(self, _host):
        """What a client sends first."""
        return b""

    def frame(self, body):
        return struct.pack(">I", len(body)) + body

    def head(self, length):
        """What stands in front of a body of that length."""
        return struct.pack(">I", length)

    def bodies(self, buffer):
        """Take the whole ones off the front of a bytearray."""
        while len(buffer) >= 4:
            length = struct.unpack_from(">I", buffer)[0]
            if not 1 <= length <= MAX_FROM_SERVER:
                raise Broken(f"a frame of {length} bytes")
            if len(buffer) < 4 + length:
                return
            body = bytes(buffer[4:4 + length])
            del buffer[:4 + length]
            yield body

    def closed_with(self, _bye):
        """Did the connection end as it must behind a Bye of that code?"""
        return True


def ws_head(length, opcode=BINARY, fin=True, mask=b"\x12\x34\x56\x78", rsv=0):
    """A client's head; `mask` None leaves it off."""
    first = (0x80 if fin else 0) | rsv << 4 | opcode
    bit = 0 if mask is None else 0x80
    if length < 126:
        head = struct.pack(">BB", first, bit | length)
    elif length < 1 << 16:
        head = struct.pack(">BBH", first, bit | 126, length)
    else:
        head = struct.pack(">BBQ", first, bit | 127, length)
    return head + (mask or b"")


def ws_frame(payload, opcode=BINARY, fin=True, mask=None, rsv=0, masked=True):
    mask = (mask or os.urandom(4)) if masked else None
    head = ws_head(len(payload), opcode, fin, mask, rsv)
    if mask is None:
        return head + payload
    key = int.from_bytes((mask * (len(payload) // 4 + 1))[:len(payload)], "big")
    return head + (int.from_bytes(payload, "big") ^ key).to_bytes(len(payload), "big")


def ws_close(code=None, reason=b""):
    return ws_frame((b"" if code is None else struct.pack(">H", code)) + reason, CLOSE)


def ws_greeting(host, key, path="/ws", fields=()):
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade",
             f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", *fields]
    return "\r\n".join(lines + ["", ""]).encode()


def ws_accept(key):
    return base64.b64encode(hashlib.sha1(key.encode() + GUID).digest()).decode()


class Ws:
    name = "ws"

    def __init__(self):
        self.key = base64.b64encode(os.urandom(16)).decode()
        self.open = False
        self.controls = []  # (opcode, payload) that came
        self.close = None  # the code of the server's close; 1005: it had none

    def greeting(self, host):
        return ws_greeting(host, self.key)

    def frame(self, body):
        return ws_frame(body)

    def head(self, length):
        return ws_head(length)

    def _answer(self, buffer):
        end = buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        lines = bytes(buffer[:end]).decode("latin-1").split("\r\n")
        del buffer[:end + 4]
        fields = {name.lower(): value.strip() for name, _, value in
                  (line.partition(":") for line in lines[1:])}
        if not lines[0].startswith("HTTP/1.1 101 ") or (
                fields.get("sec-websocket-accept") != ws_accept(self.key)):
            raise Broken(f"no WebSocket: {lines[0]}")
        if "sec-websocket-extensions" in fields or "sec-websocket-protocol" in fields:
            raise Broken("an extension or a protocol that nobody asked for")
        self.open = True

    def _frame(self, buffer):
        """The first whole frame: opcode, payload; None where more has to come."""
        if len(buffer) < 2:
            return None
        length, at = buffer[1], 2
        if length & 0x80 or buffer[0] & 0x70 or not buffer[0] & 0x80:
            raise Broken(f"a server's frame is plain and whole: {bytes(buffer[:2]).hex()}")
        if length >= 126:
            wide = 2 if length == 126 else 8
            if len(buffer) < 2 + wide:
                return None
            length, at = int.from_bytes(buffer[2:2 + wide], "big"), 2 + wide
            if length < (126 if wide == 2 else 1 << 16):
                raise Broken("a length in a longer form than it needs")
        if length > MAX_FROM_SERVER:
            raise Broken(f"a frame of {length} bytes")
        if len(buffer) < at + length:
            return None
        opcode, payload = buffer[0] & 15, bytes(buffer[at:at + length])
        del buffer[:at + length]
        return opcode, payload

    def closed_with(self, bye):
        return self.close == 4000 + bye

    def bodies(self, buffer):
        if not self.open:
            self._answer(buffer)
        while self.open:
            frame = self._frame(buffer)
            if frame is None:
                return
            opcode, payload = frame
            if self.close is not None:
                raise Broken("something after the close")
            if opcode == BINARY:
                yield payload
            elif opcode in (CLOSE, PING, PONG):
                self.controls.append(frame)
                if opcode == CLOSE:
                    self.close = struct.unpack(">H", payload[:2])[0] if payload else 1005
            else:
                raise Broken(f"a frame of opcode {opcode}")


def wire_of(addr):
    return Ws() if addr.startswith("ws://") else Tcp()

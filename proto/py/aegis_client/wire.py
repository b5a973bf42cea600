"""proto/py/aegis_client/wire.py: how a body goes over a connection; no sockets here.

Tcp: four bytes of length and the body. Ws: a binary message of WebSocket (RFC 6455) each. Both make
bytes of bodies and take bodies from bytes, however those are cut. What a wire has to say by itself
(the handshake, pongs, the answer to a close) is taken from it by `replies`.
May touch: nothing. On trouble: ContractError.
"""
from __future__ import annotations

import base64
import hashlib
import os
import struct
from typing import Iterator, NamedTuple, Optional, Tuple, Union
from urllib.parse import urlsplit

from .tables import BODY_MAX, ContractError

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
HEAD_MAX = 16384  # bytes of the server's answer to the handshake
NO_CODE = 1005    # what RFC 6455 calls a close without a code


class Address(NamedTuple):
    """Where a gateway is; `secure`: over TLS; `web`: by WebSocket, at `path`."""

    secure: bool
    web: bool
    host: str
    port: int
    path: str


_SCHEMES = {"tcp": (False, False, None), "tls": (True, False, None),
            "ws": (False, True, 80), "wss": (True, True, 443)}


def address_of(text: str) -> Address:
    """host:port, tls://host:port, ws://host[:port][/path] or wss://...; ValueError."""
    parts = urlsplit(text if "://" in text else f"tcp://{text}")
    if parts.scheme not in _SCHEMES:
        raise ValueError(f"{text}: the scheme is none of {', '.join(_SCHEMES)}")
    secure, web, usual = _SCHEMES[parts.scheme]
    port = parts.port or usual
    if not parts.hostname or port is None:
        raise ValueError(f"{text}: not HOST:PORT")
    path = parts.path if parts.path not in ("", "/") else "/ws"
    return Address(secure, web, parts.hostname, port, path)


class Tcp:
    """A body behind its length."""

    name = "tcp"
    ready = True

    def __init__(self) -> None:
        self._buffer = bytearray()

    def frame(self, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + body

    def replies(self) -> bytes:
        return b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bodies that are whole with these bytes."""
        buffer = self._buffer
        buffer += data
        while len(buffer) >= 4:
            length = int.from_bytes(buffer[:4], "big")
            if not 1 <= length <= BODY_MAX:
                raise ContractError(f"a frame of {length} bytes")
            if len(buffer) < 4 + length:
                return
            body = bytes(buffer[4:4 + length])
            del buffer[:4 + length]
            yield body


# --- WebSocket ------------------------------------------------------------------------------------


def ws_head(length: int, opcode: int, fin: bool, mask: bytes) -> bytes:
    """The head of a client's frame."""
    first = (0x80 if fin else 0) | opcode
    if length < 126:
        head = struct.pack(">BB", first, 0x80 | length)
    elif length < 1 << 16:
        head = struct.pack(">BBH", first, 0x80 | 126, length)
    else:
        head = struct.pack(">BBQ", first, 0x80 | 127, length)
    return head + mask


def ws_masked(payload: bytes, mask: bytes) -> bytes:
    key = (mask * (len(payload) // 4 + 1))[:len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(
        len(payload), "big")


def ws_frame(payload: bytes, opcode: int = BINARY, fin: bool = True,
             mask: Optional[bytes] = None) -> bytes:
    """A client's frame, masked at random where no mask is given."""
    mask = mask or os.urandom(4)
    return ws_head(len(payload), opcode, fin, mask) + ws_masked(payload, mask)


def ws_accept(key: str) -> str:
    """What a server answers to that key."""
    return base64.b64encode(hashlib.sha1(key.encode() + GUID).digest()).decode()


class Ws:
    """A body in a binary message. `ready` once the server agreed; `closed`: its close's code."""

    name = "ws"

    def __init__(self, host: str, path: str = "/ws", key: Optional[str] = None) -> None:
        self.key = key or base64.b64encode(os.urandom(16)).decode()
        self.ready = False
        self.closed: Optional[int] = None
        self._buffer = bytearray()
        self._parts: Optional[bytearray] = None  # of a message in fragments
        self._replies = bytearray(self._greeting(host, path))

    def _greeting(self, host: str, path: str) -> bytes:
        return (f"GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n"
                f"Connection: Upgrade\r\nSec-WebSocket-Key: {self.key}\r\n"
                "Sec-WebSocket-Version: 13\r\n\r\n").encode()

    def frame(self, body: bytes) -> bytes:
        return ws_frame(body)

    def replies(self) -> bytes:
        """What has to be sent now, the handshake first."""
        out = bytes(self._replies)
        self._replies.clear()
        return out

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bodies that are whole with these bytes."""
        self._buffer += data
        if not self.ready:
            self._agree()
        while self.ready:
            frame = self._whole()
            if frame is None:
                return
            if self.closed is not None:
                raise ContractError("something behind the close")
            body = self.take(*frame)
            if body is not None:
                yield body

    def take(self, fin: bool, opcode: int, payload: bytes) -> Optional[bytes]:
        """A frame came; the body that is whole with it."""
        if opcode >= CLOSE:
            self._control(fin, opcode, payload)
            return None
        if opcode not in (CONTINUATION, BINARY):
            raise ContractError(f"a frame of opcode {opcode}")
        if (opcode == CONTINUATION) != (self._parts is not None):
            raise ContractError("fragments out of order")
        parts = self._parts if self._parts is not None else bytearray()
        parts += payload
        if len(parts) > BODY_MAX:
            raise ContractError("a message is too long")
        self._parts = None if fin else parts
        return bytes(parts) if fin else None

    def _control(self, fin: bool, opcode: int, payload: bytes) -> None:
        if not fin or len(payload) > 125 or opcode > PONG or opcode == CLOSE and len(payload) == 1:
            raise ContractError(f"a frame of opcode {opcode} that cannot be")
        if opcode == PING:
            self._replies += ws_frame(payload, PONG)
        elif opcode == CLOSE:
            self.closed = int.from_bytes(payload[:2], "big") if payload else NO_CODE
            self._replies += ws_frame(payload[:2], CLOSE)

    def _agree(self) -> None:
        buffer = self._buffer
        end = buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(buffer) > HEAD_MAX:
                raise ContractError("a head without an end")
            return
        lines = bytes(buffer[:end]).decode("latin-1").split("\r\n")
        del buffer[:end + 4]
        fields = {name.lower(): value.strip() for name, _, value in
                  (line.partition(":") for line in lines[1:])}
        if not lines[0].startswith("HTTP/1.1 101"):
            raise ContractError(f"no WebSocket: {lines[0]}")
        if fields.get("sec-websocket-accept") != ws_accept(self.key):
            raise ContractError("no WebSocket: the answer is to another key")
        if "sec-websocket-extensions" in fields or "sec-websocket-protocol" in fields:
            raise ContractError("an extension or a protocol that nobody asked for")
        self.ready = True

    def _whole(self) -> Optional[Tuple[bool, int, bytes]]:
        """The first whole frame, taken off the buffer: fin, opcode, payload; None: more must come."""
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        length, at = buffer[1], 2
        if length & 0x80 or buffer[0] & 0x70:
            raise ContractError("a server's frame has no mask and no reserved bits")
        if length >= 126:
            wide = 2 if length == 126 else 8
            if len(buffer) < 2 + wide:
                return None
            length, at = int.from_bytes(buffer[2:2 + wide], "big"), 2 + wide
            if length < (126 if wide == 2 else 1 << 16):
                raise ContractError("a length in a longer form than it needs")
        if length > BODY_MAX:
            raise ContractError(f"a frame of {length} bytes")
        if len(buffer) < at + length:
            return None
        fin, opcode, payload = buffer[0] >= 0x80, buffer[0] & 15, bytes(buffer[at:at + length])
        del buffer[:at + length]
        return fin, opcode, payload


Wire = Union[Tcp, Ws]


def wire_to(address: Address) -> Wire:
    """The wire for an address; send its `replies` first."""
    if not address.web:
        return Tcp()
    host = f"[{address.host}]" if ":" in address.host else address.host
    return Ws(f"{host}:{address.port}", address.path)

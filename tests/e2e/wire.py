"""tests/e2e/wire.py: how a body goes over a connection: proto/py's wires, and what tests do to them.

The wires are the Python client's. Here they note what else came (controls, the close), take nothing
that our server never sends, and there are the frames that no sound client sends. May touch: proto/py,
the standard library. On trouble: Broken.
"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "proto", "py"))

from aegis_client import wire as sound
from aegis_client.tables import ContractError as Broken
from aegis_client.wire import (BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, address_of,
                               ws_accept)

MASK = b"\x12\x34\x56\x78"


class Tcp(sound.Tcp):
    def head(self, length):
        """What stands in front of a body of that length."""
        return struct.pack(">I", length)

    def closed_with(self, _bye):
        """Did the connection end as it must behind a Bye of that code?"""
        return True


class Ws(sound.Ws):
    def __init__(self, host, path="/ws", key=None):
        super().__init__(host, path, key)
        self.controls = []  # (opcode, payload) that came

    def head(self, length):
        return ws_head(length)

    def closed_with(self, bye):
        return self.closed == 4000 + bye

    def take(self, fin, opcode, payload):
        if not fin or opcode == CONTINUATION:
            raise Broken(f"a server's message is whole: opcode {opcode}")
        if opcode >= CLOSE:
            self.controls.append((opcode, payload))
        return super().take(fin, opcode, payload)


def ws_head(length, opcode=BINARY, fin=True, mask=MASK, rsv=0):
    """A client's head; `mask` None leaves it off."""
    head = bytearray(sound.ws_head(length, opcode, fin, mask or b""))
    head[0] |= rsv << 4
    if mask is None:
        head[1] &= 0x7F
    return bytes(head)


def ws_frame(payload, opcode=BINARY, fin=True, mask=None, rsv=0, masked=True):
    mask = (mask or os.urandom(4)) if masked else None
    head = ws_head(len(payload), opcode, fin, mask, rsv)
    return head + (sound.ws_masked(payload, mask) if masked else payload)


def ws_close(code=None, reason=b""):
    return ws_frame((b"" if code is None else struct.pack(">H", code)) + reason, CLOSE)


def ws_greeting(host, key):
    return sound.Ws(host, key=key).replies()


def wire_of(addr):
    to = address_of(addr)
    return Ws(f"{to.host}:{to.port}", to.path) if to.web else Tcp()

"""tests/e2e/nats_look.py: looks into a cluster's store of keys, as nobody of the cluster does.

The few words of NATS's protocol that read all keys of a bucket once, over a socket of its own. What
stands there is text (proto/claim.h, proto/kv_key.h). Never: writes a key.
May touch: a loopback socket. On trouble: OSError, or NoAnswer.

    keys = look("127.0.0.1:4222")
    keys["gen"].words, keys["gen"].revision
"""
import base64
import json
import os
import re
import socket
import time
from collections import namedtuple

WAIT_S = 5
BUCKET = "aegis"
_GONE = re.compile(rb"KV-Operation: *(DEL|PURGE)")

# `state` is the claim's first word, `holder` its second, `fields` what stands behind as name=value.
Key = namedtuple("Key", "revision state holder fields")


class NoAnswer(Exception):
    """NATS does not say what it was asked."""


class _Connection:
    def __init__(self, addr):
        host, port = addr.rsplit(":", 1)
        self.sock = socket.create_connection((host, int(port)), WAIT_S)
        self.until = time.monotonic() + WAIT_S
        self.rest = b""
        self.line()  # INFO
        self.inbox = "_INBOX." + os.urandom(8).hex()
        self.say('CONNECT {"verbose":false,"pedantic":false,"headers":true,"name":"look"}')
        self.say(f"SUB {self.inbox} 1")

    def say(self, line, payload=None):
        data = line.encode() + b"\r\n"
        if payload is not None:
            data += payload + b"\r\n"
        self.sock.sendall(data)

    def fill(self):
        self.sock.settimeout(max(0.01, self.until - time.monotonic()))
        data = self.sock.recv(1 << 16)
        if not data:
            raise NoAnswer("NATS closed the connection")
        self.rest += data

    def line(self):
        while b"\r\n" not in self.rest:
            self.fill()
        line, self.rest = self.rest.split(b"\r\n", 1)
        return line.decode()

    def bytes(self, n):
        while len(self.rest) < n + 2:
            self.fill()
        data, self.rest = self.rest[:n], self.rest[n + 2:]
        return data

    def message(self):
        """The next one's payload."""
        while True:
            words = self.line().split()
            if words[0] == "PING":
                self.say("PONG")
            elif words[0] == "-ERR":
                raise NoAnswer(" ".join(words))
            elif words[0] == "MSG":
                return self.bytes(int(words[-1]))
            elif words[0] == "HMSG":
                return self.bytes(int(words[-1]))[int(words[-2]):]

    def ask(self, subject, *payloads):
        """An answer to each payload, in their order."""
        for payload in payloads:
            data = json.dumps(payload).encode()
            self.say(f"PUB {subject} {self.inbox} {len(data)}", data)
        return [json.loads(self.message()) for _ in payloads]


def _claim(revision, payload):
    state, holder, *rest = payload.decode().split(" ")
    return Key(revision, state, holder, dict(w.split("=", 1) for w in rest if "=" in w))


def look(addr):
    """All keys as they stand: name -> Key; those that were deleted are left out."""
    try:
        return _look(addr)
    except (socket.timeout, ValueError) as error:
        raise NoAnswer(str(error)) from error


def _look(addr):
    link = _Connection(addr)
    try:
        prefix = f"$KV.{BUCKET}."
        info = link.ask(f"$JS.API.STREAM.INFO.KV_{BUCKET}", {"subjects_filter": prefix + ">"})[0]
        subjects = list(info.get("state", {}).get("subjects") or ())
        answers = link.ask(f"$JS.API.STREAM.MSG.GET.KV_{BUCKET}",
                           *({"last_by_subj": subject} for subject in subjects))
    finally:
        link.sock.close()
    keys = {}
    for subject, answer in zip(subjects, answers):
        message = answer.get("message")
        if message and not _GONE.search(base64.b64decode(message.get("hdrs", ""))):
            keys[subject[len(prefix):]] = _claim(message["seq"],
                                                 base64.b64decode(message["data"]))
    return keys


def name_of(key):
    """The world's or character's name of a key `….name.QW5u`; None where it is of another kind."""
    found = re.fullmatch(r"[0-9a-f]{16}\.(?:name|world)\.([A-Za-z0-9_-]+)=*", key)
    if not found:
        return None
    text = found.group(1)
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()

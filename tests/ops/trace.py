#!/usr/bin/python3
"""tests/ops/trace.py: one id in the logs at both ends, and one session's frames on request.

    AEGIS_BIN=DIR tests/ops/trace.py     DIR holds the aegis to test (default: bin)

A line `ok - ...` or `not ok - ...` for each check.
May touch: bin/aegis, loopback. Exit status: 1 where a check failed.
"""
import json
import os
import re
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True  # the tree stays clean
HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("../../proto/py", "../py"):
    sys.path.insert(0, os.path.join(HERE, folder))

from aegis_client import CMD, blocking
from pair import PATIENCE_S, Pair

TOKEN = "a-token-of-this-test"
SECRET = "what-she-says-is-hers"
WAYS = ("from_client", "to_world", "from_world", "to_client")
failed = 0


def check(what, holds, saw=""):
    global failed
    failed += not holds
    print(f"ok - {what}" if holds else f"not ok - {what}: {saw!r}"[:2000], flush=True)


def order(address, path, token=TOKEN):
    """Status and answer of a POST."""
    request = urllib.request.Request(f"http://{address}{path}", data=b"", method="POST")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def await_ready(address):
    """Until each thread has its world."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return urllib.request.urlopen(f"http://{address}/readyz", timeout=10).close()
        except urllib.error.HTTPError as error:
            if time.monotonic() > until:
                raise AssertionError("not ready") from error
            time.sleep(0.02)


def lines_of(process):
    """The log's lines, as the objects that they are."""
    return [json.loads(line)["msg"] for line in process.said().splitlines() if line.endswith("}")]


def await_lines(process, pattern, count=1):
    until = time.monotonic() + PATIENCE_S
    while True:
        found = [line for line in lines_of(process) if re.search(pattern, line)]
        if len(found) >= count or time.monotonic() > until:
            return found
        time.sleep(0.02)


def frames_of(process, session):
    """What its trace has told: (way, cmd, seq, bytes)."""
    return [(way, int(cmd), int(seq), int(n)) for line in lines_of(process) for way, cmd, seq, n in
            re.findall(rf"^trace session={session} way=(\w+) cmd=(\d+) name=\S+ seq=(\d+) "
                       r"bytes=(\d+) us=\d+$", line)]


def one_id_stands_at_both_ends(pair, ann):
    found = await_lines(pair.world, r'"ann" logged in session=\S+')
    session = re.search(r"session=(\S+)", found[0]).group(1) if found else ""
    check("the world's log names the session by its gateway and a number",
          re.match(r"gateway-\d+-[0-9a-f]{8}(-\d+)?/[0-9a-f]+$", session), found)
    try:
        ann.move(1e6, 0)
    except Exception as error:
        check("a refused move is refused", getattr(error, "code", 0) == 11, error)
    found = await_lines(pair.world, "move rejected")
    check("and a refused request by that and its seq",
          found and re.search(rf" seq=\d+ session={session} peer=", found[0]), found)
    return session


def orders_are_guarded(pair, admin):
    for role, path in (("world", "/api/trace?who=@ann"), ("gateway", "/api/trace?session=x/1")):
        status, answer = order(admin[role], path, token=None)
        check(f"a trace by the {role} needs a token", status == 401, answer)
        status, answer = order(admin[role], path, token="another-token-of-16")
        check(f"the right one, at the {role}", status == 401, answer)
        for query, wanted in (("lines=0", 400), ("lines=10001", 400), ("seconds=601", 400),
                              ("seconds=x", 400), ("lines=1&lines=1", 400), ("what=1", 400)):
            status, answer = order(admin[role], f"{path}&{query}")
            check(f"the {role} refuses {query}", status == wanted, answer)
    check("nobody of that name", order(admin["world"], "/api/trace?who=@nobody")[0] == 404)
    for name in ("x/1", "/1", "x", "x/zz"):
        check(f"no session is called {name}",
              order(admin["gateway"], f"/api/trace?session={name}")[0] == 404)


def path_of_requests(pair, admin, ann, session):
    status, answer = order(admin["world"], "/api/trace?who=@ann&lines=1000")
    check("the world traces a player by name, and says her session", (status, answer) == (
        200, {"session": session}), answer)
    status, answer = order(admin["gateway"], f"/api/trace?session={session}&lines=1000")
    check("the gateway traces that session", (status, answer) == (200, {"done": True}), answer)
    await_lines(pair.first, "trace begins")
    ann.say(SECRET)
    ann.ping()
    ann.request(CMD.MoveReq, {"x": ann.me.x, "y": ann.me.y})
    await_lines(pair.first, "cmd=8 name=MoveResp")
    frames = frames_of(pair.first, session) + frames_of(pair.world, session)
    ways = {cmd: [way for way in WAYS if any(f[:2] == (way, cmd) for f in frames)]
            for cmd in (7, 8, 11, 12, 13, 14)}
    check("a request is seen at each step, and so is its answer", (ways[7], ways[13], ways[8], ways[14])
          == (["from_client", "to_world"],) * 2 + (["from_world", "to_client"],) * 2, ways)
    check("what the gateway answers itself is seen there alone",
          (ways[11], ways[12]) == (["from_client"], ["to_client"]), ways)
    says = {f[2:] for f in frames if f[1] == 13}
    check("by the same seq and of the same size at both ends", len(says) == 1, says)
    both = pair.first.said() + pair.world.said()
    check("never what it says", SECRET not in both)
    check("nor anybody else's", {line.split("session=")[1].split()[0] for line in lines_of(pair.world)
                                 if line.startswith("trace session=")} == {session})


def traces_end(pair, admin, ann, session):
    for role, process, query in (("world", pair.world, "who=@ann"),
                                 ("gateway", pair.first, f"session={session}")):
        before = len(frames_of(process, session))
        order(admin[role], f"/api/trace?{query}&lines=3")
        found = await_lines(process, "trace ends .* reason=another")
        check(f"another trace at the {role} takes the place of the one before", found)
        await_lines(process, "trace begins .* lines=3")
        for _ in range(4):
            ann.say("?")
        found = await_lines(process, f"trace ends session={session} reason=lines")
        check(f"it ends at the {role} after so many lines", found and len(
            frames_of(process, session)) <= before + 3 + 20, len(frames_of(process, session)))
        quiet = len(frames_of(process, session))
        ann.say("?")
        check("and says no more", len(frames_of(process, session)) == quiet)
    order(admin["world"], "/api/trace?who=@ann")
    order(admin["gateway"], f"/api/trace?session={session}")
    await_lines(pair.first, "trace begins", 3)
    ann.close()
    check("the gateway's ends with the client",
          await_lines(pair.first, f"trace ends session={session} reason=(eof|reset)"))
    check("and the world's with the session",
          await_lines(pair.world, f"trace ends session={session} reason=closed"))
    order(admin["gateway"], f"/api/trace?session={session}")
    check("of one who is gone there is none", await_lines(
        pair.first, f"trace not begun: no such session session={session}"))


def play(threads):
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(TOKEN + "\n")
        file.flush()
        flags = ["-admin=127.0.0.1:0", f"-admin-token={file.name}", "-log-format=json"]
        with Pair("-resume-window=0", *flags, gateway=[*flags, f"-threads={threads}"]) as pair:
            admin = {"world": pair.world.address("admin on"),
                     "gateway": pair.first.address("admin on")}
            await_ready(admin["gateway"])
            ann = blocking.Client(pair.address, "ann", retry=False)
            with ann, blocking.Client(pair.address, "ben", retry=False) as ben:
                ann.enter()
                ben.enter()
                session = one_id_stands_at_both_ends(pair, ann)
                orders_are_guarded(pair, admin)
                path_of_requests(pair, admin, ann, session)
                traces_end(pair, admin, ann, session)


def main():
    for threads in (1, 3):
        print(f"# {threads} threads", flush=True)
        play(threads)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

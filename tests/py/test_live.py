"""tests/py/test_live.py: the Python client against a world and its gateways, and servers that fail.

May touch: proto/py, bin/aegis, loopback.
"""
import asyncio
import os
import shutil
import ssl
import subprocess
import tempfile
import time
import unittest

from aegis_client import CODE, Client, RequestError, Tcp, blocking, read_body, write_body
from pair import AEGIS, PATIENCE_S, ROOT, Pair, until, version

AWAY = "127.0.0.1:9"  # nobody listens there


def heard(client, event):
    """A future of the arguments that the next such event has."""
    future = asyncio.get_running_loop().create_future()
    client.on(event, lambda *args: future.done() or future.set_result(args))
    return future


async def come(address, name, **more):
    client = Client(address, name, **more)
    await client.login()
    await client.enter()
    return client


async def play(case, address, **more):
    """Two see each other move, talk and leave."""
    ann, ben = await come(address, "ann", **more), await come(address, "ben", **more)
    await until("each sees the other", lambda: len(ann.view.entities) == len(ben.view.entities) == 1)
    seen = ann.view.entities[ben.me.id]
    case.assertEqual((seen.name, seen.kind, seen.x), ("ben", 0, ben.me.x))
    place = ben.me.x + 0.125, ben.me.y
    case.assertEqual(await ben.move(*place, dir=1, speed=3), place)
    await until("the move arrives", lambda: (seen.x, seen.y) == place and seen.speed > 0)
    case.assertAlmostEqual(seen.dir, 1, delta=0.02)
    said = heard(ann, "say")
    await ben.say("<b>hello</b>")
    case.assertEqual(await said, ((ben.me.id, "<b>hello</b>", "ben"),))
    with case.assertRaises(RequestError) as refused:
        await ben.move(9999, 0)
    case.assertEqual((refused.exception.code, refused.exception.x), (CODE.move_speed, place[0]))
    case.assertEqual(await ben.walk(place[0] + 1, 0), (place[0] + 1, 0))
    await until("the walk arrives", lambda: seen.x == place[0] + 1 and seen.speed == 0)
    case.assertGreater(await ann.ping(), 0)
    await ben.leave()
    case.assertIsNone(ben.me)
    await until("he is gone", lambda: not ann.view.entities)
    again = Client(address, "ann", **more)
    with case.assertRaises(RequestError) as refused:
        await again.login()
    case.assertEqual(refused.exception.code, CODE.name_in_use)
    await ann.close()
    case.assertEqual(ann.state, "over")
    await ben.close()


class Played(unittest.IsolatedAsyncioTestCase):
    def needs(self, *parts):
        for part in parts:
            if f"{part} not built in" in version():
                self.skipTest(f"no {part} in this build")

    async def test_two_see_each_other_move_talk_and_leave_over_tls_and_websocket_over_tls(self):
        self.needs("libssl", "wslay", "http-parser", "libcrypto")
        if not shutil.which("openssl"):
            self.skipTest("no openssl to make certificates with")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["sh", "deploy/dev-certs.sh", folder], cwd=ROOT, check=True,
                           capture_output=True)
            flags = [f"-tls-cert={folder}/cert.pem", f"-tls-key={folder}/key.pem"]
            trust = ssl.create_default_context(cafile=f"{folder}/ca.pem")
            with Pair("-resume-window=0", web=True, gateway=flags) as pair:
                await play(self, f"tls://{pair.address}", tls=trust)
                await play(self, f"wss://{pair.first.address('websocket on')}/ws", tls=trust)
                with self.assertRaises(RequestError) as refused:  # whom nobody vouches for
                    await Client(f"tls://{pair.address}", "ann").login()
                self.assertIn("certificate", str(refused.exception))

    async def test_a_token_says_who_somebody_is_and_takes_over(self):
        self.needs("libjwt", "libcrypto")
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("k HS256 text:0123456789abcdef0123456789abcdef\n")
            file.flush()

            def token(name):
                return subprocess.run(
                    [os.path.join(os.path.dirname(AEGIS), "bot"), "-mode=token", f"-auth-key={file.name}",
                     f"-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
            with Pair(f"-auth-key={file.name}") as pair:
                for wrong in (None, "x", token("ben")):
                    with self.assertRaises(RequestError) as refused:
                        await Client(pair.address, "ann", token=wrong).login()
                    self.assertEqual(refused.exception.code, CODE.auth_failed)
                older = await come(pair.address, "ann", token=token("ann"))
                ended = heard(older, "ended")
                newer = await come(pair.address, "ann", token=lambda: token("ann"))
                self.assertEqual((await ended)[0].code, CODE.name_in_use)
                await newer.close()

    async def test_two_see_each_other_move_talk_and_leave_over_tcp(self):
        with Pair("-resume-window=0") as pair:
            await play(self, pair.address)

    async def test_two_see_each_other_move_talk_and_leave_over_websocket(self):
        self.needs("wslay", "http-parser", "libcrypto")
        with Pair("-resume-window=0", web=True) as pair:
            await play(self, f"ws://{pair.first.address('websocket on')}/ws")

    async def test_a_login_that_was_refused_may_be_tried_again(self):
        with Pair("-resume-window=0") as pair:
            holder, client = await come(pair.address, "ann"), Client(pair.address, "ann")
            with self.assertRaises(RequestError):
                await client.login()
            await holder.close()
            for _ in range(100):
                try:
                    await client.login()
                    break
                except RequestError as error:
                    self.assertEqual(error.code, CODE.name_in_use)
                    await asyncio.sleep(0.02)
            self.assertEqual(client.state, "ready")
            await client.close()

    def test_the_same_without_asyncio(self):
        with Pair() as pair, blocking.Client(pair.address, "ann") as ann:
            me = ann.enter()
            with blocking.Client(pair.address, "ben") as ben:
                place = ben.enter()
                ben.move(place.x, place.y + 0.125)
                self.wait("she sees where he is", lambda: [(one.name, one.y) for one in ann.entities()]
                          == [("ben", place.y + 0.125)])
                self.wait("he sees her", ben.entities)
                faults = []
                ben.on("say", lambda said: faults.append(self.wait_inside(ben)))
                ann.say("hello")
                self.wait("he hears it", lambda: faults)
                self.assertEqual(faults, [RuntimeError])
                self.assertGreater(ben.ping(), 0)
            ann.leave()
            self.assertEqual((ann.me, me.scene, ann.state), (None, "open", "ready"))
        self.assertEqual(ann.state, "over")

    def wait(self, what, holds):
        end = time.monotonic() + PATIENCE_S
        while not holds():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.01)

    @staticmethod
    def wait_inside(client):
        try:
            client.ping()
        except RuntimeError as error:
            return type(error)


class Lost(unittest.IsolatedAsyncioTestCase):
    async def test_a_session_is_resumed_through_another_gateway_when_its_own_is_killed(self):
        with Pair("-resume-window=30s") as pair:
            to = [pair.address]
            ann = await come(lambda: to[0], "ann")
            to[0] = pair.gateway().address()
            ben = await come(to[0], "ben")
            await until("they see each other", lambda: len(ben.view.entities) == 1)
            gone, lost, back, number = [], heard(ann, "lost"), heard(ann, "back"), ann.me.id
            ben.on("remove", gone.append)
            pair.first.kill()
            await lost
            self.assertEqual(await back, (True,))
            await until("she is where she was", lambda: ann.me and len(ann.view.entities) == 1)
            self.assertEqual((ann.me.id, gone), (number, []))
            await ann.close()
            await ben.close()

    async def test_when_the_key_is_of_no_use_it_logs_in_and_enters_anew(self):
        with Pair("-resume-window=30s") as pair:
            to = [pair.address]
            ann = await come(lambda: to[0], "ann")
            to[0], number = pair.gateway().address(), ann.me.id
            ann._session.key, back = "0" * 32, heard(ann, "back")
            pair.first.kill()
            self.assertEqual(await back, (False,))
            await until("she is in the world again", lambda: ann.me and ann.me.id != number)
            await ann.close()

    async def test_a_world_that_was_killed_has_us_back_in_it_on_the_same_connection(self):
        with Pair("-resume-window=0") as pair:
            ann, ben = await come(pair.address, "ann"), await come(pair.address, "ben")
            await until("they see each other", lambda: len(ann.view.entities) == 1)
            losses, away, placed = [], heard(ann, "unavailable"), heard(ann, "placed")
            ann.on("lost", losses.append)
            pair.restart_world()
            await away
            await placed
            await until("they see each other again", lambda: ann.me and ben.me and
                        list(ann.view.entities) == [ben.me.id])
            self.assertEqual(losses, [])
            await ann.close()
            await ben.close()

    async def test_who_took_the_entity_over_ends_the_older_one_for_good(self):
        with Pair("-resume-window=30s") as pair:
            older, newer = await come(pair.address, "ann"), Client(pair.address, "ann")
            ended, newer._session.key = heard(older, "ended"), older._session.key
            await newer._open()
            answer = await newer._sign(newer._session.key)
            self.assertTrue(answer["resumed"])
            (why,) = await ended
            self.assertEqual((why.code, older.state), (CODE.name_in_use, "over"))
            with self.assertRaises(RequestError):
                await older.ping()
            await newer.close()
            await older.close()

    async def test_a_connection_lost_is_the_end_where_that_is_wanted(self):
        with Pair() as pair:
            ann = await come(pair.address, "ann", retry=False)
            ended = heard(ann, "ended")
            pair.first.end()
            self.assertEqual((await ended)[0].code, CODE.shutting_down)


class Fake:
    """A server of one test: `answer(cmd)` is what it says to a request: (cmd, payload), or bytes, or
    None, which is nothing."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.address = "127.0.0.1:%d" % self.server.sockets[0].getsockname()[1]
        return self

    async def serve(self, reader, writer):
        wire = Tcp()
        while data := await reader.read(65536):
            for body in map(read_body, wire.feed(data)):
                self.asked.append(body.cmd)
                answer = self.answer(body.cmd)
                if answer is not None:
                    writer.write(answer if isinstance(answer, bytes) else wire.frame(
                        write_body(answer[0], body.seq, answer[1])))
        writer.close()

    async def __aexit__(self, *_):
        self.server.close()


ENTERED = {"ok": True, "id": 1, "scene": "open", "x": 8.0, "y": 0.0, "tick_ms": 50, "radius": 30.0,
           "quantum": 1 / 64, "max_speed": 12.0}
WELCOME = {3: (4, ENTERED), 1: (2, {"ok": True, "id": 1, "name": "ann", "resume": "", "resumed": False}), 11: (12, None)}


class Failing(unittest.IsolatedAsyncioTestCase):
    async def test_nobody_there_is_a_refused_login(self):
        with self.assertRaises(RequestError) as refused:
            await Client(AWAY, "ann").login()
        self.assertEqual(refused.exception.code, CODE.unavailable)

    async def test_one_who_is_silent_is_lost_and_one_who_answers_pings_is_not(self):
        deaf = []
        async with Fake(lambda cmd: None if deaf and cmd == 11 else WELCOME.get(cmd)) as fake:
            ann = Client(fake.address, "ann", keepalive=0.05, patience=0.3)
            await ann.login()
            lost = heard(ann, "lost")
            await until("it pings by itself", lambda: fake.asked.count(11) >= 3)
            self.assertFalse(lost.done())
            deaf.append(True)
            self.assertEqual(await lost, ("the server is silent",))
            await ann.close()

    async def test_one_who_breaks_the_contract_is_left_and_tried_again(self):
        breach = [b"\0\0\0\1\xc1", b"\0\0\0\0", Tcp().frame(write_body(33, 0, {"tick": 1, "ids": [7]}))]
        async with Fake(lambda cmd: breach.pop() if cmd == 13 and breach else WELCOME.get(cmd)) as fake:
            ann = Client(fake.address, "ann")
            await ann.login()
            for _ in range(3):
                lost, back = heard(ann, "lost"), heard(ann, "back")
                with self.assertRaises(RequestError):
                    await ann.say("?")
                await lost
                await back
            await ann.close()

    async def test_one_whom_the_world_lost_logs_in_and_enters_again_on_the_same_connection(self):
        lost = Tcp().frame(write_body(48, 0, {"code": 4, "error": "log in again", "cmd": 0}))
        async with Fake(lambda cmd: lost if cmd == 13 else WELCOME.get(cmd)) as fake:
            ann, losses = await come(fake.address, "ann"), []
            ann.on("lost", losses.append)
            forgotten, back = heard(ann, "forgotten"), heard(ann, "back")
            with self.assertRaises(RequestError):
                await ann.say("?")
            await forgotten
            self.assertEqual(await back, (False,))
            await until("she enters again", lambda: ann.me is not None)
            self.assertEqual((fake.asked, losses), ([1, 3, 13, 1, 3], []))
            await ann.close()

    async def test_a_handler_that_fails_harms_nobody_else(self):
        faults, heard_too = [], []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
        say = Tcp().frame(write_body(36, 0, {"id": 0, "text": "hear"}))
        async with Fake(lambda cmd: say if cmd == 13 else WELCOME.get(cmd)) as fake:
            ann = Client(fake.address, "ann")
            await ann.login()

            async def late(said):
                raise KeyError(said.text)
            ann.on("say", lambda said: 1 / 0)
            ann.on("say", late)
            ann.on("say", heard_too.append)
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(ann.say("?"), 0.2)
            self.assertEqual([said.name for said in heard_too], [None])
            self.assertEqual(sorted(type(one["exception"]).__name__ for one in faults),
                             ["KeyError", "ZeroDivisionError"])
            await ann.close()

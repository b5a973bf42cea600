"""proto/py/aegis_client/client.py: a client for asyncio: requests, and coming back when it is lost.

May touch: sockets and timers, by asyncio. On trouble: a request is refused with RequestError; a
server that breaks the contract loses the connection, which is made again.
"""
from __future__ import annotations

import asyncio
import itertools
import random
import ssl
import time
from contextlib import suppress
from typing import Any, Callable, Coroutine, Dict, List, Optional, Set, Tuple, Union

from .bodies import read_body, write_body
from .session import Ending, Me, Session
from .tables import CMD, CODE, ContractError, RequestError
from .view import View
from .wire import Address, Wire, address_of, wire_to

NEVER_AGAIN = frozenset({CODE.name_in_use, CODE.auth_failed, CODE.kicked})  # after such a Bye
TRY_AGAIN = frozenset({CODE.unavailable, CODE.rate_limited, CODE.name_in_use})  # on coming back
BACKOFF_S = (0.25, 0.5, 1.0, 2.0, 4.0, 5.0)
READ = 1 << 16
SEQ_MAX = (1 << 32) - 1

IDLE, CONNECTING, LOGIN, READY, AWAY, OVER = "idle", "connecting", "login", "ready", "away", "over"


class _Link:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, wire: Wire):
        self.reader, self.writer, self.wire = reader, writer, wire
        self.bodies: List[bytes] = []  # that came with the handshake
        self.sent = self.heard = time.monotonic()

    async def greet(self) -> None:
        self.flush()
        while not self.wire.ready:
            data = await self.reader.read(READ)
            if not data:
                raise ConnectionError("closed within the handshake")
            self.bodies += self.wire.feed(data)

    def send(self, body: bytes) -> None:
        self.sent = time.monotonic()
        self.writer.write(self.wire.frame(body))

    def flush(self) -> None:
        replies = self.wire.replies()
        if replies:
            self.writer.write(replies)


class Client:
    """A session. Events, by `on(name, function)`; a coroutine's is run as a task:

    placed (Me)                put somewhere: asked for, after a resume, in another scene
    add, move, remove (Entity) who is in sight          tick (number): after a tick's frame
    say (Said)                 stopped (Stopped): a walk ended short
    unavailable ()             the world is away; what was not answered may or may not have happened
    lost (reason)              the connection is gone; back (resumed): logged in again
    forgotten ()               the session could not be kept; it is logged in again by itself
    ended (Ending)             over for good: after Bye 6, 14 or 19, or a login that is refused

    `address`   host:port, tls://host:port, ws://host:port/ws or wss://...; a function is called for
                each try
    `token`     where the server asks for one; a function is called for each login
    `tls`       for tls and wss; None: the system's certificates
    `retry`     False: a lost connection is not made again
    `patience`  seconds that a connection may take, and the answer to a ping of our own
    `keepalive` seconds of silence after which we ping; 0: never
    """

    def __init__(self, address: Union[str, Callable[[], str]], name: str, *,
                 token: Union[str, Callable[[], str], None] = None,
                 tls: Optional[ssl.SSLContext] = None, retry: bool = True,
                 patience: float = 10.0, keepalive: float = 20.0) -> None:
        self.name = name
        self.state = IDLE
        if isinstance(address, str):
            address_of(address)  # one that cannot be is told now
        self._address = address
        self._token, self._tls, self._retry = token, tls, retry
        self._patience, self._keepalive = patience, keepalive
        self._session = Session()
        self._link: Optional[_Link] = None
        self._seq = 0
        self._waiting: Dict[int, "asyncio.Future[Any]"] = {}
        self._handlers: Dict[str, List[Callable[..., Any]]] = {}
        self._tasks: Set["asyncio.Task[None]"] = set()
        self._inside: Optional[Dict[str, str]] = None  # what to enter again
        self._known = False      # logged in once
        self._returning = False  # _come_back is at work

    # --- what is so -------------------------------------------------------------------------------

    @property
    def view(self) -> View:
        return self._session.view

    @property
    def me(self) -> Optional[Me]:
        """Oneself; None outside of the world."""
        return self._session.me

    def on(self, event: str, function: Callable[..., Any]) -> Callable[[], None]:
        """Call it at each such event; returns what takes it off again."""
        handlers = self._handlers.setdefault(event, [])
        handlers.append(function)

        def off() -> None:
            if function in handlers:
                handlers.remove(function)
        return off

    # --- requests ---------------------------------------------------------------------------------

    async def login(self) -> Dict[str, Any]:
        """Connect and log in; LoginResp."""
        if self.state != IDLE:
            raise RuntimeError("login was called already")
        try:
            await self._open()
            answer = await self._sign("")
            self._known = True
            return answer
        except BaseException:
            self._drop()
            if self.state != OVER:
                self.state = IDLE
            raise

    async def enter(self, scene: Optional[str] = None) -> Me:
        """Into the world: a scene by name, or the default one."""
        payload = {} if scene is None else {"scene": scene}
        await self.request(CMD.EnterReq, payload or None)
        self._inside = payload
        if self.me is None:
            raise RequestError(CODE.not_in_world, "put out again at once")
        return self.me

    async def leave(self) -> None:
        self._inside = None
        await self.request(CMD.LeaveReq)

    async def move(self, x: float, y: float, *, dir: Optional[float] = None,
                   speed: Optional[float] = None) -> Tuple[float, float]:
        """Place oneself; `dir` in radians, `speed` in units a second."""
        answer = await self.request(CMD.MoveReq, {"x": x, "y": y, "dir": dir, "speed": speed})
        return answer["x"], answer["y"]

    async def walk(self, x: float, y: float, *, path: bool = False) -> Tuple[float, float]:
        """Have the server walk us there, round obstacles with `path`; the goal accepted."""
        answer = await self.request(CMD.WalkReq, {"x": x, "y": y, "path": path})
        return answer["x"], answer["y"]

    async def say(self, text: str) -> None:
        await self.request(CMD.SayReq, {"text": text})

    async def ping(self) -> float:
        """The seconds that it took."""
        start = time.perf_counter()
        await self.request(CMD.PingReq)
        return time.perf_counter() - start

    async def request(self, cmd: int, payload: Any = None) -> Any:
        """Any request; its answer's payload. RequestError where it is refused, where the connection
        is lost (13), or before there is one."""
        link = self._link
        if link is None:
            raise RequestError(CODE.unavailable, "not connected")
        self._seq = self._seq % SEQ_MAX + 1
        seq, future = self._seq, asyncio.get_running_loop().create_future()
        self._waiting[seq] = future
        try:
            link.send(write_body(cmd, seq, payload))
            await link.writer.drain()
            return await future
        except OSError as error:
            raise RequestError(CODE.unavailable, str(error)) from error
        finally:
            self._waiting.pop(seq, None)
            if future.done() and not future.cancelled():
                future.exception()  # seen, whatever became of us

    async def close(self) -> None:
        """The end, by us."""
        self.state = OVER
        link = self._link
        self._drop()
        here = asyncio.current_task()
        for task in [task for task in self._tasks if task is not here]:
            task.cancel()
        if link is not None:
            with suppress(OSError, asyncio.TimeoutError):
                await asyncio.wait_for(link.writer.wait_closed(), self._patience)

    async def __aenter__(self) -> "Client":
        await self.login()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # --- the connection ---------------------------------------------------------------------------

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._fault(task.exception())

    def _fault(self, error: Optional[BaseException]) -> None:
        """A handler failed: that is told as asyncio tells it, and harms nobody else."""
        asyncio.get_running_loop().call_exception_handler(
            {"message": f"a handler of {self.name!r} failed", "exception": error})

    async def _dial(self, to: Address) -> _Link:
        tls = (self._tls or ssl.create_default_context()) if to.secure else None
        reader, writer = await asyncio.open_connection(to.host, to.port, ssl=tls)
        try:
            link = _Link(reader, writer, wire_to(to))
            await link.greet()
            return link
        except BaseException:
            writer.close()
            raise

    async def _open(self) -> None:
        """One try to connect."""
        to = address_of(self._address() if callable(self._address) else self._address)
        self.state = CONNECTING
        self._session.bye = None
        try:
            link = await asyncio.wait_for(self._dial(to), self._patience)
        except (OSError, asyncio.TimeoutError, ContractError) as error:
            raise RequestError(CODE.unavailable, f"no connection: {error}") from error
        if self._is_over():
            link.writer.close()
            raise RequestError(CODE.unavailable, "closed")
        self._link = link
        self._spawn(self._read(link))
        if self._keepalive > 0:
            self._spawn(self._keep(link))

    async def _read(self, link: _Link) -> None:
        reason = "the connection closed"
        try:
            for body in link.bodies:
                self._take(link, body)
            while True:
                data = await link.reader.read(READ)
                if not data:
                    break
                link.heard = time.monotonic()
                for body in link.wire.feed(data):
                    self._take(link, body)
                link.flush()
        except (OSError, ContractError) as error:
            reason = str(error) or reason
        self._gone(link, reason)

    async def _keep(self, link: _Link) -> None:
        """Say something before the server takes us for dead, and notice when it is."""
        while link is self._link:
            await asyncio.sleep(self._keepalive / 4)
            quiet = time.monotonic() - min(link.sent, link.heard)
            if link is not self._link or quiet < self._keepalive:
                continue
            try:
                await asyncio.wait_for(self.ping(), self._patience)
            except RequestError:
                pass  # refused is an answer too
            except asyncio.TimeoutError:
                self._gone(link, "the server is silent")

    def _take(self, link: _Link, data: bytes) -> None:
        if link is not self._link:
            return
        for event, args in self._session.take(read_body(data)):
            if event == "answer" or event == "refused":
                self._answered(*args)
            elif event == "unavailable":
                self._refuse("the world is away")
                self._tell(event)
            elif event == "forgotten":
                self._forgotten(link)
            elif event != "bye":
                self._tell(event, *args)

    def _answered(self, seq: int, answer: Any) -> None:
        future = self._waiting.get(seq)
        if future is None or future.done():
            return
        if isinstance(answer, RequestError):
            future.set_exception(answer)
        else:
            future.set_result(answer)

    def _tell(self, event: str, *args: Any) -> None:
        for function in list(self._handlers.get(event, ())):
            try:
                result = function(*args)
            except Exception as error:
                self._fault(error)
            else:
                if asyncio.iscoroutine(result):
                    self._spawn(result)

    def _refuse(self, text: str) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(RequestError(CODE.unavailable, text))

    def _is_over(self) -> bool:
        return self.state == OVER

    # --- lost, and back ---------------------------------------------------------------------------

    async def _sign(self, key: str) -> Dict[str, Any]:
        self.state = LOGIN
        token = self._token() if callable(self._token) else self._token
        answer: Dict[str, Any] = await self.request(
            CMD.LoginReq, {"name": self.name, "token": token, "resume": key})
        self.state = READY
        return answer

    def _drop(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.writer.close()
        self._refuse("closed")

    def _gone(self, link: _Link, reason: str) -> None:
        link.writer.close()
        if link is not self._link:
            return
        self._link = None
        bye = self._session.bye
        reason = bye.reason if bye else reason
        self._refuse(reason)
        if self._returning or not self._known:
            return  # whoever opened it sees that it failed
        self._tell("lost", reason)
        if not self._retry or bye and bye.code in NEVER_AGAIN:
            self._end(bye or Ending(CODE.unavailable, reason))
        elif not self._is_over():
            self.state = AWAY
            self._spawn(self._come_back())

    def _end(self, why: Ending) -> None:
        if self._is_over():
            return
        self.state = OVER
        self._drop()
        self._tell("ended", why)

    async def _come_back(self) -> None:
        """Later, and later still, with some chance in it so that a crowd does not come at once."""
        self._returning = True
        try:
            for n in itertools.count():
                await asyncio.sleep(BACKOFF_S[min(n, len(BACKOFF_S) - 1)] * random.uniform(0.5, 1))
                try:
                    await self._open()
                    await self._return(self._session.key)
                    return
                except RequestError as error:
                    bye = self._session.bye
                    self._drop()
                    if self._is_over():
                        return
                    self.state = AWAY
                    if bye and bye.code in NEVER_AGAIN:
                        return self._end(bye)
                    if error.code not in TRY_AGAIN and not bye:
                        return self._end(Ending(error.code, error.text))
        finally:
            self._returning = False

    async def _return(self, key: str) -> None:
        """Log in again, with the key where there is one; without one, enter where we were."""
        try:
            answer = await self._sign(key)
        except RequestError as error:
            if not key or error.code != CODE.auth_failed:
                raise
            answer = await self._sign("")  # the window is over
        self._tell("back", answer["resumed"])
        if answer["resumed"]:
            return
        self._session.forget()
        if self._inside is not None:
            await self.enter(self._inside.get("scene"))

    def _forgotten(self, link: _Link) -> None:
        """The world lost us: on the same connection."""
        self._refuse("the session was lost")
        if self.state == READY and not self._returning:
            self._tell("forgotten")
            self._spawn(self._log_in_again(link))
        else:
            self._gone(link, "the session was lost within a login")

    async def _log_in_again(self, link: _Link) -> None:
        try:
            await self._return("")
        except RequestError as error:
            if self._is_over() or link is not self._link:
                return
            if error.code == CODE.auth_failed:
                self._end(Ending(error.code, error.text))
            else:
                self._gone(link, error.text)

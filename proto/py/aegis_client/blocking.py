"""proto/py/aegis_client/blocking.py: the same client for programs without asyncio.

Its loop runs in a thread of its own; each request waits for its answer. Handlers of events are
called in that thread, and must not call requests themselves.
May touch: a thread. On trouble: as client.py; concurrent.futures.TimeoutError after `timeout`.
"""
from __future__ import annotations

import asyncio
import copy
import threading
from typing import Any, Callable, Coroutine, List, Optional, Tuple, TypeVar, Union

from . import client
from .session import Me
from .view import Entity

Result = TypeVar("Result")


class Client:
    """As client.Client, without await. `timeout`: seconds that a request may take.

        with Client("127.0.0.1:19001", "ann") as ann:
            me = ann.enter()
            ann.move(me.x + 0.125, me.y)
    """

    def __init__(self, address: Union[str, Callable[[], str]], name: str, *,
                 timeout: float = 30.0, **more: Any) -> None:
        self._client = client.Client(address, name, **more)
        self._timeout = timeout
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True,
                                        name=f"aegis-client {name}")
        self._thread.start()

    def _do(self, work: Coroutine[Any, Any, Result]) -> Result:
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("a handler must not wait for answers")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(self._timeout)
        except BaseException:
            future.cancel()
            raise

    @property
    def state(self) -> str:
        return self._client.state

    @property
    def me(self) -> Optional[Me]:
        """A copy of oneself; None outside of the world."""
        async def look() -> Optional[Me]:
            return copy.copy(self._client.me)
        return self._do(look())

    def entities(self) -> List[Entity]:
        """Copies of those in sight."""
        async def look() -> List[Entity]:
            return [copy.copy(one) for one in self._client.view.entities.values()]
        return self._do(look())

    def on(self, event: str, function: Callable[..., Any]) -> Callable[[], None]:
        return self._client.on(event, function)

    def login(self) -> Any:
        return self._do(self._client.login())

    def enter(self, scene: Optional[str] = None) -> Me:
        return copy.copy(self._do(self._client.enter(scene)))

    def leave(self) -> None:
        self._do(self._client.leave())

    def move(self, x: float, y: float, *, dir: Optional[float] = None,
             speed: Optional[float] = None) -> Tuple[float, float]:
        return self._do(self._client.move(x, y, dir=dir, speed=speed))

    def walk(self, x: float, y: float, *, path: bool = False) -> Tuple[float, float]:
        return self._do(self._client.walk(x, y, path=path))

    def say(self, text: str) -> None:
        self._do(self._client.say(text))

    def ping(self) -> float:
        return self._do(self._client.ping())

    def request(self, cmd: int, payload: Any = None) -> Any:
        return self._do(self._client.request(cmd, payload))

    def close(self) -> None:
        """The end, of the thread too."""
        if not self._thread.is_alive():
            return
        try:
            self._do(self._client.close())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(self._timeout)
            if not self._thread.is_alive():
                self._loop.close()

    def __enter__(self) -> "Client":
        try:
            self.login()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

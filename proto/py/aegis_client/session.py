"""proto/py/aegis_client/session.py: what a server says, and what is so then; no sockets, no clock.

    body -> Session.take -> events, and `view`, `me`, `key`, `bye` kept up to date

Who connects, asks and waits stands on it: client.py for asyncio; programs of another kind bring
their own sockets and feed it. May touch: nothing. On trouble: ContractError.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .bodies import Body
from .tables import CMD, CODE, ContractError, RequestError
from .view import View

AOI = {CMD.AoiAdd: "add", CMD.AoiMove: "move", CMD.AoiRemove: "remove"}
UNASKED = 0  # the seq of what nobody asked for


@dataclass
class Me:
    """Oneself, as the last EnterResp told it; `x` and `y` are kept up to date."""

    id: int
    scene: str
    x: float
    y: float
    tick_ms: int
    radius: float
    quantum: float
    max_speed: float


class Said(NamedTuple):
    """Somebody said something; `id` 0 is the operator, `name` None is nobody in sight."""

    id: int
    text: str
    name: Optional[str]


class Stopped(NamedTuple):
    """A walk ended short of its goal, here, since `code`."""

    x: float
    y: float
    code: int


class Ending(NamedTuple):
    """Why it is over."""

    code: int
    reason: str


Event = Tuple[str, Tuple[Any, ...]]


class Session:
    """Events, as (name, arguments):

    answer (seq, payload)     refused (seq, RequestError)     bye (Ending)
    placed (Me)               add, move, remove (Entity)      tick (number)
    say (Said)                stopped (Stopped)
    unavailable ()            the world is away; what was not answered may or may not have happened
    forgotten ()              the session could not be kept: log in again on the same connection
    """

    def __init__(self) -> None:
        self.view = View()
        self.me: Optional[Me] = None      # None: not in the world
        self.key = ""                     # takes the entity back
        self.bye: Optional[Ending] = None  # what the server said last

    def take(self, body: Body) -> List[Event]:
        """What a body tells."""
        cmd, seq, payload = body
        if cmd in AOI:
            return self._aoi(cmd, payload)
        if cmd == CMD.ErrorNotify:
            return self._error(seq, payload)
        if cmd == CMD.SayNotify:
            known = self.view.entities.get(payload["id"])
            return [("say", (Said(payload["id"], payload["text"], known.name if known else None),))]
        if cmd == CMD.MoveFail:
            self._moved(payload)
            return [("stopped", (Stopped(payload["x"], payload["y"], payload["code"]),))]
        if cmd == CMD.Bye:
            self.bye = Ending(payload["code"], payload["reason"])
            return [("bye", (self.bye,))]
        return self._answer(cmd, seq, payload)

    def forget(self) -> None:
        """We are in the world no longer."""
        self.me = None
        self.view.clear()

    def _answer(self, cmd: int, seq: int, payload: Any) -> List[Event]:
        events: List[Event] = [("answer", (seq, payload))] if seq != UNASKED else []
        if cmd == CMD.EnterResp:
            self.me = Me(**{name: value for name, value in payload.items() if name != "ok"})
            self.view.place(self.me.quantum, self.me.max_speed)
            events.append(("placed", (self.me,)))
        elif cmd == CMD.LoginResp:
            self.key = payload["resume"]
        elif cmd == CMD.LeaveResp:
            self.forget()
        elif cmd == CMD.MoveResp:
            self._moved(payload)
        return events

    def _moved(self, payload: Dict[str, Any]) -> None:
        if self.me and "x" in payload and "y" in payload:
            self.me.x, self.me.y = payload["x"], payload["y"]

    def _aoi(self, cmd: int, payload: Dict[str, Any]) -> List[Event]:
        if self.me is None:
            raise ContractError("somebody in sight of one who is not in the world")
        events: List[Event] = [(AOI[CMD(cmd)], (one,)) for one in self.view.apply(cmd, payload)]
        events.append(("tick", (payload["tick"],)))
        return events

    def _error(self, seq: int, payload: Dict[str, Any]) -> List[Event]:
        self._moved(payload)
        if seq != UNASKED:
            error = RequestError(payload["code"], payload["error"], payload.get("x"),
                                 payload.get("y"))
            return [("refused", (seq, error))]
        if payload["code"] == CODE.unavailable:
            return [("unavailable", ())]
        if payload["code"] == CODE.not_logged_in:
            self.forget()
            return [("forgotten", ())]
        return []

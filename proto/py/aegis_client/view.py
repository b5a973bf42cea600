"""proto/py/aegis_client/view.py: what a client knows: Aoi frames, added up.

May touch: nothing. On trouble: ContractError where a frame tells what cannot be.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List

from .moves import TURN, Record, nearest_place, read_moves
from .tables import CMD, ContractError

PLAYER, NPC = 0, 1


@dataclass
class Entity:
    """Somebody in sight; `kind` is PLAYER or NPC, `dir` in radians, `speed` in units a second."""

    id: int
    kind: int
    name: str
    x: float
    y: float
    dir: float
    speed: float


class View:
    """`entities` in sight by id; `hidden`: how many more are, but are not told."""

    def __init__(self) -> None:
        self.entities: Dict[int, Entity] = {}
        self.hidden = 0
        self.tick = 0
        self.quantum = 1 / 64
        self.max_speed = 0.0

    def clear(self) -> None:
        """Everybody is forgotten."""
        self.entities.clear()
        self.hidden = 0

    def place(self, quantum: float, max_speed: float) -> None:
        """An EnterResp came: everybody is forgotten, and these hold from now on."""
        self.clear()
        self.quantum, self.max_speed = quantum, max_speed

    def apply(self, cmd: int, payload: Dict[str, Any]) -> List[Entity]:
        """Take an Aoi frame; whom it told of (those removed as they were last)."""
        self.tick = payload["tick"]
        if cmd == CMD.AoiAdd:
            self.hidden = payload.get("hidden", self.hidden)
            return [self._add(Entity(*fields)) for fields in payload["entities"]]
        if cmd == CMD.AoiRemove:
            return [self._remove(one) for one in payload["ids"]]
        return [self._move(record) for record in read_moves(payload["moves"])]

    def _add(self, new: Entity) -> Entity:
        if new.id in self.entities:
            raise ContractError(f"{new.id} was added twice")
        self.entities[new.id] = new
        return new

    def _remove(self, one: int) -> Entity:
        known = self.entities.pop(one, None)
        if known is None:
            raise ContractError(f"{one} was removed, and is not known")
        return known

    def _move(self, record: Record) -> Entity:
        known = self.entities.get(record.id)
        if known is None:
            raise ContractError(f"{record.id} moved, and is not known")
        known.x = nearest_place(record.x, known.x, self.quantum)
        known.y = nearest_place(record.y, known.y, self.quantum)
        if record.dir is not None:
            known.dir = record.dir / 256 * TURN
        if record.speed is not None:
            known.speed = record.speed / 255 * self.max_speed
        return known

"""tests/e2e/audit.py: does what a server tells of others keep PROTOCOL.md's rules?

A session of proto/py takes the frames; here is noted in `faults` what it takes at its word: order and
ids within a tick, ticks, and records that tell nothing new. May touch: the session's view.
On trouble: a fault, never an exception.
"""
import math
from dataclasses import dataclass, field

from aegis_client import CMD, ContractError, read_moves
from aegis_client.moves import TURN

STAGE = {CMD.AoiRemove: 1, CMD.AoiAdd: 2, CMD.AoiMove: 3}


def grains(coordinate, quantum):
    return math.floor(coordinate / quantum + 0.5)


def dir_byte(heading):
    return math.floor(heading / TURN * 256 + 0.5) % 256


def speed_byte(speed, max_speed):
    return min(255, math.floor(speed / max_speed * 255 + 0.5))


@dataclass
class Tick:
    """What this tick has told so far; `stage` of the last frame."""

    number: int = -1
    stage: int = 0
    removed: set = field(default_factory=set)
    added: set = field(default_factory=set)


class Audit:
    def __init__(self, session):
        self.session = session
        self.tick = Tick()
        self.told = {}      # by id: x, y, dir, speed as they stand on the wire
        self.exact = set()  # ids whose place is as AoiAdd told it
        self.faults = []

    def take(self, body):
        """Give it to the session, and note what is wrong with it."""
        if body.cmd in STAGE and self.session.me is not None:
            self._order(STAGE[body.cmd], body.payload["tick"])
            {CMD.AoiRemove: self._remove, CMD.AoiAdd: self._add, CMD.AoiMove: self._move}[body.cmd](
                body.payload)
        try:
            self.session.take(body)
        except ContractError as error:
            self.faults.append(str(error))
        if body.cmd == CMD.EnterResp:
            self.tick, self.told, self.exact = Tick(), {}, set()

    def _order(self, stage, number):
        if number < self.tick.number:
            self.faults.append(f"tick {number} after {self.tick.number}")
        if number > self.tick.number:
            self.tick = Tick(number)
        if stage <= self.tick.stage:
            self.faults.append(f"tick {number}: an Aoi frame out of order or twice")
        self.tick.stage = stage

    def _ascend(self, ids, what):
        if any(a >= b for a, b in zip(ids, ids[1:])):
            self.faults.append(f"{what}: ids do not ascend: {ids}")
        if not ids:
            self.faults.append(f"{what}: of nobody")
        if self.session.me.id in ids:
            self.faults.append(f"{what}: of the viewer itself")

    def _remove(self, payload):
        self._ascend(payload["ids"], "AoiRemove")
        self.tick.removed.update(payload["ids"])
        for one in payload["ids"]:
            self.told.pop(one, None)

    def _add(self, payload):
        me = self.session.me
        self._ascend([row[0] for row in payload["entities"]], "AoiAdd")
        for one, _, _, x, y, heading, speed in payload["entities"]:
            if one in self.tick.removed:  # right only for a jump of a quarter of the wrap
                self.faults.append(f"AoiRemove and AoiAdd of {one} in one tick")
            self.told[one] = [grains(x, me.quantum) % 65536, grains(y, me.quantum) % 65536,
                              dir_byte(heading), speed_byte(speed, me.max_speed)]
            self.tick.added.add(one)
            self.exact.add(one)

    def _move(self, payload):
        try:
            records = read_moves(payload["moves"])
        except ContractError:
            return  # the session says so
        self._ascend([record.id for record in records], "AoiMove")
        for record in records:
            if record.id in self.tick.added:
                self.faults.append(f"AoiAdd and AoiMove of {record.id} in one tick")
            old = self.told.get(record.id, [None] * 4)
            new = [record.x, record.y, old[2] if record.dir is None else record.dir,
                   old[3] if record.speed is None else record.speed]
            if new == old:
                self.faults.append(f"AoiMove of {record.id} tells nothing new")
            self.told[record.id] = new
            self.exact.discard(record.id)

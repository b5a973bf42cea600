"""proto/py/aegis_client/smooth.py: places between two ticks, for drawing.

May touch: nothing; time is passed.
"""
from __future__ import annotations

import math
from typing import Dict, NamedTuple, Optional, Tuple


class _Track(NamedTuple):
    x0: float
    y0: float
    x1: float
    y1: float
    since: float

    def at(self, now: float, delay: float) -> Tuple[float, float]:
        part = min(max((now - self.since) / delay, 0.0), 1.0)
        return self.x0 + (self.x1 - self.x0) * part, self.y0 + (self.y1 - self.y0) * part


class Smooth:
    """What was told is shown on the way from the place before. Times are in seconds, of any clock.

    `delay`: how long the way from one told place to the next takes; two ticks are pleasant.
    """

    def __init__(self, delay: float = 0.1) -> None:
        self._delay = delay
        self._tracks: Dict[int, _Track] = {}

    def put(self, one: int, x: float, y: float, now: float, snap: float = 16.0) -> None:
        """A place was told. A jump further than `snap` is shown at once."""
        x0, y0 = self.get(one, now) or (x, y)
        if math.hypot(x - x0, y - y0) > snap:
            x0, y0 = x, y
        self._tracks[one] = _Track(x0, y0, x, y, now)

    def get(self, one: int, now: float) -> Optional[Tuple[float, float]]:
        """Where to draw it now; None: never told."""
        track = self._tracks.get(one)
        return track.at(now, self._delay) if track else None

    def drop(self, one: int) -> None:
        self._tracks.pop(one, None)

    def clear(self) -> None:
        self._tracks.clear()

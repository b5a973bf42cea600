"""proto/py/aegis_client/moves.py: AoiMove's packed records, and the places that they mean.

May touch: nothing. On trouble: ContractError where a run of records cannot be taken.
"""
from __future__ import annotations

import math
import struct
from typing import List, NamedTuple, Optional, Tuple

from .tables import ContractError

TURN = 2 * math.pi
VARINT_BYTES, VARINT_BITS = 5, 34


class Record(NamedTuple):
    """Numbers as they stand on the wire; `dir` and `speed` are None where they did not change."""

    id: int
    x: int
    y: int
    dir: Optional[int]
    speed: Optional[int]


def read_varint(data: bytes, at: int) -> Tuple[int, int]:
    """The varint at `at`, and where it ends."""
    value = 0
    for n in range(VARINT_BYTES):
        if at + n >= len(data):
            raise ContractError("a varint is cut")
        value |= (data[at + n] & 0x7F) << (7 * n)
        if data[at + n] < 0x80:
            if value >= 1 << VARINT_BITS:
                raise ContractError("a varint has more than 34 bits")
            return value, at + n + 1
    raise ContractError("a varint has more than five bytes")


def read_moves(data: bytes) -> List[Record]:
    """The records of AoiMove's `moves`."""
    records: List[Record] = []
    at = last = 0
    while at < len(data):
        head, at = read_varint(data, at)
        last += head >> 2
        if head >> 2 == 0 or last >= 1 << 32:
            raise ContractError("ids do not ascend within 32 bits")
        end = at + 4 + (head & 1) + (head >> 1 & 1)
        if end > len(data):
            raise ContractError("a record is cut")
        x, y = struct.unpack_from("<HH", data, at)
        records.append(Record(last, x, y, data[at + 4] if head & 1 else None,
                              data[end - 1] if head & 2 else None))
        at = end
    return records


def nearest_place(wire: int, last: float, quantum: float) -> float:
    """The coordinate that 16 bits mean for one whose last known coordinate was `last`."""
    return (wire + 65536 * round((last / quantum - wire) / 65536)) * quantum

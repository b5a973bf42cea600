"""proto/py/aegis_client/tables.py: the contract's numbers: commands, error codes, fields, limits.

May touch: nothing. Errors that the other files raise are here too, since all of them do.
"""
from __future__ import annotations

from enum import IntEnum
from typing import Dict, Optional, Tuple

BODY_MAX = 1 << 20  # bytes that a body from the server has at most


class CMD(IntEnum):
    """Numbers of the commands."""

    LoginReq, LoginResp, EnterReq, EnterResp, LeaveReq, LeaveResp = 1, 2, 3, 4, 5, 6
    MoveReq, MoveResp, WalkReq, WalkResp = 7, 8, 9, 10
    PingReq, PingResp, SayReq, SayResp = 11, 12, 13, 14
    AoiAdd, AoiRemove, AoiMove, MoveFail, SayNotify = 32, 33, 34, 35, 36
    ErrorNotify, Bye = 48, 49


class CODE(IntEnum):
    """Error codes, as in ErrorNotify and Bye."""

    bad_frame, unknown_cmd, bad_payload, not_logged_in, already_logged_in = 1, 2, 3, 4, 5
    name_in_use, not_in_world, already_in_world, move_speed, move_blocked = 6, 7, 8, 9, 10
    move_bounds, rate_limited, unavailable, auth_failed, idle = 11, 12, 13, 14, 15
    slow, shutting_down, no_such_scene, kicked, bad_version = 16, 17, 18, 19, 20


class ContractError(Exception):
    """The server sent what the contract does not allow."""


class RequestError(Exception):
    """A request was refused: `code` as CODE says; for moves `x`, `y` are the last legal place."""

    def __init__(self, code: int, text: str, x: Optional[float] = None, y: Optional[float] = None):
        super().__init__(text)
        self.code, self.text, self.x, self.y = code, text, x, y


# Fields of each payload, in the order in which they are written: name, kind, and what is so where
# the field is absent. Kinds: f float64, u unsigned of 32 bits, v of 64, s text, b boolean,
# e entities, i ids, x bytes. NEED: it must be there; MAY: it may be absent; SKIP: it may be absent,
# and is left out where it is false or empty.
NEED, MAY, SKIP = "need", "may", "skip"
Field = Tuple[str, str, str]

_OK: Field = ("ok", "b", NEED)
_PLACE: Tuple[Field, ...] = (("x", "f", NEED), ("y", "f", NEED))
_TICK: Field = ("tick", "u", NEED)

FIELDS: Dict[int, Tuple[Field, ...]] = {
    CMD.LoginReq: (("name", "s", NEED), ("token", "s", SKIP), ("resume", "s", SKIP), ("version", "v", MAY)),
    CMD.LoginResp: (_OK, ("id", "u", NEED), ("name", "s", NEED), ("resume", "s", NEED), ("resumed", "b", NEED)),
    CMD.EnterReq: (("scene", "s", MAY),),
    CMD.EnterResp: (_OK, ("id", "u", NEED), ("scene", "s", NEED), *_PLACE, ("tick_ms", "u", NEED),
                    ("radius", "f", NEED), ("quantum", "f", NEED), ("max_speed", "f", NEED)),
    CMD.LeaveReq: (),
    CMD.LeaveResp: (_OK,),
    CMD.MoveReq: (*_PLACE, ("dir", "f", MAY), ("speed", "f", MAY)),
    CMD.MoveResp: (_OK, *_PLACE),
    CMD.WalkReq: (*_PLACE, ("path", "b", SKIP)),
    CMD.WalkResp: (_OK, *_PLACE),
    CMD.SayReq: (("text", "s", NEED),),
    CMD.SayResp: (_OK,),
    CMD.AoiAdd: (_TICK, ("entities", "e", NEED), ("hidden", "u", MAY)),
    CMD.AoiRemove: (_TICK, ("ids", "i", NEED)),
    CMD.AoiMove: (_TICK, ("moves", "x", NEED)),
    CMD.MoveFail: (*_PLACE, ("code", "u", NEED)),
    CMD.SayNotify: (("id", "u", NEED), ("text", "s", NEED)),
    CMD.ErrorNotify: (("code", "u", NEED), ("error", "s", NEED), ("cmd", "u", NEED), ("x", "f", MAY), ("y", "f", MAY)),
    CMD.Bye: (("code", "u", NEED), ("reason", "s", NEED)),
}

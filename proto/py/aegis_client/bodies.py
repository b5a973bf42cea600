"""proto/py/aegis_client/bodies.py: a body, read and written: [cmd, seq, payload] in MessagePack.

May touch: msgpack. On trouble: ContractError where a body is none.
"""
from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import msgpack

from .tables import CMD, FIELDS, NEED, SKIP, ContractError

U32, U64 = (1 << 32) - 1, (1 << 64) - 1


class Body(NamedTuple):
    """What a body says. The payload of PingReq and PingResp is anything at all, and stays bytes."""

    cmd: int
    seq: int
    payload: Any


# --- reading --------------------------------------------------------------------------------------


def _map(pairs: List[Tuple[Any, Any]]) -> Dict[str, Any]:
    """A key that is no text is one that nobody asks for; of a doubled one the last counts."""
    return {key: value for key, value in pairs if isinstance(key, str)}


def unpack(data: bytes) -> Any:
    """One MessagePack value."""
    try:
        return msgpack.unpackb(data, raw=False, strict_map_key=False, object_pairs_hook=_map)
    except (ValueError, TypeError, OverflowError, msgpack.UnpackException) as error:
        raise ContractError(f"not MessagePack: {error}") from error


def pack(value: Any) -> bytes:
    """The shortest form of a value, as the server writes it; a float stays one."""
    packed: bytes = msgpack.packb(value, use_bin_type=True)
    return packed


def split(body: bytes) -> Tuple[int, int, bytes]:
    """cmd, seq, and the bytes of the payload as they stand there."""
    reader = msgpack.Unpacker(max_buffer_size=max(len(body), 1))
    reader.feed(body)
    try:
        if reader.read_array_header() != 3:
            raise ContractError("not an array of three")
        cmd, seq = reader.unpack(), reader.unpack()
        start = reader.tell()
        reader.skip()
    except (ValueError, TypeError, OverflowError, msgpack.UnpackException) as error:
        raise ContractError(f"not an array of three: {error}") from error
    if reader.tell() != len(body):
        raise ContractError("something behind the value")
    for number in (cmd, seq):
        if type(number) is not int or not 0 <= number <= U32:
            raise ContractError("cmd or seq is no unsigned integer")
    return cmd, seq, body[start:]


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise ContractError("not a number")
    number = float(value)
    if not math.isfinite(number):
        raise ContractError("not a finite number")
    return number


def _unsigned(value: Any, most: int = U32) -> int:
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is not int or not 0 <= value <= most:
        raise ContractError("not an unsigned integer")
    return value


def _of(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise ContractError(f"not {kind.__name__}")
        return value
    return read


_list = _of(list)
_text = _of(str)


def _entity(row: Any) -> Tuple[int, int, str, float, float, float, float]:
    if len(_list(row)) < 7:
        raise ContractError("an entity lacks something")
    number, kind, name, x, y, heading, speed = row[:7]
    return (_unsigned(number), _unsigned(kind), _text(name), _number(x), _number(y),
            _number(heading), _number(speed))


_READERS: Dict[str, Callable[[Any], Any]] = {
    "f": _number,
    "u": _unsigned,
    "v": lambda value: _unsigned(value, U64),
    "s": _text,
    "b": _of(bool),
    "x": _of(bytes),
    "i": lambda value: [_unsigned(one) for one in _list(value)],
    "e": lambda value: [_entity(row) for row in _list(value)],
}


def _read_payload(cmd: int, raw: Any) -> Optional[Dict[str, Any]]:
    fields = FIELDS[cmd]
    if raw is None and all(when != NEED for _, _, when in fields):
        return None
    if not isinstance(raw, dict):
        raise ContractError(f"the payload of {cmd} is no map")
    out: Dict[str, Any] = {}
    for name, kind, when in fields:
        if name in raw:
            value = _READERS[kind](raw[name])
            if (value or when != SKIP) and not (kind == "v" and value == 1):
                out[name] = value
        elif name == "ok":
            out[name] = True
        elif when == NEED:
            raise ContractError(f"{cmd} lacks {name}")
    return out or None


def read_body(body: bytes) -> Body:
    """What a body says; ContractError where it is no body, or its payload not that of its command."""
    cmd, seq, raw = split(body)
    if cmd in (CMD.PingReq, CMD.PingResp):
        return Body(cmd, seq, raw)
    value = unpack(raw)
    return Body(cmd, seq, _read_payload(cmd, value) if cmd in FIELDS else value)


# --- writing --------------------------------------------------------------------------------------


def _writable(kind: str, value: Any) -> Any:
    if kind == "f":
        return _number(value)
    if kind == "e":
        return [[number, sort, name, *map(_number, rest)] for number, sort, name, *rest in value]
    return value


def write_body(cmd: int, seq: int, payload: Any = None) -> bytes:
    """The body of a message, as the server's own implementation would write it."""
    fields = FIELDS.get(cmd)
    if fields is not None and payload is not None:
        payload = {name: _writable(kind, payload[name]) for name, kind, when in fields
                   if name in payload and payload[name] is not None
                   and (when != SKIP or payload[name])}
    return pack([int(cmd), seq, payload])

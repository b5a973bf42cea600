"""proto/py/aegis_client/__init__.py: the client protocol of Aegis worlds; see PROTOCOL.md.

Client     asyncio: login, requests and their answers, resume and reconnect by the contract's rules
blocking   the same for programs without asyncio
Smooth     places between two ticks, for drawing
Session, View, wires, read_body, write_body, read_moves, nearest_place     the parts, without sockets
"""
from .bodies import Body, read_body, write_body
from .client import Client
from .moves import Record, nearest_place, read_moves
from .session import Ending, Me, Said, Session, Stopped
from .smooth import Smooth
from .tables import BODY_MAX, CMD, CODE, ContractError, RequestError
from .view import NPC, PLAYER, Entity, View
from .wire import Address, Tcp, Ws, address_of, wire_to

__all__ = [
    "Address", "BODY_MAX", "Body", "CMD", "CODE", "Client", "ContractError", "Ending", "Entity", "Me",
    "NPC", "PLAYER", "Record", "RequestError", "Said", "Session", "Smooth", "Stopped", "Tcp", "View",
    "Ws", "address_of", "nearest_place", "read_body", "read_moves", "wire_to", "write_body",
]

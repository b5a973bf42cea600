#!/usr/bin/python3
"""tests/e2e/contract.py: does a pair keep proto/PROTOCOL.md, as a client from outside sees it?

    tests/e2e/contract.py -addr [tls://|ws://|wss://]HOST:PORT [-ca FILE] [SCENE...]

Plays scenes of one to five clients (client.py, written from PROTOCOL.md alone) against a gateway
and its world with default flags; SCENE picks those whose name holds it. A line for each check and
one for the count. Exit status: 0, or 1 where a check failed.
May touch: the gateway, tests/vectors. Needs: Python 3.9, msgpack (Debian: python3-msgpack).
"""
import sys

sys.dont_write_bytecode = True  # the tree stays clean

import contract_frames
import contract_rules
import contract_sight
import contract_websocket
from contract_stage import Stage

SCENES = contract_rules.SCENES + contract_sight.SCENES + contract_frames.SCENES
USAGE = "usage: contract.py -addr [tls://|ws://|wss://]HOST:PORT [-ca FILE] [SCENE...]"


def main(args):
    if len(args) < 2 or args[0] not in ("-addr", "--addr"):
        print(USAGE, file=sys.stderr)
        return 2
    addr, trust, wanted = args[1], None, args[2:]
    if wanted[:1] in (["-ca"], ["--ca"]):
        trust, wanted = wanted[1], wanted[2:]
    stage = Stage(addr, trust)
    scenes = SCENES + (contract_websocket.SCENES if stage.web else ())
    for play in scenes:
        if not wanted or any(word in play.__name__ for word in wanted):
            seconds = stage.scene(play)
            print(f"# {play.__name__}: {seconds:.1f} s", flush=True)
    print(f"{stage.passed} passed, {stage.failed} failed")
    return 1 if stage.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

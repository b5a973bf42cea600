#!/bin/sh
# tests/run-py.sh: the Python client: golden vectors, its parts, a world and gateways of its own.
#
#   AEGIS_BIN=DIR tests/run-py.sh [PROGRAM]     DIR holds the aegis to test (default: bin)
#
# PROGRAM: other tests that stand on the client, such as tests/ops/ops.py.
# May touch: loopback. On trouble: `not ok - ...` for each test that failed, and exit status 1, also
# where Python has no msgpack.
set -eu
cd "$(dirname "$0")/.."
python=/usr/bin/python3

if ! $python -c 'import msgpack' 2>/dev/null; then
    echo "not ok - $python has no msgpack (Debian: python3-msgpack)"
    exit 1
fi
exec $python "${1:-tests/py/main.py}"

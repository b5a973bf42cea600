#!/bin/sh
# tests/run-js.sh: the JavaScript client: golden vectors, and a world and gateway of its own.
#
#   AEGIS_BIN=DIR tests/run-js.sh     DIR holds the aegis to test (default: bin)
#
# May touch: npm (into proto/js/node_modules), loopback. On trouble: exit status 1.
set -eu
cd "$(dirname "$0")/.."

(cd proto/js && npm ci --silent --ignore-scripts --no-audit --no-fund)
exec node --test tests/js

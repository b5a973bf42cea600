#!/bin/sh
# tests/run-js.sh: the JavaScript client: golden vectors, a world and gateway of its own, its package.
#
#   AEGIS_BIN=DIR tests/run-js.sh BUILD     DIR holds the aegis to test (default: bin)
#
# What tests need of npm goes into BUILD/js-modules. May touch: npm (into proto/js/node_modules too),
# BUILD, loopback. On trouble: exit status 1.
set -eu
cd "$(dirname "$0")/.."
. tests/npm.sh
mkdir -p "$1/js-modules"
JS_MODULES=$(cd "$1/js-modules" && pwd)
export JS_MODULES

cp tests/js/package.json tests/js/package-lock.json "$JS_MODULES"
npm_fetch proto/js
npm_fetch "$JS_MODULES"
exec node --test tests/js

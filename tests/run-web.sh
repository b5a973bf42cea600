#!/bin/sh
# tests/run-web.sh: the pages in a browser: Debian's chromium without a screen.
#
#   AEGIS_BIN=DIR tests/run-web.sh BUILD [TEST...]     DIR holds the programs to test (default: bin)
#
# Each tests/web/*.test.mjs, or those given. playwright-core goes into BUILD/web-modules, what the
# client needs into proto/js, the pictures that tests take into BUILD/web-shots. The last line is `N passed, N failed`.
# May touch: npm, BUILD, loopback. On trouble: exit status 1.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/npm.sh
build=$1
shift
mkdir -p "$build/web-modules" "$build/web-shots"
WEB_MODULES=$(cd "$build/web-modules" && pwd) || exit 1
WEB_SHOTS=$(cd "$build/web-shots" && pwd) || exit 1
export WEB_MODULES WEB_SHOTS

cp tests/web/package.json tests/web/package-lock.json "$WEB_MODULES" || exit 1
npm_fetch "$WEB_MODULES" || exit 1
npm_fetch proto/js || exit 1

log=$build/web-tests.log
[ $# -gt 0 ] || set -- tests/web/*.test.mjs
status=0
node --test --test-reporter=tap --test-concurrency=1 "$@" >"$log" 2>&1 || status=$?
grep -aE '^ *(not )?ok ' "$log"
total() {
    sed -n "s/^# $1 //p" "$log" | tail -n 1
}
passed=$(total pass)
failed=$(($(total fail) + $(total cancelled)))
if [ $status != 0 ] || [ "${passed:-0}" = 0 ]; then
    cat "$log"
    [ "$failed" -gt 0 ] || failed=1
fi
echo "${passed:-0} passed, $failed failed"
[ "$failed" = 0 ]

#!/bin/sh
# tests/e2e/store_kill.sh: the world killed with -9 in the middle of saving, against programs that
# were built before.
#
#   tests/e2e/store_kill.sh BIN BUILD [KILLS]    (100)
#
# Runs $BUILD/tests/e2e_test with the programs of BIN, on a disk of 4 MiB that is filled before every
# other kill, where this user may have one (a tmpfs in a name space of the test's own). Every restart
# must open the file, with everybody where they stood at most -save-every before; the last line says
# how long the worst was.
# May touch: loopback ports, a folder below /tmp that goes with it. It leaves no process behind.
# On trouble: the failed test says what it saw, and the exit status is 1.
set -u
cd "$(dirname "$0")/../.." || exit 1
[ $# = 2 ] || [ $# = 3 ] || { echo "usage: tests/e2e/store_kill.sh BIN BUILD [KILLS]" >&2; exit 2; }
AEGIS_BIN=$(cd "$1" && pwd) || exit 1
program=$2/tests/e2e_test
[ -x "$program" ] || { echo "store_kill: there is no $program" >&2; exit 1; }
STORE_KILLS=${3:-100}
export AEGIS_BIN STORE_KILLS
ulimit -c 0
exec "$program" --jobs 1 --timeout 3600 --filter 'e2e_store_kill/*'

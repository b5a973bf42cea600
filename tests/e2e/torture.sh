#!/bin/sh
# tests/e2e/torture.sh: the hostile world at full size, against programs that were built before.
#
#   tests/e2e/torture.sh frames BIN BUILD    TORTURE_FRAMES (1,000,000) damaged frames on a live pair
#   tests/e2e/torture.sh crowds BIN BUILD    200 deaf clients, a slow line into a crowd of 1,000,
#                                            kills, cuts, floods: everything that has a long form
#
# Both run $BUILD/tests/e2e_test with the programs of BIN; frames wants those with the sanitizers,
# crowds those without. TORTURE_PING_MS (50) is what the honest clients' ping may take at p99 while
# the frames come; 0 only prints it. Wants a machine that does nothing else.
# May touch: loopback ports. It leaves no process behind.
# On trouble: the failed test says what it saw, and the exit status is 1.
set -u
cd "$(dirname "$0")/../.." || exit 1

SECONDS_FRAMES=3600 # longest run of the frames
SECONDS_CROWDS=600  # longest run of any one test of the crowds

usage() {
    echo "usage: tests/e2e/torture.sh frames|crowds BIN BUILD" >&2
    exit 2
}

[ $# = 3 ] || usage
what=$1
AEGIS_BIN=$(cd "$2" && pwd) || exit 1
program=$3/tests/e2e_test
[ -x "$program" ] || { echo "torture: there is no $program" >&2; exit 1; }
export AEGIS_BIN
ulimit -c 0
# The crowd of 1,000 and those who watch it want more than the usual 1,024.
ulimit -n "$(ulimit -H -n)" 2>/dev/null

# run FILTER SECONDS: one test at a time, so that each has the machine.
run() {
    echo "torture: $1"
    "$program" --jobs 1 --timeout "$2" --filter "$1" || exit 1
}

case $what in
    frames)
        export TORTURE_FRAMES="${TORTURE_FRAMES:-1000000}"
        export TORTURE_PING_MS="${TORTURE_PING_MS:-50}"
        run 'e2e_hostile_torture/*' $SECONDS_FRAMES ;;
    crowds)
        export HOSTILE_LONG=1
        for suite in slow kill flood count; do
            run "e2e_hostile_$suite/*" $SECONDS_CROWDS
        done ;;
    *) usage ;;
esac

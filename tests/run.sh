#!/bin/sh
# tests/run.sh: run everything that `make test` built, and add it up.
#
#   TEST_PROGRAMS="..." FUZZ_PROGRAMS="..." FUZZ_RUNS=n tests/run.sh BIN BUILD
#
# A unit test counts as one, a fuzz target's bounded run as one, each line `ok` or `not ok` of a
# script as one. A crash, a hang, a sanitizer's report and a process left running count as failures,
# whatever the program itself says. The last line is `N passed, N failed`.
# May touch: the programs given, BUILD. It leaves no process behind.
# On trouble: the log of what failed stands in the output, and the exit status is 1.
set -u
cd "$(dirname "$0")/.." || exit 1
bin=$1
build=$2

PROGRAM_SECONDS=600 # a program that takes longer hangs
TEST_SECONDS=120    # so does a single test
LOG_LINES=400       # of a failed program's log that are shown

logs=$build/test-logs
rm -rf "$logs" "$build/tmp"
mkdir -p "$logs" "$build/tmp"
AEGIS_BIN=$(cd "$bin" && pwd) || exit 1
TMPDIR=$(cd "$build/tmp" && pwd) || exit 1
export AEGIS_BIN TMPDIR
export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS:-}"
ulimit -c 0

passed=0
failed=0
running=

finish() {
    [ -z "$running" ] || kill -TERM "$running" 2>/dev/null
    end_leftovers >/dev/null
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

fail() {
    echo "not ok - $*"
    failed=$((failed + 1))
}

# End whatever still runs one of our programs; print what it was.
end_leftovers() {
    for exe in /proc/[0-9]*/exe; do
        case $(readlink "$exe" 2>/dev/null) in
            "$AEGIS_BIN"/*)
                pid=${exe#/proc/}
                pid=${pid%/exe}
                tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null && echo
                kill -KILL "$pid" 2>/dev/null ;;
        esac
    done
}

# start NAME COMMAND...: run it with a deadline, its output in $log, its status in $status.
start() {
    name=$1
    log=$logs/$1.log
    shift
    status=0
    began=$(date +%s)
    echo "  RUN  $name"
    timeout -k 10 $PROGRAM_SECONDS "$@" >"$log" 2>&1 </dev/null &
    running=$!
    wait "$running" || status=$?
    running=
    took="$(($(date +%s) - began)) s"
}

# The end of the log, indented, so that no total of its own can be taken for ours.
show_log() {
    tail -n $LOG_LINES "$log" | sed 's/^/    | /'
}

# settle: what every program is held to when it has ended. Call with the numbers known.
settle() {
    [ "$bad" = 0 ] || show_log
    [ "$status" != 124 ] && [ "$status" != 137 ] || echo "$name: ended after $PROGRAM_SECONDS s"
    passed=$((passed + good))
    failed=$((failed + bad))
    if [ "$bad" = 0 ] && grep -aqE 'ERROR: [A-Za-z]*Sanitizer|runtime error: ' "$log"; then
        show_log
        fail "$name: a sanitizer reported (above)"
    fi
    left=$(end_leftovers)
    if [ -n "$left" ]; then
        echo "$left"
        fail "$name: left processes running (above)"
    fi
}

# A program of unit tests; its last words are Criterion's `Tested: n | Passing: n | ...`.
unit() {
    start "$(basename "$1")" "$1" --timeout $TEST_SECONDS
    words=$(grep -a 'Synthesis: Tested:' "$log" | tail -n 1)
    tested=$(echo "$words" | sed -n 's/.*Tested: \([0-9]*\).*/\1/p')
    good=$(echo "$words" | sed -n 's/.*Passing: \([0-9]*\).*/\1/p')
    good=${good:-0}
    bad=$((${tested:-0} - good))
    if [ "${tested:-0}" = 0 ]; then
        bad=1
        words="ended with status $status and without a summary"
    elif [ "$status" != 0 ] && [ "$bad" = 0 ]; then
        bad=1
        words="$words, but status $status"
    fi
    settle
    echo "       $name: ${words#*Synthesis: } ($took)"
}

# One check: it did well if its status is 0. Its last line is its summary.
single() {
    start "$@"
    good=1 bad=0
    if [ "$status" != 0 ]; then
        good=0 bad=1
    fi
    settle
    [ "$bad" = 1 ] || echo "       $(tail -n 1 "$log")"
    [ "$bad" = 0 ] || echo "       $name: FAILED with status $status"
}

# A script of checks that prints `ok - ...` or `not ok - ...` for each.
script() {
    start "$@"
    good=$(grep -c '^ok - ' "$log")
    bad=$(grep -c '^not ok - ' "$log")
    if [ "$bad" = 0 ] && { [ "$status" != 0 ] || [ "$good" = 0 ]; }; then
        bad=1
    fi
    settle
    echo "       $name: $good ok, $bad not ok ($took)"
}

for program in $TEST_PROGRAMS; do
    unit "$program"
done
for program in $FUZZ_PROGRAMS; do
    single "$(basename "$program")" sh tests/run-fuzz.sh bounded "$build" "$program" "$FUZZ_RUNS"
done
single check-includes sh tests/lint/check-includes.sh
single docs sh tests/lint/docs.sh check "$bin"
script contract sh tests/e2e/run_contract.sh "$bin" "$build/contract"
script tls sh tests/e2e/run_tls.sh "$bin" "$build/tls"
script client-py sh tests/run-py.sh
script ops sh tests/run-py.sh tests/ops/ops.py
script trace sh tests/run-py.sh tests/ops/trace.py
script chaos python3 tests/e2e/chaos.py -bin "$bin" -bots 100 -seconds 20 -every 2.5 -drop 0.05 \
    -window 8 -growth 200 -dir "$build/chaos"
single cluster env CLUSTER_SECONDS=2 CLUSTER_FLAGS="-max-speed 60 -cluster-lease 1s" \
    python3 deploy/cluster.py "$bin" "$build/cluster"
script cluster-oracle python3 tests/e2e/cluster_oracle.py -bin "$bin" -bots 80 -seconds 6 -lease 1s \
    -late 4 -dir "$build/cluster-oracle"
script chaos-cluster /usr/bin/python3 tests/e2e/chaos_cluster.py -bin "$bin" -bots 50 -seconds 10 \
    -settle 6 -quiet 6 -every 0.5 -seed 3 -dir "$build/chaos-cluster"
script model sh tests/model/run.sh "$build/model"
script lint-selftest sh tests/lint/selftest.sh
script deploy bash tests/run-deploy.sh "$bin" "$build/deploy"
script house sh tests/run-house.sh "$bin" "$build" "$build/house"
script bench sh tests/run-bench.sh "$bin" "$build/bench"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]

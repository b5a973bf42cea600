#!/bin/sh
# tests/run-bench.sh: do the gateway's benchmarks, and those of sight's modes, do what they say?
#
#   tests/run-bench.sh BIN DIR
#
# Each of them once, with few clients: they compare every byte and every reply themselves, and fail
# where the gateway or a limit program loses or changes one. Figures are not looked at. Then the ways
# in which they must fail, and that they leave nothing behind.
# May touch: DIR, the processes it started.
# On trouble: `not ok - ...` with what was seen, and exit status 1.
set -u
cd "$(dirname "$0")/.." || exit 1
bin=$(cd "$1" && pwd) || exit 1
dir=$2
rm -rf "$dir"
mkdir -p "$dir"
failures=0

# check NAME COMMAND...: the command must succeed.
check() {
    what=$1
    shift
    if "$@"; then
        echo "ok - $what"
    else
        echo "not ok - $what"
        sed 's/^/    /' "$dir/out"
        failures=$((failures + 1))
    fi
}

# bench STATUS ARGS...: it must end so; its words are in $dir/out.
bench() {
    wanted=$1
    shift
    got=0
    timeout -k 5 60 "$bin/bench" "$@" >"$dir/out" 2>&1 || got=$?
    [ "$got" = "$wanted" ] || { echo "    status $got"; return 1; }
}

# row BENCH PROGRAM FIELD [MORE]: is there such a row, with a figure above 0?
row() {
    grep "^{\"bench\":\"$1\",\"program\":\"$2\",.*\"$3\":[0-9.]*[1-9].*\"runs\":[1-9].*}\$" "$dir/out" |
        grep -q -- "${4:-}"
}

says() {
    grep -q -- "$1" "$dir/out"
}

# Does nobody run our programs any more?
all_gone() {
    for exe in /proc/[0-9]*/exe; do
        case $(readlink "$exe" 2>/dev/null) in "$bin"/*) return 1 ;; esac
    done
}

gone_soon() {
    tenths=50
    until all_gone; do
        [ $tenths -gt 0 ] || return 1
        tenths=$((tenths - 1))
        sleep 0.1
    done
}

check "fanout: does well" bench 0 fanout -n 70 -ticks 3 -runs 1 -json -only aegis,limit-alone
for program in aegis limit limit-alone; do
    check "fanout: has a row for $program" row fanout $program us_per_frame '"ratio_to_limit":'
done
check "forward: does well" bench 0 forward -n 70 -seconds 0.1 -runs 1 -json -only aegis
for pipeline in 1 8; do
    for program in aegis limit; do
        check "forward: has a row for $program, $pipeline under way" \
            row forward $program ns_per_round_trip "\"pipeline\":$pipeline,"
    done
done
check "idle: does well" bench 0 idle -n 500 -runs 1 -json -only aegis,aegis-no-login
for program in aegis aegis-no-login limit; do
    check "idle: has a row for $program" row idle $program bytes_per_client
done
check "fanout: over WebSocket" bench 0 fanout -n 70 -ticks 3 -runs 1 -json -only aegis-ws
says "^bench: aegis-ws: built without" ||
    check "fanout: has a row for aegis-ws" row fanout aegis-ws us_per_frame
check "idle: over WebSocket" bench 0 idle -n 500 -runs 1 -json -only aegis-ws
says "^bench: aegis-ws: built without" ||
    check "idle: has a row for aegis-ws" row idle aegis-ws bytes_per_client

for program in aegis-tls aegis-wss; do
    check "fanout: $program" bench 0 fanout -n 70 -ticks 3 -runs 1 -json -only $program
    says "^bench: $program: built without" ||
        check "fanout: has a row for $program" row fanout $program us_per_frame
    check "idle: $program" bench 0 idle -n 100 -runs 1 -json -only $program
    says "^bench: $program: built without" ||
        check "idle: has a row for $program" row idle $program bytes_per_client
done

for bench in tiers crowd; do
    check "$bench: does well" bench 0 $bench -n 60 -ticks 20 -runs 1 -json
    for mode in plain-30 plain-240 tiers refresh-20 max-50 bytes-1200; do
        check "$bench: has a row for $mode" row $bench $mode bytes_per_viewer '"ratio_bytes":'
    done
done
check "crowd: has a row for a say" row say aegis ns_per_receiver

check "path: does well" bench 0 path -n 5 -json
for map in scattered houses caves rooms; do
    check "path: has a row for $map" row path $map searches_per_s '"worst_nodes":[1-9]'
done
check "npc: does well" bench 0 npc -players 50 -asleep 300 -awake 200 -ticks 20 -json
for kind in none asleep awake; do
    check "npc: has a row for $kind" row npc $kind tick_us
done

check "cluster: does well" bench 0 cluster -players 300 -neighbours 10 -ticks 40 -runs 1 -json -budget 0.01
for worlds in 1 2; do
    check "cluster: has a row for $worlds" row cluster worlds-$worlds tick_ms '"players":300,'
done
check "cluster: two share it" row cluster worlds-2 handovers_s '"ghosts":[1-9]'
check "cluster: nobody fits a hundredth of a millisecond" row cluster most budget_ms '"worlds_2":0,'
check "cluster: a list that is none" bench 2 cluster -players 100,
check "cluster: is named" says 'players'

check "worlds: does well" bench 0 worlds -players 60 -seconds 1 -runs 1 -json
check "worlds: has a row for one" row worlds worlds-1 world_cpu
says "^bench: nats-server: not" || check "worlds: has a row for two" row worlds worlds-2 other_world_cpu

check "map: does well" bench 0 map -n 500 -ticks 40 -json
check "map: has a row" row map aegis copy_us '"frame_bytes":9[0-9]*'

# rival BENCH PROGRAM FIELD ARGS...: measured where it is installed, else left out with a word.
rival() {
    name=$1 program=$2 field=$3
    shift 3
    if ! PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin command -v "$program" >/dev/null; then
        check "$name: goes on without $program" bench 0 "$name" "$@" -runs 1 -json -only "$program"
        check "$name: says so" says "^bench: $program: not installed"
    else
        check "$name: $program does well" bench 0 "$name" "$@" -runs 1 -json -only "$program"
        if ! says "^bench: $program: does not start here"; then
            check "$name: has a row for $program" row "$name" "$program" "$field"
        fi
    fi
}

rival forward haproxy ns_per_round_trip -n 20 -seconds 0.1
rival forward nginx ns_per_round_trip -n 20 -seconds 0.1
rival idle nats-server bytes_per_client -n 100

check "a program that is not there is named, and the others go on" \
    bench 0 fanout -n 10 -ticks 1 -runs 1 -json -only other,limit-alone -other "$dir/none"
check "by its name" says '^bench: other: not there'
check "and the limit was measured" row fanout limit us_per_frame
check "a program that ends at once" bench 1 fanout -n 10 -ticks 1 -runs 1 -other /bin/false
check "did not start" says '^bench: other did not start'
check "another reply than was due" bench 1 forward -n 10 -seconds 0.1 -runs 1 -only aegis -flags -rate=1
check "is found" says 'aegis: client [0-9]* got '
check "a client that is not let in" \
    bench 1 fanout -n 70 -ticks 1 -runs 1 -only aegis -flags -max-clients=69
check "is found too" says 'client 69 lost its connection'
check "a bad flag" bench 2 forward -pipeline 65
check "is named" says 'pipeline'
few_files() (
    ulimit -n 256
    bench 1 idle -n 1000 -runs 1
)
check "too few descriptors" few_files
check "is said with both numbers" says 'needs [0-9]* descriptors, and 256 is the most'
check "nothing is left" gone_soon

"$bin/bench" fanout -n 50 -ticks 1000 -runs 1 -only aegis >"$dir/out" 2>&1 &
pid=$!
tenths=100
until [ -n "$(cat "/proc/$pid/task/$pid/children" 2>/dev/null)" ] || [ $tenths = 0 ]; do
    tenths=$((tenths - 1))
    sleep 0.1
done
check "one that works" [ $tenths -gt 0 ]
kill -KILL "$pid"
wait "$pid" 2>/dev/null
check "and is killed leaves nothing either" gone_soon

[ $failures = 0 ]

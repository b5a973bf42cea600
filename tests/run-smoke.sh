#!/bin/sh
# tests/run-smoke.sh: the smoke scenario on a pair of its own.
#
#   tests/run-smoke.sh [BIN [DIR]]      (default: bin build/smoke)
#
# Starts a world and a gateway on ports that the kernel picks, runs `bot -mode=smoke`, ends the pair.
# Exit status: the bot's; 1 where the pair did not start or did not end cleanly.
# May touch: the programs it started, their logs in DIR.
set -u
cd "$(dirname "$0")/.." || exit 1
bin=${1:-bin}
dir=${2:-build/smoke}
world_pid='' gateway_pid=''
. deploy/pair.sh

finish() {
    trap '' INT TERM HUP
    # shellcheck disable=SC2086 # those that were started
    pair_end $gateway_pid $world_pid
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

pair_start "$bin" "$dir" 127.0.0.1:0 127.0.0.1:0
status=0
"$bin/bot" -mode=smoke -addr "$gateway_addr" </dev/null || status=$?
[ $status = 0 ] || echo "logs of the pair: $dir/world.log, $dir/gateway.log" >&2

for name in gateway world; do
    eval "pid=\$${name}_pid ${name}_pid=''"
    pair_end "$pid"
    if [ "$pair_ended" != 0 ]; then
        echo "the $name ended with status $pair_ended (log: $dir/$name.log)" >&2
        status=1
    fi
done
exit $status

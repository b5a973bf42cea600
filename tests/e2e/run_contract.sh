#!/bin/sh
# tests/e2e/run_contract.sh: is the contract kept, seen by a client in another language?
#
#   tests/e2e/run_contract.sh [BIN [DIR]]      (default: $AEGIS_BIN or bin, build/contract)
#
# Starts a world and a gateway on ports that the kernel picks, plays contract.py against them over
# TCP and over WebSocket (where the gateway has it), ends the pair. Takes about 50 s.
# May touch: the programs it started, their logs in DIR.
# On trouble: `not ok - ...` for each check that failed. Exit status: contract.py's; 1 where the
# pair did not start or did not end cleanly, or where Python has no msgpack.
set -u
cd "$(dirname "$0")/../.." || exit 1
bin=${1:-${AEGIS_BIN:-bin}}
dir=${2:-build/contract}
python=/usr/bin/python3
most_seconds=120 # it hangs
world_pid='' gateway_pid='' contract_pid=''
. deploy/pair.sh

finish() {
    trap '' INT TERM HUP
    [ -z "$contract_pid" ] || kill "$contract_pid" 2>/dev/null
    # shellcheck disable=SC2086 # those that were started
    pair_end $gateway_pid $world_pid
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

if ! $python -c 'import msgpack' 2>/dev/null; then
    echo "not ok - $python has no msgpack (Debian: python3-msgpack)"
    exit 1
fi
mkdir -p "$dir"
: >"$dir/world.log" # an address of an earlier run must not be found in them
: >"$dir/gateway.log"
pair_gateway_flags='-ws-listen 127.0.0.1:0'
case $("$bin/aegis" -version) in *'wslay not built in'* | *'http-parser not built in'* | \
    *'libcrypto not built in'*) pair_gateway_flags='' ;; esac
pair_start "$bin" "$dir" 127.0.0.1:0 127.0.0.1:0 -aoi-radius 30 -resume-window 0
addrs=$gateway_addr
[ -z "$pair_gateway_flags" ] ||
    addrs="$addrs ws://$(pair_address "$dir/gateway.log" "$gateway_pid" 'websocket on')"
status=0
for addr in $addrs; do
    timeout -k 5 $most_seconds $python tests/e2e/contract.py -addr "$addr" </dev/null &
    contract_pid=$!
    wait $contract_pid || status=$?
    contract_pid=''
done
[ $status = 0 ] || echo "logs of the pair: $dir/world.log, $dir/gateway.log" >&2

for name in gateway world; do
    eval "pid=\$${name}_pid ${name}_pid=''"
    pair_end "$pid"
    if [ "$pair_ended" != 0 ]; then
        echo "the $name ended with status $pair_ended (log: $dir/$name.log)" >&2
        [ $status != 0 ] || status=1
    fi
done
exit $status

#!/bin/sh
# tests/e2e/run_contract.sh: is the contract kept, seen by a client in another language?
#
#   tests/e2e/run_contract.sh [BIN [DIR]]      (default: $AEGIS_BIN or bin, build/contract)
#
# Starts two pairs of a world and a gateway on ports that the kernel picks, one plain and one under
# TLS, plays contract.py against both at once, over TCP and then over WebSocket (where the gateway has
# them), and ends the pairs. Takes about 60 s.
# May touch: the programs it started, their logs and certificates in DIR.
# On trouble: `not ok - ...` for each check that failed. Exit status: contract.py's; 1 where a pair
# did not start or did not end cleanly, or where Python has no msgpack.
set -u
cd "$(dirname "$0")/../.." || exit 1
bin=${1:-${AEGIS_BIN:-bin}}
dir=${2:-build/contract}
python=/usr/bin/python3
most_seconds=150 # it hangs
pids='' plays=''
. deploy/pair.sh

finish() {
    trap '' INT TERM HUP
    # shellcheck disable=SC2086 # those that were started
    [ -z "$plays" ] || kill $plays 2>/dev/null
    # shellcheck disable=SC2086
    pair_end $pids
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

if ! $python -c 'import msgpack' 2>/dev/null; then
    echo "not ok - $python has no msgpack (Debian: python3-msgpack)"
    exit 1
fi
parts=$("$bin/aegis" -version)
# has PART...: are these built in?
has() {
    for part in "$@"; do
        case $parts in *"$part not built in"*) return 1 ;; esac
    done
}
ws='' schemes=plain
if has wslay http-parser libcrypto; then ws='-ws-listen 127.0.0.1:0'; fi
if has libssl libcrypto && command -v openssl >/dev/null; then
    schemes='plain tls'
    sh deploy/dev-certs.sh "$dir/certs" >/dev/null || exit 1
fi

for scheme in $schemes; do
    mkdir -p "$dir/$scheme"
    : >"$dir/$scheme/world.log" # an address of an earlier run must not be found in them
    : >"$dir/$scheme/gateway.log"
    pair_gateway_flags=$ws
    [ $scheme = plain ] ||
        pair_gateway_flags="$ws -tls-cert $dir/certs/cert.pem -tls-key $dir/certs/key.pem"
    pair_start "$bin" "$dir/$scheme" 127.0.0.1:0 127.0.0.1:0 -aoi-radius 30 -resume-window 0
    pids="$gateway_pid $world_pid $pids"
    tcp=$gateway_addr web=ws
    if [ $scheme = tls ]; then tcp=tls://$gateway_addr web=wss; fi
    addrs=$tcp
    [ -z "$ws" ] ||
        addrs="$addrs $web://$(pair_address "$dir/$scheme/gateway.log" "$gateway_pid" 'websocket on')"
    (
        status=0
        for addr in $addrs; do
            timeout -k 5 $most_seconds $python tests/e2e/contract.py -addr "$addr" \
                -ca "$dir/certs/ca.pem" </dev/null || status=$?
        done
        exit $status
    ) &
    plays="$plays $!"
done
status=0
for play in $plays; do
    wait "$play" || status=$?
done
plays=''
[ $status = 0 ] || echo "logs of the pairs: $dir" >&2

for pid in $pids; do
    pids=${pids#"$pid"}
    pids=${pids# }
    pair_end "$pid"
    if [ "$pair_ended" != 0 ]; then
        echo "process $pid ended with status $pair_ended (logs: $dir)" >&2
        [ $status != 0 ] || status=1
    fi
done
exit $status

#!/bin/sh
# deploy/run.sh: the whole thing on one machine, for a first look.
#
#   deploy/run.sh [BIN [DIR]]      (default: bin build/run)
#   RUN_SECONDS=n                  end by itself after n seconds
#   RUN_BOTS=n                     how many bots wander (30)
#
# Starts a world with the two maps, a gateway with the page to walk in, and wandering bots, prints
# where to look and then a line a second, and ends all of it on Ctrl-C, SIGTERM, SIGHUP, when nobody
# can read its lines any more, or when the make that called it was told to end. What the programs
# were built without, such as maps or WebSocket, is left out.
# Characters are kept in DIR/state, so that who comes back stands where it went.
# May touch: the three programs it started, their logs and the store in DIR.
# On trouble: the end of the log of the process that died, and exit status 1.
set -u
cd "$(dirname "$0")/.." || exit 1
bin=${1:-bin}
dir=${2:-build/run}
bots=${RUN_BOTS:-30}
seconds=${RUN_SECONDS:-}
world_pid='' gateway_pid='' bot_pid=''
. deploy/pair.sh

finish() {
    trap '' INT TERM HUP
    # shellcheck disable=SC2086 # those that were started
    pair_end $bot_pid $gateway_pid $world_pid
}
trap finish EXIT
trap 'exit 0' INT TERM HUP

# The usual port, or one that the kernel picks where the usual one is taken.
port() {
    if pair_free "$1"; then echo "127.0.0.1:$1"; else echo 127.0.0.1:0; fi
}

# signals_held PID: its mask of blocked signals, 1 to 16 of them; nothing where there is no such process.
signals_held() {
    sed -n 's/^SigBlk:.*\(....\)$/\1/p' "/proc/$1/status" 2>/dev/null
}

# The makes above us. A make that gets SIGINT or SIGHUP waits for its commands and does not pass it
# on; it holds the signal blocked meanwhile, and that can be seen.
makes=
up=$PPID
while [ "$(cat "/proc/$up/comm" 2>/dev/null)" = make ]; do
    makes="$makes $up:$(signals_held "$up")"
    up=$(sed -n 's/^PPid:[[:blank:]]*//p' "/proc/$up/status")
done
told_to_end() {
    for one in $makes; do
        [ "$(signals_held "${one%:*}")" = "${one#*:}" ] || return 0
    done
    return 1
}

maps=deploy/maps scene=''
set -- -status 1s -store "$(pair_store "$bin" "$dir/state")" -admin "$(port 19012)"
if pair_has "$bin" jansson zlib; then
    set -- "$@" -map $maps/town.json -map $maps/wild.json -scene town -aoi-radius 24
    scene=' -scene town'
fi
if pair_has "$bin" libcrypto http-parser wslay; then
    # shellcheck disable=SC2034 # pair_start takes it
    pair_gateway_flags="-ws-listen $(port 19080) -web-maps $maps"
fi
pair_start "$bin" "$dir" "$(port 19002)" "$(port 19001)" "$@"
page_addr=$(sed -n 's/.*websocket on \([^ ]*\)$/\1/p' "$dir/gateway.log")
admin_addr=$(pair_address "$dir/world.log" "$world_pid" "admin on") ||
    pair_die "the world did not start" "$dir/world.log"
pair_spawn "$dir/bot.log" "$bin/bot" -mode=wander -n "$bots" -addr "$gateway_addr"
bot_pid=$pair_pid

cat <<END
world    $world_addr    for gateways; log in $dir/world.log
gateway  $gateway_addr    for clients; log in $dir/gateway.log
bots     $bots, wandering; log in $dir/bot.log
map      http://$admin_addr/map    who is where, for operators
${page_addr:+page     http://$page_addr/    to walk among them: open it in a browser
}
Ctrl-C ends all of it. Until then, in another terminal:

    $bin/bot -mode=smoke -addr $gateway_addr$scene

END

n='\([0-9]*\)'
status_line="s|.* status players=$n moves=$n updates=$n tick_p50_us=$n tick_max_us=$n.*|\
players \1   moves \2/s   updates \3/s   tick \4 us (worst \5 us)|p"

turn=0
while :; do
    sleep 1
    turn=$((turn + 1))
    pair_alive "$world_pid" || pair_die "the world ended by itself" "$dir/world.log"
    pair_alive "$gateway_pid" || pair_die "the gateway ended by itself" "$dir/gateway.log"
    pair_alive "$bot_pid" || pair_die "the bots ended by themselves" "$dir/bot.log"
    tail -n 200 "$dir/world.log" | sed -n "$status_line" | tail -n 1 || exit 0
    [ -z "$seconds" ] || [ "$turn" -lt "$seconds" ] || exit 0
    ! told_to_end || exit 0
done

# deploy/pair.sh: start and end a world and a gateway from a shell script (to be sourced).
#
# Each process leads a session of its own, so that Ctrl-C reaches the script alone and the script
# decides the order; and each gets SIGTERM when the script itself dies, however it dies.
# May touch: the programs, their logs in the script's own folder. Linux (/proc).
# On trouble: pair_die prints the end of the log that matters.

PAIR_START_TENTHS=100 # a process that does not listen after 10 s is broken
PAIR_STOP_TENTHS=50   # one that has not ended 5 s after SIGTERM is killed

# pair_spawn LOG COMMAND...: start it; its process id is in $pair_pid.
pair_spawn() {
    pair_log=$1
    shift
    : >"$pair_log" # before anybody looks for an address in it
    if setpriv --pdeathsig TERM true 2>/dev/null; then
        setpriv --pdeathsig TERM setsid "$@" >"$pair_log" 2>&1 </dev/null &
    else
        setsid "$@" >"$pair_log" 2>&1 </dev/null &
    fi
    pair_pid=$!
}

# pair_alive PID: is it running? One that ended and was not waited for is not.
pair_alive() {
    { read -r pair_stat <"/proc/$1/stat"; } 2>/dev/null || return 1
    case $pair_stat in *') Z '*) return 1 ;; esac
}

# pair_address LOG PID [WORDS]: print the address that the process says it listens on, or what else
# stands behind these words in its log.
pair_address() {
    pair_tenths=0
    while [ $pair_tenths -lt $PAIR_START_TENTHS ]; do
        pair_found=$(sed -n 's/.*'"${3:-listening on}"' \([][0-9a-fA-F.:]*:[0-9]*\).*/\1/p' "$1" | head -n 1)
        if [ -n "$pair_found" ]; then
            echo "$pair_found"
            return 0
        fi
        pair_alive "$2" || return 1
        sleep 0.1
        pair_tenths=$((pair_tenths + 1))
    done
    return 1
}

# pair_free PORT: does nobody listen on it?
pair_free() {
    ! awk -v port="$(printf ':%04X$' "$1")" '$4 == "0A" && $2 ~ port { hit = 1 }
                                             END { exit !hit }' /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

# pair_has BIN PART...: was this program built with all of these libraries?
pair_has() {
    pair_bin=$1
    shift
    for pair_one in "$@"; do
        "$pair_bin/aegis" -version | grep -q "^$pair_one [0-9]" || return 1
    done
}

# pair_store BIN DIR: print a store in DIR for -store; none where this program has no SQLite, or
# where another world has that one.
pair_store() {
    mkdir -p "$2"
    if ! pair_has "$1" sqlite; then
        echo none
    elif [ -e "$2/world.db" ] && ! flock -n "$2/world.db" true 2>/dev/null; then
        echo none
    else
        echo "sqlite:$2/world.db"
    fi
}

# pair_start BIN DIR WORLD_LISTEN GATEWAY_LISTEN [WORLD FLAGS...]: both listen when it returns.
# $pair_gateway_flags, where set, are the gateway's. Sets world_pid, world_addr, gateway_pid,
# gateway_addr.
pair_start() {
    pair_bin=$1 pair_dir=$2 pair_world=$3 pair_gateway=$4
    shift 4
    mkdir -p "$pair_dir"
    pair_spawn "$pair_dir/world.log" "$pair_bin/aegis" -role=world -listen "$pair_world" "$@"
    world_pid=$pair_pid
    world_addr=$(pair_address "$pair_dir/world.log" "$world_pid") ||
        pair_die "the world did not start" "$pair_dir/world.log"
    # shellcheck disable=SC2086 # a list of words
    pair_spawn "$pair_dir/gateway.log" "$pair_bin/aegis" -role=gateway -listen "$pair_gateway" \
        -upstream "$world_addr" ${pair_gateway_flags:-}
    gateway_pid=$pair_pid
    gateway_addr=$(pair_address "$pair_dir/gateway.log" "$gateway_pid") ||
        pair_die "the gateway did not start" "$pair_dir/gateway.log"
}

# pair_end PID...: ask each in turn to end, then insist. Sets pair_ended to the last one's status.
pair_end() {
    for pair_one in "$@"; do
        kill -TERM "$pair_one" 2>/dev/null || :
        pair_tenths=0
        while pair_alive "$pair_one"; do
            if [ $pair_tenths -ge $PAIR_STOP_TENTHS ]; then
                kill -KILL "$pair_one" 2>/dev/null || :
            fi
            sleep 0.1
            pair_tenths=$((pair_tenths + 1))
        done
        pair_ended=0
        wait "$pair_one" 2>/dev/null || pair_ended=$?
    done
}

# pair_die WORDS LOG: say why, show the end of the log, leave through the script's EXIT trap.
pair_die() {
    echo "$1; the end of $2:" >&2
    tail -n 20 "$2" >&2 || :
    exit 1
}

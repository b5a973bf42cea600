#!/bin/bash
# tests/run-deploy.sh: does what deploy/ holds for operators fit the programs?
#
#   tests/run-deploy.sh BIN DIR
#
# The config files start a pair, and the defaults in them are the programs'; README's metrics are what
# the pair shows; the image's health check finds it well; the compose file calls the programs as they
# want to be called, and so do those of a cluster (tests/ops/manifests.py); systemd understands the
# units (where systemd-analyze is installed); a service manager hears of start, life and drain.
# May touch: DIR, the processes it started.
# On trouble: `not ok - ...` with what was seen, and exit status 1.
set -u
cd "$(dirname "$0")/.." || exit 1
bin=$(cd "$1" && pwd) || exit 1
rm -rf "$2"
mkdir -p "$2"
dir=$(cd "$2" && pwd) || exit 1
failures=0
world_pid='' gateway_pid=''
. deploy/pair.sh

finish() {
    # shellcheck disable=SC2086 # those that were started
    pair_end $gateway_pid $world_pid
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

# check NAME COMMAND...: the command must succeed.
check() {
    local what=$1
    shift
    if "$@" >"$dir/check.out" 2>&1; then
        echo "ok - $what"
    else
        echo "not ok - $what"
        sed 's/^/    /' "$dir/check.out"
        failures=$((failures + 1))
    fi
}

# --- config files ----------------------------------------------------------------------------------

# Each `#name = value` of a file must be a flag with that default; each `name = value` a flag.
defaults_are_current() {
    "$bin/aegis" -role="$1" -help=config | grep -v '^#' >"$dir/$1.defaults"
    awk -v file="deploy/config/$1.conf" '
        NR == FNR { if (split($0, part, " *= *") > 1) def[part[1]] = part[2]; next }
        /^#?[a-z-]+ = / {
            hidden = sub(/^#/, "")
            name = $1
            value = $0
            sub(/^[a-z-]+ = /, "", value)
            if (!(name in def)) { print file ":" FNR ": no flag " name; bad = 1 }
            else if (hidden && def[name] != value) {
                print file ":" FNR ": the default of " name " is " def[name]; bad = 1 }
        }
        END { exit bad }' "$dir/$1.defaults" "deploy/config/$1.conf"
}
check "config: world.conf has the flags and defaults of the day" defaults_are_current world
check "config: gateway.conf has the flags and defaults of the day" defaults_are_current gateway

# admin LOG: the port where the process answers operators.
admin() {
    sed -n 's/.*admin on .*:\([0-9]*\)$/\1/p' "$1" | head -n 1
}
pair_spawn "$dir/world.log" "$bin/aegis" -role=world -config deploy/config/world.conf \
    -listen 127.0.0.1:0 -admin 127.0.0.1:0 -store "$(pair_store "$bin" "$dir")"
world_pid=$pair_pid
world_addr=$(pair_address "$dir/world.log" "$world_pid") || world_addr=
check "config: a world starts with world.conf" [ -n "$world_addr" ]
pair_spawn "$dir/gateway.log" "$bin/aegis" -role=gateway -config deploy/config/gateway.conf \
    -listen 127.0.0.1:0 -admin 127.0.0.1:0 -upstream "${world_addr:-127.0.0.1:1}"
gateway_pid=$pair_pid
gateway_addr=$(pair_address "$dir/gateway.log" "$gateway_pid") || gateway_addr=
check "config: a gateway starts with gateway.conf" [ -n "$gateway_addr" ]
check "config: the pair plays the smoke scenario" \
    "$bin/bot" -mode=smoke -addr "${gateway_addr:-127.0.0.1:1}"

# --- metrics ---------------------------------------------------------------------------------------

# What README says is counted, and what a running process shows, by name and type.
metrics_are_told() {
    exec 3<>"/dev/tcp/127.0.0.1/$(admin "$dir/$1.log")" || return 1
    printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
    sed -n 's/^# TYPE \([^ ]*\) \([a-z]*\).*/\1 \2/p' <&3 | sort >"$dir/$1.shown"
    exec 3>&-
    sed -n "/<!-- metrics:$1 -->/,/<!-- .metrics -->/p" README.md |
        sed -n 's/^| `\([^`]*\)` | \([a-z]*\) .*/\1 \2/p' | sort >"$dir/$1.told"
    [ -s "$dir/$1.shown" ] && diff "$dir/$1.shown" "$dir/$1.told"
}
check "metrics: README has all that a world shows, and nothing else" metrics_are_told world
check "metrics: README has all that a gateway shows, and nothing else" metrics_are_told gateway

# --- the image -------------------------------------------------------------------------------------

check "image: the health check finds a world well" bash deploy/image/healthz.sh "$(admin "$dir/world.log")"
check "image: and a gateway" bash deploy/image/healthz.sh "$(admin "$dir/gateway.log")"
pair_end "$gateway_pid"
gateway_pid=
check "config: the gateway drains with status 0" [ "$pair_ended" = 0 ]
check "image: it does not find well what is not there" \
    eval "! bash deploy/image/healthz.sh '$(admin "$dir/gateway.log")'"
pair_end "$world_pid"
world_pid=
check "config: the world drains with status 0" [ "$pair_ended" = 0 ]

# --- the compose file ------------------------------------------------------------------------------

# The flags are read before -version is answered.
command_is_taken() {
    "$bin/aegis" "$@" -version
}
if python3 -c 'import yaml' 2>/dev/null; then
    for service in world gateway-one gateway-two; do
        mapfile -t command < <(python3 -c 'import sys, yaml
for word in yaml.safe_load(open("deploy/compose.yml"))["services"][sys.argv[1]]["command"]:
    print(word)' $service)
        check "compose: $service is called as the program wants it" command_is_taken "${command[@]}"
    done
else
    echo "# compose.yml not read: no python3-yaml"
fi

# --- a cluster by compose and by Kubernetes --------------------------------------------------------

if python3 -c 'import yaml' 2>/dev/null; then
    python3 tests/ops/manifests.py "$bin" || failures=$((failures + 1))
fi

# --- units -----------------------------------------------------------------------------------------

# unit FILE INSTANCE: a copy that calls the programs just built.
unit() {
    sed "s|/usr/bin/aegis|$bin/aegis|" "deploy/systemd/$1" >"$dir/$2"
}
unit aegis-world.service aegis-world.service
unit aegis-gateway@.service aegis-gateway@one.service
if command -v systemd-analyze >/dev/null; then
    # It says what it does not understand, and still succeeds: silence is what is wanted.
    verified() {
        systemd-analyze verify --man=no "$1" >"$dir/verify.out" 2>&1
        local status=$?
        cat "$dir/verify.out"
        [ $status = 0 ] && ! grep -qF "$(basename "$1")" "$dir/verify.out"
    }
    for one in aegis-world.service aegis-gateway@one.service; do
        check "units: systemd understands $one" verified "$dir/$one"
        check "units: $one is exposed at 1.5 of 10 at most" \
            systemd-analyze security --offline=true --threshold=15 "$dir/$one"
    done
else
    echo "# units not verified: no systemd-analyze"
fi

# seconds KEY FILE: a time of the unit, in seconds.
seconds() {
    sed -n "s/^$1=\([0-9]*\)s$/\1/p" "deploy/systemd/$2"
}
for one in aegis-world.service aegis-gateway@.service; do
    role=${one#aegis-}
    role=${role%%[@.]*}
    drain=$(sed -n 's/^drain-timeout = \([0-9]*\)s$/\1/p' "$dir/$role.defaults")
    check "units: $one waits longer than -drain-timeout" [ "$(seconds TimeoutStopSec $one)" -gt "$drain" ]
done
clients=$(sed -n 's/^max-clients = //p' "$dir/gateway.defaults")
check "units: a gateway may have more descriptors than clients" \
    [ "$(sed -n 's/^LimitNOFILE=//p' deploy/systemd/aegis-gateway@.service)" -gt "$clients" ]

# What a service manager hears from a program: ready, alive, stopping, and then a clean end.
if command -v python3 >/dev/null; then
    for role in world gateway; do
        check "units: a manager hears ready, alive and stopping from a $role" \
            timeout 30 python3 tests/e2e/manager.py "$bin/aegis" -role=$role -listen 127.0.0.1:0
    done
else
    echo "# no service manager played: no python3"
fi

[ $failures = 0 ]

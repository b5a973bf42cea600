#!/bin/sh
# tests/run-house.sh: do the scripts and `make install` keep their word?
#
#   tests/run-house.sh BIN BUILD DIR
#
# deploy/run.sh under every way of being ended, tests/run-smoke.sh, make install and uninstall, and
# deploy/dev-certs.sh, and deploy/install-deps.sh on machines made of a folder of false tools.
# May touch: DIR, the processes it started.
# On trouble: `not ok - ...` with what was seen, and exit status 1.
set -u
cd "$(dirname "$0")/.." || exit 1
bin=$(cd "$1" && pwd) || exit 1
build=$2
dir=$3
rm -rf "$dir"
mkdir -p "$dir"
dir=$(cd "$dir" && pwd) || exit 1
failures=0

# check NAME COMMAND...: the command must succeed.
check() {
    what=$1
    shift
    if "$@"; then
        echo "ok - $what"
    else
        echo "not ok - $what"
        failures=$((failures + 1))
    fi
}

# within TENTHS COMMAND...: wait until it succeeds, so many tenths of a second at most.
within() {
    tenths=$1
    shift
    until "$@"; do
        [ "$tenths" -gt 0 ] || return 1
        tenths=$((tenths - 1))
        sleep 0.1
    done
}

says() {
    grep -q -- "$2" "$1" 2>/dev/null
}

shown() {
    says "$@" && return
    sed 's/^/    /' "$1"
    return 1
}

# Does nobody run our programs any more?
all_gone() {
    for exe in /proc/[0-9]*/exe; do
        case $(readlink "$exe" 2>/dev/null) in "$bin"/*) return 1 ;; esac
    done
}

gone() {
    ! kill -0 "$1" 2>/dev/null
}

# --- deploy/run.sh ---------------------------------------------------------------------------------

# run NAME: start it in the background, with signals as a terminal leaves them; $pid, $out.
run() {
    out=$dir/$1.out
    env --default-signal sh deploy/run.sh "$bin" "$dir/$1" >"$out" 2>&1 &
    pid=$!
}

RUN_SECONDS=2 sh deploy/run.sh "$bin" "$dir/short" >"$dir/short.out" 2>&1
check "run: ends by itself after RUN_SECONDS" [ $? = 0 ]
check "run: prints a line with players, moves, updates and tick time" \
    shown "$dir/short.out" '^players [0-9]* *moves [0-9]*/s *updates [0-9]*/s *tick [0-9]* us'
check "run: nothing is left" within 10 all_gone

# page_there OUT: the page whose address stands there, its modules, and the map of the scene.
page_there() {
    python3 -c '
import json, re, sys, urllib.request
at = re.search(r"^page +(http://\S+/) ", open(sys.argv[1]).read(), re.M).group(1)
def get(path):
    with urllib.request.urlopen(at + path, timeout=10) as answer:
        return answer.read()
assert b"main.js" in get("") and b"Painter" in get("main.js")
assert json.loads(get("maps/index.json")) == ["tiles", "town", "wild"]
assert json.loads(get("maps/town.json"))["width"] == 64' "$1"
}
run page
within 100 says "$out" '^players'
check "run: prints where the page is, and it is there" page_there "$out"
check "run: prints where the map for operators is" shown "$out" '^map *http://[0-9.:]*/map '
kill -TERM "$pid"
wait "$pid"
check "run: after that nothing is left" within 10 all_gone

for signal in INT TERM HUP; do
    run "$signal"
    within 100 says "$out" '^players'
    kill -"$signal" "$pid"
    status=0
    wait "$pid" || status=$?
    check "run: SIG$signal ends it with status 0" [ "$status" = 0 ]
    check "run: after SIG$signal nothing is left" within 10 all_gone
done

run killed
within 100 says "$out" '^players'
kill -KILL "$pid"
wait "$pid" 2>/dev/null
check "run: SIGKILL leaves nothing either" within 100 all_gone

# a make that is told to end, alone: it passes on SIGTERM, and hangs on the others until we have ended
printf 'run:\n\t@exec sh deploy/run.sh "%s" "%s"\n' "$bin" "$dir/make" >"$dir/Makefile"
for signal in INT TERM HUP KILL; do
    out=$dir/make-$signal.out
    env --default-signal -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -f "$dir/Makefile" >"$out" 2>&1 &
    pid=$!
    within 100 says "$out" '^players'
    kill -"$signal" "$pid"
    wait "$pid" 2>/dev/null
    check "run: SIG$signal to the make that called it leaves nothing" within 100 all_gone
done

run first
first=$pid
within 100 says "$out" '^players'
run second
within 100 says "$out" '^players'
check "run: two at once take different ports" [ \
    "$(sed -n 's/^gateway *\([^ ]*\).*/\1/p' "$dir/first.out")" != \
    "$(sed -n 's/^gateway *\([^ ]*\).*/\1/p' "$dir/second.out")" ]
kill -TERM "$pid"
wait "$pid"
for exe in /proc/[0-9]*/exe; do
    of=${exe#/proc/}
    of=${of%/exe}
    case $(readlink "$exe" 2>/dev/null) in
        "$bin"/aegis) tr '\0' ' ' <"/proc/$of/cmdline" | grep -q role=world && kill -KILL "$of" ;;
    esac
done
wait "$first"
check "run: a world that dies ends it with status 1" [ $? = 1 ]
check "run: and is named" shown "$dir/first.out" 'the world ended by itself'
check "run: and nothing is left" within 10 all_gone

# --- tests/run-smoke.sh ----------------------------------------------------------------------------

sh tests/run-smoke.sh "$bin" "$dir/smoke" >"$dir/smoke.out" 2>&1
check "smoke: does well" [ $? = 0 ]
check "smoke: its last line is smoke OK" [ "$(tail -n 1 "$dir/smoke.out")" = "smoke OK" ]
sh tests/run-smoke.sh "$dir/nothing" "$dir/smoke-none" >"$dir/smoke-none.out" 2>&1
check "smoke: fails without programs" [ $? = 1 ]
check "smoke: nothing is left" within 10 all_gone

# what a sanitizer build, or an assertion, would have said
check "logs: no report in any of them" [ -z "$(grep -raE \
    'Sanitizer|runtime error:|[Aa]ssertion failed' "$dir" --include '*.log')" ]

# --- make install ----------------------------------------------------------------------------------

quiet_make() {
    make -s --no-print-directory SAN="${SAN-1}" BUILD="$build" BIN="$bin" DESTDIR="$dir/root" \
        PREFIX=/usr "$@" >"$dir/make.out" 2>&1 || { cat "$dir/make.out"; return 1; }
}
check "install: does well" quiet_make install
check "install: aegis runs" "$dir/root/usr/bin/aegis" -version
check "install: aegis-bot runs" "$dir/root/usr/bin/aegis-bot" -version
check "install: man pages" [ -s "$dir/root/usr/share/man/man8/aegis.8" -a \
    -s "$dir/root/usr/share/man/man1/aegis-bot.1" ]
check "uninstall: does well" quiet_make uninstall
check "uninstall: leaves no file" [ -z "$(find "$dir/root" -type f)" ]

# --- deploy/dev-certs.sh ---------------------------------------------------------------------------

certs() {
    sh deploy/dev-certs.sh "$dir/certs" "$@" >"$dir/certs.out" 2>&1 || { cat "$dir/certs.out"; return 1; }
}
good_for() {
    openssl verify -CAfile "$dir/certs/ca.pem" -purpose sslserver "-verify_$1" "$2" "$dir/certs/cert.pem" \
        >"$dir/certs.out" 2>&1
}
if command -v openssl >/dev/null; then
    check "certs: are made" certs
    check "certs: for localhost" good_for hostname localhost
    check "certs: and for 127.0.0.1" good_for ip 127.0.0.1
    check "certs: and for nobody else" sh -c "! openssl verify -CAfile '$dir/certs/ca.pem' \
        -verify_hostname example.org '$dir/certs/cert.pem' >/dev/null 2>&1"
    check "certs: nobody else may read the keys" [ -z "$(find "$dir/certs" -name '*key*' -perm /077)" ]
    before=$(cat "$dir/certs/ca.pem") cert=$(cat "$dir/certs/cert.pem")
    check "certs: are made anew, for a name" certs game.example 10.0.0.7
    check "certs: of the same root" [ "$before" = "$(cat "$dir/certs/ca.pem")" ]
    check "certs: and are others" [ "$cert" != "$(cat "$dir/certs/cert.pem")" ]
    check "certs: for that name" good_for hostname game.example
    check "certs: and that address" good_for ip 10.0.0.7
    check "certs: nothing else is left" [ "$(ls "$dir/certs" | tr '\n' ' ')" = \
        "ca.key ca.pem cert.pem key.pem " ]
fi
mkdir -p "$dir/empty"
PATH=$dir/empty "$(command -v sh)" deploy/dev-certs.sh "$dir/none" >"$dir/certs.out" 2>&1
check "certs: without openssl" [ $? = 1 ]
check "certs: say so" shown "$dir/certs.out" 'no openssl (Debian: openssl)'

# --- deploy/install-deps.sh ------------------------------------------------------------------------
# A machine is a folder of tools: a few real ones, and false ones that say what we like.

machine() {
    rm -rf "$dir/machine"
    mkdir -p "$dir/machine"
    for tool in sh sed cut tr cat env grep; do
        ln -s "$(command -v $tool)" "$dir/machine/$tool"
    done
    for tool in "$@"; do
        case $tool in
            empty) tool=dpkg-query words='exit 0' ;;
            full) tool=dpkg-query words='for p in gcc make libc6-dev pkg-config libevent-dev \
                libmsgpack-dev libjansson-dev zlib1g-dev libzstd-dev libsqlite3-dev libpq-dev \
                liburing-dev libssl-dev libjwt-dev libnats-dev libhttp-parser-dev libwslay-dev; do echo "installed $p"; done' ;;
            root) tool=id words='echo 0' ;;
            user) tool=id words='echo 1000' ;;
            apt) tool=apt-get words="echo \"\$@\" >>'$dir/apt.log'" ;;
            broken-apt) tool=apt-get words='echo E: no network >&2; exit 100' ;;
            new-names) tool=apt-cache words='case "$*" in *libmsgpack-dev) exit 100 ;; esac' ;;
            old-names) tool=apt-cache words='case "$*" in *libmsgpack-c-dev) exit 100 ;; esac' ;;
            sudo) words="echo sudo \"\$@\" >>'$dir/apt.log'; while [ \"\$1\" != env ]; do shift; done; \
                exec \"\$@\"" ;;
        esac
        printf '#!/bin/sh\n%s\n' "$words" >"$dir/machine/$tool"
        chmod +x "$dir/machine/$tool"
    done
    : >"$dir/apt.log"
}

# deps STATUS ARGS...: install-deps on that machine must end so; its words are in $dir/deps.out.
deps() {
    wanted=$1
    shift
    got=0
    PATH=$dir/machine "$dir/machine/sh" deploy/install-deps.sh "$@" >"$dir/deps.out" 2>&1 </dev/null ||
        got=$?
    [ "$got" = "$wanted" ] && return
    echo "    status $got:"
    sed 's/^/    /' "$dir/deps.out"
    return 1
}

machine full user
check "deps: all is there: does well without root, sudo or apt" deps 0 build
check "deps: and says nothing" [ ! -s "$dir/deps.out" ]
machine full root apt old-names
check "deps: installs what is missing only" deps 0 test
check "deps: asks for the lists once, then installs all" [ "$(sed 's/.*Use-Pty=0 //' "$dir/apt.log")" = \
    "update
install -y --no-install-recommends libcriterion-dev nats-server openssl postgresql python3 python3-msgpack spin" ]
machine full root apt old-names
check "deps: what a cluster needs" deps 0 cluster
check "deps: on top of what builds it" [ "$(sed -n 's/.*no-install-recommends //p' "$dir/apt.log")" = \
    "nats-server postgresql python3" ]
machine full root apt old-names
deps 0 test
check "deps: says what for" shown "$dir/deps.out" 'libcriterion-dev (runs the unit tests)'
machine empty root apt old-names
check "deps: an old Debian" deps 0 build
check "deps: has libmsgpack-dev" shown "$dir/apt.log" ' libmsgpack-dev libjansson-dev'
machine empty root apt new-names
check "deps: a new Debian" deps 0 build
check "deps: has libmsgpack-c-dev" shown "$dir/apt.log" ' libmsgpack-c-dev libjansson-dev'
machine empty user sudo apt old-names
check "deps: a user with sudo" deps 0 build
check "deps: goes through sudo without a question" shown "$dir/apt.log" '^sudo -n env DEBIAN_FRONTEND'
machine empty user apt
check "deps: a user without sudo is told" deps 1 build
check "deps: what root should do" shown "$dir/deps.out" 'neither root nor sudo.*apt-get install gcc'
machine empty root broken-apt
check "deps: apt fails" deps 1 build
check "deps: what to do by hand" shown "$dir/deps.out" 'by hand: apt-get install gcc'
machine root
check "deps: not a Debian" deps 1 build
check "deps: says so" shown "$dir/deps.out" 'not a Debian system'
check "deps: an unknown group" deps 1 everything

[ $failures = 0 ]

#!/bin/sh
# deploy/install-deps.sh: install what is missing from Debian's packages.
#
#   deploy/install-deps.sh [build|test|cluster|lint|js|web]...     (default: build, which test and cluster include)
#
# Says nothing and needs nobody when all is there. Otherwise it says what it installs and why, as
# root or through sudo. May touch: apt. Never: a package that is already there.
# On trouble: one line that says what to do by hand, and exit status 1.
set -eu

# group | package, or packages of which one is enough | what for
packages() {
    cat <<'END'
build|gcc|the compiler
build|make|runs the build
build|libc6-dev|headers of the C library
build|pkgconf,pkg-config|finds libraries
build|libevent-dev|event loop, sockets, timers
build|libmsgpack-c-dev,libmsgpack-dev|the wire format, MessagePack
build|libjansson-dev|reads maps (optional)
build|zlib1g-dev|reads compressed maps (optional)
build|libzstd-dev|reads compressed maps (optional)
build|libsqlite3-dev|the store (optional)
build|libpq-dev|the store in PostgreSQL (optional)
build|liburing-dev|many sends in one call (optional)
build|libssl-dev|TLS, and hashes for WebSocket and tokens (optional)
build|libjwt-dev|tokens (optional)
build|libnats-dev|a cluster of worlds (optional)
build|libhttp-parser-dev|requests, for WebSocket (optional)
build|libwslay-dev|frames, for WebSocket (optional)
test|libcriterion-dev|runs the unit tests
test|nats-server|what a cluster stands on
test|openssl|makes certificates for development
test|postgresql|the store in PostgreSQL
test|python3|a client in another language
test|python3-msgpack|the wire format, for that client
test|spin|checks the models of a cluster
cluster|nats-server|what a cluster stands on
cluster|postgresql|the store in PostgreSQL
cluster|python3|starts and watches the parts
js|nodejs|runs JavaScript
js|npm|fetches its one dependency
js|openssl|makes certificates, for a test of TLS
web|chromium|shows the pages, for their tests
web|openssl|makes certificates, for the pages by TLS
web|fonts-dejavu-core|their letters, on a machine without a screen
lint|clang-format|the form of the code
lint|cppcheck|static checks
lint|mypy|the types of the Python client
lint|prometheus|promtool, for the alert rules
lint|clang|a second opinion on warnings, and libFuzzer
END
}

die() {
    echo "install-deps: $*" >&2
    exit 1
}

groups=
for arg in "${@:-build}"; do
    case $arg in
        build | lint | js | web) groups="$groups $arg" ;;
        test | cluster) groups="$groups build $arg" ;;
        *) die "unknown group '$arg': build, test, cluster, lint, js or web" ;;
    esac
done

# The rows of the wanted groups.
wanted() {
    packages | while IFS='|' read -r group names why; do
        case " $groups " in *" $group "*) echo "$names|$why" ;; esac
    done
}

# Without Debian's tools the best guess is whether the things themselves are there.
thing_is_there() {
    case $1 in
        gcc | make | cppcheck | clang | clang-format | mypy | spin) command -v "$1" >/dev/null ;;
        libc6-dev) [ -e /usr/include/stdio.h ] ;;
        pkgconf*) command -v pkg-config >/dev/null ;;
        libevent-dev) pkg-config --exists libevent_core libevent_extra 2>/dev/null ;;
        libmsgpack*) pkg-config --exists msgpack-c 2>/dev/null ||
            pkg-config --exists msgpack 2>/dev/null ;;
        libcriterion-dev) pkg-config --exists criterion 2>/dev/null ;;
        libjansson-dev) pkg-config --exists jansson 2>/dev/null ;;
        zlib1g-dev) pkg-config --exists zlib 2>/dev/null ;;
        libzstd-dev) pkg-config --exists libzstd 2>/dev/null ;;
        libsqlite3-dev) pkg-config --exists sqlite3 2>/dev/null ;;
        libpq-dev) pkg-config --exists libpq 2>/dev/null ;;
        postgresql) [ -n "$(ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null)" ] ;;
        liburing-dev) pkg-config --exists liburing 2>/dev/null ;;
        libssl-dev) pkg-config --exists libcrypto 2>/dev/null ;;
        libjwt-dev) pkg-config --exists libjwt 2>/dev/null ;;
        libnats-dev) pkg-config --exists libnats 2>/dev/null ;;
        nats-server) command -v nats-server >/dev/null ;;
        libhttp-parser-dev) [ -e /usr/include/http_parser.h ] ;;
        libwslay-dev) [ -e /usr/include/wslay/wslay.h ] ;;
        prometheus) command -v promtool >/dev/null ;;
        openssl) command -v openssl >/dev/null ;;
        python3) command -v python3 >/dev/null ;;
        nodejs) command -v node >/dev/null ;;
        npm) command -v npm >/dev/null ;;
        chromium) command -v chromium >/dev/null ;;
        fonts-dejavu-core) [ -n "$(fc-list 2>/dev/null)" ] ;;
        python3-msgpack) python3 -c 'import msgpack' 2>/dev/null ;;
        *) return 1 ;;
    esac
}

if command -v dpkg-query >/dev/null; then
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null |
        sed -n 's/^installed / /p' | tr -d '\n')" "
    is_there() {
        case $1 in # other packagings of Node bring npm along
            nodejs) command -v node >/dev/null && return ;;
            npm) command -v npm >/dev/null && return ;;
        esac
        for name in $(echo "$1" | tr , ' '); do
            case $installed in *" $name "*) return 0 ;; esac
        done
        return 1
    }
else
    is_there() {
        thing_is_there "$1"
    }
fi

missing=$(wanted | while IFS='|' read -r names why; do
    is_there "$names" || echo "$names|$why"
done)
[ -n "$missing" ] || exit 0

list=$(echo "$missing" | cut -d'|' -f1 | sed 's/,.*//' | tr '\n' ' ')
command -v apt-get >/dev/null && command -v dpkg-query >/dev/null ||
    die "this is not a Debian system; please install what these Debian packages hold: $list"

as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
        die "neither root nor sudo; please let root run: apt-get install $list"
    as_root=sudo
    [ -t 0 ] || as_root="sudo -n" # nobody is there to type a password
fi

# Its many words are shown only where it fails.
apt() {
    said=$($as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 \
        -o Dpkg::Use-Pty=0 "$@" </dev/null 2>&1) && return
    echo "$said" >&2
    return 1
}

echo "install-deps: missing on this machine:"
echo "$missing" | while IFS='|' read -r names why; do
    echo "install-deps:   $(echo "$names" | sed 's/,/ or /g') ($why)"
done
echo "install-deps: apt-get update"
apt update || die "apt-get update failed; please install by hand: apt-get install $list"

# Names differ between Debian's releases: the first that can be had.
chosen=
for names in $(echo "$missing" | cut -d'|' -f1); do
    found=
    for name in $(echo "$names" | tr , ' '); do
        if [ -z "$found" ] && apt-cache show --no-all-versions "$name" >/dev/null 2>&1; then
            found=$name
        fi
    done
    [ -n "$found" ] || die "this system's package lists have no $(echo "$names" | sed 's/,/ or /g')"
    chosen="$chosen $found"
done

echo "install-deps: apt-get install$chosen"
# shellcheck disable=SC2086 # a list of words
apt install -y --no-install-recommends $chosen ||
    die "apt-get install failed; please install by hand:$chosen"

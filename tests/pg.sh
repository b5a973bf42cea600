#!/bin/sh
# tests/pg.sh: a PostgreSQL of a test's own, in a folder, on a socket and a loopback port.
#
#   tests/pg.sh make FOLDER    initialise it there, once
#   tests/pg.sh run FOLDER     serve it until killed: becomes the server, and ends with its parent
#
# Without care for the disk, so that tests are quick. As root it runs as the user postgres, since the
# server refuses to be root. May touch: FOLDER. Never: a server of the machine's.
# On trouble: one line, and exit status 1; 77 where PostgreSQL is not installed.
set -eu
how=$1
folder=$2

# Debian keeps each version in a folder of its own.
bin=
for candidate in $(dirname "$(command -v initdb || echo /none)") /usr/lib/postgresql/*/bin; do
    [ -x "$candidate/initdb" ] && [ -x "$candidate/postgres" ] && bin=$candidate
done
[ -n "$bin" ] || { echo "pg.sh: PostgreSQL is not installed" >&2; exit 77; }

as_user=
if [ "$(id -u)" = 0 ]; then
    id postgres >/dev/null 2>&1 || { echo "pg.sh: root, and no user postgres" >&2; exit 77; }
    as_user="setpriv --reuid postgres --regid postgres --clear-groups"
fi

case $how in
    make)
        mkdir -p "$folder"
        [ -z "$as_user" ] || chown postgres "$folder"
        chmod 700 "$folder"
        # shellcheck disable=SC2086 # words
        $as_user env LC_ALL=C "$bin/initdb" -D "$folder/data" -U aegis -E UTF8 -A trust --no-sync \
            --no-instructions >"/dev/null" 2>&1 || status=1
        [ "${status:-0}" = 0 ] || { echo "pg.sh: initdb failed" >&2; exit 1; } ;;
    run)
        cd "$folder"
        # shellcheck disable=SC2086 # words
        exec $as_user ${as_user:+--pdeathsig INT} env LC_ALL=C "$bin/postgres" -D "$folder/data" -k "$folder" -p 5432 \
            -c listen_addresses= -c fsync=off -c full_page_writes=off -c max_connections=20 \
            -c shared_buffers=16MB -c logging_collector=off -c log_min_messages=fatal ;;
esac

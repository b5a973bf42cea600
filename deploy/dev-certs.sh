#!/bin/sh
# deploy/dev-certs.sh: certificates for development: a root of one's own, and one for localhost.
#
#   deploy/dev-certs.sh [DIR [NAME...]]      (default: build/certs, localhost 127.0.0.1 ::1)
#
# Writes DIR/ca.pem and DIR/ca.key, unless they are there, and anew each time DIR/cert.pem and
# DIR/key.pem for these names and addresses: for -tls-cert and -tls-key. Whoever trusts ca.pem trusts
# whatever that key signs, so it is for one's own machine only. May touch: DIR. Needs: openssl.
# On trouble: one line, and exit status 1; files that were there stay as they were.
set -eu
umask 077
dir=${1:-build/certs}
[ $# = 0 ] || shift
[ $# -gt 0 ] || set -- localhost 127.0.0.1 ::1

die() {
    echo "dev-certs: $*" >&2
    exit 1
}

command -v openssl >/dev/null || die "no openssl (Debian: openssl)"
mkdir -p "$dir"
new=$(mktemp -d "$dir/new.XXXXXX")
trap 'rm -rf "$new"' EXIT
trap 'exit 1' INT TERM HUP

# ssl ARGS...: quiet where it does well.
ssl() {
    said=$(openssl "$@" 2>&1) || die "openssl $1: $said"
}

if [ ! -s "$dir/ca.pem" ] || [ ! -s "$dir/ca.key" ]; then
    ssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 \
        -subj "/CN=Aegis development root" -addext keyUsage=critical,keyCertSign \
        -keyout "$new/ca.key" -out "$new/ca.pem"
    mv "$new/ca.key" "$new/ca.pem" "$dir/"
fi
names=
for name in "$@"; do
    case $name in
        *:* | *[0-9].[0-9]*.[0-9]*.[0-9]*) names="$names,IP:$name" ;;
        *) names="$names,DNS:$name" ;;
    esac
done
cat >"$new/extensions" <<END
subjectAltName=${names#,}
basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature
extendedKeyUsage=serverAuth
END
ssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" \
    -keyout "$new/key.pem" -out "$new/request.pem"
ssl x509 -req -in "$new/request.pem" -CA "$dir/ca.pem" -CAkey "$dir/ca.key" -days 90 \
    -set_serial "0x$(openssl rand -hex 16 | sed 's/^./4/')" -extfile "$new/extensions" -out "$new/cert.pem"
mv "$new/key.pem" "$new/cert.pem" "$dir/"
echo "$dir/ca.pem $dir/cert.pem $dir/key.pem"

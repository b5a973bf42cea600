#!/bin/sh
# tests/e2e/run_tls.sh: what openssl sees of a gateway under TLS, and how it starts without what it needs.
#
#   tests/e2e/run_tls.sh [BIN [DIR]]      (default: $AEGIS_BIN or bin, build/tls)
#
# README's words on TLS, checked with openssl's own client, and the lines of starts that must fail.
# May touch: DIR, the processes it started. On trouble: `not ok - ...` with what was seen, and exit
# status 1.
set -u
cd "$(dirname "$0")/../.." || exit 1
bin=${1:-${AEGIS_BIN:-bin}}
dir=${2:-build/tls}
rm -rf "$dir"
mkdir -p "$dir"
failures=0 world_pid='' gateway_pid=''
. deploy/pair.sh

finish() {
    # shellcheck disable=SC2086 # those that were started
    pair_end $gateway_pid $world_pid
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

# check NAME COMMAND...: the command must succeed.
check() {
    what=$1
    shift
    if "$@"; then
        echo "ok - $what"
    else
        echo "not ok - $what"
        sed 's/^/    /' "$dir/out"
        failures=$((failures + 1))
    fi
}

# says WORDS: are they in what came last?
says() {
    grep -q -- "$1" "$dir/out"
}

# starts STATUS FLAGS...: a gateway with these flags ends so, in one line, before it has a port.
starts() {
    wanted=$1
    shift
    got=0
    timeout 10 "$bin/aegis" -role=gateway -listen 127.0.0.1:0 "$@" >"$dir/out" 2>&1 </dev/null || got=$?
    [ "$got" = "$wanted" ] && [ "$(wc -l <"$dir/out")" = 1 ]
}

case $("$bin/aegis" -version) in *'libssl not built in'* | *'libcrypto not built in'*)
    check "without OpenSSL -tls-cert ends the start" starts 2 -tls-cert a -tls-key b
    check "and says why" says '^aegis: -tls-cert: this program was built without libssl or libcrypto'
    exit $failures ;;
esac
if ! command -v openssl >/dev/null; then
    echo "ok - nothing to ask without openssl"
    exit 0
fi
sh deploy/dev-certs.sh "$dir/certs" >"$dir/out" 2>&1 || { cat "$dir/out"; exit 1; }
cert=$dir/certs/cert.pem key=$dir/certs/key.pem ca=$dir/certs/ca.pem

# --- starts that fail ------------------------------------------------------------------------------

check "a certificate alone is refused" starts 2 -tls-cert "$cert"
check "and its flag named" says '^aegis: -tls-cert: needs -tls-key beside it$'
check "a key alone is refused" starts 2 -tls-key "$key"
check "a certificate that is not there" starts 1 -tls-cert "$dir/none" -tls-key "$key"
check "is named" says "^aegis: -tls-cert: $dir/none: No such file or directory\$"
check "a key that is none" starts 1 -tls-cert "$cert" -tls-key "$cert"
check "is named" says "^aegis: -tls-key: $cert: holds no private key in PEM\$"
check "another's key" starts 1 -tls-cert "$cert" -tls-key "$dir/certs/ca.key"
check "is named" says "^aegis: -tls-key: $dir/certs/ca.key: does not belong to the certificate in $cert\$"
openssl ec -in "$key" -aes128 -passout pass:secret -out "$dir/locked.pem" 2>/dev/null
check "a key behind a passphrase" starts 1 -tls-cert "$cert" -tls-key "$dir/locked.pem"
check "is named, and nobody asked for one" says "^aegis: -tls-key: $dir/locked.pem: is encrypted"

# --- what openssl sees -----------------------------------------------------------------------------

pair_gateway_flags="-tls-cert $cert -tls-key $key"
pair_start "$bin" "$dir" 127.0.0.1:0 127.0.0.1:0

# sees STATUS ARGS...: openssl's client must end so; its words are in $dir/out.
sees() {
    wanted=$1
    shift
    got=0
    timeout 20 openssl s_client -connect "$gateway_addr" -CAfile "$ca" -verify_return_error "$@" \
        >"$dir/out" 2>&1 </dev/null || got=$?
    [ "$got" = "$wanted" ]
}
check "openssl is let in" sees 0 -brief -verify_hostname localhost
check "by TLS 1.3" says '^Protocol version: TLSv1.3$'
check "with an AEAD cipher" says '^Ciphersuite: TLS_AES_256_GCM_SHA384$'
check "and trusts who is there" says '^Verification: OK$'
check "by its address too" sees 0 -brief -verify_ip 127.0.0.1
check "but not by another" sees 1 -brief -verify_ip 127.0.0.2
check "TLS 1.2 is spoken" sees 0 -tls1_2
check "with forward secrecy" says '^New, TLSv1.2, Cipher is ECDHE-ECDSA-'
check "without compression" says '^Compression: NONE$'
check "TLS 1.1 is not" sees 1 -tls1_1 -cipher 'DEFAULT:@SECLEVEL=0'
check "and its client is told so" says 'alert protocol version'
check "a cipher without forward secrecy is not" sees 1 -tls1_2 -cipher AES256-GCM-SHA384
check "a handshake anew is refused" sh -c "printf 'R\\n' | timeout 20 openssl s_client -tls1_2 \
    -connect $gateway_addr -CAfile $ca >'$dir/out' 2>&1; grep -q 'no renegotiation' '$dir/out'"
check "a ticket comes" sees 0 -tls1_2 -sess_out "$dir/session"
check "and resumes" sees 0 -tls1_2 -sess_in "$dir/session"
check "as it says" says '^Reused, TLSv1.2'
sh deploy/dev-certs.sh "$dir/certs" localhost 127.0.0.1 other.example >/dev/null
kill -HUP "$gateway_pid"
pair_tenths=0
until grep -q 'read anew flag=-tls-cert' "$dir/gateway.log" || [ $pair_tenths = 100 ]; do
    sleep 0.1
    pair_tenths=$((pair_tenths + 1))
done
check "after SIGHUP the new certificate is shown" sees 0 -brief -verify_hostname other.example
check "and the old ticket still resumes" sees 0 -tls1_2 -sess_in "$dir/session"
check "as it says" says '^Reused, TLSv1.2'

pair_end "$gateway_pid"
check "the gateway ended well" [ "$pair_ended" = 0 ]
gateway_pid=''
[ $failures = 0 ]

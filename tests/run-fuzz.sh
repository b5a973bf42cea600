#!/bin/sh
# tests/run-fuzz.sh: run fuzz targets, with seeds taken from the golden vectors.
#
#   tests/run-fuzz.sh probe                        can clang link libFuzzer here?
#   tests/run-fuzz.sh libfuzzer BUILD              every one of $FUZZ_PROGRAMS for $FUZZ_SECONDS
#   tests/run-fuzz.sh alone BUILD                  the same with the driver of our own
#   tests/run-fuzz.sh bounded BUILD PROGRAM RUNS   one of them (driver of our own), so many inputs
#
# What libFuzzer finds on its way is kept in BUILD/corpus; what breaks a target in BUILD/crashes.
# May touch: BUILD, build/probe. Never: the tree.
# On trouble: the target's own words, the input's path, and exit status 1.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${2:-build}

# The hex of every vector becomes two files of bytes, the whole and what follows a frame's head.
seeds() {
    [ ! -e "$build/seeds/.made" ] || return 0
    mkdir -p "$build/seeds"
    cat tests/vectors/*.json 2>/dev/null |
        sed -n 's/.*"hex": *"\([0-9a-f]*\)".*/\1/p' |
        awk '{ print; if (length($0) > 8) print substr($0, 9) }' | sort -u |
        awk 'BEGIN { for (i = 0; i < 256; i++) octal[sprintf("%02x", i)] = sprintf("\\0%03o", i) }
             { bytes = ""
               for (i = 1; i < length($0); i += 2)
                   bytes = bytes octal[substr($0, i, 2)]
               print NR, bytes }' |
        while read -r number bytes; do
            printf %b "$bytes" >"$build/seeds/$number"
        done
    : >"$build/seeds/.made"
}

case ${1:-} in
    probe)
        command -v clang >/dev/null || exit 1
        mkdir -p build
        echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && n > 9; }' |
            clang -fsanitize=fuzzer -x c - -o build/probe 2>/dev/null
        found=$?
        rm -f build/probe
        exit $found ;;
    bounded)
        mkdir -p "$build/crashes"
        "$3" -runs="$4" -seed=1 -artifact_prefix="$build/crashes/$(basename "$3")-" ;;
    libfuzzer | alone)
        seeds
        mkdir -p "$build/crashes"
        status=0
        for program in $FUZZ_PROGRAMS; do
            name=$(basename "$program")
            log=$build/corpus/$name.log
            mkdir -p "$build/corpus/$name"
            echo "  FUZZ $name, ${FUZZ_SECONDS:-60} s"
            if "$program" -max_total_time="${FUZZ_SECONDS:-60}" -max_len=20000 -print_final_stats=1 \
                -artifact_prefix="$build/crashes/$name-" "$build/corpus/$name" "$build/seeds" \
                >"$log" 2>&1 </dev/null; then
                sed -n 's/^stat::number_of_executed_units: */       inputs: /p
                        s/^stat::new_units_added: */       kept for their new paths: /p
                        /nothing broke$/p' "$log"
            else
                tail -n 100 "$log"
                echo "$name: BROKEN (log: $log)"
                status=1
            fi
        done
        [ $status != 0 ] || echo "fuzz: no target broke"
        exit $status ;;
    *)
        echo "run-fuzz: probe, libfuzzer, alone or bounded" >&2
        exit 1 ;;
esac

#!/bin/sh
# tests/model/run.sh: check the models of a cluster, and that planted errors make them fail.
#
#   tests/model/run.sh DIR      (CC: the compiler of the checker, WRITES: how far lease.pml goes)
#
# spin makes a checker of each model, which goes through all its states, in less than MEGABYTES. A
# planted error (-DPLANT=n, see each model's head) has to break an assertion.
# May touch: DIR. On trouble: `not ok - ...` with what the checker said, and exit status 1.
set -u
mkdir -p "$1" || exit 1
dir=$(cd "$1" && pwd)
cd "$(dirname "$0")" || exit 1
here=$(pwd)
cc=${CC:-gcc}
writes=${WRITES:-6}
failures=0

MEGABYTES=900
DEPTH=100000

command -v spin >/dev/null || {
    echo "not ok - spin is missing; deploy/install-deps.sh test installs it"
    exit 1
}
rm -rf "$dir"
mkdir -p "$dir" && cd "$dir" || exit 1

# search MODEL DEFINES FLAGS ARGS: go through it; what was said is in ./said.
search() {
    # shellcheck disable=SC2086 # lists of words
    {
        rm -f pan* ./*.trail
        spin -a $2 "$here/$1.pml" &&
            $cc -w -DMEMLIM=$MEGABYTES $3 -o pan pan.c && ./pan -m$DEPTH $4
    } >said 2>&1
}

say() {
    if [ "$1" = 0 ]; then
        echo "ok - model $2"
    else
        echo "not ok - model $2"
        sed 's/^/    /' said
        failures=$((failures + 1))
    fi
}

# All states were seen, and nothing is wrong in any.
whole() {
    grep -q 'errors: 0$' said && ! grep -qE 'max search depth too small|MEMLIM|out of memory|not completed' said
}

fails() {
    grep -q 'assertion violated' said && grep -q 'errors: 1$' said
}

states() {
    sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' said
}

# holds MODEL DEFINES FLAGS ARGS WORDS
holds() {
    search "$1" "$2" "-O1 $3" "$4"
    whole
    say $? "$1: $5 ($(states) states)"
}

# breaks MODEL DEFINES WORDS
breaks() {
    search "$1" "$2" -DSAFETY ""
    fails
    say $? "$1: $3"
}

holds lease "-DWRITES=$writes" -DSAFETY "" "never do two act for a zone"
breaks lease -DREACH "both do act, one after the other"
breaks lease -DPLANT=1 "a lease counted from the answer is found"
breaks lease -DPLANT=2 "a burial without a wait is found"
breaks lease -DPLANT=3 "a renewal at any revision is found"

holds handover "" -DSAFETY "" "one acts, nothing is lost, each end is good"
holds handover -DMOVES=1 -DNP -l "no cycle"
breaks handover -DPLANT=1 "acting before the key is taken is found"
breaks handover -DPLANT=2 "a taking back without the key is found"
breaks handover -DPLANT=3 "a guest that goes on with the prepare is found"
breaks handover -DPLANT=4 "a login that does not wait for the burial is found"

holds session "" -DSAFETY "" "requests are executed and answered once, in order"
breaks session -DPLANT=1 "requests that do not wait for what is late are found"
breaks session -DPLANT=2 "what is late, executed as it comes, is found"
breaks session -DPLANT=3 "answers that do not wait for the attach are found"
breaks session -DPLANT=4 "a world that executes after the switch is found"

cd / && rm -rf "$dir"
[ "$failures" = 0 ]

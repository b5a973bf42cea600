#!/bin/sh
# tests/lint/docs.sh: are the flags and metrics in README.md and the man pages the programs' own?
#
#   tests/lint/docs.sh check BIN      say which paper is stale
#   tests/lint/docs.sh write BIN      bring them up to date
#
# What stands between `flags:world` (gateway, bot) and `/flags` comes from the programs'
# -help=markdown, between `metrics:world` (gateway) and `/metrics` from -help=metrics: as it is in
# README.md, in roff in the man pages, which have flags only.
# May touch: README.md and deploy/man, only with `write`.
# On trouble: the name of the stale paper, and exit status 1.
set -u
cd "$(dirname "$0")/../.." || exit 1
how=$1
bin=$2

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

"$bin/aegis" -role=world -help=markdown >"$scratch/flags:world" &&
    "$bin/aegis" -role=gateway -help=markdown >"$scratch/flags:gateway" &&
    "$bin/bot" -help=markdown >"$scratch/flags:bot" &&
    "$bin/aegis" -role=world -help=metrics >"$scratch/metrics:world" &&
    "$bin/aegis" -role=gateway -help=metrics >"$scratch/metrics:gateway" || {
    echo "docs: the programs in $bin do not tell their flags and metrics"
    exit 1
}

# fill PAPER: print it with fresh rows. A mark is the first word of a comment, Markdown's or roff's.
fill() {
    awk -v scratch="$scratch" -v roff="$(case $1 in *.md) echo 0 ;; *) echo 1 ;; esac)" '
        function plain(s) {
            gsub(/\\/, "\\e", s)
            gsub(/-/, "\\-", s)
            gsub(/`/, "", s)
            sub(/^[.\47]/, "\\\\\\&&", s)
            return s
        }
        function print_roff(row,    cell) {
            if (row !~ /^\| `-/)
                return
            gsub(/\\\|/, "\001", row)
            split(row, cell, / *\| */)
            gsub(/\001/, "|", cell[3])
            gsub(/\001/, "|", cell[4])
            print ".TP"
            print ".BR " plain(cell[2]) (cell[3] == "" ? "" : " \" (" plain(cell[3]) ")\"")
            print plain(cell[4]) "."
        }
        !/^(<!--|\.\\") / {
            if (!inside)
                print
            next
        }
        $2 ~ /^\/(flags|metrics)$/ { inside = 0 }
        !inside { print }
        $2 ~ /^(flags|metrics):[a-z]+$/ {
            inside = 1
            source = scratch "/" $2
            while ((getline row < source) > 0) {
                if (roff)
                    print_roff(row)
                else
                    print row
            }
            close(source)
        }
    ' "$1"
}

status=0
for paper in README.md deploy/man/aegis.8 deploy/man/aegis-bot.1; do
    fill "$paper" >"$scratch/new" || exit 1
    if cmp -s "$scratch/new" "$paper"; then
        continue
    elif [ "$how" = write ]; then
        cat "$scratch/new" >"$paper"
        echo "docs: $paper brought up to date"
    else
        echo "docs: $paper is stale; make docs"
        diff "$paper" "$scratch/new" | head -n 20
        status=1
    fi
done
[ $status != 0 ] || echo "docs: README.md and the man pages have the programs' flags and metrics"
exit $status

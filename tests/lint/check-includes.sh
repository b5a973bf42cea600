#!/bin/sh
# tests/lint/check-includes.sh: who may include what, and no cycles.
#
#   tests/lint/check-includes.sh [ROOT]     (default: here)
#
# The rules for a folder stand in the nearest .may_include, going up from the file; only that one
# counts, so a folder's own file replaces its parent's. A line is one of
#
#   world/state/        headers of ours whose path starts so
#   <event2/            system headers whose name starts so, where they are restricted
#   !common/io/         not these, though another line allows them
#   !<sys/socket.h>     not these, though anybody else may
#   # words             a comment
#
# Restricted are the libraries (list below) and whatever a .may_include line starts with `<`; the rest
# of the C library is free but for `!<`. Paths start at the root. Cycles are looked for between
# headers and between folders, where a folder and its own parent count as one room: a room's roof
# composes its parts, and they stand under it.
# On trouble: one line for each breach, FILE:LINE first, and exit status 1.
set -eu
cd "${1:-.}"

LIBRARIES="event2/ event.h evdns.h evhttp.h evutil.h evrpc.h msgpack openssl/ sqlite3 libpq
 postgresql/ nats jansson zlib.h zstd criterion liburing http_parser wslay jwt.h"

files() {
    find . \( -name .git -o -path ./build -o -path ./bin \) -prune -o -type f "$@" -print |
        sed 's|^\./||' | LC_ALL=C sort
}

# shellcheck disable=SC2046 # file names in the tree have no blanks; lint says so
exec awk -v libraries="$LIBRARIES" '
function folder(path) {
    return sub(/\/[^\/]*$/, "", path) ? path : "."
}

function breach(at, what) {
    print at ": " what
    breaches++
}

function starts(s, prefix) {
    return substr(s, 1, length(prefix)) == prefix
}

# The folder whose .may_include rules over `dir`; "" where there is none.
function ruler(dir) {
    while (!(dir in rules)) {
        if (dir == ".")
            return ""
        dir = folder(dir)
    }
    return dir
}

# Is `name` (path, or <header) allowed by the rules of `dir` to the file `path`?
# 1 allowed, 0 no line for it, -1 forbidden.
function allowed(dir, path, name,    i, n, line, own, verdict) {
    own = path ": "
    if (dir != ".")
        own = substr(own, length(dir) + 2)
    n = split(rules[dir], line, "\n")
    for (i = 1; i <= n; i++) {
        if (starts(line[i], own) && starts(name, substr(line[i], length(own) + 1)))
            return 1
        if (line[i] == "" || index(line[i], ": "))
            continue
        if (starts(line[i], "!") && starts(name, substr(line[i], 2)))
            verdict = -1
        else if (starts(name, line[i]) && verdict == 0)
            verdict = 1
    }
    return verdict + 0
}

function restricted(name,    i) {
    for (i in closed)
        if (starts(name, i))
            return 1
    return 0
}

# Depth first; `way` is the path so far. Reports each cycle where it closes.
function walk(kind, node, way,    i, n, next_node) {
    colour[kind, node] = "open"
    n = split(edges[kind, node], next_node, "\n")
    for (i = 2; i <= n; i++) {
        if (colour[kind, next_node[i]] == "open")
            breach(kind, "a cycle: " way " -> " next_node[i])
        else if (colour[kind, next_node[i]] == "")
            walk(kind, next_node[i], way " -> " next_node[i])
    }
    colour[kind, node] = "done"
}

function edge(kind, from, to) {
    if ((kind, from, to) in edge_known)
        return
    edge_known[kind, from, to] = 1
    edges[kind, from] = edges[kind, from] "\n" to
    if (!((kind, from) in is_node)) {
        is_node[kind, from] = 1
        nodes[kind, ++n_nodes[kind]] = from
    }
}

BEGIN {
    n = split(libraries, lib)
    for (i = 1; i <= n; i++)
        closed["<" lib[i]] = 1
    for (i = 1; i < ARGC; i++) {
        if (ARGV[i] ~ /\.may_include$/) {
            rules[folder(ARGV[i])] = ""
        } else {
            exists[ARGV[i]] = 1
            n_files++
        }
    }
}

FILENAME ~ /\.may_include$/ {
    dir = folder(FILENAME)
    sub(/#.*/, "")
    gsub(/[ \t\r]/, "")
    sub(/:/, ": ")
    if ($0 == "")
        next
    if ($0 ~ /^</)
        closed[$0] = 1
    rules[dir] = rules[dir] "\n" $0
    next
}

/^[ \t]*#[ \t]*include/ {
    at = FILENAME ":" FNR
    name = $0
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", name)
    dir = ruler(folder(FILENAME))
    if (dir == "") {
        breach(at, "no .may_include rules over this folder")
        next
    }
    if (name ~ /^<[^>]*>/) {
        sub(/>.*/, ">", name)
        verdict = allowed(dir, FILENAME, name)
        if (verdict < 0 || (verdict == 0 && restricted(name)))
            breach(at, "includes " name ", which " dir "/.may_include does not allow")
    } else if (name ~ /^"[^"]*"/) {
        sub(/^"/, "", name)
        sub(/".*/, "", name)
        if (!(name in exists)) {
            breach(at, "includes \"" name "\", which is no path from the root")
            next
        }
        if (allowed(dir, FILENAME, name) <= 0)
            breach(at, "includes \"" name "\", which " dir "/.may_include does not allow")
        if (FILENAME !~ /\.c$/)
            edge("headers", FILENAME, name)
        a = folder(FILENAME)
        b = folder(name)
        if (a != b && a != "." && b != "." && !starts(a, b "/") && !starts(b, a "/"))
            edge("folders", a, b)
    } else {
        breach(at, "includes something that is neither \"...\" nor <...>")
    }
}

END {
    kinds = split("headers folders", kind)
    for (k = 1; k <= kinds; k++)
        for (i = 1; i <= n_nodes[kind[k]]; i++)
            if (colour[kind[k], nodes[kind[k], i]] == "")
                walk(kind[k], nodes[kind[k], i], nodes[kind[k], i])
    if (breaches) {
        print "check-includes: " n_files " files, " breaches (breaches == 1 ? " breach" : " breaches")
        exit 1
    }
    print "check-includes: " n_files + 0 " files, no breach"
}
' $(files -name .may_include) $(files \( -name '*.[ch]' -o -name '*.def' \))

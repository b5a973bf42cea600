#!/bin/sh
# tests/lint/lint.sh: what STYLE asks and a program can see.
#
#   tests/lint/lint.sh [ROOT]      (default: here)
#
# Format (clang-format), cppcheck, functions of at most 70 lines, files of at most 600, names unique
# in the tree, a head comment in every file, no leftovers (marks of unfinished work, paths of
# somebody's machine, blanks at a line's end), scripts that parse and can be run, man pages without
# warnings, the types of the Python client (mypy). A tool that is not installed is said to be skipped.
# May touch: nothing; it only reads.
# On trouble: one line for each finding, FILE:LINE first, and exit status 1.
set -u
cd "${1:-.}" || exit 1

FUNCTION_LINES=70
FILE_LINES=600

findings=$(mktemp) || exit 1
trap 'rm -f "$findings"' EXIT

files() {
    find . \( -name .git -o -path ./build -o -path ./bin -o -name node_modules -o -name __pycache__ \) -prune -o -type f "$@" -print |
        sed 's|^\./||' | LC_ALL=C sort
}

c_files=$(files -name '*.[ch]')
code_files="$c_files $(files -name '*.def')"
sh_files=$(files -name '*.sh')
man_files=$(files -path './deploy/man/*')
py_files=$(files -name '*.py')
bash_files=$(files -path './.ci/*')
text_files=$(files ! -name '*.json' ! -name '*.png' ! -name '*.bin' ! -name '*.svg' ! -path '*/corpus/*')

# have TOOL: is it here? Says so once where it is not.
have() {
    command -v "$1" >/dev/null && return 0
    echo "lint: $1 is not installed, skipped (deploy/install-deps.sh lint)"
    return 1
}

find . \( -name .git -o -path ./build -o -path ./bin -o -name node_modules -o -name __pycache__ \) -prune -o -name '*[[:space:]]*' -print |
    sed 's/$/:1: a blank in the name/' >>"$findings"

# Names: one folder for each, main.c apart.
echo "$c_files" | awk -F / '
    { name = $NF; sub(/\.[ch]$/, "", name); folder = substr($0, 1, length($0) - length($NF)) }
    name != "" && name != "main" && name in where && where[name] != folder {
        print $0 ":1: the name " name " is taken by " where[name] name }
    { if (!(name in where)) where[name] = folder }' >>"$findings"

# Heads, lengths, leftovers. A function body is what stands between { and } at the line start, and
# its head goes back to the last line that ended something.
# shellcheck disable=SC2086 # lists of names without blanks
awk -v most_function=$FUNCTION_LINES -v most_file=$FILE_LINES '
    function end_of_file() {
        if (path != "" && lines > most_file)
            print path ":" lines ": " lines " lines, at most " most_file " in a file"
    }
    FNR == 1 {
        end_of_file()
        path = FILENAME
        inside = 0
        head = 1
        if (index($0, "/* " FILENAME ": ") != 1)
            print FILENAME ":1: does not open with /* " FILENAME ": what it is for"
    }
    { lines = FNR }
    /\t/ { print FILENAME ":" FNR ": a tab" }
    /^{/ { inside = 1 }
    /^}/ && inside {
        if (FNR - head + 1 > most_function)
            print FILENAME ":" head ": a function of " FNR - head + 1 " lines, at most " most_function
        inside = 0
    }
    !inside && (/^$/ || /[;}]$/ || /^#/ || /\*\/$/) { head = FNR + 1 }
    END { end_of_file() }
' $code_files </dev/null >>"$findings"

# The words are put together here so that this file does not find itself.
marks="TO""DO|FIX""ME|XX""X"
homes="/(wo""rk|ho""me|ro""ot|Us""ers)/[A-Za-z0-9_.-]"
# shellcheck disable=SC2086
{
    grep -nE "(^|[^A-Za-z])($marks)([^A-Za-z]|$)" $text_files /dev/null |
        sed 's/^\([^:]*:[0-9]*\):.*/\1: a mark of unfinished work/'
    grep -nE "(^|[^A-Za-z0-9_./-])$homes" $text_files /dev/null |
        sed 's/^\([^:]*:[0-9]*\):.*/\1: a path of one machine/'
    grep -nE "[[:blank:]]+$" $text_files /dev/null |
        sed 's/^\([^:]*:[0-9]*\):.*/\1: blanks at the end of the line/'
    grep -n "$(printf '\r')" $text_files /dev/null |
        sed 's/^\([^:]*:[0-9]*\):.*/\1: a carriage return/'
    for file in $text_files; do
        [ -s "$file" ] && [ -n "$(tail -c 1 "$file")" ] && echo "$file:1: no newline at the end"
    done
} >>"$findings"

for file in $sh_files $bash_files; do
    case $(head -n 1 "$file") in
        '#!'*)
            [ -x "$file" ] || echo "$file:1: has a #! but may not be run" ;;
    esac
    case $(head -n 1 "$file") in
        '#!'*bash) bash -n "$file" 2>&1 ;;
        *) sh -n "$file" 2>&1 ;;
    esac | sed "s|^|$file:1: |"
    sed -n 1,3p "$file" | grep -qF "# $file: " || echo "$file:1: does not open with # $file: what it is for"
done >>"$findings"

for file in $sh_files $bash_files $py_files Makefile; do
    count=$(wc -l 2>/dev/null <"$file") || continue
    [ "$count" -le $FILE_LINES ] || echo "$file:$count: $((count)) lines, at most $FILE_LINES in a file"
done >>"$findings"

for file in $py_files; do
    sed -n 1,3p "$file" | grep -qF "\"\"\"$file: " ||
        echo "$file:1: does not open with \"\"\"$file: what it is for"
    ! command -v python3 >/dev/null ||
        python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$file" 2>&1 |
        sed -n "\$s|^|$file:1: |p"
done >>"$findings"

if [ -n "$man_files" ] && command -v groff >/dev/null; then
    for file in $man_files; do
        groff -man -Tutf8 -ww -z "$file" 2>&1 | sed "s|^|$file:1: |"
    done >>"$findings"
fi

# shellcheck disable=SC2086
if [ -e .clang-format ] && have clang-format; then
    clang-format --dry-run --style=file $c_files 2>&1 |
        sed -n 's/^\([^:]*:[0-9]*\):[0-9]*: [a-z]*: code should be.*/\1/p' |
        awk -F : '!seen[$1]++ { print $0 ": not in the form of .clang-format (make format)" }' >>"$findings"
fi

# shellcheck disable=SC2086
if [ -n "$c_files" ] && have cppcheck; then
    # Leaks are LeakSanitizer's, which does not guess; Criterion's macros are beyond cppcheck.
    cppcheck --quiet --std=c11 --language=c --enable=warning,performance,portability --inline-suppr \
        --suppress=missingIncludeSystem --suppress=missingInclude --suppress=memleak \
        --suppress=duplicateAssignExpression -D_GNU_SOURCE -DAEGIS_VERSION='""' -I. \
        -j"$(nproc 2>/dev/null || echo 2)" --template='{file}:{line}: {id}: {message}' \
        $(echo "$c_files" | grep '\.c$' | grep -v '^tests/') 2>&1 | sort -u >>"$findings"
fi

if [ -e proto/py/pyproject.toml ] && have mypy; then
    mypy --no-error-summary --cache-dir=/dev/null --config-file proto/py/pyproject.toml \
        proto/py/*/ 2>&1 | grep ': error: ' >>"$findings"
fi

count=$(wc -l <"$findings")
if [ "$count" -gt 0 ]; then
    cat "$findings"
    echo "lint: $((count)) findings"
    exit 1
fi
echo "lint: $(echo "$text_files" | wc -l | tr -d ' ') files, nothing found"

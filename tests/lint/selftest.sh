#!/bin/sh
# tests/lint/selftest.sh: plant a breach of each kind and see it reported.
#
# Builds a small clean tree, holds check-includes and lint against it (nothing may be found), then
# plants one breach at a time and looks for its line.
# May touch: a folder of its own in TMPDIR.
# On trouble: `not ok - ...` with what was printed instead, and exit status 1.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
tree=$(mktemp -d) || exit 1
out=$(mktemp) || exit 1
trap 'rm -rf "$tree" "$out"' EXIT
failures=0

# put FILE: write it from standard input.
put() {
    mkdir -p "$tree/$(dirname "$1")"
    cat >"$tree/$1"
}

plant_clean() {
    rm -rf "$tree"
    put common/.may_include <<END
# the ground
common/
!common/io/
END
    put common/io/.may_include <<END
common/
<event2/
END
    put core/.may_include <<END
common/
core/
!<time.h>
!common/io/
END
    put edge/.may_include <<END
common/
core/
edge/
END
    put common/a.h <<END
/* common/a.h: something. */
#pragma once
#include <time.h>
END
    put common/io/net.h <<END
/* common/io/net.h: something. */
#pragma once
#include "common/a.h"
#include <event2/event.h>
END
    put core/b.h <<END
/* core/b.h: something. */
#pragma once
#include "common/a.h"
END
    put core/b.c <<END
/* core/b.c: something. */
#include "core/b.h"

int b(void);

int b(void)
{
    return 1;
}
END
    put edge/c.c <<END
/* edge/c.c: something. */
#include "common/io/net.h"
#include "core/b.h"
END
    put deploy/x.sh <<END
#!/bin/sh
# deploy/x.sh: something.
echo
END
    chmod +x "$tree/deploy/x.sh"
    cp "$here/../../.clang-format" "$tree/"
}

# expect TOOL NAME WORDS: the tool must fail, and say the words.
expect() {
    if sh "$here/$1.sh" "$tree" >"$out" 2>&1; then
        bad "$1: $2: nothing was found"
    elif grep -qF -- "$3" "$out"; then
        echo "ok - $1: $2"
    else
        bad "$1: $2: \"$3\" was not said, but:"
    fi
    plant_clean
}

# clean NAME: check-includes must find nothing.
clean() {
    if sh "$here/check-includes.sh" "$tree" >"$out" 2>&1; then
        echo "ok - check-includes: $1"
    else
        bad "check-includes: $1: something was found:"
    fi
    plant_clean
}

bad() {
    echo "not ok - $1"
    sed 's/^/    /' "$out"
    failures=$((failures + 1))
}

plant_clean
for tool in check-includes lint; do
    if sh "$here/$tool.sh" "$tree" >"$out" 2>&1; then
        echo "ok - $tool: a clean tree is clean"
    else
        bad "$tool: a clean tree is not clean"
    fi
done

# --- check-includes --------------------------------------------------------------------------------

includes() {
    expect check-includes "$1" "$2"
}

echo '#include "core/b.h"' >>"$tree/common/a.h"
includes "the ground reaches up" 'common/a.h:4: includes "core/b.h", which common/.may_include'
echo '#include "edge/c.c"' >>"$tree/core/b.c"
includes "a room sees another" 'core/b.c:10: includes "edge/c.c", which core/.may_include'
echo '#include <event2/event.h>' >>"$tree/core/b.c"
includes "a library where it is not allowed" 'includes <event2/event.h>, which core/.may_include'
echo '#include <sqlite3.h>' >>"$tree/core/b.c"
includes "a library that nobody is allowed" 'includes <sqlite3.h>, which core/.may_include'
echo '  #  include <time.h>' >>"$tree/core/b.c"
includes "a header of the C library that is forbidden here" 'includes <time.h>, which core/'
echo '#include "common/io/net.h"' >>"$tree/core/b.c"
includes "an exception to an allowed folder" 'includes "common/io/net.h", which core/.may_include'
echo 'c.c: common/io/' >>"$tree/core/.may_include"
echo '#include "common/io/net.h"' >>"$tree/core/b.c"
includes "an exception for another file" 'includes "common/io/net.h", which core/.may_include'
echo 'b.c: common/io/' >>"$tree/core/.may_include"
echo '#include "common/io/net.h"' >>"$tree/core/b.c"
clean "an exception for this file"
echo '#include "b.h"' >>"$tree/core/b.c"
includes "a path that does not start at the root" 'includes "b.h", which is no path from the root'
echo '#include HEADER' >>"$tree/core/b.c"
includes "a header named by a macro" 'neither "..." nor <...>'
rm "$tree/core/.may_include"
includes "a folder without rules" 'core/b.c:2: no .may_include rules over this folder'
: >"$tree/core/.may_include"
includes "empty rules allow nothing" 'includes "core/b.h", which core/.may_include'
echo '#include "core/b.h"' | put core/sub/d.h
echo 'common/' >"$tree/core/sub/.may_include"
includes "a folder's own rules replace its parent's" 'includes "core/b.h", which core/sub/.may_include'
put core/e.h <<END
#include "core/b.h"
END
echo '#include "core/e.h"' >>"$tree/core/b.h"
includes "two headers in a circle" 'headers: a cycle: core/b.h -> core/e.h -> core/b.h'
echo '#include "core/b.h"' >>"$tree/core/b.h"
includes "a header that includes itself" 'headers: a cycle: core/b.h -> core/b.h'
echo 'edge/' >>"$tree/core/.may_include"
echo '#include "edge/f.h"' >>"$tree/core/b.c"
: | put edge/f.h
includes "two folders in a circle" 'folders: a cycle: core -> edge -> core'

# --- lint ------------------------------------------------------------------------------------------

lint() {
    expect lint "$1" "$2"
}

# lines N: so many lines of C.
lines() {
    seq "$1" | sed 's/.*/    b();/'
}

{ printf 'int g(void);\n\nint g(void)\n{\n'; lines 67; printf '}\n'; } >>"$tree/core/b.c"
if sh "$here/lint.sh" "$tree" >"$out" 2>&1; then
    echo "ok - lint: a function of 70 lines will do"
else
    bad "lint: a function of 70 lines was found"
fi
plant_clean
{ printf 'int g(void);\n\nint g(void)\n{\n'; lines 68; printf '}\n'; } >>"$tree/core/b.c"
lint "a function of 71 lines" 'core/b.c:12: a function of 71 lines'
seq 600 | sed 's|.*|/* */|' >>"$tree/core/b.h"
lint "a file of more than 600 lines" 'core/b.h:603: 603 lines'
echo '/* edge/b.c: something. */' | put edge/b.c
lint "a name that is taken" 'edge/b.c:1: the name b is taken by core/b'
echo '/* b.h: something. */' | put core/g.h
lint "a file with another head" 'core/g.h:1: does not open with /* core/g.h: '
printf '/* TO%s: later */\n' DO >>"$tree/core/b.c"
lint "a mark of unfinished work" 'core/b.c:10: a mark of unfinished work'
printf '/* see /ho%s/x/y */\n' me >>"$tree/core/b.c"
lint "a path of one machine" 'core/b.c:10: a path of one machine'
printf '/* */ \n' >>"$tree/core/b.c"
lint "blanks at the end of a line" 'core/b.c:10: blanks at the end of the line'
printf '/* */\r\n' >>"$tree/core/b.c"
lint "a carriage return" 'core/b.c:10: a carriage return'
printf '\t/* */\n' >>"$tree/core/b.c"
lint "a tab" 'core/b.c:10: a tab'
printf '/* */' >>"$tree/core/b.c"
lint "no newline at the end" 'core/b.c:1: no newline at the end'
: >"$tree/core/b c.h"
lint "a blank in a name" 'core/b c.h:1: a blank in the name'
echo 'if then' >>"$tree/deploy/x.sh"
lint "a script that does not parse" 'deploy/x.sh:1:'
chmod -x "$tree/deploy/x.sh"
lint "a script that may not be run" 'deploy/x.sh:1: has a #! but may not be run'
seq 600 | sed 's/.*/:/' >>"$tree/deploy/x.sh"
lint "a long script" 'deploy/x.sh:603: 603 lines, at most 600'
echo 'print(1)' | put deploy/y.py
lint "a Python file without a head" 'deploy/y.py:1: does not open with """deploy/y.py: '
if command -v python3 >/dev/null; then
    printf '"""deploy/y.py: something."""\nif:\n' | put deploy/y.py
    lint "a Python file that does not parse" 'deploy/y.py:1: SyntaxError'
fi
if command -v clang-format >/dev/null; then
    printf 'int   g;\n' >>"$tree/core/b.c"
    lint "another form" 'core/b.c:10: not in the form of .clang-format'
fi
if command -v mypy >/dev/null; then
    plant_clean
    put proto/py/pyproject.toml <<END
[tool.mypy]
strict = true
END
    put proto/py/client/__init__.py <<'END'
"""proto/py/client/__init__.py: something."""
number: int = "one"
END
    lint "what mypy finds" 'proto/py/client/__init__.py:2: error: '
fi

if command -v cppcheck >/dev/null; then
    put core/h.c <<END
/* core/h.c: something. */
int h(void);

int h(void)
{
    int a[2] = {0, 1};
    return a[2];
}
END
    lint "what cppcheck finds" 'core/h.c:7: arrayIndexOutOfBounds'
fi

[ $failures = 0 ]

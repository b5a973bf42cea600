#!/bin/bash
# deploy/image/drain.sh: asks the container's program to drain, and waits until it has ended.
#
#   deploy/image/drain.sh SECONDS      give up waiting after so many
#
# For a container's preStop hook: a world gives its zones and people to the others before it ends, and
# the container's address goes on meanwhile. May touch: process 1.
# On trouble: exit status 1 where it still runs.
kill -TERM 1 || exit 0
for ((i = 0; i < $1 * 5; i++)); do
    kill -0 1 2>/dev/null || exit 0
    sleep 0.2
done
exit 1

#!/bin/bash
# deploy/image/healthz.sh: does the process with this -admin port answer /healthz with 200?
#
#   deploy/image/healthz.sh PORT
#
# bash talks to the port itself, so that the image needs no program for it.
# May touch: the port. On trouble: exit status 1.
exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
printf 'GET /healthz HTTP/1.0\r\n\r\n' >&3
read -r -t 2 _ status _ <&3 && [ "$status" = 200 ]

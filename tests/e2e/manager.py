"""tests/e2e/manager.py: a service manager for one program.

    python3 tests/e2e/manager.py PROGRAM [FLAG...]

Starts it as systemd starts a unit of Type=notify with a watchdog, hears that it is ready and alive,
asks it to end, and hears that it stops. May touch: the process it started.
On trouble: what was heard, and exit status 1.
"""
import os
import socket
import subprocess
import sys

WATCHDOG_USEC = 200000
PATIENCE_S = 10


def main():
    name = "aegis-manager-%d" % os.getpid()
    ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ear.bind("\0" + name)
    ear.settimeout(PATIENCE_S)
    env = dict(os.environ, NOTIFY_SOCKET="@" + name, WATCHDOG_USEC=str(WATCHDOG_USEC))
    env.pop("WATCHDOG_PID", None)
    program = subprocess.Popen(sys.argv[1:], env=env, stdin=subprocess.DEVNULL)
    heard = []

    def hear():
        heard.append(ear.recv(256).decode())
        return heard[-1]

    try:
        for want in ("READY=1", "WATCHDOG=1", "WATCHDOG=1"):
            if hear() != want:
                return "wanted %s" % want
        program.terminate()
        while hear() != "STOPPING=1":
            if heard[-1] != "WATCHDOG=1":
                return "wanted STOPPING=1"
        status = program.wait(PATIENCE_S)
        return None if status == 0 else "status %d" % status
    except (socket.timeout, subprocess.TimeoutExpired):
        return "nothing more came in %d s" % PATIENCE_S
    finally:
        program.kill()
        program.wait()
        print("heard:", *heard)


why = main()
if why:
    print(why)
    sys.exit(1)

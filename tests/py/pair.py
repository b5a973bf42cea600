"""tests/py/pair.py: a world and gateways of a test's own, on ports that the kernel chooses.

May touch: bin/aegis (or AEGIS_BIN's). On trouble: a process that does not listen in time is an error.
"""
import asyncio
import os
import re
import signal
import subprocess
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
AEGIS = os.path.join(os.environ.get("AEGIS_BIN", os.path.join(ROOT, "bin")), "aegis")
PATIENCE_S = 20


def version():
    """What the build says of itself."""
    return subprocess.run([AEGIS, "-version"], capture_output=True, text=True, check=True).stdout


class Process:
    def __init__(self, *args):
        self.log = tempfile.TemporaryFile("w+")
        self.popen = subprocess.Popen([AEGIS, *args], stdin=subprocess.DEVNULL, stdout=self.log,
                                      stderr=self.log)

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def address(self, what="listening on"):
        """The address that it says it has."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and self.popen.poll() is None:
            found = re.search(rf"{what} ([^\s\"]+)", self.said())
            if found:
                return found.group(1)
            time.sleep(0.02)
        raise AssertionError(f"does not listen: {self.said()}")

    def kill(self):
        self.popen.kill()
        self.popen.wait()

    def end(self):
        """Did it end well, or was it killed by us? A sanitizer's report is no good end."""
        if self.popen.poll() is None:
            self.popen.terminate()
        status = self.popen.wait(PATIENCE_S)
        self.log.close()
        return status in (0, -signal.SIGKILL)


class Pair:
    """with Pair() as pair: a world and a gateway; more gateways by `gateway`."""

    def __init__(self, *world_flags, web=False, gateway=()):
        self.world_flags, self.gateway_flags = world_flags, list(gateway)
        if web:
            self.gateway_flags.append("-ws-listen=127.0.0.1:0")
        self.processes = []

    def __enter__(self):
        self.world = self._start("-role=world", "-listen=127.0.0.1:0", *self.world_flags)
        self.upstream = self.world.address()
        self.first = self.gateway(*self.gateway_flags)
        return self

    def _start(self, *args):
        process = Process(*args)
        self.processes.append(process)
        return process

    def gateway(self, *flags):
        gateway = self._start("-role=gateway", "-listen=127.0.0.1:0", f"-upstream={self.upstream}",
                              *flags)
        gateway.address("link up")  # a login before is refused
        return gateway

    def restart_world(self):
        """The same world's place, with nothing in it."""
        self.world.kill()
        self.world = self._start("-role=world", f"-listen={self.upstream}", *self.world_flags)
        self.world.address()

    @property
    def address(self):
        return self.first.address()

    def __exit__(self, *_):
        bad = [process.popen.args for process in reversed(self.processes) if not process.end()]
        if bad:
            raise AssertionError(f"did not end well: {bad}")


async def until(what, holds, seconds=PATIENCE_S):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"not in {seconds} s: {what}")
        await asyncio.sleep(0.01)

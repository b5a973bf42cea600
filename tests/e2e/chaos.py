#!/usr/bin/python3
"""tests/e2e/chaos.py: gateways and the world are killed in turn, and nobody loses anything.

    tests/e2e/chaos.py [-bin DIR] [-bots 2000] [-seconds 300] [-every 4] [-drop 0.01] [-help]

Load bots walk, are cut off at random and take their entities back, while every few seconds kill -9
takes a gateway or the world, which starts again on its port. Then the faults stop, and all must be
well: each bot is in the world, once, and knows exactly whom it has to; when the bots have left no
name, session or entity is left. The programs' numbers must show that the faults were there, and that
no life of a process was larger than those before.
May touch: the processes it starts, loopback ports that the kernel picks, its folder. Never: sudo,
others' processes.
On trouble: `not ok - ...` for each thing that is not as it should be, and exit status 1.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
import urllib.request

QUIET_S = 16     # after the faults, in which the bots compare at least twice
START_S = 60     # until a process listens
LEAVE_S = 20     # beyond the window, until the last trace is gone
MAX_SPEED = 12   # units a second, the world's default
SAVE_SLACK_S = 1 # that a save may be later than -save-every, on a machine that is busy
LATE_STARTS = 20 # times that a port may still be taken, when its process was killed just now


class Process:
    """One of ours: started, killed, started again on the address that it got first."""

    def __init__(self, folder, name, args):
        self.name, self.args, self.lives = name, args, 0
        self.log = os.path.join(folder, name + ".log")
        self.addr, self.admin, self.popen = "127.0.0.1:0", None, None
        self.sums, self.last, self.sizes = {}, {}, []
        open(self.log, "w", encoding="utf-8").close()

    def start(self):
        for _ in range(LATE_STARTS):
            if self.try_start():
                return
            time.sleep(0.2)
        raise SystemExit(f"not ok - {self.name} does not start; see {self.log}")

    def try_start(self):
        at = os.path.getsize(self.log)
        with open(self.log, "ab") as log:
            self.popen = subprocess.Popen(self.args(self.addr), stdin=subprocess.DEVNULL,
                                          stdout=log, stderr=log)
        until = time.monotonic() + START_S
        while time.monotonic() < until and self.popen.poll() is None:
            with open(self.log, encoding="utf-8", errors="replace") as log:
                log.seek(at)
                text = log.read()
            found = re.search(r"listening on (\S+)", text)
            admin = re.search(r"admin on (\S+)", text)
            if found and admin:
                self.addr, self.admin = found.group(1), admin.group(1)
                self.lives += 1
                self.last = {}
                return True
            time.sleep(0.02)
        self.popen.kill()
        self.popen.wait()
        return False

    def kill(self):
        self.poll()
        for key, value in self.last.items():
            self.sums[key] = self.sums.get(key, 0) + value
        self.last = {}
        self.popen.kill()
        self.popen.wait()

    def poll(self):
        """Read its numbers and its size."""
        try:
            with urllib.request.urlopen(f"http://{self.admin}/metrics", timeout=5) as answer:
                text = answer.read().decode()
        except OSError:
            return
        self.last = {key: float(value) for key, value in
                     re.findall(r"^(aegis_\S+?(?:\{[^}]*\})?) (\S+)$", text, re.M)}
        self.sizes.append((self.lives, resident_mb(self.popen.pid)))

    def sum(self, key):
        """Over all its lives."""
        return int(self.sums.get(key, 0) + self.last.get(key, 0))

    def value(self, key):
        return int(self.last.get(key, -1))

    def growth_mb(self):
        """How much larger the largest of the late lives is than that of the early ones."""
        lives = {}
        for life, size in self.sizes:
            lives[life] = max(lives.get(life, 0), size)
        sizes = [lives[life] for life in sorted(lives)]
        third = len(sizes) // 3
        return max(sizes[-third:]) - max(sizes[:third + 1]) if third > 0 else 0


def resident_mb(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024
    except (OSError, AttributeError):
        return 0


class Chaos:
    def __init__(self, flags):
        self.flags, self.bad = flags, 0
        os.makedirs(flags.dir, exist_ok=True)
        aegis = os.path.join(flags.bin, "aegis")
        store = flags.store.replace("DIR", flags.dir)
        self.world = Process(flags.dir, "world", lambda addr: [
            aegis, "-role=world", "-listen", addr, "-admin", "127.0.0.1:0", "-store", store,
            "-save-every", f"{flags.save_every}s", "-resume-window", f"{flags.window}s", "-log-level", "warn" if flags.terse else "info"])
        self.world.start()
        self.gateways = []
        for i in range(flags.gateways):
            gateway = Process(flags.dir, f"gateway-{i}", lambda addr: [
                aegis, "-role=gateway", "-listen", addr, "-admin", "127.0.0.1:0",
                "-upstream", self.world.addr])
            gateway.start()
            self.gateways.append(gateway)
        self.bots = []

    def check(self, what, holds, seen=""):
        print(f"{'ok' if holds else 'not ok'} - {what}{f' ({seen})' if seen != '' else ''}",
              flush=True)
        self.bad += not holds

    def processes(self):
        return [self.world] + self.gateways

    def begin_bots(self):
        """One process of bots for each gateway."""
        each = self.flags.bots // len(self.gateways)
        for i, gateway in enumerate(self.gateways):
            out = open(os.path.join(self.flags.dir, f"bots-{i}.json"), "wb")
            log = open(os.path.join(self.flags.dir, f"bots-{i}.log"), "wb")
            self.bots.append(subprocess.Popen(
                [os.path.join(self.flags.bin, "bot"), "-mode=load", "-addr", gateway.addr,
                 "-n", str(each), "-seconds", str(self.flags.seconds + QUIET_S),
                 "-spread", self.flags.spread, "-drop", str(self.flags.drop), "-rate", str(self.flags.rate), "-json"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=log))

    def all_walk(self):
        """Has each process of bots seen all of its own come in?"""
        for i in range(len(self.bots)):
            with open(os.path.join(self.flags.dir, f"bots-{i}.log"), encoding="utf-8") as log:
                if "phase=walking" not in log.read():
                    return False
        return True

    def poll(self):
        for process in self.processes():
            process.poll()

    def until(self, seconds, holds):
        """Does it come to hold? The numbers are read anew each time."""
        end = time.monotonic() + seconds
        while True:
            self.poll()
            if holds():
                return True
            if time.monotonic() > end:
                return False
            time.sleep(0.3)

    def torment(self):
        """Kill one after the other, the world every second time."""
        end, turn = time.monotonic() + self.flags.seconds, 0
        while time.monotonic() < end:
            time.sleep(min(self.flags.every, max(0, end - time.monotonic())))
            self.poll()
            victim = self.world if turn % 2 else self.gateways[turn // 2 % len(self.gateways)]
            victim.kill()
            time.sleep(random.random() * 0.5)
            victim.start()
            turn += 1
        return turn

    def judge_world(self, n):
        entities = "aegis_world_entities"
        calm = self.until(QUIET_S - 4, lambda: self.world.value(entities) == n and
                          self.world.value("aegis_world_sessions_waiting") < n * 0.2)
        self.check("every bot is in the world, once", calm,
                   f"{self.world.value(entities)} of {n}, of whom "
                   f"{self.world.value('aegis_world_sessions_waiting')} were cut off just now")

    def judge_bots(self):
        reports = []
        for i, bots in enumerate(self.bots):
            try:
                status = bots.wait(self.flags.seconds + QUIET_S + 90)
            except subprocess.TimeoutExpired:
                bots.kill()
                status = "hangs"
            self.check(f"bots {i} end well", status == 0, status)
            with open(os.path.join(self.flags.dir, f"bots-{i}.json"), encoding="utf-8") as out:
                text = out.read()
            if text:
                reports.append(json.loads(text))
        for report in reports:
            self.check("no view was wrong when all rested",
                       report["breaches"] == 0 and report["rests"]["wrong"] == 0,
                       json.dumps(report["rests"]))
            self.check("views were compared after the faults", report["rests"]["compared"] > 0)
        cuts = {key: (max if key == "farthest" else sum)(r["cuts"][key] for r in reports)
                for key in reports[0]["cuts"]} \
            if reports else {}
        self.check("connections were cut in each way, and entities taken back",
                   all(cuts.get(key, 0) > 0 for key in ("fin", "rst", "silent", "resumed")),
                   json.dumps(cuts))
        if self.flags.store != "none":
            bound = (self.flags.save_every + SAVE_SLACK_S) * MAX_SPEED
            farthest = max(r["cuts"]["farthest"] for r in reports)
            self.check("no place was lost beyond the bound", farthest <= bound,
                       f"{farthest:.1f} of {bound:.1f} units")
        self.check("nobody was thrown out", cuts.get("expelled", 0) == 0)

    def judge_end(self):
        keys = ("aegis_world_entities", "aegis_world_sessions", "aegis_world_sessions_logged_in")
        gone = self.until(self.flags.window + LEAVE_S,
                          lambda: all(self.world.value(key) == 0 for key in keys))
        self.check("no entity, session or name is left", gone,
                   str([self.world.value(key) for key in keys]))
        for gateway in self.gateways:
            self.check(f"{gateway.name} has no client and no session left",
                       gateway.value("aegis_gateway_clients") == 0 and
                       gateway.value("aegis_gateway_sessions") == 0)

    def judge_numbers(self, kills):
        world = self.world
        seen = {what: world.sum(f'aegis_world_{what}') for what in (
            "waits_total", 'waits_ended_total{result="resumed"}', 'binds_total{result="entered"}',
            'binds_total{result="refused"}', 'waits_ended_total{result="over"}')}
        print("# kills", kills, "lives", [p.lives for p in self.processes()], json.dumps(seen))
        self.check("waits were resumed", seen['waits_ended_total{result="resumed"}'] > 0)
        if world.lives > 1:
            self.check("sessions outlived their world", seen['binds_total{result="entered"}'] > 0)
        for process in self.processes():
            grown = process.growth_mb()
            self.check(f"{process.name} does not grow", grown < self.flags.growth, f"{grown:.1f} MB")
            with open(process.log, encoding="utf-8", errors="replace") as log:
                bad = [line for line in log if " error " in line or "assertion" in line or
                       "Sanitizer" in line]
            self.check(f"{process.name} has nothing to complain of", not bad, bad[:1] or "")

    def run(self):
        self.begin_bots()
        n = self.flags.bots // len(self.gateways) * len(self.gateways)
        come = self.until(START_S, lambda: self.world.value("aegis_world_entities") == n)
        self.check("all bots come in", come and self.until(START_S, self.all_walk),
                   self.world.value("aegis_world_entities"))
        kills = self.torment()
        self.judge_world(n)
        self.judge_bots()
        self.judge_end()
        self.judge_numbers(kills)
        return 1 if self.bad else 0

    def end(self):
        for process in self.bots + [p.popen for p in reversed(self.processes())]:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0],
                                     add_help=False)
    parser.add_argument("-help", "-h", action="help", help="print this and exit")
    parser.add_argument("-bin", default=os.environ.get("AEGIS_BIN", "bin"))
    parser.add_argument("-bots", type=int, default=2000)
    parser.add_argument("-seconds", type=float, default=300)
    parser.add_argument("-every", type=float, default=4, help="seconds from one kill to the next")
    parser.add_argument("-drop", type=float, default=0.01)
    parser.add_argument("-rate", type=float, default=5, help="moves a second of each bot")
    parser.add_argument("-spread", default="groups", help="how the bots walk: see bin/bot -help")
    parser.add_argument("-gateways", type=int, default=2)
    parser.add_argument("-window", type=int, default=20, help="seconds")
    parser.add_argument("-growth", type=float, default=24,
                        help="MB that a late life of a process may be larger than an early one")
    parser.add_argument("-store", default="none", help="DIR in it is the folder")
    parser.add_argument("-save-every", type=float, default=2, dest="save_every",
                        help="seconds: with a store no place is older")
    parser.add_argument("-dir", default="build/chaos")
    parser.add_argument("-seed", type=int, default=None)
    parser.add_argument("-terse", action="store_true", help="the world logs no more than warnings")
    flags = parser.parse_args()
    random.seed(flags.seed)
    chaos = None
    try:
        chaos = Chaos(flags)
        return chaos.run()
    finally:
        if chaos:
            chaos.end()


if __name__ == "__main__":
    sys.exit(main())

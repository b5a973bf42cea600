#!/usr/bin/python3
"""tests/e2e/chaos_cluster.py: everything of a cluster dies and hangs in turn, and nobody is lost.

    tests/e2e/chaos_cluster.py [-bin DIR] [-bots 150] [-seconds 600] [-seed N] [-help]

Bots walk round the corner of four worlds, through two gateways, and are cut off at random. Meanwhile
kill -9 and SIGSTOP take worlds, gateways, nats-server and PostgreSQL, in an order drawn from the seed,
also several at once. Then the faults stop, and all must be well: each bot is in exactly one world, no
further from where it stood than the save bound allows, and knows exactly whom it has to; in the
database no row ever went back to an older owner; when the bots have left, every name is free and logs
in again where it was stored. What the programs counted must show that the faults were there.
May touch: the processes it starts, loopback ports that the kernel picks, its folder.
On trouble: `not ok - ...` for each thing that is not as it should be, and exit status 1; the seed and
the list of faults are printed.
"""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import time

import nats_look
from client import ENTER_RESP, LOGIN_RESP, Client, Closed, Late
from cluster_stage import Cluster, play, read_json

LEASE_S = 2
WINDOW_S = 8        # for which a lost client's entity waits
SAVE_S = 1          # a place is stored within this time
SLACK_S = 2.5       # that a save may be later on a machine that is busy
START_S = 40        # that a start may be in vain, while another part is away
CALM_S = 60         # until all parts are well again
MAX_SPEED = 12      # units a second, the world's default
LOOK_S = 1          # from one look at all numbers to the next
PAST = "stop past the lease"
OVERLAP = 0.4       # how often the next fault does not wait for the end of the last
WORLD = ["-bounds", "-200,-200,200,200", "-spawn", "0,0,80", "-save-every", f"{SAVE_S}s",
         "-resume-window", f"{WINDOW_S}s", "-cluster-lease", f"{LEASE_S}s", "-login-wait", "5s"]
TAKEN = 'aegis_world_guests_total{result="taken"}'


class Fault:
    """One that is under way, or was."""

    def __init__(self, part, kind, seconds):
        self.part, self.kind, self.seconds = part, kind, seconds
        self.began = self.ended = self.why = None

    def begin(self):
        self.began = time.monotonic()
        if self.kind == "kill":
            self.part.kill()
        else:
            self.part.stop()

    def end_if_due(self):
        """One try a turn: a world does not start while PostgreSQL is away."""
        now = time.monotonic()
        if self.ended or now < self.began + self.seconds:
            return
        if self.kind != "kill":
            self.part.wake()
        elif not self.part.try_start():
            if now < self.began + self.seconds + START_S:
                return
            self.why = f"{self.part.name} does not start: {self.part.tail(1)}"
        self.ended = time.monotonic()


class Chaos:
    def __init__(self, flags):
        self.flags, self.bad = flags, 0
        self.random = random.Random(flags.seed)
        self.cluster = Cluster(flags.dir, flags.bin, world_flags=WORLD, gateway_flags=["-rate", "0"])
        self.faults, self.rows, self.held = [], {}, {}
        self.went_back, self.store_failed, self.popen, self.look_due = [], 0, None, 0

    def check(self, what, holds, seen=""):
        print(f"{'ok' if holds else 'not ok'} - {what}{f' ({seen})' if seen != '' else ''}", flush=True)
        self.bad += not holds

    # the faults

    def groups(self):
        c = self.cluster
        return c.worlds, c.gateways, [c.nats], [c.postgres]

    def deck(self):
        """Each kind of fault once, in an order of the seed."""
        kinds = [(parts, kind) for parts in self.groups() for kind in ("kill", "stop")]
        kinds += [(self.cluster.worlds, "kill"), (self.cluster.worlds, PAST)]
        self.random.shuffle(kinds)
        return kinds

    def draw(self, parts, kind):
        part = self.random.choice(parts)
        if kind == "kill":
            least = 1.5 if part is self.cluster.postgres else 0.1  # until somebody has noticed
            return Fault(part, kind, self.random.uniform(least, 1.5 * LEASE_S))
        if kind == "stop":
            return Fault(part, kind, self.random.uniform(0.2, LEASE_S * 0.8))
        return Fault(part, kind, self.random.uniform(2, 3) * LEASE_S)

    def under_way(self):
        return [f for f in self.faults if f.ended is None]

    def torment(self):
        end, deck, began = time.monotonic() + self.flags.seconds, [], time.monotonic()
        while time.monotonic() < end:
            deck = deck or self.deck()
            fault = self.draw(*deck.pop())
            while any(f.part is fault.part for f in self.under_way()):
                self.look(0.2)
            print(f"# {time.monotonic() - began:6.1f} s  {fault.kind} {fault.part.name} "
                  f"for {fault.seconds:.1f} s", flush=True)
            self.faults.append(fault)
            fault.begin()
            if self.random.random() >= OVERLAP:
                while self.under_way():
                    self.look(0.2)
            rest = time.monotonic() + self.random.uniform(0.3, self.flags.every)
            while time.monotonic() < rest:
                self.look(0.1)
        while self.under_way():
            self.look(0.2)
        return len(self.faults)

    # what is seen meanwhile

    def look(self, seconds):
        """Wait, and look at the numbers and at the database on the way."""
        until = time.monotonic() + seconds
        for fault in self.under_way():
            fault.end_if_due()
        if time.monotonic() >= self.look_due:
            self.look_at_numbers()
            self.look_at_rows()
            self.look_due = time.monotonic() + LOOK_S
        time.sleep(max(0, until - time.monotonic()))

    def look_at_numbers(self):
        busy = {f.part for f in self.under_way()}
        for part in self.cluster.worlds + self.cluster.gateways:
            if part not in busy and part.poll() and part.last.get("aegis_world_store_failing"):
                self.store_failed += 1

    def look_at_rows(self):
        """Each row's owner may only become a newer one."""
        if any(f.part is self.cluster.postgres for f in self.under_way()):
            return
        for name, *fence in self.cluster.postgres.ask(
                "SELECT name, generation, epoch, count FROM aegis_character") or ():
            fence = tuple(map(int, fence))
            if fence < self.rows.get(name, (0, 0, 0)):
                self.went_back.append((name, self.rows[name], fence))
            self.rows[name] = fence

    def look_at_names(self):
        """The newest revision at which each name was held."""
        try:
            keys = self.cluster.keys()
        except (OSError, nats_look.NoAnswer):
            return None
        generation = int(keys["gen", ""].fields["epoch"]) if ("gen", "") in keys else 0
        names = {name: (generation, key.revision) for (room, name), key in keys.items()
                 if room == "name" and key.state == "held"}
        for name, fence in names.items():
            self.held[name] = max(self.held.get(name, (0, 0)), fence)
        return names

    def until(self, seconds, holds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.look(0.2)
            if holds():
                return True
        return False

    # the judgement

    def judge_calm(self, n):
        calm, why = self.until(CALM_S, lambda: not self.cluster.unrest()), self.cluster.unrest()
        self.check("all parts are well again, and every zone is owned", calm, why)
        people = []

        def all_once():
            nonlocal people
            people = self.cluster.people("load-")
            names = [name for name, _ in people]
            return len(names) == n == len(set(names))
        once = self.until(self.flags.settle + self.flags.quiet, all_once)
        doubled = sorted(p for p in people if [q[0] for q in people].count(p[0]) > 1)
        self.check("every bot is in exactly one world", once,
                   f"{len(people)} of {n}; in two: {doubled[:4]}")

    def judge_bots(self):
        try:
            status = self.popen.wait(120)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            status = "hangs"
        report = read_json(os.path.join(self.flags.dir, "bots.out"))
        self.check("the bots end well", status == 0, status)
        if report is None:
            self.check("the bots have a report", False)
            return
        print("# report", json.dumps(report))
        rests, cuts = report["rests"], report["cuts"]
        self.check("no view broke the contract, and none was wrong when all rested after the faults",
                   report["breaches"] == 0 and rests["wrong"] == 0, json.dumps(rests))
        self.check("views were compared after the faults", rests["compared"] > 0, rests["compared"])
        away = max([f.ended - f.began for f in self.faults if f.part is self.cluster.postgres] or [0])
        bound = (SAVE_S + SLACK_S + away) * MAX_SPEED
        self.check("no place was lost beyond the save bound", cuts["farthest"] <= bound,
                   f"{cuts['farthest']:.1f} of {bound:.1f} units, PostgreSQL was away for {away:.1f} s")
        self.check("connections were cut, and entities taken back", cuts["resumed"] > 0,
                   json.dumps(cuts))
        self.check("nobody was thrown out", cuts["expelled"] == 0, cuts["expelled"])

    def judge_names(self, n):
        free = self.until(WINDOW_S + 30, lambda: self.look_at_names() == {})
        left = self.look_at_names()
        self.check("no name is stuck", free, f"{len(left or ())} are held: {sorted(left or ())[:4]}")
        self.look_at_rows()
        self.check("no row went back to an older owner", not self.went_back, self.went_back[:2] or "")
        stale = [(name, fence, self.rows.get(name)) for name, fence in self.held.items()
                 if name.startswith("load-") and self.rows.get(name, (0, 0, 0))[:2] < fence]
        self.check("each row is of the last one who held its name", not stale and len(
            [name for name in self.rows if name.startswith("load-")]) == n, stale[:2] or len(self.rows))

    def judge_logins(self):
        """Each name logs in again, through one gateway or the other, where it was stored."""
        stored = {name: (float(x), float(y)) for name, x, y in self.cluster.postgres.ask(
            "SELECT name, x, y FROM aegis_character WHERE name LIKE 'load-%'") or ()}
        wrong = []
        for i, (name, (x, y)) in enumerate(sorted(stored.items())):
            try:
                client = Client(self.cluster.gateways[i % len(self.cluster.gateways)].addr)
                answer = client.login(name)
                if answer.cmd == LOGIN_RESP:
                    answer = client.enter()
                if answer.cmd != ENTER_RESP:
                    wrong.append((name, answer.payload))
                elif math.hypot(client.x - x, client.y - y) > 1e-9:
                    wrong.append((name, (client.x, client.y), (x, y)))
                else:
                    client.leave()
                client.close()
            except (OSError, Closed, Late) as error:
                wrong.append((name, repr(error)))
        self.check("each logs in again where it was stored", stored and not wrong,
                   f"{len(stored)} names" if not wrong else wrong[:2])

    def judge_numbers(self):
        c = self.cluster
        c.poll()
        happened = {(group[0], f.kind) for f in self.faults for group in self.groups()
                    if f.part in group}
        print("# faults", len(self.faults), "lives", {p.name: p.lives for p in c.parts()})
        world, gateway = c.worlds[0], c.gateways[0]
        seen = [
            ({(world, "kill"), (gateway, "kill")},
             "links between gateways and worlds came up more often than once",
             c.sum("aegis_world_link_ups_total") > len(c.worlds) * len(c.gateways)),
            ({(gateway, "kill"), (gateway, "stop")}, "people waited for their clients",
             c.sum("aegis_world_waits_total") > 0),
            ({(world, "stop")}, "worlds left out ticks while they were stopped",
             c.sum("aegis_world_ticks_skipped_total") > 0),
            ({(world, PAST)}, "others found the lease of one that slept over",
             c.sum("aegis_world_cluster_buried_total") > 0),
            ({(world, PAST)}, "who slept past its lease lost all that it held",
             c.sum("aegis_world_cluster_voided_total") > 0),
            ({(c.nats, "kill")}, "worlds lost NATS, and connected again",
             c.sum("aegis_world_cluster_nats_connects_total") > sum(w.lives for w in c.worlds)),
            ({(c.postgres, "kill")}, "storing failed while PostgreSQL was away",
             self.store_failed > 0 or sum(
                 w.sum(key) for w in c.worlds for key in {**w.sums, **w.last}
                 if key.startswith("aegis_world_store_failures_total")) > 0),
        ]
        for kinds, what, holds in seen:
            if kinds & happened:
                self.check(what, holds)
        for part in c.parts():
            self.check(f"{part.name} has been there as often as it was killed", part.lives == 1 + len(
                [f for f in self.faults if f.part is part and f.kind == "kill"]), part.lives)
        self.check("people were handed over", c.sum(TAKEN) > 0)
        self.check("waits were resumed",
                   c.sum('aegis_world_waits_ended_total{result="resumed"}') > 0)

    def run(self):
        c = self.cluster
        c.begin()
        first, second = (g.addr for g in c.gateways)
        self.popen = c.bots("bots", "-mode=load", "-n", str(self.flags.bots), "-seconds",
                            str(self.flags.seconds + self.flags.settle + self.flags.quiet),
                            "-compare-after", str(self.flags.seconds + self.flags.settle),
                            "-spread", "square", "-at", "0,0", "-drop",
                            str(self.flags.drop), "-addr", first, "-also", second, "-rate",
                            str(self.flags.rate), "-json")
        come = self.until(60, lambda: len(c.people("load-")) == self.flags.bots)
        self.check("all bots come in", come)
        self.until(SAVE_S + SLACK_S, lambda: False)  # until each has been saved once
        self.torment()
        broken = [f.why for f in self.faults if f.why]
        self.check("whoever was killed starts again", not broken, broken[:1] or len(self.faults))
        self.judge_calm(self.flags.bots)
        while self.popen.poll() is None:
            self.look_at_names()
            self.look(0.2)
        self.judge_bots()
        self.judge_names(self.flags.bots)
        self.judge_logins()
        self.judge_numbers()
        parts = c.worlds + c.gateways
        ended = c.end()
        self.check("all end well", all(ended[p.name] == 0 for p in parts), json.dumps(ended))
        for part in parts:
            bad = part.complaints()
            self.check(f"{part.name} has nothing to complain of", not bad, bad[:1] or "")
        return 1 if self.bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0], add_help=False)
    parser.add_argument("-help", "-h", action="help", help="print this and exit")
    parser.add_argument("-bin", default=os.environ.get("AEGIS_BIN", "bin"))
    parser.add_argument("-bots", type=int, default=150)
    parser.add_argument("-seconds", type=float, default=600)
    parser.add_argument("-every", type=float, default=3, help="seconds between faults, at most")
    parser.add_argument("-settle", type=float, default=25, help="seconds after the last fault until "
                        "all views have to be right")
    parser.add_argument("-quiet", type=float, default=20, help="seconds in which they are compared then")
    parser.add_argument("-drop", type=float, default=0.01)
    parser.add_argument("-rate", type=float, default=5, help="moves a second of each bot")
    parser.add_argument("-dir", default="build/chaos-cluster")
    parser.add_argument("-seed", type=int, default=None)
    flags = parser.parse_args()
    if flags.seed is None:
        flags.seed = random.SystemRandom().randrange(1 << 31)
    print(f"# seed {flags.seed}: tests/e2e/chaos_cluster.py -seed {flags.seed} "
          f"-seconds {flags.seconds:g} -bots {flags.bots} plays the same order again", flush=True)
    chaos = Chaos(flags)
    return play(chaos)


if __name__ == "__main__":
    sys.exit(main())

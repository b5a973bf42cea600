#!/usr/bin/python3
"""tests/e2e/cluster_oracle.py: do clients notice that they walk from world to world?

    tests/e2e/cluster_oracle.py [-bin DIR] [-bots 300] [-seconds 300] [-late 1] [-help]

Bots wander round the corner of four worlds through two gateways, and cross borders all the time. They
alone know where they are; each view is held against that, tick by tick while all walk (bot -oracle)
and exactly whenever all rest. A border may show in one tick of lateness and in nothing else, and each
request has one answer.
May touch: the processes it starts, loopback ports that the kernel picks, its folder.
On trouble: `not ok - ...` for each thing that is not as it should be, and exit status 1.
"""
import argparse
import json
import os
import sys
import time

from cluster_stage import Cluster, play, read_json

TAKEN = 'aegis_world_guests_total{result="taken"}'
CLIENTS = 'aegis_gateway_accepts_total{result="client"}'
WORLD = ["-bounds", "-200,-200,200,200", "-spawn", "0,0,80", "-save-every", "2s"]
START_S, LEAVE_S = 120, 60


class Oracle:
    def __init__(self, flags):
        self.flags, self.bad = flags, 0
        self.cluster = Cluster(flags.dir, flags.bin, world_flags=WORLD + [
            "-cluster-lease", flags.lease], gateway_flags=["-rate", "0"])
        self.each_second = []

    def check(self, what, holds, seen=""):
        print(f"{'ok' if holds else 'not ok'} - {what}{f' ({seen})' if seen != '' else ''}", flush=True)
        self.bad += not holds

    def walking(self):
        with open(os.path.join(self.flags.dir, "bots.log"), encoding="utf-8") as log:
            text = log.read()
        return "phase=walking" in text and "phase=walked" not in text

    def watch(self, popen):
        """Count hand-overs in each second of walking until the bots have ended."""
        until = time.monotonic() + START_S + self.flags.seconds + LEAVE_S
        while popen.poll() is None and time.monotonic() < until and not self.walking():
            time.sleep(0.1)
        self.cluster.poll()
        before, next_poll = self.cluster.sum(TAKEN), time.monotonic()
        while popen.poll() is None and time.monotonic() < until:
            next_poll += 1
            time.sleep(max(0, next_poll - time.monotonic()))
            self.cluster.poll()
            now = self.cluster.sum(TAKEN)
            if self.walking():
                self.each_second.append(now - before)
            before = now
        if popen.poll() is None:
            popen.kill()

    def judge(self, status):
        report = read_json(os.path.join(self.flags.dir, "bots.out"))
        self.check("the bots end well", status == 0, status)
        if report is None:
            self.check("the bots have a report", False)
            return
        seen, rests = report["walking"], report["rests"]
        print("# report", json.dumps(report))
        self.check("all came in", report["entered"] == self.flags.bots, report["entered"])
        self.check("each tick's views are right, but for the stated lateness",
                   seen["breaches"] == 0 and seen["views"] > 0,
                   f"{seen['views']} views, {seen['pairs']} pairs, {seen['unsure']} unsure; by ticks "
                   f"late: {seen['late']}, beyond {self.flags.late}: {seen['breaches']}; worlds left out "
                   f"{self.cluster.sum('aegis_world_ticks_skipped_total')} ticks")
        self.check("nothing else broke the contract, and each request had one answer",
                   report["breaches"] == seen["breaches"] + rests["wrong"], report["breaches"])
        self.check("at rest all views are exact, and no answer is missing",
                   rests["wrong"] == 0 and rests["unsettled"] == 0 and rests["compared"] > 0,
                   json.dumps(rests))
        self.check("nobody lost a connection, and no request was refused",
                   report["lost"] == 0 and report["byes"] == 0 and report["errors_all"] == 0,
                   json.dumps(report["errors"]))
        total = sum(self.each_second)
        self.check("hand-overs all the time", total >= len(self.each_second) > 0 and
                   self.each_second.count(0) <= len(self.each_second) / 4,
                   f"{total} in {len(self.each_second)} s, {self.each_second.count(0)} s without one, "
                   f"worlds {[w.sum(TAKEN) for w in self.cluster.worlds]}")
        self.check("each world was handed people over, and through each gateway came clients",
                   all(w.sum(TAKEN) > 0 for w in self.cluster.worlds) and
                   all(g.sum(CLIENTS) >= self.flags.bots // 2 for g in self.cluster.gateways))

    def run(self):
        self.cluster.begin()
        first, second = (g.addr for g in self.cluster.gateways)
        popen = self.cluster.bots(
            "bots", "-mode=load", "-n", str(self.flags.bots), "-seconds", str(self.flags.seconds),
            "-spread", "square", "-at", "0,0", "-oracle", "-late", str(self.flags.late), "-addr", first,
            "-also", second, "-rate", str(self.flags.rate), "-json")
        self.watch(popen)
        self.judge(popen.wait())
        parts = self.cluster.worlds + self.cluster.gateways
        ended = self.cluster.end()
        self.check("all end well", all(ended[p.name] == 0 for p in parts), json.dumps(ended))
        for part in parts:
            bad = part.complaints()
            self.check(f"{part.name} has nothing to complain of", not bad, bad[:1] or "")
        return 1 if self.bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0], add_help=False)
    parser.add_argument("-help", "-h", action="help", help="print this and exit")
    parser.add_argument("-bin", default=os.environ.get("AEGIS_BIN", "bin"))
    parser.add_argument("-bots", type=int, default=300)
    parser.add_argument("-seconds", type=float, default=300)
    parser.add_argument("-late", type=int, default=1, help="ticks that a view may be late")
    parser.add_argument("-rate", type=float, default=10, help="moves a second of each bot")
    parser.add_argument("-lease", default="5s")
    parser.add_argument("-dir", default="build/cluster-oracle")
    flags = parser.parse_args()
    oracle = Oracle(flags)
    return play(oracle)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""deploy/cluster.py: a whole cluster on one machine, for a first look.

    deploy/cluster.py [BIN [DIR]]      (default: bin build/cluster)
    CLUSTER_SECONDS=n                  how long bots wander (10); 0: until Ctrl-C
    CLUSTER_BOTS=n                     how many (60)
    CLUSTER_FLAGS="..."                more flags of the worlds, such as "-max-speed 60"

Starts nats-server, PostgreSQL, four worlds, each with a quarter of the map, and two gateways; plays the
smoke scenario through either gateway and, through both at once, round the corner where the four quarters
meet; lets bots wander across the borders with a line a second; and ends all of it.
May touch: the programs that it started, loopback ports that the kernel picks, logs in DIR, a folder under
/tmp that goes with it. On trouble: what failed, where its log is, and exit status 1.
"""
import os
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
sys.dont_write_bytecode = True
from cluster_stage import Cluster, Trouble  # noqa: E402

WORLD = ["-spawn", "0,0,60", "-save-every", "2s"]
CORNER = "0,0"
TAKEN = 'aegis_world_guests_total{result="taken"}'


def stop(*_):
    raise SystemExit(1)


def smoke(cluster, what, *flags):
    print(f"\n$ bot -mode=smoke {' '.join(flags)}    # {what}", flush=True)
    status = subprocess.run([cluster.bot, "-mode=smoke", "-timeout", "60s", *flags],
                            stdin=subprocess.DEVNULL, check=False).returncode
    if status != 0:
        raise Trouble(f"the smoke scenario failed ({what}); logs in {cluster.folder}")


def introduce(cluster):
    print(f"nats      {cluster.nats.addr}    log in {cluster.nats.log}")
    print(f"postgres  {cluster.postgres.where}    log in {cluster.postgres.log}")
    for world in cluster.worlds:
        zones = [zone for zone, owner in sorted(cluster.owners().items()) if owner == world.name]
        print(f"world     {world.addr}    zone {' '.join(zones)}; admin on {world.admin}; "
              f"log in {world.log}")
    for gateway in cluster.gateways:
        print(f"gateway   {gateway.addr}    for clients; log in {gateway.log}", flush=True)


def wander(cluster, bots, seconds):
    first, second = (g.addr for g in cluster.gateways)
    print(f"\n$ bot -mode=wander -n {bots} -addr {first} -also {second}", flush=True)
    popen = cluster.bots("wander", "-mode=wander", "-n", str(bots), "-addr", first, "-also", second)
    cluster.poll()
    before, began = cluster.sum(TAKEN), time.monotonic()
    start = before
    while seconds == 0 or time.monotonic() - began < seconds:
        time.sleep(1)
        for part in cluster.parts():
            if not part.alive():
                raise Trouble(f"{part.name} ended by itself; the end of {part.log}:\n{part.tail()}")
        if popen.poll() is not None:
            raise Trouble(f"the bots ended by themselves; log in {cluster.folder}/wander.log")
        cluster.poll()
        now = cluster.sum(TAKEN)
        own = [w.value("aegis_world_sessions_logged_in") for w in cluster.worlds]
        print(f"players {sum(own)} ({' + '.join(map(str, own))})   "
              f"seen across borders {cluster.total('aegis_world_ghosts')}   "
              f"hand-overs {now - before}/s", flush=True)
        before = now
    popen.terminate()
    status = popen.wait(15)
    with open(os.path.join(cluster.folder, "wander.out"), encoding="utf-8") as out:
        broken = "breaches=" in out.read()
    if status != 0 or broken:
        raise Trouble(f"the contract was broken, or bots failed; logs in {cluster.folder}")
    print(f"\n{before - start} hand-overs, no breach of the contract", flush=True)


def main():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, stop)
    bin_folder = sys.argv[1] if len(sys.argv) > 1 else "bin"
    folder = sys.argv[2] if len(sys.argv) > 2 else "build/cluster"
    seconds = float(os.environ.get("CLUSTER_SECONDS", "10"))
    bots = int(os.environ.get("CLUSTER_BOTS", "60"))
    more = os.environ.get("CLUSTER_FLAGS", "").split()
    cluster = Cluster(folder, bin_folder, world_flags=WORLD + more)
    try:
        cluster.begin()
        introduce(cluster)
        first, second = (g.addr for g in cluster.gateways)
        smoke(cluster, "through the first gateway", "-addr", first)
        smoke(cluster, "through the second", "-addr", second)
        smoke(cluster, "round the corner of four zones, through both", "-addr", first, "-also", second,
              "-at", CORNER)
        wander(cluster, bots, seconds)
    except Trouble as trouble:
        print(f"cluster: {trouble}", file=sys.stderr)
        return 1
    finally:
        ended = cluster.end()
    bad = [f"{name} ended with status {status}" for name, status in ended.items()
           if status not in (0, 1 if name == "nats" else 0)]
    for line in bad:
        print(f"cluster: {line}", file=sys.stderr)
    if not bad:
        print("cluster OK: all have ended")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

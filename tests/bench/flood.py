#!/usr/bin/python3
"""tests/bench/flood.py: do handshakes that lead nowhere slow down who is in?

    tests/bench/flood.py -bin bin [-bots 200] [-seconds 8] [-rounds 3] [-dir build/flood]

A world, a gateway under TLS and bots that walk and measure, by turns left alone and under a flood: a
process that connects as fast as it can, says a recorded ClientHello, which makes the gateway compute
its whole answer, and nothing more. A line for each run with how long a step takes to be seen by others, how long a
ping of a client takes that is in, and what became of the flood; then the medians.
May touch: the processes it starts, DIR. Needs: openssl. On trouble: exit status 1.
"""
import argparse
import json
import os
import re
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
OPEN = 200  # connections that the flood holds at once
RESULTS = ("new", "resumed", "late", "full", "gone")


def hello():
    """What a client says first."""
    out = ssl.MemoryBIO()
    seal = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost")
    try:
        seal.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def flood(addr, until):
    """Half a handshake, again and again; how many."""
    host, port = addr.rsplit(":", 1)
    said, held, count = hello(), [], 0
    while time.monotonic() < until:
        sock = socket.create_connection((host, int(port)))
        sock.sendall(said)
        held.append(sock)
        count += 1
        if len(held) > OPEN:
            held.pop(0).close()
    return count


class Pinger(threading.Thread):
    """A client under TLS that pings 25 times a second until it is stopped; `ms` of each."""

    def __init__(self, addr, trust):
        super().__init__(daemon=True)
        host, port = addr.rsplit(":", 1)
        self.sock = ssl.create_default_context(cafile=trust).wrap_socket(
            socket.create_connection((host, int(port))), server_hostname=host)
        self.ms, self.stopped = [], False

    def run(self):
        while not self.stopped:
            began = time.monotonic()
            self.sock.sendall(b"\0\0\0\x04\x93\x0b\x01\xc0")
            got = b""
            while len(got) < 8:
                got += self.sock.recv(64)
            self.ms.append((time.monotonic() - began) * 1000)
            time.sleep(0.04)

    def stop(self):
        self.stopped = True
        self.join()
        self.sock.close()
        return statistics.median(self.ms), sorted(self.ms)[int(len(self.ms) * 0.99)]


def start(args, words, log, **more):
    with open(log, "w") as out:
        process = subprocess.Popen(args, stderr=out, **more)
    for _ in range(100):
        found = [re.search(word + r" on (127\S+)", open(log).read()) for word in words]
        if all(found):
            return (process, *(f.group(1) for f in found))
        time.sleep(0.1)
    process.kill()
    sys.exit(f"{args} did not start: {open(log).read()}")


def counted(admin):
    text = urllib.request.urlopen(f"http://{admin}/metrics").read().decode()
    return {r: int(re.search(r'tls_handshakes_total\{result="%s"\} (\d+)' % r, text).group(1))
            for r in RESULTS}


def measure(bin_, addr, admin, bots, seconds, flooded, dir_):
    before = counted(admin)
    bot = subprocess.Popen(
        [f"{bin_}/bot", "-mode=load", "-json", "-tls", "-tls-ca", f"{dir_}/certs/ca.pem", "-addr", addr,
         "-n", str(bots), "-seconds", str(seconds)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    for line in bot.stderr:
        if "phase=walking" in line:
            break
    pinger = Pinger(addr, f"{dir_}/certs/ca.pem")
    pinger.start()
    if flooded:
        child = os.fork()
        if child == 0:
            flood(addr, time.monotonic() + seconds)
            os._exit(0)
        os.waitpid(child, 0)
    else:
        time.sleep(seconds)
    ping = pinger.stop()
    out = json.loads(bot.communicate()[0])
    after = counted(admin)
    made = {r: after[r] - before[r] for r in RESULTS if after[r] > before[r]}
    return out, ping, made


def line(flooded, numbers):
    return (f"{'flooded' if flooded else 'alone  '}  steps p50={numbers[0]:.1f} p99={numbers[1]:.1f} ms"
            f"  pings p50={numbers[2]:.2f} p99={numbers[3]:.2f} ms")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("-bin", default="bin")
    p.add_argument("-bots", type=int, default=200)
    p.add_argument("-seconds", type=int, default=8)
    p.add_argument("-rounds", type=int, default=3)
    p.add_argument("-dir", default="build/flood")
    a = p.parse_args()
    os.makedirs(a.dir, exist_ok=True)
    subprocess.run(["sh", f"{ROOT}/deploy/dev-certs.sh", f"{a.dir}/certs"], check=True,
                   stdout=subprocess.DEVNULL)
    world, upstream = start([f"{a.bin}/aegis", "-role=world", "-listen", "127.0.0.1:0"],
                            ["listening"], f"{a.dir}/world.log")
    gateway, addr, admin = start(
        [f"{a.bin}/aegis", "-role=gateway", "-listen", "127.0.0.1:0", "-upstream", upstream, "-admin",
         "127.0.0.1:0", "-tls-cert", f"{a.dir}/certs/cert.pem", "-tls-key", f"{a.dir}/certs/key.pem"],
        ["listening", "admin"], f"{a.dir}/gateway.log")
    seen = {False: [], True: []}
    status = 0
    try:
        for n in range(2 * a.rounds):
            flooded = n % 2 == 1
            out, ping, made = measure(a.bin, addr, admin, a.bots, a.seconds, flooded, a.dir)
            seen[flooded].append((out["latency_ms"]["p50"], out["latency_ms"]["p99"], *ping))
            lost = out.get("lost", 0)
            status = status or int(lost > 0)
            print(f"{line(flooded, seen[flooded][-1])}  lost={lost}  handshakes {made}", flush=True)
        for flooded, values in seen.items():
            print("median " + line(flooded, [statistics.median(c) for c in zip(*values)]))
    finally:
        for process in (gateway, world):
            process.send_signal(signal.SIGTERM)
            process.wait()
    return status


if __name__ == "__main__":
    sys.exit(main())

"""tests/e2e/cluster_stage.py: a cluster on one machine: NATS, PostgreSQL, worlds and gateways.

    with Cluster(bin, folder) as cluster:
        cluster.begin()
        ... cluster.gateways[0].addr, cluster.worlds[2].kill(), cluster.keys() ...

All ports are the kernel's; what each said first it keeps when it is started again. What NATS and
PostgreSQL keep is in a folder of its own under /tmp. All end when the cluster does, when the process
that began it dies, or when it is asked to end, and nothing is left but the logs in `folder`.
May touch: the processes it starts, loopback ports that the kernel picks, its folders.
On trouble: Trouble, with the end of the log that matters.
"""
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import nats_look

START_S = 60     # until a process listens, on a machine that is busy
STOP_S = 15      # from SIGTERM until it is killed
LATE_STARTS = 20 # times that a port may still be taken, when its process was killed just now
PR_SET_PDEATHSIG = 1
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_libc = ctypes.CDLL(None, use_errno=True)


class Trouble(Exception):
    """What should run does not."""


class Missing(Trouble):
    """This machine, or this build, has not what a cluster stands on."""


def _child():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def children_of(pid):
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as stat:
                if int(stat.read().rsplit(")", 1)[1].split()[1]) == pid:
                    found.append(int(entry))
        except (OSError, IndexError, ValueError):
            pass
    return found


class Part:
    """One process: started, killed, stopped, woken, started again."""

    END = signal.SIGTERM

    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name
        self.log = os.path.join(cluster.folder, name + ".log")
        self.popen, self.lives, self.stopped = None, 0, False
        open(self.log, "w", encoding="utf-8").close()

    # what the kinds differ in

    def args(self):
        raise NotImplementedError

    def heard(self, text):
        """Is it there, by what it has said in this life?"""
        raise NotImplementedError

    # life

    def start(self):
        for _ in range(LATE_STARTS):
            if self.try_start():
                return self
            time.sleep(0.2)
        raise Trouble(f"{self.name} does not start; the end of {self.log}:\n{self.tail()}")

    def spawn(self):
        """Begin to start; await_start is due."""
        self.began_at = os.path.getsize(self.log)
        with open(self.log, "ab") as log:
            self.popen = subprocess.Popen(self.args(), stdin=subprocess.DEVNULL, stdout=log,
                                          stderr=log, start_new_session=True, preexec_fn=_child)
        self.stopped = False

    def await_start(self):
        until = time.monotonic() + START_S
        while time.monotonic() < until and self.popen.poll() is None:
            with open(self.log, encoding="utf-8", errors="replace") as log:
                log.seek(self.began_at)
                if self.heard(log.read()):
                    self.lives += 1
                    return True
            time.sleep(0.02)
        self.kill()
        return False

    def try_start(self):
        self.spawn()
        return self.await_start()

    def alive(self):
        return self.popen is not None and self.popen.poll() is None

    def family(self):
        return [self.popen.pid] + children_of(self.popen.pid)

    def tell(self, number):
        for pid in self.family():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def stop(self):
        self.stopped = True
        self.tell(signal.SIGSTOP)

    def wake(self):
        self.stopped = False
        self.tell(signal.SIGCONT)

    def kill(self):
        if self.popen is None:
            return
        if self.popen.poll() is None:
            os.kill(self.popen.pid, signal.SIGSTOP)  # so that its children are still its own
            self.tell(signal.SIGKILL)
        self.popen.wait()
        self.stopped = False

    def end(self):
        """Ask, then insist; its exit status, None where it did not run."""
        if not self.alive():
            return None
        if self.stopped:
            self.wake()
        self.popen.send_signal(self.END)
        try:
            return self.popen.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return "killed"

    def tail(self, lines=20):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return "".join(log.readlines()[-lines:])

    def complaints(self):
        """Lines of level error, failed assertions and a sanitizer's reports, of all its lives."""
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return [line.rstrip() for line in log if re.search(
                r" error |assertion failed|ERROR: \w*Sanitizer|runtime error: ", line)]


class Nats(Part):
    """A nats-server with JetStream."""

    def __init__(self, cluster):
        super().__init__(cluster, "nats")
        self.port = -1  # the kernel's choice

    def args(self):
        return [self.cluster.nats_server, "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd",
                os.path.join(self.cluster.kept, "nats")]

    def heard(self, text):
        found = re.search(r"client connections on 127\.0\.0\.1:(\d+)", text)
        if found:
            self.port = int(found.group(1))
        return found and "Server is ready" in text

    @property
    def addr(self):
        return f"127.0.0.1:{self.port}"

    @property
    def url(self):
        return f"nats://{self.addr}"


class Postgres(Part):
    """A PostgreSQL by tests/pg.sh, on a socket in the cluster's folder."""

    END = signal.SIGINT  # fast: it does not wait for its clients

    def __init__(self, cluster):
        super().__init__(cluster, "postgres")
        self.where = os.path.join(cluster.kept, "pg")

    def make(self):
        with open(self.log, "ab") as log:
            status = subprocess.run(["sh", os.path.join(ROOT, "tests", "pg.sh"), "make", self.where],
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                    check=False).returncode
        if status != 0:
            raise Trouble(f"PostgreSQL cannot be made:\n{self.tail()}")

    def args(self):
        return ["sh", os.path.join(ROOT, "tests", "pg.sh"), "run", self.where]

    def heard(self, text):
        return self.ask("SELECT 1") == [["1"]]

    @property
    def url(self):
        return f"postgres://aegis@{self.where.replace('/', '%2F')}/postgres"

    def ask(self, sql):
        """Rows of words; None where it does not answer."""
        done = subprocess.run(["psql", "-h", self.where, "-U", "aegis", "-d", "postgres", "-XAtq", "-F",
                               "\t", "-c", sql], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=20, check=False,
                              env={**os.environ, "PGCONNECT_TIMEOUT": "5"})
        if done.returncode != 0:
            return None
        return [line.split("\t") for line in done.stdout.decode().splitlines()]


class Aegis(Part):
    """A world or a gateway, with its numbers over all its lives."""

    def __init__(self, cluster, name, flags):
        super().__init__(cluster, name)
        self.flags = flags
        self.addr, self.admin = "127.0.0.1:0", None
        self.sums, self.last = {}, {}

    def args(self):
        return [self.cluster.aegis, *self.flags, "-listen", self.addr, "-admin", "127.0.0.1:0",
                "-cluster", self.cluster.nats.url]

    def heard(self, text):
        found = re.search(r"listening on (\S+)", text)
        admin = re.search(r"admin on (\S+)", text)
        if found and admin:
            self.addr, self.admin, self.last = found.group(1), admin.group(1), {}
        return found and admin

    def kill(self):
        if self.alive() and not self.stopped:
            self.poll()
        self.settle()
        super().kill()

    def settle(self):
        """Its life ends: what it counted stays in the sums."""
        for key, value in self.last.items():
            self.sums[key] = self.sums.get(key, 0) + value
        self.last = {}

    def get(self, path, timeout=5):
        """The body, or None."""
        try:
            with urllib.request.urlopen(f"http://{self.admin}{path}", timeout=timeout) as answer:
                return answer.read().decode()
        except (OSError, urllib.error.HTTPError, ValueError):
            return None

    def ready(self):
        return self.get("/readyz") is not None

    def poll(self):
        """Read its numbers; False: it does not answer."""
        text = None if self.stopped or not self.alive() else self.get("/metrics")
        if text is not None:
            self.last = {key: float(value) for key, value in
                         re.findall(r"^(aegis_\S+?(?:\{[^}]*\})?) (\S+)$", text, re.M)}
        return text is not None

    def sum(self, key):
        """Over all its lives."""
        return int(self.sums.get(key, 0) + self.last.get(key, 0))

    def value(self, key):
        return int(self.last.get(key, -1))


class Cluster:
    def __init__(self, folder, bin_folder, worlds=4, gateways=2, zones="2x2", world_flags=(),
                 gateway_flags=(), store=True):
        self.folder, self.kept = folder, None
        self.aegis = os.path.join(os.path.abspath(bin_folder), "aegis")
        self.bot = os.path.join(os.path.abspath(bin_folder), "bot")
        self.nats_server = shutil.which("nats-server") or "/usr/sbin/nats-server"
        self.zones = zones
        os.makedirs(folder, exist_ok=True)
        self.kept = tempfile.mkdtemp(prefix="aegis-cluster-", dir="/tmp")
        os.chmod(self.kept, 0o711)  # PostgreSQL may be another user's
        self.nats = Nats(self)
        self.postgres = Postgres(self) if store else None
        self.worlds = [Aegis(self, f"world-{i}", [
            "-role=world", "-world-id", f"world-{i}", "-zones", zones, *world_flags])
            for i in range(worlds)]
        self.gateways = [Aegis(self, f"gateway-{i}", ["-role=gateway", *gateway_flags])
                         for i in range(gateways)]
        self.others = []  # popens that end before all this

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.end()

    def parts(self):
        return [p for p in [self.nats, self.postgres, *self.worlds, *self.gateways] if p]

    def begin(self, seconds=START_S):
        """Until clients can come in: all are ready, and every zone is somebody's."""
        self.look_for_parts()
        self.nats.start()
        if self.postgres:
            self.postgres.make()
            self.postgres.start()
            for world in self.worlds:
                world.flags += ["-store", self.postgres.url]
        for part in self.worlds + self.gateways:
            part.spawn()
        for part in self.worlds + self.gateways:
            if not part.await_start():
                raise Trouble(f"{part.name} does not start; the end of {part.log}:\n{part.tail()}")
        self.await_calm(seconds)

    def look_for_parts(self):
        if not os.path.exists(self.nats_server):
            raise Missing("nats-server is not installed (deploy/install-deps.sh cluster)")
        built = subprocess.run([self.aegis, "-version"], stdout=subprocess.PIPE, check=True).stdout
        for library in ("nats.c", "libpq") if self.postgres else ("nats.c",):
            if not re.search(rf"^{re.escape(library)} \d", built.decode(), re.M):
                raise Missing(f"this aegis was built without {library}")

    def await_calm(self, seconds=START_S):
        until = time.monotonic() + seconds
        while True:
            why = self.unrest()
            if not why:
                return
            if time.monotonic() > until:
                raise Trouble(f"the cluster does not come to rest: {why}")
            time.sleep(0.1)

    def unrest(self):
        """Why clients cannot rely on all of it yet; "" where they can."""
        for part in self.worlds + self.gateways:
            if not part.ready():
                return f"{part.name} is not ready"
        try:
            owners = self.owners()
        except (OSError, nats_look.NoAnswer) as error:
            return f"NATS does not answer: {error}"
        columns, rows = map(int, self.zones.split("x"))
        if len(owners) < columns * rows:
            return f"{len(owners)} of {columns * rows} zones have an owner"
        counts = [list(owners.values()).count(w.name) for w in self.worlds]
        if max(counts) - min(counts) > 1 or sum(counts) != len(owners):
            return f"zones are not spread evenly: {counts}"
        return ""

    # what NATS knows

    def keys(self):
        """Of the generation that counts: (room, number or name) -> Key."""
        found = nats_look.look(self.nats.addr)
        if "gen" not in found:
            return {}
        prefix = f"{int(found['gen'].fields['epoch']):016x}."
        keys = {("gen", ""): found["gen"]}
        for text, key in found.items():
            if text.startswith(prefix):
                room, _, what = text[len(prefix):].partition(".")
                keys[room, nats_look.name_of(text) or what] = key
        return keys

    def owners(self):
        """zone -> the world that holds it, in an epoch of its that goes on."""
        keys = self.keys()
        return {what: key.holder for (room, what), key in keys.items()
                if room == "zone" and key.state == "held" and lives(keys, key)}

    def names(self):
        """name -> its key, of those that somebody holds."""
        keys = self.keys()
        return {what: key for (room, what), key in keys.items()
                if room == "name" and key.state == "held" and lives(keys, key)}

    # what worlds say of themselves

    def people(self, prefix):
        """(name, world) of all who are a world's own; those that it sees of another's are left out."""
        found = []
        for world in self.worlds:
            after = 0
            while after is not None:
                text = world.get(f"/api/entities?kind=player&prefix={prefix}&after={after}&limit=1000")
                if text is None:
                    raise Trouble(f"{world.name} does not say who is there")
                page = json.loads(text)
                found += [(e["name"], world.name) for e in page["entities"]
                          if e["state"] in ("inside", "waiting")]
                after = page["next"]
        return found

    # numbers

    def poll(self):
        for part in self.worlds + self.gateways:
            part.poll()

    def total(self, key):
        """Of all worlds now."""
        return sum(max(0, world.value(key)) for world in self.worlds)

    def sum(self, key):
        """Of all worlds, in all their lives."""
        return sum(world.sum(key) for world in self.worlds)

    # the end

    def bots(self, name, *flags):
        """A process of bots with its output in the folder; it ends with the cluster."""
        out = open(os.path.join(self.folder, name + ".out"), "wb")
        log = open(os.path.join(self.folder, name + ".log"), "wb")
        with out, log:
            popen = subprocess.Popen([self.bot, *flags], stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=log, start_new_session=True, preexec_fn=_child)
        self.others.append(popen)
        return popen

    def end(self):
        """The clients first; the statuses of worlds and gateways."""
        statuses = {}
        for popen in self.others:
            if popen.poll() is None:
                popen.terminate()
                try:
                    popen.wait(STOP_S)
                except subprocess.TimeoutExpired:
                    popen.kill()
                    popen.wait()
        for part in reversed(self.parts()):
            statuses[part.name] = part.end()
        if self.kept:
            shutil.rmtree(self.kept, ignore_errors=True)
        return statuses


def lives(keys, key):
    """Is the epoch in which this was claimed the one that its world is in?"""
    world = keys.get(("world", key.holder))
    if world is None or world.state != "held":
        return False
    epoch = int(world.fields["epoch"]) or world.revision
    return int(key.fields["epoch"]) == epoch


def read_json(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return json.loads(text) if text.strip() else None


def play(test):
    """Run a test that has a cluster, to its end; its exit status."""
    try:
        return test.run()
    except Missing as missing:
        print(f"ok - skipped: {missing}")
        return 0
    except Trouble as trouble:
        print(f"not ok - {trouble}")
        return 1
    finally:
        test.cluster.end()

#!/usr/bin/python3
"""tests/ops/ops.py: what operators are given: metrics, alert rules, the dashboard, the runbook.

    AEGIS_BIN=DIR tests/ops/ops.py     DIR holds the aegis to test (default: bin)

Every metric and label that a rule or the dashboard asks for is there in a running pair; every alert
has its test and its place in the runbook; the series do not grow with what clients call themselves;
promtool, where it is installed, takes all of it. A line `ok - ...` or `not ok - ...` for each check.
May touch: deploy, README.md, bin/aegis, loopback. Exit status: 1 where a check failed.
"""
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

sys.dont_write_bytecode = True  # the tree stays clean
HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("../../proto/py", "../py"):
    sys.path.insert(0, os.path.join(HERE, folder))

from aegis_client import CMD, Tcp, read_body, write_body
from pair import ROOT, Pair

RULES = "deploy/prometheus/aegis.rules.yml"
CONFIG = "deploy/prometheus/prometheus.yml"
TESTS = "tests/ops/alerts.test.yml"
BOARD = "deploy/grafana/aegis.json"
NAMES = 5000
AT_ONCE = 50
HOSTILE = ('"} 1\\n', "\\", '{a="b"}', "aegis_world_ticks_total", "世界", "' OR 1=1", "# HELP x", "\u00a0")

failed = 0


def check(what, wrong):
    """`wrong`: empty where all is well, else what is not."""
    global failed
    if wrong:
        failed += 1
    print(f"not ok - {what}: {wrong}" if wrong else f"ok - {what}", flush=True)


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


# --- what is asked for, and what is there ---------------------------------------------------------


def metrics_of(address):
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        return answer.read().decode()


def series_of(metrics):
    """By name, the labels of each series."""
    series = {}
    for line in metrics.splitlines():
        found = re.match(r'(\w+)(?:\{(.*)\})? \S+$', line)
        if found and not line.startswith("#"):
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found.group(2) or ""))
            series.setdefault(found.group(1), []).append(labels)
    return series


def matchers_of(inside):
    return [(label, how, value) for label, how, value in
            re.findall(r'(\w+)\s*(=~|!=|=)\s*"([^"]*)"', inside or "") if label not in ("job", "instance")]


def missing(expr, series):
    """What of this expression no running process has."""
    wrong = []
    for name, inside in re.findall(r'\b(aegis_\w+)(?:\{([^}]*)\})?', expr):
        if name not in series:
            wrong.append(name)
            continue
        for label, how, value in matchers_of(inside):
            have = {labels.get(label) for labels in series[name]}
            wanted = value.split("|") if how == "=~" else [value]
            wrong += [f'{name}{{{label}="{one}"}}' for one in wanted if one not in have]
    return wrong


def exprs_of_rules():
    """Each `expr:`, put on one line."""
    found = re.findall(r'^ +expr: (?:>-\n((?: {10}.*\n)+)|(.*)\n)', text_of(RULES), re.M)
    return [" ".join((folded or plain).split()) for folded, plain in found]


def exprs_of_board(board):
    return [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]


# --- the dashboard, the runbook -------------------------------------------------------------------


def overlaps(panels):
    taken, wrong = {}, []
    for panel in panels:
        at = panel["gridPos"]
        if at["x"] + at["w"] > 24:
            wrong.append(f"{panel['title']}: too wide")
        for x in range(at["x"], at["x"] + at["w"]):
            for y in range(at["y"], at["y"] + at["h"]):
                if taken.setdefault((x, y), panel["title"]) != panel["title"]:
                    return [f"{panel['title']} lies on {taken[x, y]}"]
    return wrong


def the_papers_agree():
    alerts = re.findall(r'alert: (\w+)', text_of(RULES))
    tested = set(re.findall(r'alertname: (\w+)', text_of(TESTS)))
    told = set(re.findall(r'^\| `(Aegis\w+)` \|', text_of("README.md"), re.M))
    check("alerts have names of their own", [a for a in alerts if alerts.count(a) > 1])
    check("every alert has its test", sorted(set(alerts) ^ tested))
    check("every alert has its line in README, and no other has one", sorted(set(alerts) ^ told))
    check("every rule was read", len(exprs_of_rules()) != len(alerts))


def the_board_is_sound(board):
    panels = board["panels"]
    ids = [panel["id"] for panel in panels]
    check("panels have ids of their own", len(set(ids)) != len(ids))
    check("panels lie beside each other", overlaps(panels))
    check("panels take the source that is chosen", [
        panel["title"] for panel in panels if panel["type"] != "row"
        and panel["datasource"]["uid"] != "${datasource}"])


# --- names do not become series -------------------------------------------------------------------


async def come_and_go(address, name, n):
    """Log in, enter a scene of that name too, and go; from one of many addresses."""
    host, port = address.rsplit(":", 1)
    reader, writer = await asyncio.open_connection(
        host, int(port), local_addr=(f"127.0.{1 + n % 100}.{1 + n % 250}", 0))
    wire, answers = Tcp(), []
    for seq, (cmd, payload) in enumerate(((CMD.LoginReq, {"name": name}),
                                          (CMD.EnterReq, {"scene": name}),
                                          (CMD.EnterReq, None)), 1):
        writer.write(wire.frame(write_body(cmd, seq, payload)))
    while len(answers) < 3:
        data = await reader.read(65536)
        if not data:
            break
        answers += [body.cmd for body in map(read_body, wire.feed(data)) if body.seq]
    writer.close()
    return answers == [CMD.LoginResp, CMD.ErrorNotify, CMD.EnterResp]


async def many_names(address):
    turns, well = asyncio.Semaphore(AT_ONCE), 0

    async def one(n):
        async with turns:
            return await come_and_go(address, f"{HOSTILE[n % len(HOSTILE)]}{n}", n)
    for good in await asyncio.gather(*(one(n) for n in range(NAMES))):
        well += good
    return well


def count(series):
    return {name: len(labels) for name, labels in series.items()}


# --- promtool -------------------------------------------------------------------------------------


def promtool(what, args, data=None):
    ran = subprocess.run(["promtool", *args], input=data, text=True, cwd=ROOT, capture_output=True,
                         check=False)
    check(what, "" if ran.returncode == 0 and not (data and ran.stdout + ran.stderr)
          else (ran.stdout + ran.stderr).strip()[:2000])


def promtool_takes_it(pages, board):
    if not shutil.which("promtool"):
        print("# promtool is not installed, skipped (deploy/install-deps.sh lint)")
        return
    for role, page in pages.items():
        promtool(f"promtool takes the metrics of the {role}", ["check", "metrics"], page)
    promtool("promtool takes the rules", ["check", "rules", RULES])
    promtool("promtool takes the configuration", ["check", "config", CONFIG])
    promtool("each alert fires where it should, and not before", ["test", "rules", TESTS])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "board.yml")
        with open(path, "w", encoding="utf-8") as file:  # JSON is YAML
            json.dump({"groups": [{"name": "board", "rules": [
                {"record": f"board:{n}", "expr": expr.replace("$__rate_interval", "5m")}
                for n, expr in enumerate(exprs_of_board(board))]}]}, file)
        promtool("promtool takes what the dashboard asks", ["check", "rules", path])


def main():
    board = json.loads(text_of(BOARD))
    the_papers_agree()
    the_board_is_sound(board)
    flags = ("-admin=127.0.0.1:0",)
    with Pair("-resume-window=0", *flags, gateway=flags) as pair:
        admin = {"world": pair.world.address("admin on"), "gateway": pair.first.address("admin on")}
        before = {role: metrics_of(address) for role, address in admin.items()}
        series = series_of("\n".join(before.values()))
        check("what the rules ask for is there", [
            name for expr in exprs_of_rules() for name in missing(expr, series)])
        check("what the dashboard asks for is there", [
            name for expr in exprs_of_board(board) for name in missing(expr, series)])
        well = asyncio.run(many_names(pair.address))
        check(f"{NAMES} hostile names log in and enter", "" if well == NAMES else f"{well} did")
        after = series_of("\n".join(metrics_of(address) for address in admin.values()))
        check("and the series are those of before", {
            name: (count(series).get(name), n) for name, n in count(after).items()
            if count(series).get(name) != n})
        pages = {role: metrics_of(address) for role, address in admin.items()}
    promtool_takes_it(pages, board)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

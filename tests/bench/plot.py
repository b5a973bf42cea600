#!/usr/bin/env python3
"""tests/bench/plot.py: how a tick grows, measured with bin/bench and drawn as SVG.

    tests/bench/plot.py --bench bin/bench --out DIR [--runs 5]    measure, then draw
    tests/bench/plot.py --out DIR                                 draw again from DIR/growth.json

All rows are run once, then all once more, and so on; of each row the median counts, and a bar shows
the least and the most. The standard library only.
May touch: the benchmark it is told of, DIR. On trouble: one line and exit status 1.
"""
import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys

PLAYERS = [1000, 2000, 5000, 10000, 20000, 50000, 100000]
DENSITIES = [5, 10, 20, 50, 100, 200, 400]
FIXED_DENSITY, FIXED_PLAYERS = 50, 10000
TICK_MS = 50
GOAL_PAIR_NS = 5  # a staying pair, the whole tick, at the fixed density

# --- measuring --------------------------------------------------------------------------------------


def ticks_for(n, k):
    """Ticks of one run: fewer where each is long."""
    return max(10, min(60, int(60 * 10000 * 50 / (n * max(k, 10)))))


def commands():
    """The words behind the program's name, of every row."""
    pairs = [(n, FIXED_DENSITY) for n in PLAYERS]
    pairs += [(FIXED_PLAYERS, k) for k in DENSITIES if k != FIXED_DENSITY]
    for bench in ("tick", "sight"):
        for n, k in pairs:
            yield [bench, "-n", str(n), "-neighbours", str(k), "-ticks", str(ticks_for(n, k)),
                   "-runs", "1", "-json"]


def measure(program, runs):
    """Rows as the benchmark says them."""
    rows, todo = [], list(commands())
    for run in range(runs):
        for at, words in enumerate(todo):
            if sys.stderr.isatty():
                print(f"\rrun {run + 1} of {runs}, row {at + 1} of {len(todo)} ", end="",
                      file=sys.stderr, flush=True)
            done = subprocess.run([program] + words, stdout=subprocess.PIPE, text=True, check=True)
            rows += [json.loads(line) | {"run": run} for line in done.stdout.splitlines()]
    return rows


def machine():
    """The processor's name, as the kernel says it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            for line in info:
                if line.startswith("model name"):
                    return " ".join(line.split(":", 1)[1].split())
    except OSError:
        pass
    return platform.machine()


# --- from rows to lines -----------------------------------------------------------------------------


def line_of(rows, x_name, y_of, **wanted):
    """Points (x, median, least, most) of the rows that have what is wanted, by x."""
    found = {}
    for row in rows:
        if all(row.get(name) == value for name, value in wanted.items()):
            found.setdefault(row[x_name], []).append(y_of(row))
    return [(x, statistics.median(ys), min(ys), max(ys)) for x, ys in sorted(found.items())]


def tick_ms(name):
    """Milliseconds a tick, of what is noted in ns per entity that moved; all move."""
    return lambda row: row[name] * row["n"] / 1e6


# --- drawing ----------------------------------------------------------------------------------------

WIDTH, HEIGHT = 760, 460
LEFT, RIGHT, TOP, BOTTOM = 70, 160, 50, 96
INK, FAINT = "#7d8590", "#7d859055"
BLUE, ORANGE, GREEN, VIOLET, RED = "#3987d6", "#d07a1f", "#2c9c69", "#9a6fd8", "#d6455d"


class Axis:
    """A logarithmic axis from `low` to `high`, laid from pixel `start` to `end`."""

    def __init__(self, low, high, start, end, marks=None):
        self.low, self.high, self.start, self.end = low, high, start, end
        self.marks = marks or list(self.decades())

    def at(self, value):
        """The pixel of a value."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def decades(self):
        """1, 2 and 5 of each decade."""
        for decade in range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1):
            for first in (1, 2, 5):
                value = first * 10.0**decade
                if self.low * 0.999 <= value <= self.high * 1.001:
                    yield value


def number(value):
    """A number as people write it."""
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def text(x, y, words, **style):
    """A text element; style by SVG's names, `_` for `-`."""
    words = words.replace("&", "&amp;").replace("<", "&lt;")
    extra = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{extra}>{words}</text>'


def spread(labels, gap, low, high):
    """Labels [(y, ...)] moved apart to at least `gap`, within low and high."""
    labels = sorted(labels)
    ys = [label[0] for label in labels]
    for i in range(1, len(ys)):
        ys[i] = max(ys[i], ys[i - 1] + gap)
    if ys and ys[-1] > high:
        ys[-1] = high
        for i in range(len(ys) - 2, -1, -1):
            ys[i] = min(ys[i], ys[i + 1] - gap)
    return [(max(y, low), *label[1:]) for y, label in zip(ys, labels)]


def axes(x, y, x_title, y_title):
    """Grid, labels and titles of both."""
    out = []
    for value in x.marks:
        at = x.at(value)
        out.append(f'<path d="M{at:.1f} {y.start}V{y.end}" stroke="{FAINT}"/>')
        out.append(text(at, y.start + 18, number(value), text_anchor="middle"))
    for value in y.marks:
        at = y.at(value)
        out.append(f'<path d="M{x.start} {at:.1f}H{x.end}" stroke="{FAINT}"/>')
        out.append(text(x.start - 8, at + 4, number(value), text_anchor="end"))
    middle = (y.start + y.end) / 2
    out.append(text((x.start + x.end) / 2, y.start + 40, x_title, text_anchor="middle"))
    out.append(text(18, middle, y_title, text_anchor="middle", transform=f"rotate(-90 18 {middle:.1f})"))
    return out


def trace(x, y, points, colour):
    """One line: its points, and bars from the least to the most."""
    path = " ".join(f"{x.at(p[0]):.1f},{y.at(p[1]):.1f}" for p in points)
    out = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>']
    for at, median, least, most in points:
        out.append(f'<path d="M{x.at(at):.1f} {y.at(least):.1f}V{y.at(most):.1f}" stroke="{colour}" '
                   f'stroke-width="1.5" stroke-opacity="0.6"/>')
        out.append(f'<circle cx="{x.at(at):.1f}" cy="{y.at(median):.1f}" r="3.2" fill="{colour}"/>')
    return out


def chart(title, x_title, y_title, lines, guides, caption):
    """An SVG.  lines: (name, colour, points); guides, dashed: (name, [(x, y), (x, y)])."""
    lines = [line for line in lines if line[2]]
    xs = [p[0] for _, _, points in lines for p in points]
    ys = [v for _, _, points in lines for p in points for v in p[2:]]
    ys += [p[1] for _, points in guides for p in points]
    x = Axis(min(xs), max(xs), LEFT, WIDTH - RIGHT, sorted(set(xs)))
    y = Axis(min(ys) / 1.2, max(ys) * 1.2, HEIGHT - BOTTOM, TOP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
           f'height="{HEIGHT}" font-family="system-ui, sans-serif" font-size="12" fill="{INK}">',
           f"<title>{title}</title>", text(LEFT, 28, title, font_size=16, font_weight=600)]
    out += axes(x, y, x_title, y_title)
    labels = []
    for name, points in guides:
        path = " ".join(f"{x.at(px):.1f},{y.at(py):.1f}" for px, py in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{INK}" stroke-width="1.5" '
                   f'stroke-dasharray="6 5"/>')
        labels.append((y.at(points[-1][1]), x.at(points[-1][0]), name, INK))
    for name, colour, points in lines:
        out += trace(x, y, points, colour)
        labels.append((y.at(points[-1][1]), x.at(points[-1][0]), name, colour))
    for at, beside, name, colour in spread(labels, 16, TOP, HEIGHT - BOTTOM):
        out.append(text(beside + 10, at + 4, name, fill=colour, font_weight=600))
    for i, words in enumerate(caption):
        out.append(text(LEFT, HEIGHT - 32 + 16 * i, words, font_size=11))
    return "\n".join(out + ["</svg>"]) + "\n"


def tick_lines(rows, x_name, **wanted):
    """The whole tick and its phases."""
    return [(name, colour, line_of(rows, x_name, tick_ms(field), bench="tick", **wanted))
            for name, colour, field in (("whole tick", BLUE, "ns_per_moved_entity"),
                                        ("records, batches", ORANGE, "fanout_ns"),
                                        ("sight", GREEN, "sight_ns"), ("events", VIOLET, "events_ns"))]


def sight_lines(rows, x_name, **wanted):
    """Sight beside the others, ns per entity."""
    return [(label, colour, line_of(rows, x_name, lambda row: row["ns_per_moved_entity"],
                                    bench="sight", program=program, **wanted))
            for label, colour, program in (
                ("Aegis", BLUE, "aegis"), ("limit, AVX2", GREEN, "limit, AVX2"),
                ("limit, AVX-512", VIOLET, "limit, AVX-512"), ("naive grid", ORANGE, "naive grid"),
                ("brute force", RED, "brute force"))]


def charts(data):
    """(file, SVG) of all."""
    rows, made = data["rows"], f'median and range of {data["runs"]} runs; {data["machine"]}, one core'
    how = "make bench-growth: bin/bench"
    dense = {"neighbours": FIXED_DENSITY}
    crowd = {"n": FIXED_PLAYERS}
    goal = [(n, n * FIXED_DENSITY * GOAL_PAIR_NS / 1e6) for n in (PLAYERS[0], PLAYERS[-1])]
    budget = f"a tick: {TICK_MS} ms"
    by_n = f"players, {FIXED_DENSITY} others within the radius of each"
    by_k = f"others within the radius, {FIXED_PLAYERS:,} players"
    n_words, k_words = f"-n N -neighbours {FIXED_DENSITY} -json", f"-n {FIXED_PLAYERS} -neighbours K -json"
    yield "tick_players.svg", chart(
        "Tick time against players", by_n, "milliseconds a tick, all move",
        tick_lines(rows, "n", **dense),
        [(budget, [(PLAYERS[0], TICK_MS), (PLAYERS[-1], TICK_MS)]),
         (f"goal: {GOAL_PAIR_NS} ns a pair", goal)],
        [f"{how} tick {n_words}", made])
    yield "tick_density.svg", chart(
        "Tick time against density", by_k, "milliseconds a tick, all move",
        tick_lines(rows, "neighbours", **crowd),
        [(budget, [(DENSITIES[0], TICK_MS), (DENSITIES[-1], TICK_MS)])],
        [f"{how} tick {k_words}", made])
    yield "sight_players.svg", chart(
        "Who sees whom, against players", by_n, "ns an entity and tick, all move",
        sight_lines(rows, "n", **dense), [], [f"{how} sight {n_words}", made])
    yield "sight_density.svg", chart(
        "Who sees whom, against density", by_k, "ns an entity and tick, all move",
        sight_lines(rows, "neighbours", **crowd), [], [f"{how} sight {k_words}", made])


def main():
    """Measure if told so, then draw."""
    parser = argparse.ArgumentParser(description="Growth of a tick, measured and drawn.")
    parser.add_argument("--bench", help="the benchmark program; without: draw again")
    parser.add_argument("--out", required=True, help="folder of growth.json and the SVGs")
    parser.add_argument("--runs", type=int, default=5, help="runs of each row (5)")
    args = parser.parse_args()
    path = os.path.join(args.out, "growth.json")
    try:
        os.makedirs(args.out, exist_ok=True)
        if args.bench:
            data = {"machine": machine(), "runs": args.runs, "rows": measure(args.bench, args.runs)}
            with open(path, "w", encoding="utf-8") as out:
                body = ",\n".join(json.dumps(row) for row in data.pop("rows"))
                out.write(json.dumps(data)[:-1] + ', "rows": [\n' + body + "\n]}\n")
        with open(path, encoding="utf-8") as source:
            data = json.load(source)
        for name, svg in charts(data):
            with open(os.path.join(args.out, name), "w", encoding="utf-8") as out:
                out.write(svg)
            print(os.path.join(args.out, name))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as trouble:
        print(f"plot.py: {trouble}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

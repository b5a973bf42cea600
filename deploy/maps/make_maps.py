#!/usr/bin/env python3
"""deploy/maps/make_maps.py: draws the maps of this folder, for the editor Tiled and for -map.

    python3 deploy/maps/make_maps.py

Writes, beside itself, tiles.png and tiles.json (the tileset), town.json (a small walled town, laid
out by hand below) and wild.json (1024 by 1024 tiles of wilderness, from a seed). What it writes is
in the tree, so nobody needs to run it; a change of the maps by hand in Tiled is as good, and then
this script is the past. The same Python gives the same files.
May touch: its own folder. On trouble: a line that says what of a map does not hold.
"""
import base64
import collections
import json
import os
import random
import struct
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
PIXELS = 16
COLUMNS = 6

# name: how it is painted (below, "tileset"), its colours, does it block
TILES = collections.OrderedDict([
    ("grass", ("grass", (), False)),
    ("road", ("grain", ((199, 180, 145), (189, 169, 132), (209, 192, 160)), False)),
    ("floor", ("planks", ((168, 128, 86), (150, 111, 72)), False)),
    ("wall", ("bricks", ((134, 127, 128), (112, 105, 108), (150, 144, 144)), True)),
    ("water", ("waves", ((76, 132, 184), (98, 153, 201)), True)),
    ("tree", ("crown", ((58, 108, 62), (74, 130, 72), (44, 86, 54)), True)),
    ("rock", ("crown", ((140, 139, 142), (166, 165, 166), (112, 110, 116)), True)),
    ("sand", ("grain", ((224, 208, 164), (214, 196, 148), (233, 220, 182)), False)),
    ("bridge", ("planks", ((150, 108, 70), (122, 86, 54)), False)),
    ("flowers", ("flowers", ((226, 122, 150), (244, 214, 110), (246, 240, 232)), False)),
    ("door", ("planks", ((134, 88, 52), (112, 72, 42)), False)),
    ("stall", ("awning", ((186, 72, 62), (236, 224, 202)), False)),  # the layer `blocked` blocks it
])
GRASS = ((112, 160, 90), (104, 151, 83), (122, 170, 98))
GID = {name: i + 1 for i, name in enumerate(TILES)}
BLOCKS = {GID[name] for name, tile in TILES.items() if tile[2]}


# --- tileset ----------------------------------------------------------------------------------

def chunk(kind, body):
    sum_ = zlib.crc32(kind + body)
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", sum_)


def paint_grain(rng, colours):
    """Even ground with a few grains, each two pixels wide, so that it does not flicker."""
    plain, dark, light = colours
    tile = [[plain] * PIXELS for _ in range(PIXELS)]
    for _ in range(9):
        x, y, colour = rng.randrange(PIXELS - 1), rng.randrange(PIXELS), rng.choice((dark, light))
        tile[y][x] = tile[y][x + 1] = colour
    return tile


def paint_grass(rng, _):
    """Ground with some blades."""
    tile = paint_grain(rng, GRASS)
    for _ in range(4):
        x, y = rng.randrange(1, PIXELS - 1), rng.randrange(2, PIXELS)
        tile[y][x], tile[y - 1][x], tile[y - 1][x + 1] = GRASS[1], GRASS[1], GRASS[2]
    return tile


def paint_planks(rng, colours):
    plain, seam = colours
    tile = [[plain] * PIXELS for _ in range(PIXELS)]
    for y in range(PIXELS):
        joint = (y // 4 * 7 + 3) % PIXELS
        shade = y // 4 % 2 * 5
        for x in range(PIXELS):
            seamed = y % 4 == 3 or x == joint
            tile[y][x] = seam if seamed else tuple(v - shade for v in plain)
    return tile


def paint_bricks(rng, colours):
    plain, mortar, light = colours
    tile = [[plain] * PIXELS for _ in range(PIXELS)]
    for y in range(PIXELS):
        for x in range(PIXELS):
            if y % 4 == 3 or (x + y // 4 % 2 * 4) % 8 == 7:
                tile[y][x] = mortar
            elif y % 4 == 0:
                tile[y][x] = light
    return tile


def paint_waves(rng, colours):
    plain, crest = colours
    tile = [[plain] * PIXELS for _ in range(PIXELS)]
    for x, y, length in ((2, 3, 4), (10, 7, 3), (4, 12, 3)):
        for i in range(length):
            tile[y][x + i] = crest
        tile[y + 1][x + length] = crest
    return tile


def paint_crown(rng, colours):
    """Something round on grass, lit from the north-west."""
    plain, light, dark = colours
    tile = paint_grass(rng, ())
    for y in range(PIXELS):
        for x in range(PIXELS):
            dx, dy = x - 7.5, y - 7.5
            if dx * dx + dy * dy > 7.4 ** 2:
                continue
            lit = (dx + 2.5) ** 2 + (dy + 2.5) ** 2
            tile[y][x] = light if lit < 3.4 ** 2 else plain if lit < 7.6 ** 2 else dark
    for _ in range(6):
        x, y = rng.randrange(3, 12), rng.randrange(3, 12)
        tile[y][x] = rng.choice((light, dark))
    return tile


def paint_flowers(rng, colours):
    tile = paint_grass(rng, ())
    for i, (x, y) in enumerate(((3, 3), (10, 2), (6, 8), (12, 10), (2, 12), (9, 13))):
        colour = colours[i % len(colours)]
        tile[y][x] = tile[y][x + 1] = tile[y + 1][x] = tile[y + 1][x + 1] = colour
    return tile


def paint_awning(rng, colours):
    red, cream = colours
    tile = [[(red if x // 4 % 2 == 0 else cream) for x in range(PIXELS)] for _ in range(PIXELS)]
    for x in range(PIXELS):
        for y, shade in ((0, 18), (13, -18), (14, -34), (15, -60)):
            tile[y][x] = tuple(min(max(v + shade, 0), 255) for v in tile[y][x])
    return tile


PAINTERS = {"grain": paint_grain, "grass": paint_grass, "planks": paint_planks,
            "bricks": paint_bricks, "waves": paint_waves, "crown": paint_crown,
            "flowers": paint_flowers, "awning": paint_awning}


def write_png(path):
    """One picture of all tiles."""
    rows = -(-len(TILES) // COLUMNS)
    pixels = [[(0, 0, 0)] * (COLUMNS * PIXELS) for _ in range(rows * PIXELS)]
    for i, (painter, colours, _) in enumerate(TILES.values()):
        tile = PAINTERS[painter](random.Random(i + 1), colours)
        for y in range(PIXELS):
            left = i % COLUMNS * PIXELS
            pixels[i // COLUMNS * PIXELS + y][left:left + PIXELS] = tile[y]
    raw = b"".join(b"\0" + bytes(v for p in row for v in p) for row in pixels)
    head = struct.pack(">IIBBBBB", COLUMNS * PIXELS, rows * PIXELS, 8, 2, 0, 0, 0)
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) +
                chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def prop(name, kind, value):
    return {"name": name, "type": kind, "value": value}


def tileset():
    rows = -(-len(TILES) // COLUMNS)
    return {
        "type": "tileset", "version": "1.8", "name": "tiles", "image": "tiles.png",
        "imagewidth": COLUMNS * PIXELS, "imageheight": rows * PIXELS, "columns": COLUMNS,
        "tilecount": len(TILES), "tilewidth": PIXELS, "tileheight": PIXELS, "margin": 0,
        "spacing": 0,
        "tiles": [{"id": gid - 1, "properties": [prop("blocked", "bool", True)]}
                  for gid in sorted(BLOCKS)],
    }


# --- maps -------------------------------------------------------------------------------------

class Map:
    """Layers of tiles by name, and objects."""

    def __init__(self, width, height, layers):
        self.width, self.height = width, height
        self.layers = {name: [0] * (width * height) for name in layers}
        self.objects = {"spawns": [], "npcs": [], "portals": []}
        self.next_id = 1

    def put(self, layer, x, y, name):
        self.layers[layer][y * self.width + x] = GID[name] if name else 0

    def fill(self, layer, x, y, width, height, name):
        for ty in range(y, y + height):
            for tx in range(x, x + width):
                self.put(layer, tx, ty, name)

    def blocked(self, x, y):
        i = y * self.width + x
        return any(tiles[i] in BLOCKS or (name == "blocked" and tiles[i])
                   for name, tiles in self.layers.items())

    def add(self, layer, kind, name, x, y, width=0, height=0, line=None, ring=None, says=None):
        """An object; places in tiles."""
        o = {"id": self.next_id, "name": name, "type": kind, "x": x * PIXELS, "y": y * PIXELS,
             "width": width * PIXELS, "height": height * PIXELS, "rotation": 0, "visible": True}
        points = line or ring
        if points:
            o["x"], o["y"] = points[0][0] * PIXELS, points[0][1] * PIXELS
            o["polyline" if line else "polygon"] = [
                {"x": px * PIXELS - o["x"], "y": py * PIXELS - o["y"]} for px, py in points]
        elif width == 0:
            o["point"] = True
        if says:
            o["properties"] = [prop(k, "string" if isinstance(v, str) else "float", v)
                               for k, v in sorted(says.items())]
        self.objects[layer].append(o)
        self.next_id += 1

    def reached(self, x, y):
        """All free tiles that one can walk to from here; a step to a diagonal cuts no corner."""
        seen = bytearray(self.width * self.height)
        free = bytearray(not self.blocked(i % self.width, i // self.width)
                         for i in range(self.width * self.height))
        todo = [(x, y)]
        seen[y * self.width + x] = 1
        while todo:
            cx, cy = todo.pop()
            for nx, ny in ((cx + 1, cy), (cx - 1, cy), (cx, cy + 1), (cx, cy - 1)):
                i = ny * self.width + nx
                if 0 <= nx < self.width and 0 <= ny < self.height and free[i] and not seen[i]:
                    seen[i] = 1
                    todo.append((nx, ny))
        return seen, free

    def write(self, path, packed):
        layers = []
        for number, (name, tiles) in enumerate(self.layers.items()):
            layer = {"type": "tilelayer", "id": number + 1, "name": name, "x": 0, "y": 0,
                     "width": self.width, "height": self.height, "opacity": 1,
                     "visible": name != "blocked"}
            if packed:
                raw = struct.pack("<%dI" % len(tiles), *tiles)
                layer["encoding"], layer["compression"] = "base64", "zlib"
                layer["data"] = base64.b64encode(zlib.compress(raw, 9)).decode()
            else:
                layer["data"] = tiles
            layers.append(layer)
        for name, objects in self.objects.items():
            layers.append({"type": "objectgroup", "id": len(layers) + 1, "name": name, "x": 0,
                           "y": 0, "draworder": "topdown", "opacity": 1, "visible": True,
                           "objects": objects})
        write_json(path, {
            "type": "map", "version": "1.8", "orientation": "orthogonal",
            "renderorder": "right-down", "infinite": False, "width": self.width,
            "height": self.height, "tilewidth": PIXELS, "tileheight": PIXELS,
            "nextlayerid": len(layers) + 1, "nextobjectid": self.next_id,
            "compressionlevel": -1,
            "tilesets": [{"firstgid": 1, "source": "tiles.json"}], "layers": layers})


def write_json(path, value):
    """With lists of numbers a row, so that a changed tile is a changed line."""
    text = json.dumps(value, indent=1, sort_keys=True)
    if value["type"] == "map":
        for layer in value["layers"]:
            if isinstance(layer.get("data"), list):
                width = layer["width"]
                old = json.dumps(layer["data"], indent=1).replace("\n", "\n   ")
                rows = [",".join(map(str, layer["data"][i:i + width]))
                        for i in range(0, len(layer["data"]), width)]
                assert old in text
                text = text.replace(old, "[\n" + ",\n".join(rows) + "]", 1)
    with open(path, "w", encoding="ascii") as f:
        f.write(text + "\n")


# --- the town ---------------------------------------------------------------------------------

# Left, top, width, height, and where its door is: a side, and how far along it.
HOUSES = [
    (5, 5, 7, 6, "s", 3), (13, 5, 9, 6, "s", 4), (5, 12, 7, 8, "e", 5), (13, 12, 9, 8, "s", 2),
    (42, 5, 8, 6, "s", 2), (51, 5, 8, 6, "w", 3), (42, 12, 5, 8, "w", 4), (48, 12, 11, 8, "s", 6),
    (5, 27, 8, 7, "n", 5), (14, 27, 8, 7, "n", 1), (5, 35, 6, 8, "e", 2), (12, 35, 10, 8, "n", 7),
    (42, 27, 8, 6, "n", 3), (51, 27, 8, 5, "s", 4),
]
STALLS = [(26, 19), (28, 19), (35, 19), (37, 19), (26, 28), (28, 28), (35, 28), (37, 28)]
TREES = [(24, 5), (27, 7), (25, 10), (36, 6), (38, 9), (39, 13), (25, 34), (27, 38), (36, 33),
         (38, 37), (24, 41), (39, 41), (43, 36), (45, 42), (57, 34), (56, 42), (0, 3), (1, 11),
         (0, 35), (1, 44), (63, 6), (62, 14), (63, 33), (62, 41), (12, 0), (30, 1), (47, 0),
         (18, 47), (35, 46), (52, 47)]


def draw_house(m, x, y, width, height, side, along):
    m.fill("buildings", x, y, width, height, "wall")
    m.fill("buildings", x + 1, y + 1, width - 2, height - 2, "floor")
    dx, dy = {"n": (along, 0), "s": (along, height - 1), "w": (0, along),
              "e": (width - 1, along)}[side]
    m.put("buildings", x + dx, y + dy, "door")


def draw_town():
    m = Map(64, 48, ["ground", "buildings", "blocked"])
    m.fill("ground", 0, 0, 64, 48, "grass")
    m.fill("ground", 0, 23, 64, 2, "road")
    m.fill("ground", 31, 3, 2, 42, "road")
    m.fill("ground", 24, 17, 16, 14, "road")
    for x in range(2, 62):  # the wall, with a gate to the west and one to the east
        for y in (2, 45):
            m.put("buildings", x, y, "wall")
    for y in range(2, 46):
        for x in (2, 61):
            if y not in (23, 24):
                m.put("buildings", x, y, "wall")
    for house in HOUSES:
        draw_house(m, *house)
    m.fill("ground", 31, 23, 2, 2, "water")  # the well
    for y in range(33, 44):  # the pond
        for x in range(44, 58):
            if ((x - 51) / 6.0) ** 2 + ((y - 38.5) / 4.0) ** 2 <= 1:
                m.put("ground", x, y, "water")
            elif ((x - 51) / 7.0) ** 2 + ((y - 38.5) / 5.0) ** 2 <= 1:
                m.put("ground", x, y, "sand")
    for x, y in TREES:
        m.put("buildings", x, y, "tree")
    for x, y in STALLS:
        m.put("buildings", x, y, "stall")
        m.put("blocked", x, y, "wall")
    for x in range(25, 39, 3):
        m.put("ground", x, 16, "flowers")
        m.put("ground", x, 31, "flowers")

    m.add("spawns", "spawn", "square", 29, 20, 6, 3)
    m.add("spawns", "spawn", "west gate", 4.5, 24)
    m.add("npcs", "npc", "watchman", 0, 0, says={"behaviour": "patrol", "speed": 2.0},
          ring=[(25.5, 18.5), (38.5, 18.5), (38.5, 29.5), (25.5, 29.5)])
    m.add("npcs", "npc", "guard", 0, 0, says={"behaviour": "patrol", "speed": 2.0},
          line=[(3.5, 3.5), (3.5, 43.5), (23.5, 43.5), (23.5, 25.5)])
    m.add("npcs", "npc", "gatekeeper", 60.5, 22.5, says={"behaviour": "stand"})
    m.add("npcs", "npc", "baker", 8.5, 7.5, says={"behaviour": "stand"})
    m.add("npcs", "npc", "smith", 45.5, 15.5, says={"behaviour": "stand"})
    m.add("npcs", "npc", "cat", 14, 13, 7, 6, says={"behaviour": "wander", "speed": 1.5})
    m.add("npcs", "npc", "hen", 33, 33, 6, 9, says={"behaviour": "wander", "speed": 0.8})
    m.add("npcs", "npc", "hen", 25, 33, 5, 9, says={"behaviour": "wander", "speed": 0.8})
    m.add("portals", "portal", "east road", 62, 23, 2, 2,
          says={"scene": "wild", "x": 8.5, "y": 512.0})
    return m


# --- the wilderness ---------------------------------------------------------------------------

WILD = 1024
CENTRE = WILD // 2


class Noise:
    """Smooth values in [0, 1) over the map, from random ones on a lattice."""

    def __init__(self, rng, cell):
        self.cell = cell
        self.n = WILD // cell + 2
        self.values = [rng.random() for _ in range(self.n * self.n)]

    def row(self, y):
        """All values of a row of tiles."""
        j, v = divmod(y, self.cell)
        v /= self.cell
        v = v * v * (3 - 2 * v)
        top, low = j * self.n, (j + 1) * self.n
        line = [self.values[top + i] * (1 - v) + self.values[low + i] * v for i in range(self.n)]
        out = []
        for i in range(WILD // self.cell):
            a, b = line[i], line[i + 1]
            for k in range(self.cell):
                u = k / self.cell
                u = u * u * (3 - 2 * u)
                out.append(a * (1 - u) + b * u)
        return out


def road_y(x, bends):
    """Where the road from the west to the middle runs."""
    j, u = divmod(x, 32)
    u /= 32.0
    u = u * u * (3 - 2 * u)
    return CENTRE + int(bends[j] * (1 - u) + bends[j + 1] * u)


def draw_wild():
    rng = random.Random(1024)
    lakes, woods, groves = Noise(rng, 64), Noise(rng, 128), Noise(rng, 8)
    stone = Noise(rng, 32)
    m = Map(WILD, WILD, ["ground", "things"])
    for y in range(WILD):
        water, wood, grove, rock = lakes.row(y), woods.row(y), groves.row(y), stone.row(y)
        for x in range(WILD):
            name = "water" if water[x] < 0.2 else "sand" if water[x] < 0.24 else "grass"
            m.put("ground", x, y, name)
            if name != "grass":
                continue
            if grove[x] < wood[x] - 0.2:
                m.put("things", x, y, "tree")
            elif rock[x] > 0.86 and grove[x] > 0.45:
                m.put("things", x, y, "rock")
    bends = [0.0] + [rng.uniform(-24, 24) for _ in range(15)] + [0.0, 0.0]
    for x in range(0, CENTRE + 3):
        at = road_y(x, bends)
        for y in range(min(at, road_y(max(x - 1, 0), bends)) - 1,
                       max(at, road_y(max(x - 1, 0), bends)) + 2):
            wet = m.layers["ground"][y * WILD + x] in (GID["water"], GID["bridge"])
            m.put("ground", x, y, "bridge" if wet else "road")
            m.put("things", x, y, None)
    for cx, cy, r in ((8, CENTRE, 10), (CENTRE, CENTRE, 14)):  # a clearing at each end
        for y in range(cy - r, cy + r + 1):
            for x in range(max(cx - r, 0), cx + r + 1):
                if (x - cx) ** 2 + (y - cy) ** 2 <= r * r:
                    m.put("things", x, y, None)
                    if m.layers["ground"][y * WILD + x] in (GID["water"], GID["sand"]):
                        m.put("ground", x, y, "grass")
    seen, free = m.reached(8, CENTRE)
    for i in range(WILD * WILD):  # what nobody can come to is overgrown
        if free[i] and not seen[i]:
            m.put("things", i % WILD, i // WILD, "tree")
    m.add("spawns", "spawn", "camp", CENTRE - 4, CENTRE - 4, 8, 8)
    m.add("spawns", "spawn", "road's end", 10, CENTRE - 3, 4, 6)
    m.add("portals", "portal", "to the town", 0, CENTRE - 1, 2, 2,
          says={"scene": "town", "x": 59.5, "y": 24.0})
    while len(m.objects["npcs"]) < 48:
        x, y = rng.randrange(16, WILD - 32), rng.randrange(16, WILD - 32)
        if not m.blocked(x + 8, y + 8):
            m.add("npcs", "npc", rng.choice(["deer", "boar", "hare"]), x, y, 16, 16,
                  says={"behaviour": "wander", "speed": 2.0})
    return m


# --- the whole --------------------------------------------------------------------------------

def check(name, m, x, y):
    """Everything that is free can be come to."""
    seen, free = m.reached(x, y)
    lost = sum(f and not s for f, s in zip(free, seen))
    if lost:
        raise SystemExit("%s: %d free tiles cannot be reached" % (name, lost))
    print("%s: %d by %d tiles, %d free" % (name, m.width, m.height, sum(free)))


def main():
    write_png(os.path.join(HERE, "tiles.png"))
    write_json(os.path.join(HERE, "tiles.json"), tileset())
    town, wild = draw_town(), draw_wild()
    check("town", town, 30, 21)
    check("wild", wild, 8, CENTRE)
    town.write(os.path.join(HERE, "town.json"), packed=False)
    wild.write(os.path.join(HERE, "wild.json"), packed=True)


if __name__ == "__main__":
    main()

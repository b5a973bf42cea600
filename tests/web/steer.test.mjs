/* tests/web/steer.test.mjs: how the page walks, without a page: steadily, within the speed, never into
 * what its map says is blocked; and where the server says it stands.
 * Run by `make test-web`. May touch: gateway/web, deploy/maps.
 */
import "./modules.mjs";

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { ROOT } from "./harness.mjs";
import { townBlocked } from "./walkers.mjs";

const { Ground, MapGround, readGround } = await import("../../gateway/web/ground.js");
const { Steer } = await import("../../gateway/web/steer.js");

const read = (name) => JSON.parse(readFileSync(`${ROOT}/deploy/maps/${name}.json`, "utf8"));

function townGround() {
  const [map, set] = [read("town"), read("tiles")];
  const blocked = new Set(set.tiles.map((tile) => tile.id));
  const layers = map.layers.filter((layer) => layer.type === "tilelayer").map((layer) => ({ tiles: Uint32Array.from(layer.data),
    seen: layer.visible, opacity: 1, blocks: layer.name === "blocked", opens: false }));
  return new MapGround("town", map, [{ first: 1, end: 1 + set.tilecount, blocked }], layers);
}

function randomFrom(seed) {
  return () => (seed = (seed * 48271) % 0x7fffffff) / 0x7fffffff;
}

/* A server of the contract's rules of speed, and whoever is steered. `now` is moved by `frames`. */
class Stage {
  moves = [];
  told = [];
  now = 1000;
  refuse = null; // what the next move is answered with
  #credit = 0.02;
  #at = 0;

  constructor(ground, x, y, maxSpeed = 12) {
    this.client = { self: { x, y, max_speed: maxSpeed }, move: (...args) => this.#move(...args) };
    this.people = { self: { dir: 0 }, stand: (px, py, dir) => Object.assign(this.people.self, { x: px, y: py, dir }),
      led: (px, py) => this.told.push([px, py]) };
    this.steer = new Steer(this.client, this.people, ground);
    this.steer.place({ x, y });
    this.#at = this.now;
  }

  async #move(x, y, more) {
    const { self } = this.client;
    this.#credit = Math.min(this.#credit + (this.now - this.#at) / 1000, 1);
    this.#at = this.now;
    const far = Math.hypot(x - self.x, y - self.y);
    this.moves.push({ x, y, far, at: this.now, ...more });
    if (this.refuse) {
      const refusal = this.refuse;
      this.refuse = null;
      throw Object.assign(new Error("refused"), refusal);
    }
    this.#credit -= far / self.max_speed;
    assert.ok(this.#credit > -0.02, `faster than time: ${this.#credit} s`);
    Object.assign(self, { x, y });
    return { x, y };
  }

  async frames(n, dx, dy, ms = 16) {
    for (let i = 0; i < n; i++) {
      this.now += ms;
      this.steer.step(dx, dy, this.now, ms / 1000);
      await null;
      await null;
    }
  }
}

test("keys walk at a steady rate, never faster than time, and stop when they are let go", async () => {
  const stage = new Stage(new Ground("open"), 0, 0);
  await stage.frames(600, 1, 0);
  await stage.frames(5, 0, 0);
  const { self } = stage.client;
  assert.ok(self.x > 9.6 * 12 * 0.9 && self.x < 9.6 * 12, `${self.x} in 9.6 s`);
  assert.ok(stage.moves.length > 80 && stage.moves.length < 105, `${stage.moves.length} moves`);
  assert.equal(stage.moves.at(-1).speed, 0);
  assert.equal(stage.moves.filter((move) => move.speed === 0).length, 1, "and once");
  assert.equal(stage.steer.mode, "stand");
  await stage.frames(60, 1, 1, 160);
  assert.ok(Math.abs(self.x - 9.6 * 12) > 1, "slow pictures walk too");
});

test("in the town no way leads into a wall, and along a wall it slides", async () => {
  const [ground, blocked, random] = [townGround(), townBlocked(), randomFrom(7)];
  for (let walk = 0; walk < 20; walk++) {
    const stage = new Stage(ground, 30.5, 20.5);
    for (let leg = 0; leg < 12; leg++) {
      const angle = Math.floor(random() * 8) * (Math.PI / 4);
      const before = stage.moves.length;
      await stage.frames(40, Math.round(Math.cos(angle)), Math.round(Math.sin(angle)));
      for (const { x, y } of stage.moves.slice(before)) assert.ok(!blocked(x, y), `${x}, ${y} is blocked`);
    }
    for (const [i, move] of stage.moves.entries()) {
      const from = i === 0 ? { x: 30.5, y: 20.5 } : stage.moves[i - 1];
      for (let part = 0; part <= 1; part += 1 / 64)
        assert.ok(!blocked(from.x + (move.x - from.x) * part, from.y + (move.y - from.y) * part), `a way through a wall, move ${i}`);
    }
  }
  const along = new Stage(ground, 12.5, 11.5); // a lane between houses: along it only
  await along.frames(60, 1, 1);
  assert.ok(along.client.self.x > 14 && along.client.self.y < 12, JSON.stringify(along.client.self));
});

test("what is refused puts one where the server says, and then it goes on", async () => {
  const stage = new Stage(new Ground("open"), 0, 0);
  await stage.frames(20, 1, 0);
  stage.refuse = { code: 9, x: 0.5, y: 0.25 };
  await stage.frames(10, 1, 0);
  assert.deepEqual(stage.told.at(-1), [0.5, 0.25]);
  await stage.frames(20, 1, 0);
  const next = stage.moves.at(-1);
  assert.ok(next.x > 0.5 && next.x < 6 && next.y === 0.25, JSON.stringify(next));
});

test("a straight way is clear when all its tiles are free, and cuts no corner", () => {
  const tiles = ["....", ".#..", "..#.", "...."].join("");
  const layers = [{ tiles: Uint32Array.from(tiles, (c) => (c === "#" ? 1 : 0)), seen: true, opacity: 1, blocks: true, opens: false }];
  const map = { width: 4, height: 4, tilewidth: 16, tileheight: 16, layers: [] };
  const ground = new MapGround("m", map, [{ first: 1, end: 2, blocked: new Set() }], layers);
  assert.ok(ground.clear(0.5, 0.5, 3.5, 0.5));
  assert.ok(!ground.clear(0.5, 0.5, 2.5, 2.5), "through a block");
  assert.ok(!ground.clear(1.5, 2.5, 2.5, 1.5), "between two that touch at a corner");
  assert.ok(!ground.clear(0.5, 1.5, 3.5, 1.5));
  assert.ok(ground.clear(4, 0.5, 4, 3.5), "the far rim belongs to the last tile");
  assert.ok(!ground.clear(0.5, 0.5, -0.5, 0.5) && !ground.clear(3.5, 3.5, 4.5, 3.5), "outside is nothing");
});

test("a map that is none is plain ground, and no file is asked for but those beside it", async () => {
  const town = read("town");
  const rows = [
    null, 7, [], {}, { type: "map" }, { ...town, width: 1e9 }, { ...town, width: -1 }, { ...town, tilewidth: 0 }, { ...town, layers: 3 },
    { ...town, infinite: true }, { ...town, tilesets: [null] }, { ...town, tilesets: [{ firstgid: 1, source: "../../secret.json" }] },
    { ...town, tilesets: [{ firstgid: 1, source: "http://elsewhere/x.json" }] }, { ...town, tilesets: [{ firstgid: 1, source: "tiles.json" }] },
    { ...town, tilesets: [{ ...read("tiles"), firstgid: 1, image: "/etc/passwd" }] },
    { ...town, tilesets: [{ ...read("tiles"), firstgid: 1, columns: 0 }] },
    { ...town, tilesets: [], layers: [{ type: "tilelayer", data: [1, 2] }] }, { ...town, tilesets: [], layers: [{ type: "tilelayer", data: "@@" }] },
    { ...town, tilesets: [], layers: [{ type: "tilelayer", data: "AAAA", compression: "zstd" }] },
    { ...town, tilesets: [], layers: [{ type: "tilelayer", data: "AAAA", compression: "zlib" }] },
  ];
  const [before, warn] = [globalThis.fetch, console.warn];
  const asked = new Set();
  console.warn = () => {};
  try {
    for (const row of rows) {
      globalThis.fetch = async (url) => {
        asked.add(url);
        const body = url === "/maps/index.json" ? ["town"] : url === "/maps/town.json" ? row : undefined;
        return { ok: body !== undefined, status: 404, json: async () => body };
      };
      const ground = await readGround("town");
      assert.equal(ground.mapped, false, JSON.stringify(row)?.slice(0, 200));
      assert.equal(ground.scene, "town");
    }
    assert.equal((await readGround("../town")).mapped, false);
  } finally {
    Object.assign(globalThis, { fetch: before });
    console.warn = warn;
  }
  assert.deepEqual([...asked].sort(), ["/maps/index.json", "/maps/tiles.json", "/maps/town.json"]);
});

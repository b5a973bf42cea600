/* tests/web/map.test.mjs: the live map in a browser: two thousand who walk, clicks and reasons, hostile
 * names, acts, ten restarts of the world, a phone. Run by `make test-web`. May touch: worlds, gateways
 * and bots of its own.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { launch, PHONE, Place, Process, until } from "./harness.mjs";

const TOKEN = "a-token-of-a-test";
const HOSTILE = "<img src=x onerror=alert(1)>";

/* A world, a browser at its map, and whatever the test does with them. */
async function withMap({ world = [], gateway = ["-rate=0"], bots, page = {} }, run) {
  const folder = mkdtempSync(join(tmpdir(), "aegis-map-"));
  writeFileSync(join(folder, "token"), TOKEN + "\n");
  const place = await Place.start({ world: [`-admin-token=${join(folder, "token")}`, ...world], gateway, admin: true });
  const browser = await launch();
  try {
    if (bots) place.bots(bots);
    const view = await browser.open(`${place.admin}/map`, page);
    await live(view);
    await run({ place, browser, view, page: view.page });
    assert.deepEqual(view.faults.filter((f) => !/status of (401|404)/.test(f)), []);
  } finally {
    await browser.end();
    await place.end();
    rmSync(folder, { recursive: true });
  }
}

function live(view) {
  return view.until(() => document.getElementById("state").textContent === "live" && document.body.dataset.tick > 0);
}

/* MessagePack of what these tests say. */
function packed(v) {
  if (v === null) return Buffer.of(0xc0);
  if (Array.isArray(v)) return Buffer.concat([Buffer.of(0x90 + v.length), ...v.map(packed)]);
  if (typeof v === "string") return Buffer.concat([Buffer.of(0xd9, Buffer.byteLength(v)), Buffer.from(v)]);
  if (typeof v === "object")
    return Buffer.concat([Buffer.of(0x80 + Object.keys(v).length), ...Object.entries(v).flat().map(packed)]);
  const out = Buffer.alloc(9);
  out[0] = 0xcb;
  out.writeDoubleBE(v, 1);
  return Number.isInteger(v) && v >= 0 && v < 128 ? Buffer.of(v) : out;
}

/* A player by TCP, in the world: `id`, and what it `heard` so far as bytes. */
class Player {
  heard = "";

  static async join(place, name) {
    const p = new Player();
    const [host, port] = place.address.split(":");
    p.socket = net.connect({ host, port: Number(port) });
    p.socket.on("data", (bytes) => (p.heard += bytes.toString("latin1")));
    p.socket.on("error", () => {});
    p.socket.on("close", () => (p.closed = true));
    p.send(1, { name, version: 1 });
    p.send(3, null);
    const row = async () => {
      const page = await (await fetch(`${place.admin}/api/entities?prefix=${encodeURIComponent(name)}`)).json();
      return page.entities.find((e) => e.name === name);
    };
    for (let i = 0; i < 200 && !p.id; i++) {
      p.id = (await row())?.id;
      await new Promise((done) => setTimeout(done, 25));
    }
    assert.ok(p.id, `${name} does not come in`);
    return p;
  }

  send(cmd, payload) {
    const body = packed([cmd, (this.seq = (this.seq ?? 0) + 1), payload]);
    const head = Buffer.alloc(4);
    head.writeUInt32BE(body.length);
    this.socket.write(Buffer.concat([head, body]));
  }

  end() {
    this.socket.destroy();
  }
}

async function find(page, text) {
  await page.fill("#query", text);
  await page.click("#find button");
  await page.waitForFunction((t) => document.getElementById("onename").textContent.includes(t), text);
}

async function placeOf(place, id) {
  return (await fetch(`${place.admin}/api/entity?who=${id}`)).json();
}

test("two thousand walk, one is clicked, and why it sees another is told", async () => {
  await withMap({ world: ["-spawn=0,0,600", "-npcs=100", "-bounds=-800,-800,800,800"],
    bots: ["-mode=wander", "-n=2000", "-rate=5", "-login-rate=2000"] }, async ({ view, page }) => {
    await view.until(() => document.getElementById("tick").textContent.startsWith("2,100 here"), null, 30000);
    await page.waitForTimeout(1500);
    await page.click("#fit");
    await page.waitForTimeout(600);
    await view.shot("map-2000");
    // Look at one, let go of it, and click where it stands.
    const middle = async () => {
      const box = await page.locator("#map").boundingBox();
      return [box.x + box.width / 2, box.y + box.height / 2];
    };
    for (let i = 0; i < 20 && (await page.isHidden("#one")); i++) {
      await page.fill("#query", `wander`);
      await page.click("#find button");
      await page.locator(`#found li:nth-child(${i + 1}) button`).click();
      await page.keyboard.press("Escape");
      await page.mouse.click(...(await middle()));
    }
    await view.until(() => document.getElementById("onefacts").children.length > 0);
    const a = await page.textContent("#onename");
    // The other one is whoever is nearest to the middle after some steps aside.
    await page.focus("#map");
    await page.keyboard.press("b");
    for (let i = 0; i < 40 && (await page.isHidden("#why")); i++) {
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("Enter");
    }
    await view.until(() => /seen/.test(document.getElementById("sight").textContent));
    assert.equal(await page.textContent("#whya"), a);
    assert.match(await page.textContent("#back"), /^(still )?(not )?seen/);
    await page.waitForTimeout(1200);
    await view.shot("map-why");
    const p99 = await page.textContent("#times tbody tr td:last-child");
    assert.match(p99, /(µs|ms)$/);
  });
});

test("a name is text, whatever it says", async () => {
  await withMap({}, async ({ place, view, page }) => {
    const hostile = await Player.join(place, HOSTILE);
    const near = await Player.join(place, "near \u0645\u0631\u062d\u0628\u0627");
    await find(page, HOSTILE);
    await view.until((name) => document.getElementById("onename").textContent === name, HOSTILE);
    assert.equal(await page.locator("#one img, #found img").count(), 0);
    await page.keyboard.press("Escape");
    await find(page, "near");
    await page.keyboard.press("Escape");
    await page.waitForTimeout(1500);
    await view.shot("map-names");
    hostile.end();
    near.end();
  });
});

test("an operator announces, puts somebody elsewhere and kicks, with the token alone", async () => {
  await withMap({ page: { dark: true } }, async ({ place, view, page }) => {
    const mover = await Player.join(place, "mover");
    await find(page, "mover");
    await page.click("#acts summary");
    await page.fill("#text", "look <b>here</b>");
    await page.click("#announce");
    await view.until(() => /token/i.test(document.getElementById("said").textContent));
    await page.fill("#token", "not-the-right-token");
    await page.click("#announce");
    await view.until(() => document.getElementById("said").textContent === "the token is wrong");
    assert.ok(!mover.heard.includes("look"));
    await page.fill("#token", TOKEN);
    await page.click("#announce");
    await view.until(() => document.getElementById("said").textContent === "announced to 1");
    await until("the announcement", () => mover.heard.includes("look <b>here</b>"));
    await page.click("#teleport");
    const box = await page.locator("#map").boundingBox();
    const before = await placeOf(place, mover.id);
    await page.mouse.click(box.x + box.width / 2 + 120, box.y + box.height / 2 + 40);
    await view.until(() => document.getElementById("said").textContent === "put there");
    const after = await placeOf(place, mover.id);
    assert.ok(Math.hypot(after.x - before.x, after.y - before.y) > 1);
    await page.waitForTimeout(1000);
    await view.shot("map-acts");
    await page.click("#kick");
    await view.until(() => document.getElementById("said").textContent === "kicked");
    await until("the kick", () => mover.closed);
    assert.ok(mover.heard.includes("\xa4code\x13"), "Bye 19");
    assert.ok(mover.heard.includes("look <b>here</b>"));
  });
});

test("a map that is open over ten restarts of the world is live again after each", async () => {
  const any = ["-role=world", "-listen=127.0.0.1:0", "-npcs=50"];
  const first = new Process([...any, "-admin=127.0.0.1:0"]);
  const address = await first.address("admin on");
  const browser = await launch();
  let world = first;
  try {
    const view = await browser.open(`http://${address}/map`);
    await live(view);
    for (let i = 0; i < 10; i++) {
      await world.end();
      await view.until(() => document.getElementById("state").textContent !== "live");
      if (i === 0) await view.shot("map-lost");
      await view.page.evaluate(() => (document.body.dataset.tick = 0));
      world = new Process([...any, `-admin=${address}`]);
      await world.address("admin on");
      await live(view);
    }
    await view.until(() => document.getElementById("tick").textContent.startsWith("50 here"));
    assert.deepEqual(view.faults.filter((f) => !/ERR_|Failed to load/.test(f)), []);
  } finally {
    await browser.end();
    await world.end();
  }
});

test("one map too many is told why, and is let in when there is room", async () => {
  await withMap({ world: ["-map-viewers=1"] }, async ({ place, browser, view }) => {
    const second = await browser.open(`${place.admin}/map`);
    await second.until(() => document.getElementById("state").textContent.includes("-map-viewers"));
    await view.page.goto("about:blank");
    await live(second);
  });
});

test("on a phone all of it is in reach", async () => {
  await withMap({ page: { size: PHONE }, world: ["-spawn=0,0,40", "-npcs=10", "-bounds=-60,-60,60,60"],
    bots: ["-mode=wander", "-n=40"] }, async ({ view, page }) => {
    await view.until(() => document.getElementById("tick").textContent.startsWith("50 here"), null, 20000);
    await page.waitForTimeout(1500);
    await view.shot("map-phone");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
    assert.ok(wide, "nothing is wider than the screen");
    await page.tap("#in");
    const box = await page.locator("#map").boundingBox();
    for (let i = 0; i < 30 && (await page.isHidden("#one")); i++)
      await page.touchscreen.tap(box.x + box.width * (0.15 + 0.023 * i), box.y + box.height * (0.4 + 0.3 * ((i * 7) % 30) / 30));
    await view.until(() => document.getElementById("onefacts").children.length > 0);
    await page.waitForTimeout(900);
    await view.shot("map-phone-one");
    await page.tap("#sheet");
    await page.waitForTimeout(400);
    assert.ok((await page.locator("#map").boundingBox()).height > box.height + 100, "the map has the whole screen");
    await view.shot("map-phone-whole");
  });
});

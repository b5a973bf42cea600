/* tests/web/walkers.mjs: what the tests of the page do again and again: come in, walk, look.
 * May touch: harness.mjs, the page's own look inside (`aegis` in main.js).
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { Place, ROOT, until } from "./harness.mjs";

const MAPS = `${ROOT}/deploy/maps`;

export const TOWN = ["-map", `${MAPS}/town.json`, "-map", `${MAPS}/wild.json`, "-scene", "town", "-aoi-radius", "80"];

/** A world with the two maps, and gateways that have them for the page. */
export function town({ world = [], gateway = [], ...more } = {}) {
  return Place.start({ world: [...TOWN, ...world], gateway: ["-web-maps", MAPS, "-ws-origins=self", ...gateway], ...more });
}

/** A page at this address, inside under this name. */
export async function come(browser, web, name, look = {}) {
  const view = await browser.open(web, look);
  await view.page.fill("#name", name);
  await view.page.press("#name", "Enter");
  await view.page.waitForSelector("#stage:not([hidden])");
  await view.until(() => aegis.seen().length > 0);
  return view;
}

/** Somebody as this page draws them; undefined: not in sight. */
export async function seen(view, name) {
  return (await view.page.evaluate(() => aegis.seen())).find((one) => one.name === name);
}

export const scene = (view) => view.page.evaluate(() => aegis.client?.self?.scene);

/** Until this page draws that somebody within `near` of a place. */
export function drawn(view, name, { x, y }, near = 0.1, ms = 30000) {
  return view.until(([who, px, py, most]) => aegis.seen().some((one) => one.name === who &&
    Math.hypot(one.x - px, one.y - py) <= most), [name, x, y, near], ms);
}

/** The picture has come to rest: nothing glides any more. */
async function rest(view) {
  let was = null;
  await until("the picture rests", async () => {
    const is = await view.page.evaluate(() => JSON.stringify([aegis.toScreen(0, 0), aegis.toScreen(1, 1)]));
    const rests = is === was;
    was = is;
    await view.page.waitForTimeout(100);
    return rests;
  }, 30000);
}

/** Click or tap a place of the scene; the goal that the server took. */
export async function point(view, x, y) {
  await rest(view);
  const at = await view.page.evaluate(([px, py]) => aegis.toScreen(px, py), [x, y]);
  const hit = await view.page.evaluate(([px, py]) => document.elementFromPoint(px, py)?.id, [at.x, at.y]);
  assert.equal(hit, "view", `${x}, ${y} is covered by ${hit}`);
  const touch = await view.page.evaluate(() => matchMedia("(pointer: coarse)").matches);
  await (touch ? view.page.touchscreen.tap(at.x, at.y) : view.page.mouse.click(at.x, at.y));
  const goal = await (await view.until(() => aegis.goal)).jsonValue();
  assert.ok(Math.hypot(goal.x - x, goal.y - y) < 0.4, `pointed at ${goal.x}, ${goal.y}`);
  return goal;
}

/** The tiles of the town on which nobody may stand, as the map says. */
export function townBlocked() {
  const map = JSON.parse(readFileSync(`${MAPS}/town.json`, "utf8"));
  const set = JSON.parse(readFileSync(`${MAPS}/tiles.json`, "utf8"));
  const hard = new Set(set.tiles.map((tile) => tile.id + 1));
  return (x, y) => map.layers.some((layer) => layer.type === "tilelayer" &&
    (layer.name === "blocked" ? layer.data[Math.floor(y) * map.width + Math.floor(x)] !== 0
      : hard.has(layer.data[Math.floor(y) * map.width + Math.floor(x)])));
}

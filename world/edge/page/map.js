// world/edge/page/map.js: the live map: ties the feed, the canvas and the panel together.

import { Feed } from "./feed.js";
import { $, Panel, ask } from "./panel.js";
import { View } from "./view.js";

const LOOK_MS = 250; // after an answer what was picked is asked for anew
const NAMES_MS = 1000; // and the names of those on the map

let a = null, b = null; // ids
let picking = false; // the next click picks B
let rows = new Map(); // id: what is known of those who were picked

const view = new View($("map"), {
  pick: (id) => pick(id),
  place: async (x, y) => {
    placing(false);
    await panel.place(x, y);
  },
  moved: () => follow(false),
});
const panel = new Panel({
  pick: async (id, row) => {
    if (row?.scene && row.scene !== $("scene").value) {
      $("scene").value = row.scene;
      feed.open(row.scene);
    }
    pick(id);
    const at = row?.x !== undefined ? row : view.placeOf(id);
    if (at) view.lookAt(at.x, at.y);
  },
  pickNext: (on) => pickNext(on),
  swap: () => choose(b, a),
  clear: () => choose(null, null),
  follow: (on) => follow(on),
  place: (on) => placing(on),
  box: () => view.box(),
});
const feed = new Feed({
  world: async (world, name) => {
    const list = world.scenes.map((s) => s.name);
    $("scene").replaceChildren(...list.map((n) => new Option(n, n, false, n === name)));
    const scene = world.scenes.find((s) => s.name === name);
    const other = view.scene?.name !== name;
    view.setScene(world, scene);
    panel.setWorld(world);
    if (scene.ground && (other || !view.ground)) {
      const ground = await ask(`api/ground?scene=${encodeURIComponent(name)}`);
      ground.rows = ground.rows.map(atob);
      view.setGround(ground);
    }
  },
  frame: (frame) => {
    view.setFrame(frame);
    const more = frame.total > frame.n ? `, ${frame.n} shown` : "";
    $("tick").textContent = `${frame.total.toLocaleString("en")} here${more} · tick ${frame.tick}`;
    document.body.dataset.tick = frame.tick;
  },
  stats: (stats) => {
    panel.setStats(stats);
    $("ghosts").hidden = stats.ghosts === 0;
  },
  state: (kind, text) => {
    $("state").className = `chip ${kind}`;
    $("state").textContent = text;
  },
});

// --- picking --------------------------------------------------------------------------------------

function hint(text) {
  $("hint").hidden = text === "";
  $("hint").textContent = text;
}

function choose(nextA, nextB) {
  if (nextA !== a) view.sees = new Set();
  [a, b] = [nextA, nextB];
  [view.a, view.b] = [a, b];
  if (a === null) follow(false);
  pickNext(false);
  placing(false);
  panel.setPicked(a, b);
  view.draw();
  look();
}

function pick(id) {
  if (picking && a !== null && id !== null && id !== a) choose(a, id);
  else if (id !== null) choose(id, id === b ? null : b);
  else if (!picking) choose(null, null);
}

function pickNext(on) {
  picking = on && a !== null;
  panel.setPressed("pick", picking);
  hint(picking ? "Click the other one. Escape lets go." : "");
}

function placing(on) {
  view.placing = on && a !== null;
  panel.setPressed("teleport", view.placing);
  $("map").classList.toggle("placing", view.placing);
  hint(view.placing ? "Click where it shall stand. Escape lets go." : "");
}

function follow(on) {
  view.follow = on && a !== null;
  panel.setPressed("follow", view.follow);
}

// --- what is asked again and again ----------------------------------------------------------------

let looks = 0;
async function look() {
  const turn = ++looks;
  if (a === null) return;
  try {
    const [one, why] = await Promise.all([ask(`api/entity?who=${a}`),
      b === null ? null : ask(`api/explain?viewer=${a}&subject=${b}`)]);
    if (turn !== looks) return;
    view.names.set(one.id, one.name);
    rows.set(a, one.name);
    view.sees = new Set(one.sees.ids);
    panel.setOne(one);
    if (why) {
      if (!rows.has(b)) rows.set(b, (await ask(`api/entity?who=${b}`)).name);
      if (turn !== looks) return;
      view.names.set(b, rows.get(b));
      panel.setWhy(rows.get(a), rows.get(b), why);
    }
  } catch (e) {
    if (turn === looks) panel.setGone(e.message);
  }
  view.draw();
}
(async () => {
  for (;;) {
    await new Promise((done) => setTimeout(done, LOOK_MS));
    if (!document.hidden) await look();
  }
})();

async function nameThose() {
  if (document.hidden || !view.labels || !view.scene || !view.frame || !(view.shown > 0 && view.shown <= 150)) return;
  const box = view.box().map((v) => Math.max(-1e9, Math.min(1e9, v)).toFixed(3));
  try {
    const page = await ask(`api/entities?scene=${encodeURIComponent(view.scene.name)}&box=${box.join(",")}&limit=300`);
    if (view.names.size > 5000) view.names.clear();
    for (const e of page.entities) view.names.set(e.id, e.name);
    view.draw();
  } catch {
    // the feed says that the world is away
  }
}
setInterval(nameThose, NAMES_MS);

// --- by hand --------------------------------------------------------------------------------------

function toggle(id, field) {
  view[field] = !view[field];
  $(id).setAttribute("aria-pressed", view[field]);
  view.draw();
}

$("scene").addEventListener("change", () => {
  choose(null, null);
  feed.open($("scene").value);
});
$("in").addEventListener("click", () => view.zoomBy(1.5));
$("out").addEventListener("click", () => view.zoomBy(1 / 1.5));
$("fit").addEventListener("click", () => view.fit());
$("heat").addEventListener("click", () => toggle("heat", "heat"));
$("names").addEventListener("click", () => toggle("names", "labels"));

const keys = {
  ArrowLeft: () => view.panBy(60, 0),
  ArrowRight: () => view.panBy(-60, 0),
  ArrowUp: () => view.panBy(0, 60),
  ArrowDown: () => view.panBy(0, -60),
  "+": () => view.zoomBy(1.3),
  "=": () => view.zoomBy(1.3),
  "-": () => view.zoomBy(1 / 1.3),
  0: () => view.fit(),
  h: () => toggle("heat", "heat"),
  n: () => toggle("names", "labels"),
  f: () => follow(!view.follow),
  b: () => pickNext(!picking),
  Enter: () => {
    const x = $("map").clientWidth / 2, y = $("map").clientHeight / 2;
    if (view.placing) view.click(x, y, true);
    else pick(view.nearest(x, y, Infinity));
  },
};
$("map").addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
  e.preventDefault();
  keys[e.key]();
});
addEventListener("keydown", (e) => {
  if (e.key !== "Escape") return;
  if (picking || view.placing) {
    pickNext(false);
    placing(false);
  } else {
    choose(null, null);
  }
});

feed.open(new URLSearchParams(location.search).get("scene"));

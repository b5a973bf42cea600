// world/edge/page/panel.js: what stands beside the map: finding, one entity, why, numbers, acts.
// Whatever a player may have named is set as text, never as markup. The token stays in this page's
// memory and goes nowhere but into the Authorization field of an act.

import { Chart, timeText } from "./chart.js";

const PHASES = ["tick", "walk", "grid", "sight", "events", "fanout"];
const NOW = [["players", "players"], ["npcs", "NPCs"], ["waiting", "waiting"], ["npcs_awake", "NPCs awake"],
  ["sessions", "sessions"], ["links", "gateways"], ["known", "pairs known"], ["paused", "paused"],
  ["capped", "capped"], ["ghosts", "ghosts"], ["limited", "out of bytes"], ["maps", "live maps"]];
const RATES = [["enter", "enters"], ["leave", "leaves"], ["update", "updates"], ["moves", "moves"],
  ["adds", "told new"], ["removes", "told gone"], ["records", "records"], ["requests", "requests"]];
const TOTALS = [["overruns", "overruns"], ["skipped", "ticks skipped"], ["teleports", "teleports"]];

export const $ = (id) => document.getElementById(id);

function element(tag, text, ...inner) {
  const e = document.createElement(tag);
  if (text !== null) e.textContent = text;
  e.append(...inner);
  return e;
}

function facts(into, rows) {
  into.replaceChildren(...rows.flatMap(([name, value]) => [element("dt", name), element("dd", value)]));
}

const round = (v) => Math.round(v * 100) / 100;
const count = (n) => n.toLocaleString("en");

// A question's answer, or an error whose message is a sentence for people.
export async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The world does not answer");
  }
  const text = await answer.text();
  let said = null;
  try {
    said = JSON.parse(text);
  } catch {
    throw new Error(text.trim() || `HTTP ${answer.status}`);
  }
  if (!answer.ok) throw new Error(said.error ?? `HTTP ${answer.status}`);
  return said;
}

export class Panel {
  // on: { pick(id), pickNext(bool), swap(), clear(), follow(bool), place(bool), box() }
  constructor(on) {
    this.on = on;
    this.chart = new Chart($("chart"));
    this.last = null;
    this.a = this.b = null;
    this.makePhases();
    this.listen();
    addEventListener("resize", () => this.chart.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.chart.draw());
  }

  makePhases() {
    for (const name of PHASES) {
      const b = element("button", name);
      b.type = "button";
      b.addEventListener("click", () => this.showPhase(name));
      $("phases").append(b);
    }
    this.showPhase("tick");
  }

  showPhase(name) {
    for (const b of $("phases").children) b.setAttribute("aria-pressed", b.textContent === name);
    this.chart.show(name);
  }

  listen() {
    $("find").addEventListener("submit", (e) => {
      e.preventDefault();
      this.find($("query").value.trim());
    });
    $("clear").addEventListener("click", () => this.on.clear());
    $("swap").addEventListener("click", () => this.on.swap());
    for (const [id, tell] of [["pick", "pickNext"], ["follow", "follow"], ["teleport", "place"]])
      $(id).addEventListener("click", () => this.on[tell]($(id).getAttribute("aria-pressed") !== "true"));
    $("announce").addEventListener("click", () => this.announce());
    $("kick").addEventListener("click", () => this.act(`api/kick?who=${this.a}`, "kicked", $("text").value));
    $("setlevel").addEventListener("click", () => this.act(`api/log?level=${$("level").value}`, "log level set"));
    $("drain").addEventListener("click", () => this.drain());
    $("act").addEventListener("submit", (e) => e.preventDefault());
    $("sheet").addEventListener("click", () => {
      const shut = document.querySelector("main").classList.toggle("shut");
      $("sheet").setAttribute("aria-expanded", !shut);
    });
  }

  setWorld(world) {
    $("noacts").hidden = world.acts;
    $("act").hidden = !world.acts;
    $("level").value = world.log_level;
  }

  // --- find --------------------------------------------------------------------------------------

  async find(text) {
    const list = $("found"), none = $("findnone");
    list.hidden = none.hidden = true;
    if (text === "") return;
    try {
      let rows;
      if (/^#?\d+$/.test(text)) {
        const one = await ask(`api/entity?who=${text.replace("#", "")}`).catch(() => null);
        rows = one?.id ? [one] : [];
      }
      if (!rows?.length)
        rows = (await ask(`api/entities?limit=20&prefix=${encodeURIComponent(text)}`)).entities;
      if (rows.length === 1) this.on.pick(rows[0].id, rows[0]);
      none.hidden = rows.length > 0;
      none.textContent = "Nobody of that name or id is in the world";
      list.hidden = rows.length < 2;
      list.replaceChildren(...rows.map((r) => this.row(r, `#${r.id} · ${r.kind} · ${r.scene}`)));
    } catch (e) {
      none.hidden = false;
      none.textContent = e.message;
    }
  }

  row(r, more) {
    const b = element("button", null, element("bdi", r.name), element("small", more));
    b.type = "button";
    b.disabled = !r.id;
    b.addEventListener("click", () => {
      $("found").hidden = true;
      this.on.pick(r.id, r);
    });
    return element("li", null, b);
  }

  // --- one, and why ------------------------------------------------------------------------------

  setPicked(a, b) {
    this.a = a;
    this.b = b;
    $("one").hidden = a === null;
    $("why").hidden = a === null || b === null;
    $("kick").disabled = $("teleport").disabled = a === null;
    for (const id of ["sight", "back"]) $(id).textContent = "…";
  }

  setPressed(id, on) {
    $(id).setAttribute("aria-pressed", on);
  }

  setOne(e) {
    $("onename").textContent = e.name;
    const rows = [["id", `#${e.id}`], ["kind", `${e.kind}, ${e.state}`],
      ["place", `${round(e.x)}, ${round(e.y)} in ${e.scene}`], ["speed", `${round(e.speed)} units/s`],
      ["sees", count(e.sees.n)], ["seen by", count(e.seen_by.n)]];
    if (e.walks_to) rows.push(["walks to", e.walks_to.map(round).join(", ")]);
    const s = e.session;
    if (s) {
      rows.push(["client", s.peer], ["gateway", s.gateway || "none"]);
      if (s.paused) rows.push(["paused", s.slow_client ? "its client is slow" : "its gateway's link is slow"]);
      if (s.bytes_per_s > 0) rows.push(["takes", `${count(s.bytes_per_s)} bytes/s`]);
      if (s.state === "waiting") rows.push(["waits", `${Math.ceil(s.waits_ms / 1000)} s more`]);
    }
    facts($("onefacts"), rows);
  }

  setGone(text) {
    $("onename").textContent = text;
    $("onefacts").replaceChildren();
  }

  setWhy(nameA, nameB, said) {
    $("whya").textContent = nameA;
    $("whyb").textContent = nameB;
    for (const id of ["sight", "back"]) {
      $(id).textContent = said[id].text;
      $(id).parentElement.classList.toggle("yes", said[id].sees);
      $(id).parentElement.classList.toggle("no", !said[id].sees);
    }
  }

  // --- numbers -----------------------------------------------------------------------------------

  setStats(s) {
    const before = this.last;
    this.last = s;
    s.at = performance.now();
    if (s.window > 0) {
      this.chart.add(s.phases);
      $("times").tBodies[0].replaceChildren(...PHASES.map((name) =>
        element("tr", null, element("td", name), ...s.phases[name].map((us) => element("td", timeText(us))))));
    }
    const again = before && before.tick <= s.tick ? before : null; // not another life of the world
    const rate = (name) => again
      ? `${count(Math.round(((s.counts[name] - again.counts[name]) * 1000) / (s.at - again.at)))}/s` : "–";
    facts($("counts"), [...NOW.map(([k, name]) => [name, count(s[k])]),
      ...RATES.map(([k, name]) => [name, rate(k)]), ...TOTALS.map(([k, name]) => [name, count(s.counts[k])])]);
    const slow = s.paused + s.drained;
    $("slown").textContent = slow > 0 ? `(${count(slow)})` : "";
    const why = { client: "paused: its client is slow", link: "paused: its gateway's link is slow",
      drains: "told less" };
    const rows = s.slow.map((r) => this.row(r, `${why[r.why]} · ${r.peer}` +
      (r.bytes_per_s > 0 ? ` · takes ${count(r.bytes_per_s)} bytes/s` : "")));
    if (rows.length === 0) {
      rows.push(element("li", "nobody"));
      rows[0].className = "none";
    }
    $("slow").replaceChildren(...rows);
  }

  // --- acts --------------------------------------------------------------------------------------

  say(text, good) {
    $("said").textContent = text;
    $("said").className = good ? "good" : "bad";
  }

  async act(path, done, body = "") {
    if ($("token").value === "") {
      this.say("This needs the token of -admin-token", false);
      $("token").focus();
      return null;
    }
    try {
      const said = await ask(path, { method: "POST", body, headers: { Authorization: `Bearer ${$("token").value}` } });
      this.say(done, true);
      return said;
    } catch (e) {
      this.say(e.message, false);
      return null;
    }
  }

  async announce() {
    const box = this.on.box().map(round);
    const scene = encodeURIComponent($("scene").value);
    const query = { all: "", scene: `?scene=${scene}`, view: `?scene=${scene}&rect=${box.join(",")}` }[$("reach").value];
    const said = await this.act(`announce${query}`, "announced", $("text").value);
    if (said) this.say(`announced to ${count(said.told)}`, true);
  }

  place(x, y) {
    const scene = encodeURIComponent($("scene").value);
    return this.act(`api/teleport?who=${this.a}&scene=${scene}&to=${round(x)},${round(y)}`, "put there");
  }

  // Twice within some seconds, so that nobody does it by a slip.
  async drain() {
    if (!this.sure) {
      this.sure = setTimeout(() => this.unsure(), 4000);
      $("drain").textContent = "Really drain?";
      return;
    }
    this.unsure();
    await this.act("api/drain", "the world drains and ends");
  }

  unsure() {
    clearTimeout(this.sure);
    this.sure = 0;
    $("drain").textContent = "Drain the world";
  }
}

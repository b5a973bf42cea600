/* gateway/web/panel.js: what stands around the picture: the door, gauges, chat, notices. Whatever
 * others typed goes into the page as text and never as markup. May touch: the page's elements.
 */
import { drawRadar } from "./radar.js";
import { count, nameOf, plain } from "./words.js";

const LINES_MAX = 120; // of the chat, kept
const NEAR_MAX = 40;
const NOTICE_MS = 4500;
const NAME_BYTES = 32;
const SAY_BYTES = 512;

const byId = (id) => document.getElementById(id);
const bytesOf = (text) => new TextEncoder().encode(text).length;

function element(tag, className, text) {
  const out = document.createElement(tag);
  if (className) out.className = className;
  if (text !== undefined) out.textContent = text;
  return out;
}

/* Set only what changed: a page reader need not look again. */
function show(id, text) {
  const out = byId(id);
  if (out.textContent !== text) out.textContent = text;
}

// --- the door -------------------------------------------------------------------------------------

/** The form at which one comes in. `onjoin(name, token)`. */
export class Door {
  onjoin = () => {};

  constructor() {
    byId("join").addEventListener("submit", (e) => {
      e.preventDefault();
      const name = byId("name").value.trim();
      if (!name) return this.#refuse("Enter a name.", "name");
      if (bytesOf(name) > NAME_BYTES) return this.#refuse("That name is too long: it may have 32 bytes.", "name");
      this.onjoin(name, byId("token").value.trim());
    });
  }

  /** Open, with the reason why one stands before it; `token`: ask for one. */
  open(text = "", token = false) {
    byId("door").hidden = false;
    byId("stage").hidden = true;
    this.busy(false);
    if (token) byId("token-row").hidden = false;
    this.#refuse(text, token ? "token" : "name");
  }

  close() {
    byId("door").hidden = true;
    byId("stage").hidden = false;
    show("refusal", "");
  }

  busy(on) {
    byId("enter").disabled = on;
    show("enter", on ? "Entering…" : "Enter the world");
    if (on) show("refusal", "");
  }

  #refuse(text, field) {
    show("refusal", text);
    byId(field).focus();
    byId(field).select();
  }
}

// --- notices --------------------------------------------------------------------------------------

/** One line over the picture: for a while, or until it is taken away. */
export class Notice {
  #timer = null;
  #kept = false;

  tell(text) {
    if (this.#kept || !text) return;
    this.#show(text, false);
    this.#timer = setTimeout(() => this.#hide(), NOTICE_MS);
  }

  /** Stays until `release`. */
  keep(text) {
    this.#show(text, true);
    this.#kept = true;
  }

  release() {
    if (this.#kept) this.#hide();
  }

  #show(text, alarm) {
    clearTimeout(this.#timer);
    byId("notice").classList.toggle("alarm", alarm);
    byId("notice").hidden = false;
    show("notice", text);
  }

  #hide() {
    this.#kept = false;
    byId("notice").hidden = true;
    show("notice", "");
  }
}

// --- chat -----------------------------------------------------------------------------------------

/** What was said, and the line to say something. `onsay(text)`; `onleave()`: back to the scene. */
export class Chat {
  onsay = () => {};
  onleave = () => {};

  constructor() {
    byId("say").addEventListener("submit", (e) => {
      e.preventDefault();
      const text = byId("line").value.trim();
      if (text && bytesOf(text) <= SAY_BYTES) this.onsay(text);
      if (bytesOf(text) > SAY_BYTES) return byId("line").setCustomValidity("That is too long.") ?? byId("line").reportValidity();
      byId("line").value = "";
      if (!text) this.onleave();
    });
    byId("line").addEventListener("input", () => byId("line").setCustomValidity(""));
    byId("line").addEventListener("keydown", (e) => {
      if (e.key === "Escape") this.onleave();
    });
  }

  focus() {
    byId("line").focus();
  }

  /** `kind`: "own", "other" or "operator". */
  said(name, text, kind = "other") {
    const line = element("li", kind);
    const by = element("bdi", "by", nameOf(name));
    const what = element("bdi", "", plain(text));
    line.append(by, element("span", "", ": "), what);
    this.#add(line);
  }

  note(text) {
    this.#add(element("li", "note", text));
  }

  clear() {
    byId("log").replaceChildren();
  }

  #add(line) {
    const log = byId("log");
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 24;
    log.append(line);
    while (log.childElementCount > LINES_MAX) log.firstElementChild.remove();
    if (atEnd) log.scrollTop = log.scrollHeight;
  }
}

// --- gauges ---------------------------------------------------------------------------------------

/** Tick, latency, place and who is in sight. `state`: `{me, name, view, people, latency, radius}`. */
export function gauge({ me, name, view, people, latency, radius }) {
  const { players, npcs } = people.count();
  const hidden = view.hidden > 0 ? ` + ${view.hidden} untold` : "";
  show("scene", plain(me.scene));
  show("self", nameOf(name));
  show("place", `${people.self.x.toFixed(1)}, ${people.self.y.toFixed(1)}`);
  show("sight", `${count(players, "player", "players")}, ${count(npcs, "NPC", "NPCs")}${hidden}`);
  show("latency", Number.isFinite(latency) ? `${latency < 10 ? latency.toFixed(1) : Math.round(latency)} ms` : "…");
  show("tick", `${view.tick.toLocaleString("en")} · ${me.tick_ms} ms`);
  drawRadar(byId("radar"), { people, radius });
}

const WINDS = ["east", "south-east", "south", "south-west", "west", "north-west", "north", "north-east"];

/** The list of those near, for eyes and for page readers; only while it is open. */
export function listNear(people) {
  if (!byId("near").open) return;
  const rows = people.near(NEAR_MAX).map(({ person, away }) => {
    const angle = Math.atan2(person.y - people.self.y, person.x - people.self.x);
    const wind = WINDS[Math.round((angle / (2 * Math.PI)) * 8 + 8) % 8];
    const row = element("li");
    row.append(element("bdi", person.npc ? "npc" : "", nameOf(person.name)), element("span", "", `${away.toFixed(1)} ${wind}`));
    return row;
  });
  byId("near-list").replaceChildren(...(rows.length ? rows : [element("li", "", "Nobody is in sight.")]));
}

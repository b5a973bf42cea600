/* gateway/web/main.js: the page to walk in: puts the rooms together and turns the wheel.
 *
 *   Door ──► Session (aegis.js) ──► People, Ground ──► Painter
 *   Input ──► Steer ──────┘                            Chat, gauges, Notice
 *
 * `aegis` in the console is a look inside: `aegis.client`, `aegis.seen()`.
 * May touch: everything of the page. On trouble: the door, with the reason in plain words.
 */
import { CODE, RequestError } from "./aegis.js";
import { Camera } from "./camera.js";
import { Ground, readGround } from "./ground.js";
import { Input } from "./input.js";
import { Painter } from "./paint.js";
import { Chat, Door, gauge, listNear, Notice } from "./panel.js";
import { People } from "./people.js";
import { Session } from "./session.js";
import { Steer } from "./steer.js";
import { BAD_TOKEN, kicked, NO_CONNECTION, plain, refusal, stopped, TAKEN_OVER } from "./words.js";

const GAUGE_MS = 250;
const NEAR_MS = 1000;
const FRAME_MAX_MS = 250;

const canvas = document.getElementById("view");
const still = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");

const camera = new Camera();
const painter = new Painter(canvas, camera);
const input = new Input(canvas);
const door = new Door();
const chat = new Chat();
const notice = new Notice();

/* The stay at hand; null: at the door. */
let stay = null;

class Stay {
  people = new People();
  ground = new Ground("");
  radius = 0;
  inside = false;
  gauged = 0;
  listed = 0;

  constructor(name, token) {
    this.name = name;
    this.token = token;
    this.session = new Session({ name, token });
    this.client = this.session.client;
    this.steer = new Steer(this.client, this.people, this.ground);
    this.steer.onlost = (code) => notice.tell(stopped(code));
    this.#listen();
  }

  #listen() {
    const { client, people } = this;
    const on = (event, act) => client.on(event, act);
    on("placed", (me) => this.#placed(me));
    on("add", (e) => people.add(e, performance.now()));
    on("move", (e) => people.move(e, performance.now()));
    on("remove", (e) => people.remove(e));
    on("say", (said) => this.#said(said));
    on("stopped", (fail) => this.steer.stopped(fail));
    on("tick", () => notice.release());
    on("unavailable", () => notice.keep("The world is away. Waiting for it…"));
    on("lost", () => notice.keep("Connection lost. Coming back…"));
    on("back", ({ resumed }) => {
      notice.release();
      chat.note(resumed ? "You are back where you were." : "You are back, and came in anew.");
    });
    on("forgotten", () => notice.keep("The world has lost you. Coming in anew…"));
    on("ended", ({ code, reason }) => this.#ended(code, reason));
  }

  /* For good; while we are still at the door, `join` says why. */
  #ended(code, reason) {
    if (!this.inside) return;
    const text = { [CODE.name_in_use]: TAKEN_OVER, [CODE.kicked]: kicked(reason) }[code] ?? refusal(code, reason);
    end(this, text, code === CODE.auth_failed);
  }

  async #placed(me) {
    const now = performance.now();
    const before = this.ground.scene;
    this.radius = me.radius;
    this.people.place(me, this.name, now);
    this.steer.place(me);
    camera.place(me.x, me.y);
    notice.release();
    if (before === me.scene) return;
    this.#stand(new Ground(me.scene));
    chat.note(`You are in ${plain(me.scene)}.`);
    const ground = await readGround(me.scene);
    if (this.client.self?.scene === me.scene) this.#stand(ground);
  }

  #stand(ground) {
    this.ground = ground;
    this.steer.ground = ground;
  }

  #said({ id, name, text }) {
    if (id === 0) return chat.said("Announcement", text, "operator");
    this.people.all.get(id)?.say(text, performance.now());
    chat.said(name ?? "somebody", text);
  }

  async say(text) {
    try {
      await this.client.say(text);
      this.people.self?.say(text, performance.now());
      chat.said(this.name, text, "own");
    } catch (error) {
      notice.tell(error.code === CODE.unavailable ? "Nobody heard that: there is no connection." : refusal(error.code, error.message));
    }
  }

  async lead(x, y) {
    const { x: gx, y: gy } = camera.toScene(x, y);
    try {
      await this.steer.lead(gx, gy);
    } catch (error) {
      if (error.code !== CODE.unavailable || this.client.state === "ready") notice.tell(refusal(error.code, error.message));
    }
  }

  step(now, dt) {
    this.steer.step(...input.keys, now, dt);
    this.steer.follow(now);
    this.people.step(now, dt, still.matches);
    const { self } = this.people;
    if (self) camera.follow(self.x, self.y, dt, this.ground);
    if (!self || !this.client.self || now - this.gauged < GAUGE_MS) return;
    this.gauged = now;
    const { client, people, name, radius } = this;
    gauge({ me: client.self, name, view: client.view, people, latency: this.session.latency, radius });
    if (now - this.listed < NEAR_MS) return;
    this.listed = now;
    listNear(people);
  }
}

// --- coming and going -----------------------------------------------------------------------------

async function join(name, token) {
  door.busy(true);
  const mine = new Stay(name, token);
  stay = mine;
  try {
    await mine.session.start();
    mine.inside = true;
    door.close();
    canvas.focus({ preventScroll: true });
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    end(mine, whyNot(error, token), error.code === CODE.auth_failed);
  }
}

function whyNot(error, token) {
  if (error.code === CODE.unavailable && error.message.startsWith("no connection")) return NO_CONNECTION;
  if (error.code === CODE.auth_failed && token) return BAD_TOKEN;
  return refusal(error.code, error.message);
}

/* The end of a stay: back to the door, which says why. */
function end(which, text, token = false) {
  if (stay !== which) return;
  stay = null;
  stale = true;
  which.session.end();
  notice.release();
  chat.clear();
  door.open(text, token);
}

async function leave() {
  const mine = stay;
  if (!mine) return;
  await mine.client.leave().catch(() => {}); // without a connection there is nothing to leave
  end(mine, "");
}

// --- the wheel ------------------------------------------------------------------------------------

const emptyGround = new Ground("");
const emptyPeople = new People();
let before = performance.now();
let stale = true; // at the door nothing moves: one picture is enough

function frame(now) {
  const dt = Math.min(now - before, FRAME_MAX_MS) / 1000;
  before = now;
  requestAnimationFrame(frame);
  stay?.step(now, dt);
  if (!stay && !stale) return;
  stale = false;
  const { ground, people, radius, steer } = stay ?? { ground: emptyGround, people: emptyPeople, radius: 0 };
  painter.draw({ ground, people, radius, goal: steer?.goal ?? null, now, dt, still: still.matches });
}

function fit() {
  painter.resize();
  stale = true;
}

function dress() {
  camera.still = still.matches;
  painter.dress();
  stale = true;
}

door.onjoin = join;
chat.onsay = (text) => stay?.say(text);
chat.onleave = () => canvas.focus({ preventScroll: true });
input.onlead = (x, y) => stay?.lead(x, y);
input.onzoom = (factor) => camera.magnify(factor);
input.ontalk = () => stay && chat.focus();
document.getElementById("leave").addEventListener("click", leave);
document.getElementById("zoom-in").addEventListener("click", () => camera.magnify(1.25));
document.getElementById("zoom-out").addEventListener("click", () => camera.magnify(0.8));
for (const query of [still, dark]) query.addEventListener("change", dress);
new ResizeObserver(fit).observe(canvas);
addEventListener("resize", fit);

globalThis.aegis = {
  get client() {
    return stay?.client;
  },
  /** Who is seen, as drawn: `{name, x, y, npc}`; ourselves first. */
  seen() {
    if (!stay?.people.self) return [];
    return [stay.people.self, ...stay.people.all.values()].map(({ id, name, x, y, npc, dir }) => ({ id, name, x, y, npc, dir }));
  },
  /** Where a place of the scene is on the page, in pixels. */
  toScreen: (x, y) => camera.toScreen(x, y),
  /** "stand", "walk" or "led", and where we are led to. */
  get mode() {
    return stay?.steer.mode;
  },
  get goal() {
    return stay?.steer.goal ?? null;
  },
};

dress();
fit();
door.open();
requestAnimationFrame(frame);

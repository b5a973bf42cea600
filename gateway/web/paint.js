/* gateway/web/paint.js: one picture of the scene: ground, portals, sight, people, names, bubbles.
 * Draws what it is given and changes nothing but where names stand and how far they are faded in, and
 * what colour somebody has. May touch: canvases.
 */
import { beakStamp, nameStamp, saidStamp, Stamps, tokenStamp } from "./stamps.js";

const TOKEN = 0.42; // units: the radius of somebody
const TOKEN_MIN = 5; // pixels
const TOKEN_MAX = 20;
const NAMES_MAX = 90; // shown at once, the nearest
const SAID_MAX = 12; // bubbles shown at once, the nearest
const NAME_FADE_S = 0.18;
const SCREEN_SCALE_MAX = 2; // pixels of the screen for one of the page: more costs and is not seen
const LINES = [1, 4, 16, 64]; // units between the lines of plain ground
const HUES = 8;
const GOAL_MS = 1200;

/* The colour of somebody, the same wherever they are met. */
function hueOf(person) {
  if (person.hue === undefined) {
    let sum = 7;
    for (let i = 0; i < person.name.length; i++) sum = (sum * 31 + person.name.charCodeAt(i)) >>> 0;
    person.hue = sum % HUES;
  }
  return person.hue;
}

/* Rectangles that are taken, in a coarse grid over the picture. */
class Taken {
  #cells = new Map();

  clear() {
    this.#cells.clear();
  }

  #keys(x, y, width, height) {
    const out = [];
    for (let cy = y >> 5; cy <= (y + height) >> 5; cy++)
      for (let cx = x >> 6; cx <= (x + width) >> 6; cx++) out.push(cy * 4096 + cx);
    return out;
  }

  /** Take it, whoever has some of it. */
  put(x, y, width, height) {
    const taken = { x, y, x1: x + width, y1: y + height };
    for (const key of this.#keys(x, y, width, height)) {
      const cell = this.#cells.get(key);
      if (cell) cell.push(taken);
      else this.#cells.set(key, [taken]);
    }
  }

  /** Take it, where nobody has any of it. */
  take(x, y, width, height) {
    const meets = (r) => x < r.x1 && x + width > r.x && y < r.y1 && y + height > r.y;
    if (this.#keys(x, y, width, height).some((key) => this.#cells.get(key)?.some(meets))) return false;
    this.put(x, y, width, height);
    return true;
  }
}

export class Painter {
  #canvas;
  #ctx;
  #camera;
  #scale = 1;
  #stamps = new Stamps();
  #taken = new Taken();
  #colours = {};

  constructor(canvas, camera) {
    this.#canvas = canvas;
    this.#ctx = canvas.getContext("2d", { alpha: false });
    this.#camera = camera;
    this.dress();
  }

  /** The colours are the style's; to be called where they may have changed. */
  dress() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    const names = ["ground", "ground-line", "ground-strong", "void", "dusk", "veil", "sight", "ink", "paper", "line",
      "self", "npc", "goal", "portal", "name", "halo", "rim", "token-ink"];
    this.#colours = Object.fromEntries(names.map((name) => [name, of(name)]));
    this.#colours.hues = Array.from({ length: HUES }, (_, i) => of(`hue-${i}`));
    this.#stamps.clear();
  }

  /** As large as the page is now. */
  resize() {
    const { clientWidth, clientHeight } = this.#canvas;
    const scale = Math.min(devicePixelRatio || 1, SCREEN_SCALE_MAX);
    const [width, height] = [Math.round(clientWidth * scale), Math.round(clientHeight * scale)];
    this.#camera.resize(clientWidth, clientHeight);
    if (this.#canvas.width === width && this.#canvas.height === height && this.#scale === scale) return;
    Object.assign(this.#canvas, { width, height });
    this.#scale = scale;
    this.#stamps.clear();
  }

  /** `scene`: `{ground, people, radius, goal, now, dt, still}`. */
  draw(scene) {
    const ctx = this.#ctx;
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    this.#drawGround(scene.ground);
    ctx.setTransform(this.#scale, 0, 0, this.#scale, 0, 0);
    this.#drawPortals(scene);
    if (!scene.people.self) return;
    this.#drawSight(scene);
    if (scene.goal) this.#drawGoal(scene);
    this.#drawPeople(scene);
  }

  // --- ground ---------------------------------------------------------------------------------------

  #drawGround(ground) {
    const [ctx, camera, scale] = [this.#ctx, this.#camera, this.#scale];
    const unit = camera.zoom * scale;
    const left = (camera.width / 2 - camera.x * camera.zoom) * scale;
    const top = (camera.height / 2 - camera.y * camera.zoom) * scale;
    ctx.fillStyle = ground.mapped ? this.#colours.void : this.#colours.ground;
    ctx.fillRect(0, 0, this.#canvas.width, this.#canvas.height);
    if (!ground.mapped) return this.#drawLines(unit, left, top);
    ctx.imageSmoothingEnabled = true;
    ground.draw(ctx, camera.view, unit, left, top);
    if (this.#colours.dusk === "none") return;
    ctx.globalCompositeOperation = "multiply";
    ctx.fillStyle = this.#colours.dusk;
    ctx.fillRect(0, 0, this.#canvas.width, this.#canvas.height);
    ctx.globalCompositeOperation = "source-over";
  }

  #drawLines(unit, left, top) {
    const ctx = this.#ctx;
    const step = LINES.find((n) => n * unit >= 14 * this.#scale) ?? LINES.at(-1);
    const { view } = this.#camera;
    const rule = (every, colour) => {
      ctx.beginPath();
      for (let x = Math.ceil(view.x0 / every) * every; x <= view.x1; x += every) {
        const at = Math.round(left + x * unit) + 0.5;
        ctx.moveTo(at, 0);
        ctx.lineTo(at, this.#canvas.height);
      }
      for (let y = Math.ceil(view.y0 / every) * every; y <= view.y1; y += every) {
        const at = Math.round(top + y * unit) + 0.5;
        ctx.moveTo(0, at);
        ctx.lineTo(this.#canvas.width, at);
      }
      ctx.strokeStyle = colour;
      ctx.lineWidth = 1;
      ctx.stroke();
    };
    rule(step, this.#colours["ground-line"]);
    rule(step * 8, this.#colours["ground-strong"]);
  }

  #drawPortals({ ground, now, still }) {
    const [ctx, camera] = [this.#ctx, this.#camera];
    for (const portal of ground.portals) {
      const at = camera.toScreen(portal.x, portal.y);
      const [width, height] = [portal.width * camera.zoom, portal.height * camera.zoom];
      if (at.x > camera.width || at.y > camera.height || at.x + width < 0 || at.y + height < 0) continue;
      const beat = still ? 0.5 : 0.5 + 0.5 * Math.sin(now / 500);
      ctx.beginPath();
      ctx.roundRect(at.x, at.y, width, height, Math.min(width, height) * 0.22);
      ctx.fillStyle = this.#colours.portal;
      ctx.globalAlpha = 0.35 + 0.2 * beat;
      ctx.fill();
      ctx.globalAlpha = 0.9;
      ctx.lineWidth = 2;
      ctx.strokeStyle = this.#colours.portal;
      ctx.stroke();
      ctx.globalAlpha = 1;
      const name = this.#name(`→ ${portal.to}`, { strong: true });
      this.#stamp(name, at.x + width / 2, at.y - 12, 1);
    }
  }

  /* What is further away than one sees lies under a veil. */
  #drawSight({ people: { self }, radius }) {
    const [ctx, camera] = [this.#ctx, this.#camera];
    const at = camera.toScreen(self.x, self.y);
    const reach = radius * camera.zoom;
    ctx.beginPath();
    ctx.rect(0, 0, camera.width, camera.height);
    ctx.arc(at.x, at.y, reach, 0, 2 * Math.PI, true);
    ctx.fillStyle = this.#colours.veil;
    ctx.fill();
    ctx.beginPath();
    ctx.arc(at.x, at.y, reach, 0, 2 * Math.PI);
    ctx.setLineDash([2, 7]);
    ctx.lineCap = "round";
    ctx.lineWidth = 2;
    ctx.strokeStyle = this.#colours.sight;
    ctx.stroke();
    ctx.setLineDash([]);
  }

  #drawGoal({ goal, people: { self }, now, still }) {
    const [ctx, camera] = [this.#ctx, this.#camera];
    const at = camera.toScreen(goal.x, goal.y);
    const part = still ? 0.4 : (now % GOAL_MS) / GOAL_MS;
    if (Math.hypot(goal.x - self.x, goal.y - self.y) < 0.2) return;
    ctx.strokeStyle = ctx.fillStyle = this.#colours.goal;
    ctx.lineWidth = 2.5;
    ctx.beginPath();
    ctx.arc(at.x, at.y, 4, 0, 2 * Math.PI);
    ctx.fill();
    ctx.globalAlpha = 1 - part;
    ctx.beginPath();
    ctx.arc(at.x, at.y, 5 + 12 * part, 0, 2 * Math.PI);
    ctx.stroke();
    ctx.globalAlpha = 1;
  }

  // --- people ---------------------------------------------------------------------------------------

  #drawPeople({ people, now, dt, still }) {
    const { view } = this.#camera;
    const shown = [];
    for (const person of people.all.values()) {
      const seen = person.x > view.x0 - 2 && person.x < view.x1 + 2 && person.y > view.y0 - 2 && person.y < view.y1 + 4;
      if (seen) shown.push(person);
      else person.labelled = 0;
    }
    shown.push(people.self);
    shown.sort((a, b) => a.y - b.y || a.id - b.id);
    for (const person of shown) this.#drawToken(person, person === people.self);
    this.#drawWords(shown, people.self, now, dt, still);
  }

  get #radius() {
    return Math.min(Math.max(TOKEN * this.#camera.zoom, TOKEN_MIN), TOKEN_MAX);
  }

  #drawToken(person, self) {
    const [ctx, colours] = [this.#ctx, this.#colours];
    const radius = Math.round(this.#radius * (person.npc ? 0.92 : 1) * 2) / 2;
    const at = this.#camera.toScreen(person.x, person.y);
    const hop = Math.abs(Math.sin(person.stride * 2.6)) * radius * 0.16;
    const fill = self ? colours.self : person.npc ? colours.npc : colours.hues[hueOf(person)];
    const { letter } = person;
    const key = `token ${letter} ${fill} ${radius} ${person.npc}`;
    const stamp = this.#stamps.get(key, () => tokenStamp(letter,
      { scale: this.#scale, radius, fill, rim: colours.rim, ink: colours["token-ink"], npc: person.npc }));
    ctx.globalAlpha = person.alpha;
    this.#drawFacing(at.x, at.y - hop, person.face, radius, fill);
    if (self) this.#drawRing(at, radius);
    ctx.drawImage(stamp.canvas, at.x - stamp.width / 2, at.y - hop - stamp.height / 2, stamp.width, stamp.height);
    ctx.globalAlpha = 1;
  }

  /* A small beak on the side that one looks to. */
  #drawFacing(x, y, face, radius, fill) {
    const stamp = this.#stamps.get(`beak ${fill} ${radius}`,
      () => beakStamp({ scale: this.#scale, radius, fill, rim: this.#colours.rim }));
    const [ctx, s] = [this.#ctx, this.#scale];
    const [cos, sin] = [Math.cos(face) * s, Math.sin(face) * s];
    ctx.setTransform(cos, sin, -sin, cos, x * s, y * s);
    ctx.drawImage(stamp.canvas, -stamp.width / 2, -stamp.height / 2, stamp.width, stamp.height);
    ctx.setTransform(s, 0, 0, s, 0, 0);
  }

  #drawRing(at, radius) {
    const ctx = this.#ctx;
    ctx.beginPath();
    ctx.ellipse(at.x, at.y, radius * 1.75, radius * 1.75, 0, 0, 2 * Math.PI);
    ctx.lineWidth = 2;
    ctx.strokeStyle = this.#colours.self;
    ctx.globalAlpha = 0.55;
    ctx.stroke();
    ctx.globalAlpha = 1;
  }

  // --- words ----------------------------------------------------------------------------------------

  #name(text, { strong = false, slant = false, ink = this.#colours.name } = {}) {
    const { halo } = this.#colours;
    return this.#stamps.get(`name ${strong} ${slant} ${ink} ${text}`,
      () => nameStamp(text, { scale: this.#scale, ink, halo, strong, slant }));
  }

  #stamp(stamp, x, y, alpha) {
    this.#ctx.globalAlpha = alpha;
    // On whole pixels of the screen, where letters are sharp.
    const at = (v) => Math.round(v * this.#scale) / this.#scale;
    this.#ctx.drawImage(stamp.canvas, at(x - stamp.width / 2), at(y - stamp.height / 2), stamp.width, stamp.height);
    this.#ctx.globalAlpha = 1;
  }

  /* Bubbles first, then names where there is room for them: our own, then the nearest. Who has a name
   * on already keeps it before others, so that names do not flicker. */
  #drawWords(shown, self, now, dt, still) {
    const order = shown.map((person) => ({ person, rank: this.#rank(person, self) })).sort((a, b) => a.rank - b.rank);
    const most = still ? 1 : dt / NAME_FADE_S;
    this.#taken.clear();
    const speakers = order.filter(({ person }) => person.said).slice(0, SAID_MAX);
    for (const { person } of speakers) this.#drawSaid(person, now, still);
    for (const { person } of order) this.#reserve(person);
    order.forEach(({ person }, i) => {
      if (i >= NAMES_MAX && person.labelled === 0) return;
      const stamp = this.#name(person.name, person === self ? { strong: true, ink: this.#colours.self }
        : { slant: person.npc });
      const at = this.#camera.toScreen(person.x, person.y);
      const placed = i < NAMES_MAX && !person.going && this.#placeName(person, stamp, at);
      const room = placed || person === self; // one should always find oneself
      person.labelled = Math.min(Math.max(person.labelled + (room ? most : -most), 0), 1);
      if (person.labelled > 0) this.#stamp(stamp, at.x, at.y + this.#nameOff(person, stamp), person.labelled * person.alpha);
    });
  }

  /* A token is no place for another's name. */
  #reserve(person) {
    const at = this.#camera.toScreen(person.x, person.y);
    const half = this.#radius * 0.8;
    this.#taken.put(at.x - half, at.y - half, 2 * half, 2 * half);
  }

  #nameOff(person, stamp) {
    return (person.above ? -1 : 1) * (this.#radius + stamp.height / 2 + 3);
  }

  /* Where there was room before, or on the other side; false: there is none. */
  #placeName(person, stamp, at) {
    for (let side = 0; side < 2; side++) {
      const y = at.y + this.#nameOff(person, stamp);
      if (this.#taken.take(at.x - stamp.width / 2, y - stamp.height / 2 + 3, stamp.width, stamp.height - 6)) return true;
      if (person.labelled > 0 && side === 0) return false; // it fades before it changes sides
      person.above = !person.above;
    }
    person.above = false;
    return false;
  }

  #rank(person, self) {
    if (person === self) return -1;
    return Math.hypot(person.x - self.x, person.y - self.y) - (person.labelled > 0 ? 2 : 0);
  }

  #drawSaid(person, now, still) {
    const { ink, paper, line } = this.#colours;
    const { text, since, until } = person.said;
    const stamp = this.#stamps.get(`said ${text}`, () => saidStamp(text, { scale: this.#scale, ink, paper, line }));
    const at = this.#camera.toScreen(person.x, person.y);
    let y = at.y - this.#radius - stamp.height / 2 - 5;
    const left = at.x - stamp.width / 2;
    for (let tries = 0; !this.#taken.take(left, y - stamp.height / 2, stamp.width, stamp.height); tries++) {
      if (tries === 3) {
        this.#taken.put(left, y - stamp.height / 2, stamp.width, stamp.height);
        break;
      }
      y -= stamp.height * 0.6;
    }
    const fade = Math.min((now - since) / 120, (until - now) / 300, 1);
    this.#stamp(stamp, at.x, y, still ? 1 : Math.max(fade, 0) * person.alpha);
  }
}

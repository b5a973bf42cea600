/* gateway/web/people.js: who is there and how they look just now: between two places that were told,
 * turning, coming and going, saying something. Knows nothing of drawing.
 * May touch: aegis.js, words.js. Times are milliseconds of the page's clock.
 */
import { Smooth } from "./aegis.js";
import { initial } from "./words.js";

const FADE_MS = 220; // to come into sight, and to go
const TURN_S = 0.08;
const SAID_MS = 3500; // that a bubble stays, and more for each letter
const SAID_LETTER_MS = 45;
const SAID_MAX_MS = 12000;
const STILL = 0.02; // units: less is no step
const SELF = 0; // the key of our own track
const LED_MS = 170; // our own way while the server walks us: it is asked for less often than ticks come

const TURN = 2 * Math.PI;

/** The shorter way round from one angle to another. */
export function turnTo(from, to) {
  return (((to - from) % TURN) + TURN + Math.PI) % TURN - Math.PI;
}

class Person {
  alpha = 0;
  going = false;
  said = null; // {text, until}
  moving = false;
  stride = 0; // units walked, for the step
  labelled = 0; // how far its name is faded in
  above = false; // its name stands above it

  constructor(id, kind, name) {
    Object.assign(this, { id, kind, name });
    this.npc = kind !== 0;
    this.letter = initial(name);
  }

  say(text, now) {
    this.said = { text, since: now, until: now + Math.min(SAID_MS + SAID_LETTER_MS * text.length, SAID_MAX_MS) };
  }
}

export class People {
  /** By id. Those who have gone stay until they have faded. */
  all = new Map();
  self = null;
  #smooth = new Smooth(100);
  #own = new Smooth(LED_MS);

  /** Put somewhere afresh: everybody is forgotten. */
  place(me, name, now) {
    const said = this.self?.said ?? null;
    this.all.clear();
    this.#smooth = new Smooth(Math.max(2 * me.tick_ms, 60));
    this.self = new Person(me.id, 0, name);
    Object.assign(this.self, { x: me.x, y: me.y, dir: 0, face: 0, alpha: 1, said });
    this.#own.clear();
    this.#own.put(SELF, me.x, me.y, now);
  }

  add(e, now) {
    const person = new Person(e.id, e.kind, e.name);
    Object.assign(person, { x: e.x, y: e.y, dir: e.dir, face: e.dir, speed: e.speed });
    this.all.set(e.id, person);
    this.#smooth.drop(e.id);
    this.#smooth.put(e.id, e.x, e.y, now);
  }

  move(e, now) {
    const person = this.all.get(e.id);
    if (!person) return;
    Object.assign(person, { dir: e.dir, speed: e.speed });
    this.#smooth.put(e.id, e.x, e.y, now);
  }

  remove(e) {
    const person = this.all.get(e.id);
    if (person) person.going = true;
  }

  /** Our own place, as we walk by ourselves: shown at once. */
  stand(x, y, dir, now) {
    this.#own.drop(SELF);
    this.#own.put(SELF, x, y, now);
    if (dir !== undefined) this.self.dir = dir;
  }

  /** Our own place, as the server tells it while it walks us: shown smoothly. */
  led(x, y, now) {
    const was = this.self;
    if (Math.hypot(x - was.x, y - was.y) > STILL) was.dir = Math.atan2(y - was.y, x - was.x);
    this.#own.put(SELF, x, y, now);
  }

  /** Everybody as they look at this moment. */
  step(now, dt, still) {
    if (!this.self) return;
    for (const person of this.all.values()) {
      this.#one(person, this.#smooth.get(person.id, now), now, dt, still);
      const to = person.going ? 0 : 1;
      const most = (dt * 1000) / FADE_MS;
      person.alpha += Math.min(Math.max(to - person.alpha, -most), most);
      if (person.going && person.alpha <= 0) {
        this.all.delete(person.id);
        this.#smooth.drop(person.id);
      }
    }
    this.#one(this.self, this.#own.get(SELF, now), now, dt, still);
  }

  #one(person, at, now, dt, still) {
    const step = Math.hypot(at.x - person.x, at.y - person.y);
    person.moving = step > STILL * 0.2;
    person.stride = person.moving && !still ? person.stride + Math.min(step, 1) : 0;
    person.x = at.x;
    person.y = at.y;
    const turn = turnTo(person.face, person.dir);
    person.face += still ? turn : turn * (1 - Math.exp(-dt / TURN_S));
    if (person.said && now > person.said.until) person.said = null;
  }

  /** How many of each are in sight, those going apart. */
  count() {
    let players = 0;
    let npcs = 0;
    for (const person of this.all.values()) if (!person.going) person.npc ? npcs++ : players++;
    return { players, npcs };
  }

  /** Those in sight, the nearest first, with `away` in units. */
  near(most) {
    const out = [];
    for (const person of this.all.values())
      if (!person.going) out.push({ person, away: Math.hypot(person.x - this.self.x, person.y - this.self.y) });
    return out.sort((a, b) => a.away - b.away || a.person.id - b.person.id).slice(0, most);
  }
}

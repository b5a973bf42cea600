/* gateway/web/steer.js: how we move. By keys the page walks itself, and tells the server at a steady
 * rate, never faster than the speed allows and only where its map says that the way is free; by a tap
 * the server walks us. What it refuses, it answers with our place, and there we stand.
 *
 * An arrival is not told to the walker, so the page asks where it is: a move to where nothing is gets
 * refused, changes nothing, and the refusal tells the place.
 *
 *   stand ── keys ──► walk ── none ──► stand          tap ──► led ── there, stopped, keys ──► stand
 *
 * May touch: aegis.js, the session's client. On trouble: the last place that the server told.
 */
import { CODE } from "./aegis.js";

const SHARE = 0.96; // of the highest speed: the rest is for clocks that differ
const SEND_MS = 100;
const SEND_LEAST_MS = 40; // apart, even where the way bends
const ASK_MS = 120;
const STALL_ASKS = 25; // asked in vain so often, the walk is over
const NOWHERE = 1e12; // outside every scene
const FRAME_MAX_S = 0.1; // a page that slept does not leap

const PLACE_CODES = new Set([CODE.move_speed, CODE.move_blocked, CODE.move_bounds]);

export class Steer {
  /** "stand", "walk" (by keys) or "led" (by the server). */
  mode = "stand";
  /** Where we are led to: `{x, y}`; null: nowhere. */
  goal = null;
  ground;
  onlost = () => {}; // a walk ended before its goal, with its code
  #client;
  #people;
  #here = { x: 0, y: 0 }; // as walked
  #sent = { x: 0, y: 0, at: 0, speed: 0 }; // as told to the server
  #open = 0; // moves without an answer
  #lost = false; // one was refused: wait for the rest, then stand where the server says
  #walk = 0; // counts the walks asked for
  #still = 0;
  #asked = 0;

  constructor(client, people, ground) {
    this.#client = client;
    this.#people = people;
    this.ground = ground;
  }

  /** Put somewhere by the server. */
  place(me) {
    this.mode = "stand";
    this.goal = null;
    this.#walk++;
    this.#open = 0;
    this.#lost = false;
    this.#here = { x: me.x, y: me.y };
    this.#sent = { x: me.x, y: me.y, at: 0, speed: 0 };
  }

  // --- by keys --------------------------------------------------------------------------------------

  /** A frame: `dx`, `dy` is where the keys point, 0, 0: nowhere. */
  step(dx, dy, now, dt) {
    if (!this.#client.self || this.#lost) return;
    if (dx === 0 && dy === 0) {
      if (this.mode === "walk") this.#halt(now);
      return;
    }
    if (this.mode === "led") this.#take();
    if (this.mode === "stand") {
      this.mode = "walk";
      this.goal = null;
    }
    const dir = Math.atan2(dy, dx);
    const reach = this.#client.self.max_speed * SHARE * Math.min(dt, FRAME_MAX_S);
    this.#advance(Math.cos(dir) * reach, Math.sin(dir) * reach, dir, now);
    this.#people.stand(this.#here.x, this.#here.y, dir, now);
    if (now - this.#sent.at >= SEND_MS) this.#send(dir, this.#client.self.max_speed * SHARE, now);
  }

  /* On by this much, or along the wall that is there. */
  #advance(dx, dy, dir, now) {
    for (const [mx, my] of [[dx, dy], [dx, 0], [0, dy]]) {
      const [x, y] = [this.#here.x + mx, this.#here.y + my];
      if ((mx === 0 && my === 0) || !this.ground.clear(this.#here.x, this.#here.y, x, y)) continue;
      // What is told is a straight way from the last place told: a bend is a place of its own.
      if (!this.ground.clear(this.#sent.x, this.#sent.y, x, y)) {
        if (now - this.#sent.at < SEND_LEAST_MS) return;
        this.#send(dir, this.#client.self.max_speed * SHARE, now);
      }
      this.#here = { x, y };
      return;
    }
  }

  #halt(now) {
    this.mode = "stand";
    if (this.#sent.speed !== 0) this.#send(this.#people.self.dir, 0, now);
  }

  /* The keys take over from the server's walk, from where it was last told to be. */
  #take() {
    this.mode = "stand";
    this.goal = null;
    this.#walk++;
    const { x, y } = this.#client.self;
    this.#here = { x, y };
    Object.assign(this.#sent, { x, y });
  }

  async #send(dir, speed, now) {
    const { x, y } = this.#here;
    const walk = this.#walk;
    this.#sent = { x, y, at: now, speed };
    this.#open++;
    try {
      await this.#client.move(x, y, { dir, speed });
    } catch (error) {
      if (walk !== this.#walk) return; // of before we were put elsewhere
      if (PLACE_CODES.has(error.code)) this.#note(error);
      if (error.code !== CODE.rate_limited) this.#lost = true;
    }
    if (walk === this.#walk && --this.#open === 0 && this.#lost) this.#back();
  }

  #note({ x, y }) {
    if (this.#client.self && Number.isFinite(x) && Number.isFinite(y)) Object.assign(this.#client.self, { x, y });
  }

  #back() {
    this.#lost = false;
    const me = this.#client.self;
    if (!me) return;
    this.#here = { x: me.x, y: me.y };
    Object.assign(this.#sent, { x: me.x, y: me.y });
    this.#people.led(me.x, me.y, performance.now());
  }

  // --- by the server --------------------------------------------------------------------------------

  /** Be led to this place, round what stands in the way. Rejects where that is refused. */
  async lead(x, y) {
    const walk = ++this.#walk;
    this.#open = 0;
    this.#lost = false;
    const goal = await this.#client.walk(x, y, true);
    if (walk !== this.#walk) return;
    this.mode = "led";
    this.goal = goal;
    this.#still = 0;
    this.#asked = 0;
  }

  /** A walk was stopped by the server, and we stand. */
  stopped({ x, y, code }) {
    if (this.mode !== "led") return;
    this.#arrive(x, y);
    this.onlost(code);
  }

  /** Ask where we are, while we are led; to be called in every frame. */
  async follow(now) {
    if (this.mode !== "led" || !this.#client.self || now - this.#asked < ASK_MS) return;
    this.#asked = now;
    const walk = this.#walk;
    try {
      await this.#client.move(NOWHERE, NOWHERE);
    } catch (error) {
      if (walk !== this.#walk || this.mode !== "led" || !PLACE_CODES.has(error.code)) return;
      this.#told(error);
    }
  }

  #told({ x, y }) {
    const me = this.#client.self;
    this.#still = me.x === x && me.y === y ? this.#still + 1 : 0;
    this.#note({ x, y });
    this.#people.led(x, y, performance.now());
    if ((x === this.goal.x && y === this.goal.y) || this.#still === STALL_ASKS) this.#arrive(x, y);
  }

  #arrive(x, y) {
    this.mode = "stand";
    this.goal = null;
    this.#here = { x, y };
    this.#sent = { x, y, at: 0, speed: 0 };
    this.#people.led(x, y, performance.now());
  }
}

/* proto/js/aegis.js: the client protocol for browsers and Node; see ../PROTOCOL.md.
 *
 *   bytes      readBody, writeBody, readMoves, nearestPlace     bodies and what they mean
 *   View       what a client knows: Aoi frames, added up
 *   Client     login, requests and their answers, resume and reconnect by the contract's rules
 *   Smooth     places between two ticks, for drawing
 *
 * A transport carries bodies: WebSocketTransport here, TcpTransport in tcp.js. May touch: the
 * transport, timers. Needs: @msgpack/msgpack.
 * On trouble: a request is refused with RequestError; a server that breaks the contract with
 * ContractError, which ends the connection and is told as "lost".
 */
import { decode, encode } from "@msgpack/msgpack";

// --- the tables -----------------------------------------------------------------------------------

/** Numbers of the commands. */
export const CMD = Object.freeze({
  LoginReq: 1, LoginResp: 2, EnterReq: 3, EnterResp: 4, LeaveReq: 5, LeaveResp: 6, MoveReq: 7, MoveResp: 8,
  WalkReq: 9, WalkResp: 10, PingReq: 11, PingResp: 12, SayReq: 13, SayResp: 14, AoiAdd: 32, AoiRemove: 33,
  AoiMove: 34, MoveFail: 35, SayNotify: 36, ErrorNotify: 48, Bye: 49,
});

/** Error codes, as in ErrorNotify and Bye. */
export const CODE = Object.freeze({
  bad_frame: 1, unknown_cmd: 2, bad_payload: 3, not_logged_in: 4, already_logged_in: 5, name_in_use: 6,
  not_in_world: 7, already_in_world: 8, move_speed: 9, move_blocked: 10, move_bounds: 11, rate_limited: 12,
  unavailable: 13, auth_failed: 14, idle: 15, slow: 16, shutting_down: 17, no_such_scene: 18, kicked: 19,
  bad_version: 20,
});

/** The most bytes that a body from the server has. */
export const BODY_MAX = 1 << 20;

/* Fields of each payload, in the order in which they are written. `f`: float64, `u`: unsigned, `v`: of 64
 * bits, and 1 where absent, `s`: text, `b`: boolean, `e`: entities, `i`: ids, `x`: bytes; `?`: may be absent; `-`: left out where it is false
 * or empty. A table of null: any value. */
const OK = ["ok", "b"];
const FIELDS = {
  1: [["name", "s"], ["token", "s?-"], ["resume", "s?-"], ["version", "v?"]],
  2: [OK, ["id", "u"], ["name", "s"], ["resume", "s"], ["resumed", "b"]],
  3: [["scene", "s?"]],
  4: [OK, ["id", "u"], ["scene", "s"], ["x", "f"], ["y", "f"], ["tick_ms", "u"], ["radius", "f"],
    ["quantum", "f"], ["max_speed", "f"]],
  5: [], 6: [OK],
  7: [["x", "f"], ["y", "f"], ["dir", "f?"], ["speed", "f?"]], 8: [OK, ["x", "f"], ["y", "f"]],
  9: [["x", "f"], ["y", "f"], ["path", "b?-"]], 10: [OK, ["x", "f"], ["y", "f"]],
  11: null, 12: null,
  13: [["text", "s"]], 14: [OK],
  32: [["tick", "u"], ["entities", "e"], ["hidden", "u?"]], 33: [["tick", "u"], ["ids", "i"]],
  34: [["tick", "u"], ["moves", "x"]], 35: [["x", "f"], ["y", "f"], ["code", "u"]],
  36: [["id", "u"], ["text", "s"]],
  48: [["code", "u"], ["error", "s"], ["cmd", "u"], ["x", "f?"], ["y", "f?"]],
  49: [["code", "u"], ["reason", "s"]],
};

/** The server sent what the contract does not allow. */
export class ContractError extends Error {
  name = "ContractError";
}

/** A request was refused: `code` as CODE says; for moves `x` and `y` are the last legal place. */
export class RequestError extends Error {
  name = "RequestError";
  constructor(code, text, extra = {}) {
    super(text);
    this.code = code;
    Object.assign(this, extra);
  }
}

// --- bodies ---------------------------------------------------------------------------------------

/* A key that is no text is one that nobody asks for. */
const DECODE = {
  useBigInt64: true,
  maxStrLength: BODY_MAX,
  maxBinLength: BODY_MAX,
  mapKeyConverter: (key) => (typeof key === "string" ? key : "\0"),
};

function number(v) {
  const n = typeof v === "bigint" ? Number(v) : v;
  if (typeof n !== "number" || !Number.isFinite(n)) throw new ContractError("not a finite number");
  return n;
}

function unsigned(v, max = 0xffffffff) {
  const n = number(v);
  if (!Number.isInteger(n) || n < 0 || n > max) throw new ContractError("not an unsigned integer");
  return n;
}

function list(v) {
  if (!Array.isArray(v)) throw new ContractError("not an array");
  return v;
}

function entity(row) {
  const [id, kind, name, x, y, dir, speed] = list(row);
  if (typeof name !== "string") throw new ContractError("an entity without a name");
  return [unsigned(id), unsigned(kind), name, number(x), number(y), number(dir), number(speed)];
}

const READERS = {
  f: number,
  u: (v) => unsigned(v),
  v: (v) => (typeof v === "bigint" && v > 0xffffffffn ? v : unsigned(v)),
  s: (v) => {
    if (typeof v !== "string") throw new ContractError("not a text");
    return v;
  },
  b: (v) => {
    if (typeof v !== "boolean") throw new ContractError("not a boolean");
    return v;
  },
  x: (v) => {
    if (!(v instanceof Uint8Array)) throw new ContractError("not bytes");
    return v;
  },
  i: (v) => list(v).map((id) => unsigned(id)),
  e: (v) => list(v).map(entity),
};

function readPayload(cmd, raw) {
  const fields = FIELDS[cmd];
  if (fields === null || fields === undefined) return raw;
  if (raw === null && fields.every(([, kind]) => kind.includes("?"))) return null;
  if (raw === null || typeof raw !== "object" || Array.isArray(raw) || raw instanceof Uint8Array)
    throw new ContractError(`the payload of ${cmd} is no map`);
  const out = {};
  for (const [key, kind] of fields) {
    const has = Object.hasOwn(raw, key);
    if (!has && key === "ok") out.ok = true;
    else if (has) out[key] = READERS[kind[0]](raw[key]);
    else if (!kind.includes("?")) throw new ContractError(`${cmd} lacks ${key}`);
    if ((kind.includes("-") && !out[key]) || (kind[0] === "v" && out[key] === 1)) delete out[key];
  }
  return Object.keys(out).length === 0 ? null : out;
}

/** A body's `{cmd, seq, payload}`; throws ContractError where it is no `[cmd, seq, payload]`. */
export function readBody(bytes) {
  let value;
  try {
    value = decode(bytes, DECODE);
  } catch (error) {
    throw new ContractError(`not MessagePack: ${error.message}`);
  }
  if (!Array.isArray(value) || value.length !== 3) throw new ContractError("not an array of three");
  const cmd = unsigned(value[0]);
  return { cmd, seq: unsigned(value[1]), payload: readPayload(cmd, value[2]) };
}

const FLOATS = { forceIntegerToFloat: true };
const WRITERS = {
  f: (v) => encode(number(v), FLOATS),
  v: (v) => encode(v, { useBigInt64: typeof v === "bigint" }),
  e: (v) => join([arrayHead(v.length), ...v.map(writeEntity)]),
};

function join(parts) {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  return out;
}

/* The head of an array of n, which is what encode writes before the first element. */
function arrayHead(n) {
  const whole = encode(new Array(n).fill(0));
  return whole.subarray(0, whole.length - n);
}

function writeEntity([id, kind, name, ...numbers]) {
  return join([arrayHead(7), encode(id), encode(kind), encode(name), ...numbers.map(WRITERS.f)]);
}

/** The body of a message, as the server's own implementation would write it. */
export function writeBody(cmd, seq, payload = null) {
  const head = [Uint8Array.of(0x93), encode(cmd), encode(seq)];
  const fields = FIELDS[cmd];
  if (!fields || payload === null) return join([...head, encode(payload)]);
  const pairs = [];
  let n = 0;
  for (const [key, kind] of fields) {
    const v = payload[key];
    if (v === undefined || (kind.includes("-") && !v)) continue;
    pairs.push(encode(key), (WRITERS[kind[0]] ?? encode)(v));
    n++;
  }
  return join([...head, Uint8Array.of(0x80 + n), ...pairs]);
}

// --- AoiMove's records ----------------------------------------------------------------------------

/** The records of AoiMove's `moves`: `{id, x, y, dir?, speed?}`, numbers as they stand on the wire.
 *  Throws ContractError where one cannot be taken. */
export function readMoves(bytes) {
  const out = [];
  let at = 0;
  let previous = 0;
  while (at < bytes.length) {
    let v = 0; // up to 34 bits: sums, since shifts have 32
    let scale = 1;
    let byte;
    do {
      if (at === bytes.length || scale > 2 ** 28) throw new ContractError("a varint that does not end");
      byte = bytes[at++];
      v += (byte & 0x7f) * scale;
      scale *= 128;
    } while (byte >= 0x80);
    const flags = v % 4;
    const id = previous + Math.floor(v / 4);
    const tail = 4 + (flags & 1) + (flags >> 1);
    if (v >= 2 ** 34 || id === previous || id > 0xffffffff) throw new ContractError("ids do not ascend");
    if (at + tail > bytes.length) throw new ContractError("a record is cut");
    const record = { id, x: bytes[at] | (bytes[at + 1] << 8), y: bytes[at + 2] | (bytes[at + 3] << 8) };
    at += 4;
    if (flags & 1) record.dir = bytes[at++];
    if (flags & 2) record.speed = bytes[at++];
    out.push(record);
    previous = id;
  }
  return out;
}

/** The coordinate that a record's 16 bits mean for one whose last known coordinate was `last`. */
export function nearestPlace(wire, last, quantum) {
  return (wire + 65536 * Math.round((last / quantum - wire) / 65536)) * quantum;
}

// --- what a client knows ----------------------------------------------------------------------------

/** What Aoi frames add up to. `entities`: by id `{id, kind, name, x, y, dir, speed}`; `hidden`: how many more
 *  are in sight but not told. */
export class View {
  entities = new Map();
  hidden = 0;
  tick = 0;
  quantum = 1 / 64;
  maxSpeed = 0;

  /** An EnterResp: everybody is forgotten. */
  place(enter) {
    this.entities.clear();
    this.hidden = 0;
    this.quantum = enter.quantum;
    this.maxSpeed = enter.max_speed;
  }

  /** Takes an Aoi frame; returns the entities that it told of (those removed as they were last). */
  apply(cmd, payload) {
    this.tick = payload.tick;
    if (cmd === CMD.AoiAdd) return this.#add(payload);
    if (cmd === CMD.AoiRemove) return payload.ids.map((id) => this.#take(id));
    return readMoves(payload.moves).map((record) => this.#move(record));
  }

  #add(payload) {
    if (payload.hidden !== undefined) this.hidden = payload.hidden;
    return payload.entities.map(([id, kind, name, x, y, dir, speed]) => {
      if (this.entities.has(id)) throw new ContractError(`${id} was added twice`);
      const e = { id, kind, name, x, y, dir, speed };
      this.entities.set(id, e);
      return e;
    });
  }

  #take(id) {
    const e = this.entities.get(id);
    if (!e) throw new ContractError(`${id} was removed, and not known`);
    this.entities.delete(id);
    return e;
  }

  #move(record) {
    const e = this.entities.get(record.id);
    if (!e) throw new ContractError(`${record.id} moved, and is not known`);
    e.x = nearestPlace(record.x, e.x, this.quantum);
    e.y = nearestPlace(record.y, e.y, this.quantum);
    if (record.dir !== undefined) e.dir = (record.dir * 2 * Math.PI) / 256;
    if (record.speed !== undefined) e.speed = (record.speed * this.maxSpeed) / 255;
    return e;
  }
}

/** Places between two ticks, for drawing: what was told is shown one interval later, on the way from the
 *  place before. Times are in milliseconds, of any clock. */
export class Smooth {
  #tracks = new Map();
  #delay;

  /** `delay`: how long the way from one told place to the next takes; about two ticks is pleasant. */
  constructor(delay = 100) {
    this.#delay = delay;
  }

  /** A place was told. A jump further than `snap` is shown at once. */
  put(id, x, y, now, snap = 16) {
    const track = this.#tracks.get(id);
    const from = track ? this.#at(track, now) : { x, y };
    const far = Math.hypot(x - from.x, y - from.y) > snap;
    this.#tracks.set(id, { x0: far ? x : from.x, y0: far ? y : from.y, x1: x, y1: y, since: now });
  }

  /** Where to draw it now; undefined: never told. */
  get(id, now) {
    const track = this.#tracks.get(id);
    return track && this.#at(track, now);
  }

  drop(id) {
    this.#tracks.delete(id);
  }

  clear() {
    this.#tracks.clear();
  }

  #at(track, now) {
    const part = Math.min(Math.max((now - track.since) / this.#delay, 0), 1);
    return { x: track.x0 + (track.x1 - track.x0) * part, y: track.y0 + (track.y1 - track.y0) * part };
  }
}

// --- transports ---------------------------------------------------------------------------------------

/** Bodies over a WebSocket; `socket` is the class to use where there is none of that name. */
export class WebSocketTransport {
  onopen = () => {};
  onbody = () => {};
  onclose = () => {};
  #ws;

  constructor(url, socket = globalThis.WebSocket) {
    this.#ws = new socket(url);
    this.#ws.binaryType = "arraybuffer";
    this.#ws.onopen = () => this.onopen();
    this.#ws.onmessage = (event) => this.onbody(new Uint8Array(event.data));
    this.#ws.onclose = () => this.onclose();
    this.#ws.onerror = () => {};
  }

  send(body) {
    if (this.#ws.readyState === 1) this.#ws.send(body);
  }

  close() {
    this.#ws.close();
  }
}

// --- the client ---------------------------------------------------------------------------------------

const NEVER_AGAIN = new Set([CODE.name_in_use, CODE.auth_failed, CODE.kicked]);
const BACKOFF_MS = [250, 500, 1000, 2000, 4000, 5000];

/** A session. Events, by `on(name, fn)`:
 *    "placed" {…EnterResp}      put somewhere: asked for, after a resume, in another scene
 *    "add" | "move" | "remove"  (entity)        "tick" (number): after the frames of one tick
 *    "say" {id, text, name}     "stopped" {x, y, code}: a walk ended short
 *    "unavailable"              the world is away; what was not answered may or may not have happened
 *    "lost" (reason)            the connection is gone; "back" {resumed}: logged in again
 *    "forgotten"                the session could not be kept; it is logged in again by itself
 *    "ended" {code, reason}     over for good: after Bye 6, 14 or 19, or a login that is refused
 */
export class Client {
  view = new View();
  /** Our own: `{id, scene, x, y, …}` of the last EnterResp, with x and y kept up to date; null outside. */
  self = null;
  name;
  #connect;
  #token;
  #wire = null;
  #seq = 0;
  #waiting = new Map(); // seq to {resolve, reject}
  #handlers = new Map();
  #resume = "";
  #inside = null; // what to enter again: {scene?}
  #state = "idle"; // idle, connecting, login, ready, away, over
  #tries = 0;
  #timer = null;
  #bye = null;
  #known = false; // logged in once
  #retry;
  #patience;
  #keepalive;
  #watch = null;
  #sent = 0;
  #heard = 0;

  /** `connect`: makes a transport, one for each try, such as `() => new WebSocketTransport(url)`.
   *  `token`: where the server asks for one; a function is called for each login.
   *  `retry` false: a lost connection is not made again.
   *  `keepalive`: milliseconds of silence after which we ping by ourselves; 0: never.
   *  `patience`: milliseconds that connecting may take, and the answer to such a ping. */
  constructor({ connect, name, token, retry = true, keepalive = 20000, patience = 10000 }) {
    this.#connect = connect;
    this.#token = token;
    this.#retry = retry;
    this.#keepalive = keepalive;
    this.#patience = patience;
    this.name = name;
  }

  on(event, fn) {
    if (!this.#handlers.has(event)) this.#handlers.set(event, new Set());
    this.#handlers.get(event).add(fn);
    return () => this.#handlers.get(event).delete(fn);
  }

  get state() {
    return this.#state;
  }

  /** Connect and log in. Resolves with LoginResp. */
  async login() {
    if (this.#state !== "idle") throw new Error("login was called already");
    await this.#open();
    return this.#sign("");
  }

  /** Into the world; a scene by name, or the default one. Resolves with EnterResp. */
  async enter(scene) {
    const payload = scene === undefined ? null : { scene };
    const answer = await this.request(CMD.EnterReq, payload);
    this.#inside = payload ?? {};
    return answer;
  }

  async leave() {
    this.#inside = null;
    await this.request(CMD.LeaveReq, null);
    this.self = null;
    this.view.entities.clear();
  }

  /** Place oneself; `more` may have dir (radians) and speed (units a second). */
  async move(x, y, more = {}) {
    const answer = await this.request(CMD.MoveReq, { x, y, ...more });
    if (this.self) Object.assign(this.self, { x: answer.x, y: answer.y });
    return answer;
  }

  /** Have the server walk us there; round obstacles with `path`. Resolves with the goal accepted. */
  walk(x, y, path = false) {
    return this.request(CMD.WalkReq, { x, y, path });
  }

  say(text) {
    return this.request(CMD.SayReq, { text });
  }

  /** Resolves with the milliseconds that it took. */
  async ping() {
    const start = performance.now();
    await this.request(CMD.PingReq, null);
    return performance.now() - start;
  }

  /** Any request. Resolves with its answer's payload; RequestError where it is refused, where the
   *  connection is lost (code 13), or before there is one. */
  request(cmd, payload) {
    const seq = ++this.#seq;
    return new Promise((resolve, reject) => {
      if (!this.#wire) {
        reject(new RequestError(CODE.unavailable, "not connected"));
        return;
      }
      this.#waiting.set(seq, { resolve, reject, cmd });
      this.#sent = performance.now();
      this.#wire.send(writeBody(cmd, seq, payload));
    });
  }

  /** The end, by us. */
  close() {
    this.#state = "over";
    clearTimeout(this.#timer);
    clearInterval(this.#watch);
    const wire = this.#wire;
    this.#wire = null;
    if (wire) wire.close();
    this.#refuse("closed");
  }

  #emit(event, ...args) {
    for (const fn of this.#handlers.get(event) ?? []) fn(...args);
  }

  /* One try to connect. */
  #open() {
    this.#state = "connecting";
    this.#bye = null;
    return new Promise((resolve, reject) => {
      const wire = this.#connect();
      let open = false;
      const late = setTimeout(() => {
        reject(new RequestError(CODE.unavailable, "no connection in time"));
        wire.close();
      }, this.#patience);
      wire.onopen = () => {
        clearTimeout(late);
        if (this.#state === "over") return wire.close();
        open = true;
        this.#wire = wire;
        this.#keep(wire);
        resolve();
      };
      wire.onbody = (body) => {
        if (wire !== this.#wire) return;
        this.#heard = performance.now();
        try {
          this.#take(readBody(body));
        } catch (error) {
          if (!(error instanceof ContractError)) throw error;
          wire.close();
          this.#gone(wire, error.message);
        }
      };
      wire.onclose = () => {
        clearTimeout(late);
        if (open) this.#gone(wire, "the connection closed");
        else reject(new RequestError(CODE.unavailable, "no connection"));
      };
    });
  }

  /* Say something before the server takes us for dead, and notice when it is. */
  #keep(wire) {
    this.#sent = this.#heard = performance.now();
    clearInterval(this.#watch);
    if (this.#keepalive <= 0) return;
    let asked = 0; // when we pinged; 0: we do not wait for an answer
    this.#watch = setInterval(() => {
      const now = performance.now();
      if (wire !== this.#wire) clearInterval(this.#watch);
      else if (asked !== 0 && now - asked >= this.#patience) {
        wire.close();
        this.#gone(wire, "the server is silent");
      } else if (asked === 0 && now - Math.min(this.#sent, this.#heard) >= this.#keepalive) {
        asked = now;
        this.request(CMD.PingReq, null).catch(() => {}).finally(() => (asked = 0));
      }
    }, Math.min(this.#keepalive, this.#patience) / 4);
  }

  async #sign(resume) {
    this.#state = "login";
    const token = typeof this.#token === "function" ? this.#token() : this.#token;
    const answer = await this.request(CMD.LoginReq, { name: this.name, token, resume });
    this.#resume = answer.resume;
    this.#known = true;
    this.#state = "ready";
    this.#tries = 0;
    return answer;
  }

  #refuse(text) {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const w of waiting) w.reject(new RequestError(CODE.unavailable, text));
  }

  #gone(wire, reason) {
    if (wire !== this.#wire) return;
    const ended = this.#bye && NEVER_AGAIN.has(this.#bye.code);
    this.#wire = null;
    clearInterval(this.#watch);
    this.#refuse(this.#bye ? this.#bye.reason : reason);
    this.#emit("lost", this.#bye ? this.#bye.reason : reason);
    if (ended || !this.#retry || !this.#known) this.#end(this.#bye ?? { code: CODE.unavailable, reason });
    else this.#again();
  }

  #end(why) {
    if (this.#state === "over") return;
    this.#state = "over";
    clearTimeout(this.#timer);
    this.#emit("ended", why);
  }

  /* Later, and later still, with some chance in it so that a crowd does not come back at once. */
  #again() {
    const most = BACKOFF_MS[Math.min(this.#tries++, BACKOFF_MS.length - 1)];
    this.#state = "away";
    this.#timer = setTimeout(() => this.#back(), most * (0.5 + Math.random() / 2));
  }

  async #back() {
    try {
      await this.#open();
      await this.#return(this.#resume);
    } catch (error) {
      if (this.#state === "over" || this.#state === "away") return;
      const wire = this.#wire;
      if (!(error instanceof RequestError)) throw error;
      if (wire && error.code !== CODE.unavailable && error.code !== CODE.rate_limited &&
          error.code !== CODE.name_in_use) {
        this.#wire = null;
        wire.close();
        this.#end({ code: error.code, reason: error.message });
        return;
      }
      this.#wire = null;
      if (wire) wire.close();
      this.#again();
    }
  }

  /* Log in again, with the key where there is one; without one, enter where we were. */
  async #return(key) {
    let answer;
    try {
      answer = await this.#sign(key);
    } catch (error) {
      if (!key || error.code !== CODE.auth_failed) throw error;
      answer = await this.#sign(""); // the window is over
    }
    this.#emit("back", { resumed: answer.resumed });
    if (answer.resumed) return;
    this.#forget();
    if (this.#inside) await this.enter(this.#inside.scene);
  }

  #forget() {
    this.self = null;
    this.view.entities.clear();
    this.view.hidden = 0;
  }

  // --- what comes -----------------------------------------------------------------------------------

  #take({ cmd, seq, payload }) {
    if (cmd === CMD.AoiAdd || cmd === CMD.AoiRemove || cmd === CMD.AoiMove) this.#aoi(cmd, payload);
    else if (cmd === CMD.EnterResp) this.#placed(seq, payload);
    else if (cmd === CMD.ErrorNotify) this.#error(seq, payload);
    else if (cmd === CMD.Bye) this.#bye = payload;
    else if (cmd === CMD.SayNotify) this.#say(payload);
    else if (cmd === CMD.MoveFail) this.#stopped(payload);
    else if (seq !== 0) this.#answer(seq, payload);
  }

  #answer(seq, payload) {
    const waiting = this.#waiting.get(seq);
    this.#waiting.delete(seq);
    if (waiting) waiting.resolve(payload);
  }

  #aoi(cmd, payload) {
    const event = cmd === CMD.AoiAdd ? "add" : cmd === CMD.AoiRemove ? "remove" : "move";
    for (const e of this.view.apply(cmd, payload)) this.#emit(event, e);
    this.#emit("tick", payload.tick);
  }

  #placed(seq, payload) {
    this.view.place(payload);
    this.self = { ...payload };
    if (seq !== 0) this.#answer(seq, payload);
    this.#emit("placed", this.self);
  }

  #stopped(payload) {
    if (this.self) Object.assign(this.self, { x: payload.x, y: payload.y });
    this.#emit("stopped", payload);
  }

  #say(payload) {
    this.#emit("say", { ...payload, name: this.view.entities.get(payload.id)?.name });
  }

  #error(seq, payload) {
    if (seq !== 0) {
      const waiting = this.#waiting.get(seq);
      this.#waiting.delete(seq);
      if (waiting) {
        const { code, error, ...extra } = payload;
        waiting.reject(new RequestError(code, error, extra));
      }
    } else if (payload.code === CODE.unavailable) {
      this.#refuse(payload.error);
      this.#emit("unavailable");
    } else if (payload.code === CODE.not_logged_in) {
      this.#forget();
      this.#emit("forgotten");
      this.#relogin();
    }
  }

  /* On the same connection: the world lost us. */
  async #relogin() {
    const wire = this.#wire;
    try {
      await this.#return("");
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (this.#state === "over" || wire !== this.#wire || !wire) return;
      if (NEVER_AGAIN.has(error.code) && error.code !== CODE.name_in_use) {
        this.#wire = null;
        wire.close();
        this.#end({ code: error.code, reason: error.message });
        return;
      }
      wire.close();
      this.#gone(wire, error.message);
    }
  }
}

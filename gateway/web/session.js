/* gateway/web/session.js: one stay in the world: the client of proto/js, and a watch over its line.
 * A line that has gone silent is dropped, so that the client makes another and resumes; browsers
 * themselves would wait for minutes. May touch: aegis.js, timers.
 * On trouble: what the client says, as events.
 */
import { Client, WebSocketTransport } from "./aegis.js";

const PING_MS = 2000;
const SILENT_MS = 5000; // without a byte although a ping is out: the line is dead
const CONNECT_MS = 8000;
const LATENCIES = 5; // the median of so many is shown

/* A transport that notes when it last heard something, and can be let go of at once. */
class Line {
  onopen = () => {};
  onbody = () => {};
  onclose = () => {};
  heard = performance.now();
  #inner;
  #over = false;
  #timer;

  constructor(url) {
    const inner = new WebSocketTransport(url);
    this.#inner = inner;
    this.#timer = setTimeout(() => this.drop(), CONNECT_MS);
    inner.onopen = () => {
      clearTimeout(this.#timer);
      this.heard = performance.now();
      if (!this.#over) this.onopen();
    };
    inner.onbody = (body) => {
      this.heard = performance.now();
      if (!this.#over) this.onbody(body);
    };
    inner.onclose = () => this.#end();
  }

  send(body) {
    this.#inner.send(body);
  }

  close() {
    this.#inner.close();
  }

  /** The closing handshake is for lines that work. */
  drop() {
    this.#inner.close();
    this.#end();
  }

  #end() {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#timer);
    this.onclose();
  }
}

export function socketUrl(place = location) {
  return `${place.protocol === "https:" ? "wss:" : "ws:"}//${place.host}/ws`;
}

export class Session {
  client;
  /** Milliseconds from a ping to its answer; NaN: not known. */
  latency = NaN;
  #line = null;
  #timer = null;
  #pinged = 0; // when the ping that is out was sent; 0: none is
  #latencies = [];

  constructor({ name, token, url = socketUrl() }) {
    const connect = () => (this.#line = new Line(url));
    this.client = new Client({ connect, name, token: token || undefined });
  }

  /** Log in and enter; resolves with EnterResp. A RequestError says why not. */
  async start() {
    await this.client.login();
    const me = await this.client.enter();
    this.#timer = setInterval(() => this.#watch(), PING_MS);
    return me;
  }

  end() {
    clearInterval(this.#timer);
    this.client.close();
  }

  #watch() {
    const now = performance.now();
    if (this.client.state !== "ready") {
      this.#pinged = 0;
      this.latency = NaN;
      return;
    }
    if (this.#pinged === 0) this.#ping(now);
    else if (now - this.#pinged > SILENT_MS && now - this.#line.heard > SILENT_MS) this.#line.drop();
  }

  async #ping(now) {
    this.#pinged = now;
    try {
      this.#latencies.push(await this.client.ping());
      if (this.#latencies.length > LATENCIES) this.#latencies.shift();
      this.latency = this.#latencies.toSorted((a, b) => a - b)[this.#latencies.length >> 1];
    } catch {
      this.latency = NaN; // the line or the rate: the client tells of it
    }
    if (this.#pinged === now) this.#pinged = 0;
  }
}

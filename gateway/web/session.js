/* gateway/web/session.js: one stay in the world: the client of proto/js, impatient with a silent line,
 * and how long an answer takes. May touch: aegis.js, timers.
 * On trouble: what the client says, as events.
 */
import { Client, WebSocketTransport } from "./aegis.js";

const PING_MS = 2000;
const SILENT_MS = 3000; // after which the client asks whether the line lives
const PATIENCE_MS = 7000; // that it waits for an answer, and for a connection
const LATENCIES = 5; // the median of so many is shown

export function socketUrl(place = location) {
  return `${place.protocol === "https:" ? "wss:" : "ws:"}//${place.host}/ws`;
}

export class Session {
  client;
  /** Milliseconds from a ping to its answer; NaN: not known. */
  latency = NaN;
  #timer = null;
  #pinging = false;
  #latencies = [];

  constructor({ name, token, url = socketUrl() }) {
    const connect = () => new WebSocketTransport(url);
    this.client = new Client({ connect, name, token: token || undefined, keepalive: SILENT_MS, patience: PATIENCE_MS });
  }

  /** Log in and enter; resolves with EnterResp. A RequestError says why not. */
  async start() {
    await this.client.login();
    const me = await this.client.enter();
    this.#ping();
    this.#timer = setInterval(() => this.#ping(), PING_MS);
    return me;
  }

  end() {
    clearInterval(this.#timer);
    this.client.close();
  }

  async #ping() {
    if (this.#pinging) return;
    this.#pinging = true;
    try {
      this.#latencies.push(await this.client.ping());
      if (this.#latencies.length > LATENCIES) this.#latencies.shift();
      this.latency = [...this.#latencies].sort((a, b) => a - b)[this.#latencies.length >> 1];
    } catch {
      this.latency = NaN; // the line or the rate: the client tells of it
    }
    this.#pinging = false;
  }
}

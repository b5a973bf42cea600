/* tests/js/pair.mjs: a world and a gateway of a test's own, on ports that the kernel chooses.
 * May touch: bin/aegis (or AEGIS_BIN's). On trouble: a process that does not listen in 10 s is an error.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";

const BIN = process.env.AEGIS_BIN ?? new URL("../../bin", import.meta.url).pathname;
const START_MS = 10000;

export class Process {
  #child;
  #log = "";

  /** `program`: aegis, or bot beside it. */
  constructor(args, program = "aegis") {
    this.#child = spawn(`${BIN}/${program}`, args, { stdio: ["ignore", "pipe", "pipe"] });
    for (const from of [this.#child.stdout, this.#child.stderr]) from.on("data", (text) => (this.#log += text));
  }

  get log() {
    return this.#log;
  }

  /** The address that it says it listens on, or what stands behind other words in its log, such as
   *  "websocket on", "admin on" and "link up". */
  async address(words = "listening on") {
    const end = Date.now() + START_MS;
    for (;;) {
      const found = new RegExp(`${words} (\\S+)`).exec(this.#log);
      if (found) return found[1];
      if (Date.now() > end || this.#child.exitCode !== null) throw new Error(`does not listen: ${this.#log}`);
      await new Promise((done) => setTimeout(done, 20));
    }
  }

  async end(signal = "SIGTERM") {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill(signal);
    await once(this.#child, "exit");
  }
}

/** What the build says of itself. */
export const version = () => execFileSync(`${BIN}/aegis`, ["-version"], { encoding: "utf8" });

export async function startPair(worldFlags = [], gatewayFlags = []) {
  const world = new Process(["-role=world", "-listen=127.0.0.1:0", ...worldFlags]);
  const upstream = await world.address();
  const gateway = new Process(["-role=gateway", "-listen=127.0.0.1:0", `-upstream=${upstream}`,
    ...gatewayFlags]);
  await gateway.address("link up"); // a login before is refused
  return { world, gateway, upstream, address: await gateway.address() };
}

/** Until it holds; an error after `ms`. */
export async function until(what, holds, ms = 10000) {
  const end = Date.now() + ms;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`not in ${ms} ms: ${what}`);
    await new Promise((done) => setTimeout(done, 10));
  }
}

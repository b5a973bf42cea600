/* tests/web/harness.mjs: a world, gateways and bots of a test's own, and a browser to look at them.
 *
 *   const place = await Place.start({ world: ["-map", ...] });   ports are the kernel's choice
 *   const browser = await launch();                              Debian's chromium, headless
 *   const view = await browser.open(place.web, { size: PHONE, dark: true });
 *   view.page                                                    a page of Playwright's
 *   await view.shot("name");                                     a PNG in WEB_SHOTS
 *   view.faults                                                  errors, broken policies, failed loads
 *
 * Run by tests/run-web.sh, which says where things are: AEGIS_BIN, WEB_MODULES (a folder with
 * playwright-core), WEB_SHOTS. May touch: bin/, loopback, WEB_SHOTS.
 * On trouble: an error that says what did not start; everything is ended by `end`.
 */
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import { join } from "node:path";

import { Process, until } from "../js/pair.mjs";

export { Process, until };

export const ROOT = new URL("../..", import.meta.url).pathname;
export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844, touch: true, scale: 3 };

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const SHOTS = process.env.WEB_SHOTS ?? join(ROOT, "build/web-shots");

/** A world with its gateway. `web`: the origin of the WebSocket port, "http://127.0.0.1:…"; `ws`: its
 *  address alone; `address`: of the TCP port; `admin`: the world's admin origin, where it has one. */
export class Place {
  #processes = [];

  /** `world`, `gateway`: flags more. `admin`: give the world an admin port. */
  static async start({ world = [], gateway = [], admin = false } = {}) {
    const place = new Place();
    try {
      const more = admin ? ["-admin=127.0.0.1:0"] : [];
      place.world = place.#keep(new Process(["-role=world", "-listen=127.0.0.1:0", ...more, ...world]));
      place.upstream = await place.world.address();
      if (admin) place.admin = `http://${await place.world.address("admin on")}`;
      Object.assign(place, await place.addGateway(gateway));
      return place;
    } catch (error) {
      await place.end();
      throw error;
    }
  }

  /** One more gateway to the same world: `{gateway, address, ws, web}`. */
  async addGateway(flags = []) {
    const gateway = this.#keep(new Process(["-role=gateway", "-listen=127.0.0.1:0", "-ws-listen=127.0.0.1:0",
      "-ws-origins=*", `-upstream=${this.upstream}`, ...flags]));
    const ws = await gateway.address("websocket on");
    await gateway.address("link up"); // a login before is refused
    return { gateway, address: await gateway.address(), ws, web: `http://${ws}` };
  }

  /** Bots of bin/bot, such as `bots(["-mode=wander", "-n=5"])`. */
  bots(flags) {
    return this.#keep(new Process([`-addr=${this.address}`, ...flags], "bot"));
  }

  async end() {
    for (const one of this.#processes.reverse()) await one.end();
    this.#processes = [];
  }

  #keep(one) {
    this.#processes.push(one);
    return one;
  }
}

/** A line between a browser and a port that can be cut, and can be dead: bytes stop, nobody is told. */
export class Line {
  #server;
  #pairs = new Set();
  #dead = false;

  static async to(address) {
    const line = new Line();
    const [host, port] = address.split(":");
    line.#server = net.createServer({ pauseOnConnect: true }, (near) => line.#take(near, { host, port: Number(port) }));
    await new Promise((done) => line.#server.listen(0, "127.0.0.1", done));
    line.ws = `127.0.0.1:${line.#server.address().port}`;
    line.web = `http://${line.ws}`;
    return line;
  }

  #take(near, to) {
    near.on("error", () => {});
    if (this.#dead) {
      this.#pairs.add([near, near]);
      return;
    }
    const far = net.connect(to);
    const pair = [near, far];
    this.#pairs.add(pair);
    far.on("error", () => {});
    for (const [from, into] of [pair, [far, near]]) {
      from.on("data", (bytes) => this.#dead || into.write(bytes));
      from.on("close", () => {
        if (!this.#dead) into.destroy();
        this.#pairs.delete(pair);
      });
    }
    near.resume();
  }

  /** Nothing passes any more, and new connections hang. */
  die() {
    this.#dead = true;
  }

  /** What hung is gone, and new connections pass. */
  live() {
    this.cut();
    this.#dead = false;
  }

  /** All that is open ends. */
  cut() {
    for (const pair of this.#pairs) for (const one of pair) one.resetAndDestroy();
    this.#pairs.clear();
  }

  async end() {
    this.cut();
    await new Promise((done) => this.#server.close(done));
  }
}

/** Debian's chromium without a screen; `await browser.end()`. */
export async function launch() {
  const modules = process.env.WEB_MODULES;
  if (!modules) throw new Error("WEB_MODULES is not set: run this by `make test-web`");
  const { chromium } = createRequire(join(modules, "x.js"))("playwright-core");
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ["--disable-gpu", "--disable-dev-shm-usage", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
  });
  return new Browser(browser);
}

class Browser {
  #browser;

  constructor(browser) {
    this.#browser = browser;
  }

  /** A page in a profile of its own. `size`: DESKTOP, PHONE or `{width, height, touch, scale}`. */
  async open(url, { size = DESKTOP, dark = false, still = false } = {}) {
    const context = await this.#browser.newContext({
      viewport: { width: size.width, height: size.height },
      deviceScaleFactor: size.scale ?? 1,
      hasTouch: size.touch ?? false,
      isMobile: size.touch ?? false,
      colorScheme: dark ? "dark" : "light",
      ignoreHTTPSErrors: true,
      reducedMotion: still ? "reduce" : "no-preference",
    });
    return View.open(context, url);
  }

  end() {
    return this.#browser.close();
  }
}

class View {
  /** What went wrong in the page, in words: scripts' errors, breaches of its policy, loads that failed. */
  faults = [];

  static async open(context, url) {
    const view = new View();
    view.context = context;
    view.page = await context.newPage();
    view.page.on("pageerror", (error) => view.faults.push(`error: ${error.message}`));
    view.page.on("console", (line) => line.type() === "error" && view.faults.push(`console: ${line.text()}`));
    await view.page.addInitScript(() => {
      addEventListener("securitypolicyviolation", (e) =>
        console.error(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`));
    });
    await view.page.goto(url);
    return view;
  }

  /** A PNG of what is seen; returns its path. */
  async shot(name) {
    mkdirSync(SHOTS, { recursive: true });
    const path = join(SHOTS, `${name}.png`);
    await this.page.screenshot({ path });
    return path;
  }

  /** Until this holds in the page. */
  until(holds, arg, ms = 30000) {
    return this.page.waitForFunction(holds, arg, { timeout: ms, polling: 50 });
  }

  close() {
    return this.context.close();
  }
}

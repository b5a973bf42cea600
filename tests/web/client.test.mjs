/* tests/web/client.test.mjs: the JavaScript client in Chromium: golden vectors, and over WebSocket.
 * A small server of this test's own gives the page the client as it lies in proto/js, by an import map.
 * Run by `make test-web`. May touch: proto/js, tests/vectors, a world and a gateway of its own.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import test, { after, before } from "node:test";

import { launch, Place, ROOT } from "./harness.mjs";

const PAGE = `<!doctype html><link rel="icon" href="data:,"><script type="importmap">
{ "imports": { "@msgpack/msgpack": "/msgpack/index.mjs" } }</script>`;
const FOLDERS = { js: "proto/js", msgpack: "proto/js/node_modules/@msgpack/msgpack/dist.esm", tests: "tests/js",
  vectors: "tests/vectors" };
let server, browser, origin;

async function serve(request, response) {
  const [, folder, name] = /^\/(\w+)\/([\w./-]+)$/.exec(request.url) ?? [];
  if (request.url === "/") return response.setHeader("Content-Type", "text/html").end(PAGE);
  try {
    const bytes = await readFile(join(ROOT, FOLDERS[folder], name));
    response.setHeader("Content-Type", name.endsWith(".json") ? "application/json" : "text/javascript").end(bytes);
  } catch {
    response.writeHead(404).end();
  }
}

before(async () => {
  server = createServer(serve);
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  origin = `http://127.0.0.1:${server.address().port}`;
  browser = await launch();
});

after(async () => {
  await browser.end();
  server.close();
});

test("Chromium reads and writes every golden vector", async () => {
  const view = await browser.open(origin);
  const told = await view.page.evaluate(async () => {
    const client = await import("/js/aegis.js");
    const { checkMessages, checkMoves } = await import("/tests/checks.mjs");
    const load = async (name) => (await fetch(`/vectors/${name}.json`)).json();
    return [checkMessages(await load("messages"), client), checkMoves(await load("aoi_move"), client)];
  });
  assert.deepEqual(told.map((one) => one.faults), [[], []]);
  assert.ok(told[0].read > 80 && told[0].written > 30 && told[1].read > 15 && told[1].refused > 5, JSON.stringify(told));
  assert.deepEqual(view.faults, []);
  await view.close();
});

/* In the page: come in, and keep what happens in window.seen. */
function come({ ws, name }) {
  window.seen = { adds: [], says: [], backs: [], losses: 0 };
  return import("/js/aegis.js").then(async ({ Client, WebSocketTransport }) => {
    const client = (window.client = new Client({ connect: () => new WebSocketTransport(`ws://${ws}/ws`), name }));
    client.on("add", (e) => window.seen.adds.push(e.name));
    client.on("say", (said) => window.seen.says.push(`${said.name}: ${said.text}`));
    client.on("lost", () => window.seen.losses++);
    client.on("back", ({ resumed }) => window.seen.backs.push(resumed));
    await client.login();
    await client.enter();
    return client.self.id;
  });
}

test("two pages see each other, talk, and one whose gateway is killed takes its place again", async () => {
  const place = await Place.start({ world: ["-resume-window=30s"] });
  try {
    const other = await place.addGateway();
    const [a, b] = [await browser.open(origin), await browser.open(origin)];
    const id = await a.page.evaluate(come, { ws: place.ws, name: "ann" });
    await b.page.evaluate(come, { ws: other.ws, name: "ben" });
    await a.until(() => window.seen.adds.join() === "ben");
    await b.until(() => window.seen.adds.join() === "ann");
    await a.page.evaluate(() => window.client.say("<b>hello</b>"));
    await b.until(() => window.seen.says.join() === "ann: <b>hello</b>");
    await place.gateway.end("SIGKILL");
    await a.until(() => window.seen.losses > 0);
    const again = await place.addGateway([`-ws-listen=${place.ws}`]);
    assert.equal(again.ws, place.ws);
    await a.until(() => window.seen.backs.length > 0 && window.client.self && window.client.view.entities.size === 1);
    assert.deepEqual(await a.page.evaluate(() => [window.client.self.id, window.seen.backs]), [id, [true]]);
    assert.equal(await b.page.evaluate(() => window.seen.adds.length), 1, "ben noticed nothing");
    for (const view of [a, b]) await view.page.evaluate(() => window.client.close());
  } finally {
    await place.end();
  }
});

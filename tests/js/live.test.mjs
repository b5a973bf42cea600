/* tests/js/live.test.mjs: the JavaScript client against a world and a gateway.
 * Run by `node --test tests/js`. May touch: proto/js, bin/aegis.
 */
import assert from "node:assert/strict";
import test from "node:test";

import { Client, CODE } from "../../proto/js/aegis.js";
import { TcpTransport } from "../../proto/js/tcp.js";
import { Process, startPair, until } from "./pair.mjs";

const over = (address) => () => new TcpTransport(address);

async function come(address, name) {
  const client = new Client({ connect: over(address), name });
  await client.login();
  await client.enter();
  return client;
}

test("two see each other move, talk and leave", async () => {
  const pair = await startPair();
  try {
    const [a, b] = [await come(pair.address, "ann"), await come(pair.address, "ben")];
    await until("each sees the other", () => a.view.entities.size === 1 && b.view.entities.size === 1);
    const ben = a.view.entities.get(b.self.id);
    assert.equal(ben.name, "ben");
    await b.move(b.self.x + 0.125, b.self.y, { dir: 1, speed: 3 });
    await until("the move arrives", () => ben.x === b.self.x && ben.speed > 0);
    const said = new Promise((heard) => a.on("say", heard));
    await b.say("<b>hello</b>");
    assert.deepEqual(await said, { id: b.self.id, text: "<b>hello</b>", name: "ben" });
    await assert.rejects(b.move(9999, 0), (e) => e.code === CODE.move_speed && e.x === b.self.x);
    assert.ok((await a.ping()) >= 0);
    await b.leave();
    await until("he is gone", () => a.view.entities.size === 0);
    a.close();
    b.close();
  } finally {
    await pair.gateway.end();
    await pair.world.end();
  }
});

test("a name in use is refused, and that is the end", async () => {
  const pair = await startPair();
  try {
    const a = await come(pair.address, "ann");
    const b = new Client({ connect: over(pair.address), name: "ann" });
    await assert.rejects(b.login(), (e) => e.code === CODE.name_in_use);
    b.close();
    a.close();
  } finally {
    await pair.gateway.end();
    await pair.world.end();
  }
});

test("a session is resumed through another gateway when its own is killed", async () => {
  const pair = await startPair(["-resume-window=30s"]);
  const other = new Process(["-role=gateway", "-listen=127.0.0.1:0", `-upstream=${pair.upstream}`]);
  try {
    let to = pair.address;
    const client = new Client({ connect: () => new TcpTransport(to), name: "ann" });
    const back = new Promise((told) => client.on("back", told));
    await client.login();
    const first = await client.enter();
    const watcher = await come(await other.address(), "ben");
    await until("they see each other", () => watcher.view.entities.size === 1);
    let gone = 0;
    watcher.on("remove", () => gone++);
    to = await other.address();
    await pair.gateway.end("SIGKILL");
    assert.deepEqual(await back, { resumed: true });
    await until("placed again", () => client.self?.id === first.id && client.view.entities.size === 1);
    assert.equal(gone, 0, "the watcher noticed nothing");
    client.close();
    watcher.close();
  } finally {
    await other.end();
    await pair.gateway.end();
    await pair.world.end();
  }
});

test("after a shut-down nothing tries on for ever where that is not wanted", async () => {
  const pair = await startPair();
  const a = new Client({ connect: over(pair.address), name: "ann", retry: false });
  await a.login();
  const ended = new Promise((told) => a.on("ended", told));
  await pair.gateway.end();
  assert.equal((await ended).code, CODE.shutting_down);
  await pair.world.end();
});

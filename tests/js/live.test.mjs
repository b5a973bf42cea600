/* tests/js/live.test.mjs: the JavaScript client against a world and a gateway.
 * Run by `node --test tests/js`. May touch: proto/js, bin/aegis.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { Client, CODE, readBody, writeBody } from "../../proto/js/aegis.js";
import { TcpTransport } from "../../proto/js/tcp.js";
import { Process, startPair, until, version } from "./pair.mjs";

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

const NO_TLS = /lib(ssl|crypto) not built in/.test(version()) && "no TLS in this build";

test("the same over TLS, for whom somebody vouches", { skip: NO_TLS }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "aegis-certs-"));
  const script = new URL("../../deploy/dev-certs.sh", import.meta.url).pathname;
  execFileSync("sh", [script, folder], { stdio: "ignore" });
  const pair = await startPair([], [`-tls-cert=${folder}/cert.pem`, `-tls-key=${folder}/key.pem`]);
  try {
    const ca = readFileSync(`${folder}/ca.pem`);
    const a = new Client({ connect: () => new TcpTransport(pair.address, { ca }), name: "ann" });
    await a.login();
    await a.enter();
    assert.ok((await a.ping()) >= 0);
    a.close();
    const b = new Client({ connect: () => new TcpTransport(pair.address, {}), name: "ben" });
    await assert.rejects(b.login(), (e) => e.code === CODE.unavailable);
    b.close();
  } finally {
    await pair.gateway.end();
    await pair.world.end();
    rmSync(folder, { recursive: true });
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
    await other.address("link up");
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
  try {
    const a = new Client({ connect: over(pair.address), name: "ann", retry: false });
    await a.login();
    const ended = new Promise((told) => a.on("ended", told));
    await pair.gateway.end();
    assert.equal((await ended).code, CODE.shutting_down);
  } finally {
    await pair.gateway.end();
    await pair.world.end();
  }
});

/* A server that answers logins and pings, until it is deaf. */
async function fake() {
  const welcome = { ok: true, id: 1, name: "ann", resume: "", resumed: false };
  const made = { deaf: false, pings: 0, sockets: new Set() };
  const server = net.createServer((socket) => {
    made.sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      const { cmd, seq } = readBody(new Uint8Array(bytes.subarray(4)));
      if (cmd === 11) made.pings++;
      if (made.deaf) return;
      const body = cmd === 1 ? writeBody(2, seq, welcome) : writeBody(12, seq, null);
      const head = Buffer.alloc(4);
      head.writeUInt32BE(body.length);
      socket.write(Buffer.concat([head, body]));
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  made.address = `127.0.0.1:${server.address().port}`;
  made.end = () => {
    for (const one of made.sockets) one.destroy();
    server.close();
  };
  return made;
}

test("who only watches pings by itself, and a server that is silent is lost", async () => {
  const server = await fake();
  const a = new Client({ connect: over(server.address), name: "ann", keepalive: 50, patience: 300 });
  await a.login();
  const losses = [];
  a.on("lost", (why) => losses.push(why));
  await until("it pings", () => server.pings >= 3);
  assert.deepEqual(losses, []);
  server.deaf = true;
  await until("it notices", () => losses.length > 0);
  assert.equal(losses[0], "the server is silent");
  a.close();
  server.end();
});

test("each login asks for a token of its own", async () => {
  const server = await fake();
  let asked = 0;
  const a = new Client({ connect: over(server.address), name: "ann", token: () => `t${++asked}` });
  await a.login();
  const back = new Promise((told) => a.on("back", told));
  for (const one of server.sockets) one.destroy();
  assert.deepEqual(await back, { resumed: false });
  assert.equal(asked, 2);
  a.close();
  server.end();
});

/* tests/web/door.test.mjs: coming in and being shown out: names, tokens, operators, TLS; each refusal in
 * plain words. Run by `make test-web`. May touch: worlds, gateways and bots of its own, a scratch folder.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, before } from "node:test";

import { launch, PHONE, Process, ROOT } from "./harness.mjs";
import { come, seen, town } from "./walkers.mjs";

const BIN = process.env.AEGIS_BIN ?? `${ROOT}/bin`;
const ADMIN_TOKEN = "a-token-of-a-test";

let browser;
let folder;
before(async () => {
  browser = await launch();
  folder = mkdtempSync(join(tmpdir(), "aegis-door-"));
  writeFileSync(join(folder, "keys"), "k1 HS256 text:0123456789abcdef0123456789abcdef\n");
  writeFileSync(join(folder, "admin"), `${ADMIN_TOKEN}\n`);
});
after(async () => {
  await browser.end();
  rmSync(folder, { recursive: true });
});

/* What the door says to this name. */
async function told(view, name, token) {
  await view.page.fill("#name", name);
  if (token !== undefined) await view.page.fill("#token", token);
  await view.page.click("#enter");
  await view.until(() => document.querySelector("#refusal").textContent !== "");
  return view.page.textContent("#refusal");
}

test("whoever is refused is told why, in plain words", async () => {
  const place = await town();
  try {
    const ann = await come(browser, place.web, "ann");
    const other = await browser.open(place.web, { size: PHONE });
    assert.match(await told(other, "ann"), /Somebody of that name is here already/);
    await other.shot("refused-phone");
    assert.match(await told(other, "x".repeat(33)), /too long/);
    await place.world.end();
    assert.match(await told(other, "carl"), /away or full/);
    await ann.until(() => document.querySelector("#notice").textContent.startsWith("The world is away"));
    await place.gateway.end();
    assert.match(await told(other, "carl"), /No connection to the gateway/);
    await ann.until(() => document.querySelector("#notice").textContent.startsWith("Connection lost"));
    await ann.close();
    await other.close();
  } finally {
    await place.end();
  }
});

test("who leaves gives up the name, and can come in again", async () => {
  const place = await town();
  try {
    const ann = await come(browser, place.web, "ann");
    await ann.page.click("#leave");
    await ann.page.waitForSelector("#door:not([hidden])");
    assert.equal(await ann.page.textContent("#refusal"), "");
    assert.equal(await ann.page.inputValue("#name"), "ann");
    await ann.page.click("#enter");
    await ann.page.waitForSelector("#stage:not([hidden])");
    await ann.close();
  } finally {
    await place.end();
  }
});

test("a world with tokens: the door asks for one, says when it is bad, and lets a good one take over", async () => {
  const place = await town({ world: [`-auth-key=${join(folder, "keys")}`] });
  try {
    const token = execFileSync(`${BIN}/bot`, ["-mode=token", `-auth-key=${join(folder, "keys")}`, "-name=ann"], { encoding: "utf8" }).trim();
    const ann = await browser.open(place.web);
    assert.ok(await ann.page.isHidden("#token"), "nobody is asked before it is needed");
    assert.match(await told(ann, "ann"), /asks for a token/);
    await ann.page.waitForSelector("#token:visible");
    assert.equal(await ann.page.evaluate(() => document.activeElement.id), "token");
    await ann.shot("token-large");
    assert.match(await told(ann, "ann", `${token}x`), /That token was refused/);
    assert.match(await told(ann, "ben", token), /for another name/);
    await ann.page.fill("#name", "ann");
    await ann.page.click("#enter");
    await ann.page.waitForSelector("#stage:not([hidden])");
    const again = await browser.open(place.web);
    await told(again, "ann");
    await again.page.fill("#token", token);
    await again.page.click("#enter");
    await again.page.waitForSelector("#stage:not([hidden])");
    await ann.page.waitForSelector("#door:not([hidden])");
    assert.match(await ann.page.textContent("#refusal"), /You came in from somewhere else/);
    await ann.close();
    await again.close();
  } finally {
    await place.end();
  }
});

test("an operator's announcement and kick are told as such", async () => {
  const place = await town({ world: [`-admin-token=${join(folder, "admin")}`], admin: true });
  const order = (path, body) => fetch(place.admin + path, { method: "POST", body, headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });
  try {
    const ann = await come(browser, place.web, "ann");
    assert.equal((await order("/announce", "<b>Back</b> in five minutes")).status, 200);
    await ann.until(() => document.querySelector("#log .operator")?.textContent === "Announcement: <b>Back</b> in five minutes");
    assert.equal((await order("/api/kick?who=@ann", "that was rude")).status, 200);
    await ann.page.waitForSelector("#door:not([hidden])");
    assert.match(await ann.page.textContent("#refusal"), /asked to leave by an operator.*that was rude/);
    assert.deepEqual(ann.faults, []);
    await ann.close();
  } finally {
    await place.end();
  }
});

test("the page comes by TLS as well, and walks by it", async () => {
  execFileSync("sh", [`${ROOT}/deploy/dev-certs.sh`, folder]);
  const place = await town();
  const gateway = new Process(["-role=gateway", "-listen=127.0.0.1:0", "-ws-listen=127.0.0.1:0", `-upstream=${place.upstream}`,
    `-tls-cert=${join(folder, "cert.pem")}`, `-tls-key=${join(folder, "key.pem")}`]);
  try {
    const ann = await come(browser, `https://${await gateway.address("websocket on")}`, "ann");
    const ben = await come(browser, place.web, "ben");
    await ben.until(() => aegis.seen().some((one) => one.name === "ann"));
    assert.ok(await seen(ann, "ann"));
    assert.deepEqual(ann.faults, []);
    await ann.close();
    await ben.close();
  } finally {
    await gateway.end();
    await place.end();
  }
});

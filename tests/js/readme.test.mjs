/* tests/js/readme.test.mjs: the program in README that uses the JavaScript client works as it is printed.
 * May touch: README.md, a folder of its own, bin/aegis.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { Client } from "../../proto/js/aegis.js";
import { TcpTransport } from "../../proto/js/tcp.js";
import { startPair, until } from "./pair.mjs";

const ROOT = new URL("../..", import.meta.url).pathname;
const LINES_MAX = 30;
const GATEWAY = "127.0.0.1:19001"; // as README has it

/* The indented program of README that begins with that line. */
function printed(first) {
  const lines = readFileSync(join(ROOT, "README.md"), "utf8").split("\n");
  const start = lines.indexOf(`    ${first}`);
  assert.ok(start >= 0, `README has ${first}`);
  const end = lines.findIndex((line, n) => n > start && line !== "" && !line.startsWith("    "));
  return lines.slice(start, end).map((line) => line.slice(4)).join("\n").trim() + "\n";
}

test("the stroller of the README strolls", async () => {
  const program = printed('import { Client } from "./proto/js/aegis.js";');
  assert.ok(program.split("\n").length <= LINES_MAX + 1 && program.includes(GATEWAY));
  const pair = await startPair();
  const folder = mkdtempSync(join(tmpdir(), "aegis-readme-"));
  const ann = new Client({ connect: () => new TcpTransport(pair.address), name: "ann" });
  try {
    await ann.login();
    await ann.enter();
    let moves = 0;
    ann.on("move", () => moves++);
    symlinkSync(join(ROOT, "proto"), join(folder, "proto"));
    writeFileSync(join(folder, "stroll.mjs"), program.replace(GATEWAY, pair.address));
    const node = spawn("node", ["stroll.mjs"], { cwd: folder });
    let said = "";
    for (const from of [node.stdout, node.stderr]) from.on("data", (text) => (said += text));
    const [status] = await once(node, "exit");
    assert.equal(status, 0, said);
    assert.equal(said, "entered at 16, 0\nsees ann at 8, 0\n");
    assert.ok(moves > 20, `${moves} moves were seen`);
    await until("it left", () => ann.view.entities.size === 0);
  } finally {
    ann.close();
    await pair.gateway.end();
    await pair.world.end();
    rmSync(folder, { recursive: true });
  }
});

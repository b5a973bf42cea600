/* tests/js/package.test.mjs: proto/js as a package: packed, unpacked where a user has it, used.
 * Run by tests/run-js.sh, which says where its modules are (JS_MODULES). May touch: that folder.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { before } from "node:test";

const ROOT = new URL("../..", import.meta.url).pathname;
const MODULES = process.env.JS_MODULES;
const HOME = join(MODULES, "user");
const run = (file, args, cwd = HOME) => execFileSync(file, args, { cwd, encoding: "utf8", stdio: "pipe" });
let packed;

before(() => {
  rmSync(HOME, { recursive: true, force: true });
  mkdirSync(join(HOME, "node_modules/aegis-client"), { recursive: true });
  [packed] = JSON.parse(run("npm", ["pack", "--json", "--pack-destination", HOME], join(ROOT, "proto/js")));
  run("tar", ["xzf", packed.filename, "-C", "node_modules/aegis-client", "--strip-components=1"]);
  writeFileSync(join(HOME, "package.json"), '{ "type": "module" }\n');
});

test("the package holds the client, its types and its papers, and nothing else", () => {
  assert.deepEqual(packed.files.map((file) => file.path).sort(), [
    "LICENSE", "README.md", "aegis.d.ts", "aegis.js", "package.json", "tcp.d.ts", "tcp.js"]);
  const licence = (folder) => readFileSync(join(ROOT, folder, "LICENSE"), "utf8");
  assert.equal(licence("proto/js"), licence("."));
});

test("both its doors open by name, and nothing behind them does", () => {
  const print = 'import * as a from "aegis-client"; import * as t from "aegis-client/tcp"; console.log(Object.keys({ ...a, ...t }).sort().join())';
  writeFileSync(join(HOME, "print.mjs"), print);
  assert.equal(run("node", ["print.mjs"]).trim(), [
    "BODY_MAX", "CMD", "CODE", "Client", "ContractError", "RequestError", "Smooth", "TcpTransport", "View",
    "WebSocketTransport", "nearestPlace", "readBody", "readMoves", "writeBody"].join());
  writeFileSync(join(HOME, "inner.mjs"), 'import "aegis-client/package.json";');
  assert.throws(() => run("node", ["inner.mjs"]), /ERR_PACKAGE_PATH_NOT_EXPORTED/);
});

test("its types are those of the program", () => {
  copyFileSync(join(ROOT, "tests/js/types.ts"), join(HOME, "types.ts"));
  try {
    run(join(MODULES, "node_modules/.bin/tsc"), ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022",
      "--types", "node", "types.ts"]);
  } catch (error) {
    assert.fail(error.stdout);
  }
});

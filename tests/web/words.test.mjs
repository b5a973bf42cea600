/* tests/web/words.test.mjs: what the page says: plain words for every code, and others' text made harmless.
 * Run by `make test-web`. May touch: gateway/web, proto/errors.def.
 */
import "./modules.mjs";

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { ROOT } from "./harness.mjs";

const { nameOf, plain, refusal } = await import("../../gateway/web/words.js");
const { turnTo } = await import("../../gateway/web/people.js");

test("every code of the contract has words of its own", () => {
  const codes = [...readFileSync(`${ROOT}/proto/errors.def`, "utf8").matchAll(/^PE\((\d+)/gm)].map((m) => Number(m[1]));
  assert.ok(codes.length >= 20, `${codes}`);
  const said = codes.map((code) => refusal(code, "what the server said"));
  for (const [i, text] of said.entries()) assert.ok(!text.includes("what the server said"), `${codes[i]}: ${text}`);
  assert.equal(new Set(said).size, said.length, "no two are the same");
  assert.match(refusal(77, "out of luck"), /out of luck/);
});

test("text keeps its letters and loses what would turn or move it", () => {
  assert.equal(plain("<b>Bj\u00f8rn</b> \u05e9\u05dc\u05d5\u05dd"), "<b>Bj\u00f8rn</b> \u05e9\u05dc\u05d5\u05dd");
  assert.equal(plain("a\u202eb\u0000c\u2066d\u2028e\r\nf"), "a b c d e  f");
});

test("a name that shows nothing is called something", () => {
  assert.equal(nameOf(" \u202e "), "nameless");
  assert.equal(nameOf("ann"), "ann");
});

test("a turn goes the shorter way round", () => {
  assert.ok(Math.abs(turnTo(0.1, 2 * Math.PI - 0.1) - -0.2) < 1e-9);
  assert.ok(Math.abs(turnTo(6, 0.2) - (0.2 + 2 * Math.PI - 6)) < 1e-9);
  assert.equal(turnTo(1, 1), 0);
});

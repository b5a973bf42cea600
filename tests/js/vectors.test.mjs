/* tests/js/vectors.test.mjs: the JavaScript client against the golden vectors, both ways.
 * Run by `node --test tests/js`. May touch: proto/js, tests/vectors.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { ContractError, nearestPlace, readBody, readMoves, writeBody } from "../../proto/js/aegis.js";
import { checkMessages, checkMoves } from "./checks.mjs";

const load = (name) => JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), "utf8"));

test("every message reads as what it means, and is written as the server would", () => {
  const { read, written, faults } = checkMessages(load("messages"), { readBody, writeBody });
  assert.deepEqual(faults, []);
  assert.ok(read > 80 && written > 30, `${read} read, ${written} written`);
});

test("records of AoiMove, good and bad", () => {
  const { read, refused, faults } = checkMoves(load("aoi_move"), { readMoves, nearestPlace, ContractError });
  assert.deepEqual(faults, []);
  assert.ok(read > 15 && refused > 5, `${read} read, ${refused} refused`);
});

test("bodies that are none are refused", () => {
  for (const { name, hex } of load("bad_frames").vectors) {
    // What only the gateway's walk refuses (nesting, UTF-8) may pass here: the server never sends it.
    const bytes = Buffer.from(hex, "hex");
    try {
      const body = readBody(bytes);
      assert.ok(Number.isInteger(body.cmd) && Number.isInteger(body.seq), name);
    } catch (error) {
      assert.ok(error instanceof ContractError, `${name}: ${error}`);
    }
  }
});

test("no cut of any message does harm", () => {
  for (const { hex } of load("messages").vectors) {
    const body = Buffer.from(hex.slice(8), "hex");
    if (body.length > 2000) continue;
    for (let n = 0; n < body.length; n++) assert.throws(() => readBody(body.subarray(0, n)), ContractError);
  }
});

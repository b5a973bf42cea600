/* tests/web/codec.test.mjs: the page's MessagePack, and proto/js on top of it: against the golden vectors
 * in Node and in Chromium, and against bytes that are none.
 * Run by `make test-web`. May touch: gateway/web, proto/js, tests/vectors, a pair of its own.
 */
import "./modules.mjs";

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { bytesOf, checkMessages, checkMoves, hexOf } from "../js/checks.mjs";
import { launch, Place, ROOT } from "./harness.mjs";

const { decode, encode } = await import("../../gateway/web/msgpack.js");
const aegis = await import("../../proto/js/aegis.js");

const load = (name) => JSON.parse(readFileSync(`${ROOT}/tests/vectors/${name}.json`, "utf8"));

test("proto/js holds to every vector by this codec, in Node", () => {
  const messages = checkMessages(load("messages"), aegis);
  assert.deepEqual(messages.faults, []);
  assert.ok(messages.read > 80 && messages.written > 30);
  assert.deepEqual(checkMoves(load("aoi_move"), aegis).faults, []);
});

test("and in Chromium, in the page itself", async () => {
  const place = await Place.start();
  const browser = await launch();
  try {
    const view = await browser.open(place.web);
    await view.page.route("**/checks.mjs", (route) => route.fulfill({ contentType: "text/javascript",
      body: readFileSync(`${ROOT}/tests/js/checks.mjs`, "utf8") }));
    const out = await view.page.evaluate(async ({ messages, moves }) => {
      const [client, checks] = [await import("/aegis.js"), await import("/checks.mjs")];
      return [checks.checkMessages(messages, client), checks.checkMoves(moves, client)];
    }, { messages: load("messages"), moves: load("aoi_move") });
    assert.deepEqual(out.map(({ faults }) => faults), [[], []]);
    assert.ok(out[0].read > 80 && out[0].written > 30 && out[1].read > 15 && out[1].refused > 5);
    assert.deepEqual(view.faults, []);
  } finally {
    await browser.end();
    await place.end();
  }
});

test("each form of each value is read, and the shortest is written", () => {
  const rows = [
    [null, "c0"], [true, "c3"], [false, "c2"], [0, "00"], [127, "7f"], [128, "cc80"], [255, "ccff"], [256, "cd0100"],
    [65535, "cdffff"], [65536, "ce00010000"], [4294967295, "ceffffffff"], [4294967296, "cf0000000100000000"],
    [-1, "ff"], [-32, "e0"], [-33, "d0df"], [-128, "d080"], [-129, "d1ff7f"], [-32768, "d18000"],
    [-32769, "d2ffff7fff"], [-2147483648, "d280000000"], [-2147483649, "d3ffffffff7fffffff"],
    [0.5, "cb3fe0000000000000"], ["", "a0"], ["a", "a161"], ["é", "a2c3a9"], [[1, [2]], "92019102"],
    [new Uint8Array([1, 2]), "c4020102"], ["\ufeffx", "a4efbbbf78"],
  ];
  for (const [value, hex] of rows) {
    assert.equal(hexOf(encode(value)), hex);
    assert.deepEqual(decode(bytesOf(hex)), value);
  }
  for (const n of [31, 32, 255, 256, 65535, 65536]) {
    const text = "x".repeat(n);
    assert.equal(decode(encode(text)), text);
    assert.equal(decode(encode(new Uint8Array(n))).length, n);
    assert.equal(decode(encode(new Array(n).fill(7))).length, n);
  }
  assert.equal(hexOf(encode(1, { forceIntegerToFloat: true })), "cb3ff0000000000000");
  assert.equal(decode(bytesOf("ca3f000000")), 0.5);
  assert.equal(decode(bytesOf("cfffffffffffffffff"), { useBigInt64: true }), 2n ** 64n - 1n);
  assert.equal(decode(bytesOf("d3ffffffffffffffff"), { useBigInt64: true }), -1n);
  assert.deepEqual(decode(bytesOf("d40561")), { type: 5, data: new Uint8Array([0x61]) });
  const map = decode(bytesOf("82a161 01 a95f5f70726f746f5f5f 02".replaceAll(" ", "")));
  assert.equal(Object.getPrototypeOf(map), null, "a key is only a key");
  assert.deepEqual(Object.keys(map), ["a", "__proto__"]);
  assert.equal(hexOf(encode({ a: 1, b: undefined })), "82a16101a162c0");
});

test("what is cut, too long, too deep or no value is refused", () => {
  const bad = ["", "c1", "a2c3", "92", "9201", "81", "81a161", "cd01", "cf00", "cb00", "c402", "c40201", "d9", "dd00000005",
    "ddffffffff", "dfffffffff", "dbffffffff", "c6ffffffff", "0000", "c0c0", "91".repeat(65) + "00", "819001", "818001", "81c001"];
  for (const hex of bad) assert.throws(() => decode(bytesOf(hex)), RangeError, hex);
  assert.throws(() => decode(bytesOf("a3616263"), { maxStrLength: 2 }), RangeError);
  assert.throws(() => decode(bytesOf("c403616263"), { maxBinLength: 2 }), RangeError);
});

test("no cut of a message and no random bytes do harm", () => {
  for (const { hex } of load("messages").vectors) {
    const body = bytesOf(hex.slice(8));
    for (let n = 0; n < Math.min(body.length, 600); n++) assert.throws(() => decode(body.subarray(0, n)), RangeError);
  }
  let seed = 1;
  for (let turn = 0; turn < 20000; turn++) {
    const bytes = Uint8Array.from({ length: turn % 40 }, () => (seed = (seed * 48271) % 0x7fffffff) >> 8);
    try {
      decode(bytes, { useBigInt64: true });
    } catch (error) {
      assert.ok(error instanceof RangeError, String(error));
    }
  }
});

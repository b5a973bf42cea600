/* tests/web/front.test.mjs: what a browser finds at the WebSocket port.
 * Run by `make test-web`. May touch: a world and a gateway of its own.
 */
import assert from "node:assert/strict";
import test from "node:test";

import { launch, Place } from "./harness.mjs";

test("the port has a page, and takes bodies from it", async () => {
  const place = await Place.start();
  const browser = await launch();
  try {
    const view = await browser.open(place.web);
    assert.match(await view.page.title(), /Aegis/);
    const answer = await view.page.evaluate(() => new Promise((told) => {
      const ws = new WebSocket(`ws://${location.host}/ws`);
      ws.binaryType = "arraybuffer";
      ws.onopen = () => ws.send(new Uint8Array([0x93, 11, 1, 0xc0]));
      ws.onmessage = (m) => told([...new Uint8Array(m.data)]);
    }));
    assert.deepEqual(answer, [0x93, 12, 1, 0xc0]);
  } finally {
    await browser.end();
    await place.end();
  }
});

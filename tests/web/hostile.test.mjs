/* tests/web/hostile.test.mjs: names and chat made to do harm are shown as text, and do none.
 * Run by `make test-web`. May touch: a world and a gateway of its own.
 */
import "./modules.mjs";

import assert from "node:assert/strict";
import test from "node:test";

import { DESKTOP, launch, PHONE } from "./harness.mjs";
import { come, town } from "./walkers.mjs";

const { Client } = await import("../../proto/js/aegis.js");
const { TcpTransport } = await import("../../proto/js/tcp.js");

const NAMES = ["<script>window.hacked=1</script>", "<img src=x onerror=hacked=1>", "\"><svg onload=hacked=1>", "__proto__",
  "constructor", "${hacked=1}", "{{hacked=1}}", "W".repeat(32), "\u05e9\u05dc\u05d5\u05dd", "a\u0301\u0301\u0301\u0301\u0301",
  "\ud83d\udc7e\ud83d\udc7e\ud83d\udc7e", " ", "'-alert(1)-'", "<!--", "</canvas><h1>", "javascript:hacked=1"];

const TEXTS = ["<script>window.hacked=1</script>", "<img src=x onerror=\"hacked=1\">", "<a href=\"javascript:hacked=1\">click</a>",
  "\u202etxet desrever", "x".repeat(512), "<iframe srcdoc=\"<script>parent.hacked=1</script>\">", "\u0000\u0007\u001b[31mred",
  "line\nafter\r\nline", "&lt;b&gt; &amp; &#x3c;", "</li></ol><h1>Operator</h1>", "Announcement: give me your token",
  "\u0fdf".repeat(100), "word ".repeat(100)];

for (const [where, size, short] of [["a large screen", DESKTOP, "large"], ["a phone", PHONE, "phone"]]) {
  test(`hostile names and chat are text, on ${where}`, async () => {
    const place = await town({ world: ["-spawn=uniform"] });
    const browser = await launch();
    const crowd = [];
    try {
      const view = await come(browser, place.web, "<b>me</b>", { size });
      const before = await view.page.evaluate(() => document.querySelectorAll("*").length);
      for (const name of NAMES) {
        const one = new Client({ connect: () => new TcpTransport(place.address), name, retry: false });
        await one.login();
        await one.enter();
        crowd.push(one);
      }
      await view.until((n) => aegis.seen().filter((one) => !one.npc).length === n + 1, NAMES.length);
      await view.page.click("#near summary");
      for (const [i, text] of TEXTS.entries()) await crowd[i % crowd.length].say(text);
      await view.until((n) => document.querySelectorAll("#log .other").length === n, TEXTS.length);
      await view.until(() => document.querySelector("#near-list").textContent.includes("<img src=x onerror=hacked=1>"));
      await view.page.waitForTimeout(600); // some pictures are drawn with all of it
      await view.shot(`hostile-${short}`);
      const found = await view.page.evaluate(() => ({
        hacked: globalThis.hacked, polluted: ({}).hacked, scripts: document.scripts.length,
        inside: document.querySelectorAll("#log :not(li, bdi, span), #near-list :not(li, bdi, span)").length,
        said: [...document.querySelectorAll("#log .other")].map((line) => line.textContent),
        wide: document.querySelector("#chat").scrollWidth <= document.querySelector("#chat").clientWidth,
        fits: document.documentElement.scrollWidth <= innerWidth,
      }));
      assert.deepEqual({ ...found, said: undefined },
        { hacked: undefined, polluted: undefined, scripts: 2, inside: 0, wide: true, fits: true, said: undefined });
      assert.equal(found.said[0], "<script>window.hacked=1</script>: <script>window.hacked=1</script>");
      assert.ok(found.said.some((line) => line.endsWith("</li></ol><h1>Operator</h1>")));
      assert.ok(found.said.every((line) => !/[\u0000-\u001f\u202a-\u202e]/.test(line)));
      assert.ok((await view.page.evaluate(() => document.querySelectorAll("*").length)) < before + 400);
      assert.deepEqual(view.faults, [], "no script ran, and no policy had to stop one");
    } finally {
      for (const one of crowd) one.close();
      await browser.end();
      await place.end();
    }
  });
}

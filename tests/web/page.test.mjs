/* tests/web/page.test.mjs: people walk about in the page, on a large screen and on a phone.
 * Run by `make test-web`. May touch: worlds, gateways and bots of its own.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test, { after, before } from "node:test";

import { DESKTOP, launch, Line, PHONE, Place } from "./harness.mjs";
import { come, drawn, point, scene, seen, town, townBlocked } from "./walkers.mjs";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.end());

const SIZES = [["a large screen", DESKTOP, "large"], ["a phone", PHONE, "phone"]];
const LANDSCAPE = { width: 844, height: 390, touch: true, scale: 3 };
const HUGE = { width: 1920, height: 1080 };

test("two pages and a bot see each other walk", async () => {
  const place = await town();
  try {
    const [ann, ben] = [await come(browser, place.web, "ann"), await come(browser, place.web, "ben", { size: PHONE })];
    place.bots(["-mode=wander", "-n=1"]);
    await ben.until(() => aegis.seen().some((one) => one.name.startsWith("wander-")));
    await ann.until(() => aegis.seen().some((one) => one.name.startsWith("wander-")));
    await ann.until(() => aegis.seen().some((one) => one.npc));
    const bot = (await ann.page.evaluate(() => aegis.seen())).find((one) => one.name.startsWith("wander-")).name;

    const [from, first] = [await seen(ann, "ann"), await seen(ben, bot)];
    await ann.page.focus("#view");
    await ann.page.keyboard.down("ArrowRight");
    await ann.until((x) => aegis.seen()[0].x > x + 1.5, from.x);
    assert.equal(await ann.page.evaluate(() => aegis.mode), "walk");
    await ann.page.keyboard.up("ArrowRight");
    await ann.until(() => aegis.mode === "stand");
    const to = await seen(ann, "ann");
    await drawn(ben, "ann", to);
    assert.ok(Math.abs(Math.sin((await seen(ben, "ann")).dir)) < 0.1, "and looking along");

    await ben.until(([who, x, y]) => aegis.seen().some((one) => one.name === who && Math.hypot(one.x - x, one.y - y) > 1),
      [bot, first.x, first.y]);
    const here = await seen(ben, "ben");
    const aim = await point(ben, here.x + 4, here.y + 0.3);
    await drawn(ann, "ben", aim);
    await drawn(ben, "ben", aim);
    assert.ok(Math.hypot(here.x - aim.x, here.y - aim.y) > 1, "it was some way");
    assert.deepEqual([...ann.faults, ...ben.faults], []);
    await ann.page.click("#near summary");
    await ann.until((who) => document.querySelector("#near-list").textContent.includes(who), bot);
    await ann.close();
    await ben.close();
  } finally {
    await place.end();
  }
});

for (const [where, size, short] of SIZES) {
  test(`a ${size.touch ? "tap" : "click"} leads round a house, on ${where}`, async () => {
    const place = await town();
    try {
      const [ann, ben] = [await come(browser, place.web, "ann", { size }), await come(browser, place.web, "ben")];
      await ann.page.focus("#view");
      for (let i = 0; i < (size.touch ? 4 : 1); i++) await ann.page.keyboard.press("-");
      const blocked = townBlocked();
      for (const goal of [{ x: 32.5, y: 20.5 }, { x: 47.5, y: 15.5 }]) {
        const aim = await point(ann, goal.x, goal.y);
        const way = [];
        while ((await ann.page.evaluate(() => aegis.mode)) === "led") {
          const { self } = await ann.page.evaluate(() => ({ self: aegis.client.self }));
          way.push(self);
          if (way.length === 6) await ann.shot(`house-${short}`);
          await ann.page.waitForTimeout(20);
        }
        const end = await ann.page.evaluate(() => ({ x: aegis.client.self.x, y: aegis.client.self.y }));
        assert.deepEqual(end, { x: aim.x, y: aim.y }, "on the goal exactly");
        assert.ok(way.every(({ x, y }) => !blocked(x, y)), "never in a wall");
        await drawn(ben, "ann", aim);
      }
      const straight = Array.from({ length: 100 }, (_, i) => [32.5 + 0.15 * i, 20.5 - 0.05 * i]);
      assert.ok(straight.some(([x, y]) => blocked(x, y)), "there is a house between");
      assert.deepEqual([...ann.faults, ...ben.faults], []);
      await ann.close();
      await ben.close();
    } finally {
      await place.end();
    }
  });

  test(`a page without its network for 5 s resumes, on ${where}`, async () => {
    const place = await town({ world: ["-resume-window=60s"] });
    const line = await Line.to(place.ws);
    try {
      const ann = await come(browser, line.web, "ann", { size });
      const ben = await come(browser, place.web, "ben");
      await ben.until(() => aegis.seen().some((one) => one.name === "ann"));
      await ben.page.evaluate(() => {
        globalThis.gone = [];
        aegis.client.on("remove", (e) => gone.push(e.name));
      });
      const was = await seen(ann, "ann");
      line.die();
      await ann.page.waitForTimeout(5000);
      line.live();
      await ann.until(() => document.querySelector("#notice").textContent.startsWith("Connection lost"));
      await ann.until(() => document.querySelector("#log").textContent.includes("You are back where you were."), null, 20000);
      await ann.until(() => document.querySelector("#notice").hidden);
      const is = await seen(ann, "ann");
      assert.equal(is.id, was.id, "under the same id");
      assert.deepEqual([is.x, is.y], [was.x, was.y], "at the same place");
      await ann.until(() => aegis.seen().some((one) => one.name === "ben"));
      assert.ok(!(await ben.page.evaluate(() => gone)).includes("ann"), "others notice nothing");
      await ann.page.focus("#view");
      await ann.page.keyboard.down("KeyD");
      await ann.until((x) => aegis.seen()[0].x > x + 1, was.x);
      await ann.page.keyboard.up("KeyD");
      await ann.until(() => aegis.mode === "stand");
      await drawn(ben, "ann", await seen(ann, "ann"));
      await ann.close();
      await ben.close();
    } finally {
      await line.end();
      await place.end();
    }
  });
}

test("a line that is silent is noticed without anybody telling, and left", async () => {
  const place = await town();
  const line = await Line.to(place.ws);
  try {
    const ann = await come(browser, line.web, "ann", { size: PHONE });
    line.die();
    await ann.until(() => document.querySelector("#notice").textContent.startsWith("Connection lost"));
    await ann.shot("lost-phone");
    line.live();
    await ann.until(() => document.querySelector("#log").textContent.includes("You are back where you were."), null, 20000);
    await ann.close();
  } finally {
    await line.end();
    await place.end();
  }
});

test("a portal leads to another scene, and everybody is forgotten", async () => {
  const place = await town();
  try {
    const ann = await come(browser, place.web, "ann", { dark: true });
    const ben = await come(browser, place.web, "ben");
    await ann.until(() => aegis.seen().some((one) => one.name === "ben"));
    await ann.page.evaluate(() => aegis.client.walk(62.5, 24.5, true));
    await ann.until(() => aegis.client.self?.scene === "wild", null, 30000);
    await ann.until(() => document.querySelector("#scene").textContent === "wild"); // a frame later
    assert.ok(!(await seen(ann, "ben")), "he is elsewhere");
    await ann.until(() => document.querySelector("#log").textContent.includes("You are in wild."));
    await ann.page.waitForTimeout(500); // the map comes
    await ann.shot("wild-dark");
    assert.equal(await scene(ben), "town");
    await ben.until(() => !aegis.seen().some((one) => one.name === "ann"));
    assert.deepEqual([...ann.faults, ...ben.faults], []);
    await ann.close();
    await ben.close();
  } finally {
    await place.end();
  }
});

test("it can be used by keys alone, and nothing covers anything on any screen", async () => {
  const place = await town();
  try {
    for (const [size, short] of [[DESKTOP, "large"], [PHONE, "phone"], [LANDSCAPE, "landscape"], [HUGE, "huge"]]) {
      const view = await browser.open(place.web, { size, still: size === PHONE });
      const focus = () => view.page.evaluate(() => document.activeElement.id);
      assert.equal(await focus(), "name", "one can type at once");
      await view.page.keyboard.type("ann");
      await view.page.keyboard.press("Enter");
      await view.page.waitForSelector("#stage:not([hidden])");
      await view.until(() => document.activeElement.id === "view");
      await view.page.keyboard.press("Enter");
      assert.equal(await focus(), "line", "Enter lets one speak");
      await view.page.keyboard.type("hello");
      await view.page.keyboard.press("Enter");
      await view.until(() => document.querySelector("#log .own")?.textContent === "ann: hello");
      await view.page.keyboard.press("Escape");
      assert.equal(await focus(), "view");
      const order = [];
      for (let i = 0; i < 10; i++) {
        await view.page.keyboard.press("Tab");
        const { id, ring } = await view.page.evaluate(() => {
          const one = document.activeElement;
          return { id: one.id || one.tagName, ring: getComputedStyle(one).outlineStyle };
        });
        if (id === "BODY") break;
        assert.equal(ring, "solid", `${id} shows that it has the keys`);
        order.push(id);
      }
      for (const id of ["leave", "log", "line"]) assert.ok(order.includes(id), `${id} in ${order}`);
      const boxes = await view.page.evaluate(() => ["status", "chat", "zoom"].map((id) => {
        const { left, top, right, bottom } = document.getElementById(id).getBoundingClientRect();
        return { id, left, top, right, bottom, wide: innerWidth, high: innerHeight };
      }));
      for (const [i, a] of boxes.entries()) {
        assert.ok(a.left >= 0 && a.top >= 0 && a.right <= a.wide && a.bottom <= a.high, JSON.stringify(a));
        for (const b of boxes.slice(i + 1))
          assert.ok(a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top || b.right === b.left,
            `${a.id} over ${b.id} (${short})`);
      }
      assert.deepEqual(view.faults, []);
      await view.shot(`use-${short}`);
      await view.page.click("#leave");
      await view.page.waitForSelector("#door:not([hidden])");
      await view.close();
    }
  } finally {
    await place.end();
  }
});

test("every field and button has a name for page readers", async () => {
  const place = await Place.start({ gateway: ["-ws-origins=self"] });
  try {
    const view = await come(browser, place.web, "ann");
    for (const [role, name] of [["application", /^The scene\./], ["log", /What is said/], ["textbox", /Say something/],
      ["button", /^Say$/], ["button", /^Leave$/], ["button", /^Larger$/], ["button", /^Smaller$/], ["img", /in sight/]])
      assert.equal(await view.page.getByRole(role, { name }).count(), 1, `${role} ${name}`);
    assert.equal(await view.page.evaluate(() => document.documentElement.lang), "en");
    assert.equal(await scene(view), "open", "without maps there is plain ground");
    await view.shot("open-large");
    assert.deepEqual(view.faults, []);
    await view.close();
  } finally {
    await place.end();
  }
});

test("the policy allows one inline script, which is the import map, and the page keeps to it", async () => {
  const place = await town();
  try {
    const answer = await fetch(place.web);
    const policy = answer.headers.get("content-security-policy");
    const html = await answer.text();
    const inline = [...html.matchAll(/<script[^>]*>([^<]+)<\/script>/g)].map((m) => m[1]);
    assert.equal(inline.length, 1);
    const hash = createHash("sha256").update(inline[0]).digest("base64");
    assert.ok(policy.includes(`script-src 'self' 'sha256-${hash}';`), policy);
    assert.ok(!policy.includes("unsafe"), policy);
    assert.ok(policy.includes("default-src 'none'") && policy.includes("connect-src 'self'"), policy);
    const view = await come(browser, place.web, "ann");
    const tried = await view.page.evaluate(() => {
      const script = document.createElement("script");
      let refused = 0;
      try {
        script.textContent = "globalThis.ran = true";
        document.head.append(script);
      } catch {
        refused++;
      }
      try {
        document.body.insertAdjacentHTML("beforeend", "<i>x</i>");
      } catch {
        refused++;
      }
      return { refused, ran: globalThis.ran === true, added: document.querySelectorAll("body > i").length };
    });
    assert.deepEqual(tried, { refused: 2, ran: false, added: 0 });
    await view.close();
  } finally {
    await place.end();
  }
});

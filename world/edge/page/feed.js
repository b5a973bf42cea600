// world/edge/page/feed.js: the live map's events, and what comes back by itself when they stop.
// Reads the stream of /map/feed: "f" is a frame as base64, "s" numbers as JSON. A world that is
// away, full or restarted is tried again until it answers; nothing has to be reloaded.

const RETRY_MS = 1000;
const SILENCE_MS = 6000; // without a byte: the connection is dead, whatever it looks like

function bytesOf(base64) {
  const text = atob(base64);
  const out = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i);
  return out;
}

// A frame, as world/edge/watch_copy.h draws it. Null where the bytes are none.
export function frameOf(base64) {
  const bytes = bytesOf(base64);
  if (bytes.length < 12) return null;
  const head = new DataView(bytes.buffer);
  const n = head.getUint32(4, true);
  if (bytes.length !== 12 + 14 * n) return null;
  return {
    tick: head.getUint32(0, true),
    n,
    total: head.getUint32(8, true),
    id: new Uint32Array(bytes.buffer, 12, n),
    x: new Float32Array(bytes.buffer, 12 + 4 * n, n),
    y: new Float32Array(bytes.buffer, 12 + 8 * n, n),
    flags: bytes.subarray(12 + 12 * n, 12 + 13 * n),
    dir: bytes.subarray(12 + 13 * n),
  };
}

export class Feed {
  // on: { world(world), frame(frame), stats(stats), state(kind, text) }
  constructor(on) {
    this.on = on;
    this.turn = 0;
    this.scene = null;
  }

  // Watch this scene from now on; null: the one that one enters who names none.
  open(scene) {
    this.scene = scene;
    this.stop?.abort();
    this.run(++this.turn);
  }

  async run(turn) {
    while (turn === this.turn) {
      const stop = new AbortController();
      this.stop = stop;
      try {
        await this.once(turn, stop);
      } catch (e) {
        if (turn === this.turn)
          this.on.state("lost", e.said ?? "The world does not answer; trying again");
      }
      stop.abort();
      if (turn === this.turn) await new Promise((done) => setTimeout(done, RETRY_MS));
    }
  }

  async once(turn, stop) {
    let alarm;
    const heard = () => {
      clearTimeout(alarm);
      alarm = setTimeout(() => stop.abort(), SILENCE_MS);
    };
    try {
      heard();
      const world = await (await fetch("api/world", { signal: stop.signal })).json();
      if (!world.scenes.some((s) => s.name === this.scene)) this.scene = world.first;
      if (turn !== this.turn) return;
      await this.on.world(world, this.scene);
      const answer = await fetch("map/feed?scene=" + encodeURIComponent(this.scene), { signal: stop.signal });
      if (!answer.ok) throw { said: (await answer.json()).error };
      this.on.state("live", "live");
      await this.read(answer.body.getReader(), heard, turn);
      throw {};
    } finally {
      clearTimeout(alarm);
    }
  }

  async read(reader, heard, turn) {
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done || turn !== this.turn) return;
      heard();
      rest += decoder.decode(value, { stream: true });
      const events = rest.split("\n\n");
      rest = events.pop();
      const frames = events.filter((e) => e.startsWith("event: f\n"));
      const last = frames.length > 0 ? frames[frames.length - 1] : null; // older ones are too late
      for (const e of events) {
        const data = e.slice(e.indexOf("\ndata: ") + 7);
        if (e === last) {
          const frame = frameOf(data);
          if (frame) this.on.frame(frame);
        } else if (e.startsWith("event: s\n")) {
          this.on.stats(JSON.parse(data));
        }
      }
    }
  }
}

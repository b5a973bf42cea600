// world/edge/page/view.js: the canvas: ground, cells and how crowded they are, everybody, and what the
// ones that were picked see. Knows no network and no panel. Names are text on the canvas, never markup.

const NPC = 1, WAITS = 2, ASLEEP = 4, PAUSED = 8, GHOST = 32;
const FRAME_MS = 100; // from one frame to the next, about: places glide so long
const NAMES_MOST = 150; // labels drawn at once
const ZOOM_MOST = 64, ZOOM_LEAST = 1e-4; // pixels a unit

export class View {
  // on: { pick(id or null), place(x, y), moved(by the person) }
  constructor(canvas, on) {
    this.canvas = canvas;
    this.on = on;
    this.x = 0; // of the middle, units
    this.y = 0;
    this.zoom = 4; // pixels a unit
    this.fitted = false;
    this.world = null;
    this.scene = null;
    this.ground = null;
    this.frame = null;
    this.before = new Map(); // id: index in the frame before
    this.old = null;
    this.names = new Map();
    this.a = this.b = null;
    this.sees = new Set();
    this.heat = this.labels = true;
    this.follow = this.placing = false;
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    this.listen();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.repaint());
    new ResizeObserver(() => this.draw()).observe(canvas);
    this.repaint();
  }

  repaint() {
    const style = getComputedStyle(this.canvas);
    this.color = (name) => style.getPropertyValue(name).trim();
    this.paintGround();
    this.draw();
  }

  setScene(world, scene) {
    const other = this.scene?.name !== scene.name;
    this.world = world;
    this.scene = scene;
    if (!other) return;
    this.ground = this.frame = this.old = null;
    this.tiles = null;
    this.before.clear();
    this.names.clear();
    this.fitted = false;
    this.draw();
  }

  setGround(ground) {
    this.ground = ground;
    this.paintGround();
    this.draw();
  }

  // One pixel a tile.
  paintGround() {
    const g = this.ground;
    if (!g) return;
    const tiles = document.createElement("canvas");
    tiles.width = g.nx;
    tiles.height = g.ny;
    const pen = tiles.getContext("2d");
    pen.fillStyle = this.color("--wall");
    g.rows.forEach((row, y) => {
      let from = -1;
      for (let x = 0; x <= g.nx; x++) {
        const blocked = x < g.nx && ((row.charCodeAt(x >> 3) >> (x & 7)) & 1) === 1;
        if (blocked && from < 0) from = x;
        if (!blocked && from >= 0) {
          pen.fillRect(from, y, x - from, 1);
          from = -1;
        }
      }
    });
    this.tiles = tiles;
  }

  setFrame(frame) {
    this.old = this.frame;
    this.frame = frame;
    this.at = performance.now();
    this.before.clear();
    if (this.old) for (let i = 0; i < this.old.n; i++) this.before.set(this.old.id[i], i);
    if (!this.fitted) this.fit();
    const a = this.follow && this.a !== null ? this.placeOf(this.a) : null;
    if (a) [this.x, this.y] = [a.x, a.y];
    this.draw();
  }

  indexOf(id) {
    return this.frame ? this.frame.id.indexOf(id) : -1;
  }

  placeOf(id) {
    const i = this.indexOf(id);
    return i < 0 ? null : { x: this.frame.x[i], y: this.frame.y[i] };
  }

  // Everybody, or the scene where nobody is.
  fit() {
    const f = this.frame, c = this.canvas;
    let box = this.scene.bounds;
    if (f && f.n > 0 && !this.scene.ground) {
      const span = (list) => {
        const s = Float32Array.from(list).sort(), cut = Math.floor(s.length / 50);
        return [s[cut], s[s.length - 1 - cut]]; // not for the sake of a few far away
      };
      const [x0, x1] = span(f.x), [y0, y1] = span(f.y), edge = this.world.radius;
      box = [x0 - edge, y0 - edge, x1 + edge, y1 + edge];
    }
    const aside = c.clientWidth > 700 ? 90 : 0; // where the buttons are
    this.zoom = clamp(Math.min((c.clientWidth - aside) / (box[2] - box[0]), c.clientHeight / (box[3] - box[1])) * 0.94);
    this.x = (box[0] + box[2]) / 2 - aside / 2 / this.zoom;
    this.y = (box[1] + box[3]) / 2;
    this.fitted = c.clientWidth > 0;
    this.draw();
  }

  // Around this place of the window; around the middle while somebody is followed.
  zoomBy(factor, px, py) {
    const w = this.canvas.clientWidth, h = this.canvas.clientHeight;
    const [cx, cy] = px === undefined || this.follow ? [w / 2, h / 2] : [px, py];
    const [x, y] = this.toWorld(cx, cy);
    this.zoom = clamp(this.zoom * factor);
    this.x = x - (cx - w / 2) / this.zoom;
    this.y = y - (cy - h / 2) / this.zoom;
    this.draw();
  }

  panBy(dx, dy) {
    this.x -= dx / this.zoom;
    this.y -= dy / this.zoom;
    this.on.moved();
    this.draw();
  }

  lookAt(x, y) {
    [this.x, this.y] = [x, y];
    this.zoom = Math.max(this.zoom, 3);
    this.fitted = true;
    this.draw();
  }

  toWorld(px, py) {
    return [this.x + (px - this.canvas.clientWidth / 2) / this.zoom, this.y + (py - this.canvas.clientHeight / 2) / this.zoom];
  }

  toScreen(x, y) {
    return [(x - this.x) * this.zoom + this.canvas.clientWidth / 2, (y - this.y) * this.zoom + this.canvas.clientHeight / 2];
  }

  box() {
    return [...this.toWorld(0, 0), ...this.toWorld(this.canvas.clientWidth, this.canvas.clientHeight)];
  }

  // --- picking ------------------------------------------------------------------------------------

  nearest(px, py, within) {
    const f = this.frame;
    let best = null, least = within * within;
    for (let i = 0; f && i < f.n; i++) {
      const [x, y] = this.toScreen(f.x[i], f.y[i]);
      const d = (x - px) ** 2 + (y - py) ** 2;
      if (d <= least) [best, least] = [f.id[i], d];
    }
    return best;
  }

  click(px, py, coarse) {
    if (this.placing) this.on.place(...this.toWorld(px, py));
    else this.on.pick(this.nearest(px, py, coarse ? 26 : 14));
  }

  listen() {
    const c = this.canvas, fingers = new Map();
    let far = 0;
    const at = (e) => {
      const r = c.getBoundingClientRect();
      return [e.clientX - r.left, e.clientY - r.top];
    };
    c.addEventListener("pointerdown", (e) => {
      c.setPointerCapture(e.pointerId);
      fingers.set(e.pointerId, at(e));
      if (fingers.size === 1) far = 0;
      c.classList.add("dragging");
    });
    c.addEventListener("pointermove", (e) => {
      if (!fingers.has(e.pointerId)) return;
      const was = fingers.get(e.pointerId), now = at(e);
      const others = [...fingers].filter(([id]) => id !== e.pointerId).map(([, p]) => p);
      far += Math.hypot(now[0] - was[0], now[1] - was[1]);
      fingers.set(e.pointerId, now);
      if (others.length === 1) {
        const o = others[0], d = (p) => Math.max(10, Math.hypot(p[0] - o[0], p[1] - o[1]));
        this.panBy((now[0] - was[0]) / 2, (now[1] - was[1]) / 2);
        this.zoomBy(d(now) / d(was), (now[0] + o[0]) / 2, (now[1] + o[1]) / 2);
      } else if (far > 5) {
        this.panBy(now[0] - was[0], now[1] - was[1]);
      }
    });
    const up = (e) => {
      if (!fingers.delete(e.pointerId)) return;
      if (fingers.size === 0) c.classList.remove("dragging");
      if (e.type === "pointerup" && far <= 5 && fingers.size === 0)
        this.click(...at(e), e.pointerType !== "mouse");
    };
    c.addEventListener("pointerup", up);
    c.addEventListener("pointercancel", up);
    c.addEventListener("wheel", (e) => {
      e.preventDefault();
      this.zoomBy(Math.exp(-e.deltaY * (e.deltaMode === 1 ? 0.05 : 0.0015)), ...at(e));
    }, { passive: false });
  }

  // --- drawing ------------------------------------------------------------------------------------

  draw() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      this.paint();
    });
  }

  paint() {
    const c = this.canvas, ratio = devicePixelRatio || 1, w = c.clientWidth, h = c.clientHeight;
    if (w === 0 || !this.scene) return;
    if (c.width !== Math.round(w * ratio)) c.width = Math.round(w * ratio);
    if (c.height !== Math.round(h * ratio)) c.height = Math.round(h * ratio);
    const g = c.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    if (!this.fitted) this.fit();
    this.paintScene(g);
    if (!this.frame) return;
    const part = this.calm.matches ? 1 : Math.min(1, (performance.now() - this.at) / FRAME_MS);
    this.places(part);
    this.paintCells(g, w, h);
    this.paintSight(g);
    this.paintAll(g, w, h);
    this.paintPicked(g);
    if (part < 1) this.draw();
  }

  // Where everybody is on the screen just now, gliding from the frame before.
  places(part) {
    const f = this.frame, o = this.old;
    const xs = (this.sx = this.sx?.length >= f.n ? this.sx : new Float32Array(f.n + 256));
    const ys = (this.sy = this.sy?.length >= f.n ? this.sy : new Float32Array(f.n + 256));
    const jump = 4 * this.world.radius;
    for (let i = 0; i < f.n; i++) {
      let x = f.x[i], y = f.y[i];
      const k = part < 1 ? this.before.get(f.id[i]) : undefined;
      if (k !== undefined && Math.abs(o.x[k] - x) + Math.abs(o.y[k] - y) < jump) {
        x = o.x[k] + (x - o.x[k]) * part;
        y = o.y[k] + (y - o.y[k]) * part;
      }
      [xs[i], ys[i]] = this.toScreen(x, y);
    }
  }

  paintScene(g) {
    const [x0, y0, x1, y1] = this.scene.bounds;
    const [px, py] = this.toScreen(x0, y0), [qx, qy] = this.toScreen(x1, y1);
    if (this.tiles) {
      const [tx, ty] = this.toScreen(x0, y0), size = this.ground.size * this.zoom;
      g.imageSmoothingEnabled = size < 1;
      g.drawImage(this.tiles, tx, ty, this.ground.nx * size, this.ground.ny * size);
    }
    g.strokeStyle = this.color("--rim");
    g.lineWidth = 1.5;
    g.strokeRect(px, py, qx - px, qy - py);
  }

  // Cells of sight: tinted by how many stand there, with lines where they are large enough.
  paintCells(g, w, h) {
    const k = this.scene.cells, f = this.frame, px = k.side * this.zoom;
    if (!this.heat) return;
    const unit = Math.max(1, Math.ceil(7 / px)); // so many cells together where they are tiny
    const counts = new Map(), side = px * unit;
    for (let i = 0; i < f.n; i++) {
      if (this.sx[i] < -side || this.sy[i] < -side || this.sx[i] > w + side || this.sy[i] > h + side) continue;
      const cx = Math.floor((f.x[i] - k.x0) / k.side / unit), cy = Math.floor((f.y[i] - k.y0) / k.side / unit);
      const key = cy * 65536 + cx;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    const most = Math.max(4, ...counts.values()), tint = this.color("--heat");
    const corner = (cx, cy) => this.toScreen(k.x0 + cx * unit * k.side, k.y0 + cy * unit * k.side);
    for (const [key, n] of counts) {
      const [x, y] = corner(key % 65536, Math.floor(key / 65536));
      g.fillStyle = `rgba(${tint}, ${0.05 + 0.35 * (n / most)})`;
      g.fillRect(x, y, side, side);
    }
    if (px < 18) return;
    const [x0, y0] = this.toWorld(0, 0), [x1, y1] = this.toWorld(w, h);
    const first = (v, o) => Math.max(0, Math.floor((v - o) / k.side));
    g.strokeStyle = this.color("--line");
    g.lineWidth = 1;
    g.beginPath();
    const [, low] = this.toScreen(0, k.y0), [, high] = this.toScreen(0, k.y0 + k.ny * k.side);
    const [left] = this.toScreen(k.x0, 0), [right] = this.toScreen(k.x0 + k.nx * k.side, 0);
    for (let cx = first(x0, k.x0); cx <= Math.min(k.nx, first(x1, k.x0) + 1); cx++) {
      const [x] = this.toScreen(k.x0 + cx * k.side, 0);
      g.moveTo(x, Math.max(0, low));
      g.lineTo(x, Math.min(h, high));
    }
    for (let cy = first(y0, k.y0); cy <= Math.min(k.ny, first(y1, k.y0) + 1); cy++) {
      const [, y] = this.toScreen(0, k.y0 + cy * k.side);
      g.moveTo(Math.max(0, left), y);
      g.lineTo(Math.min(w, right), y);
    }
    g.stroke();
    g.fillStyle = this.color("--quiet");
    g.font = "11px system-ui, sans-serif";
    g.textAlign = "left";
    g.textBaseline = "top";
    for (const [key, n] of px >= 40 && !this.namesShown() ? counts : []) {
      const [x, y] = corner(key % 65536, Math.floor(key / 65536));
      g.fillText(n, x + 4, y + 4);
    }
  }

  // The rings of A's sight.
  paintSight(g) {
    const i = this.a === null ? -1 : this.indexOf(this.a);
    if (i < 0) return;
    const circle = (r, dash, fill) => {
      g.beginPath();
      g.arc(this.sx[i], this.sy[i], r * this.zoom, 0, 2 * Math.PI);
      g.setLineDash(dash);
      g.strokeStyle = this.color("--a");
      g.lineWidth = 1.5;
      if (fill) {
        g.globalAlpha = 0.08;
        g.fillStyle = this.color("--a");
        g.fill();
        g.globalAlpha = 1;
      }
      g.stroke();
      g.setLineDash([]);
    };
    this.world.tiers.forEach((t, k) => circle(t.radius, [], k === this.world.tiers.length - 1));
    if (this.world.hysteresis > 0) circle(this.world.radius + this.world.hysteresis, [5, 4], false);
  }

  paintAll(g, w, h) {
    const f = this.frame, r = Math.max(2, Math.min(6, 1.6 + this.zoom * 0.5));
    const kinds = [[], [], [], [], []]; // player, waiting, NPC, asleep, another world's
    let shown = 0;
    for (let i = 0; i < f.n; i++) {
      const x = this.sx[i], y = this.sy[i];
      if (x < -9 || y < -9 || x > w + 9 || y > h + 9) continue;
      const s = f.flags[i];
      kinds[s & GHOST ? 4 : s & ASLEEP ? 3 : s & NPC ? 2 : s & WAITS ? 1 : 0].push(i);
      shown++;
    }
    this.shown = shown;
    const dots = (list, color, full, round) => {
      g.fillStyle = g.strokeStyle = this.color(color);
      g.lineWidth = 1.5;
      g.beginPath();
      for (const i of list) {
        const x = this.sx[i], y = this.sy[i];
        if (round && r > 2.2) {
          g.moveTo(x + r, y);
          g.arc(x, y, r, 0, 2 * Math.PI);
        } else {
          g.rect(x - r, y - r, 2 * r, 2 * r);
        }
      }
      if (full) g.fill();
      else g.stroke();
    };
    dots(kinds[4], "--ghost", true, true);
    dots(kinds[3], "--npc", false, false);
    dots(kinds[2], "--npc", true, false);
    dots(kinds[1], "--waits", false, true);
    dots(kinds[0], "--player", true, true);
    if (r >= 4) this.paintFaces(g, [...kinds[0], ...kinds[2]], r);
    g.strokeStyle = this.color("--paused");
    g.lineWidth = 2;
    g.beginPath();
    for (const i of kinds[0]) {
      if (!(f.flags[i] & PAUSED)) continue;
      g.moveTo(this.sx[i] + r + 3, this.sy[i]);
      g.arc(this.sx[i], this.sy[i], r + 3, 0, 2 * Math.PI);
    }
    g.stroke();
    if (this.namesShown()) this.paintNames(g, kinds, r);
  }

  namesShown() {
    return this.labels && this.shown <= NAMES_MOST;
  }

  paintFaces(g, list, r) {
    g.strokeStyle = this.color("--ink");
    g.lineWidth = 1.5;
    g.beginPath();
    for (const i of list) {
      const a = (this.frame.dir[i] / 256) * 2 * Math.PI;
      g.moveTo(this.sx[i], this.sy[i]);
      g.lineTo(this.sx[i] + Math.cos(a) * (r + 3), this.sy[i] + Math.sin(a) * (r + 3));
    }
    g.stroke();
  }

  // Names where nothing else stands yet: a label that would lie over another is left out.
  paintNames(g, kinds, r) {
    const taken = [];
    for (const i of [this.a, this.b].map((id) => (id === null ? -1 : this.indexOf(id))))
      if (i >= 0) taken.push([this.sx[i], this.sy[i] - r - 10, 90]); // what is written at A and B
    g.font = "12px system-ui, sans-serif";
    g.textAlign = "center";
    g.textBaseline = "bottom";
    g.lineWidth = 3;
    g.lineJoin = "round";
    g.strokeStyle = this.color("--ground");
    g.fillStyle = this.color("--ink");
    for (const i of kinds.flat()) {
      const id = this.frame.id[i];
      const name = this.names.get(id);
      if (!name || id === this.a || id === this.b) continue;
      const text = cut(name), half = g.measureText(text).width / 2 + 2;
      const x = this.sx[i], y = this.sy[i] - r - 3;
      if (taken.some((t) => Math.abs(t[0] - x) < t[2] + half && Math.abs(t[1] - y) < 15)) continue;
      taken.push([x, y, half]);
      g.strokeText(text, x, y);
      g.fillText(text, x, y);
    }
  }

  paintPicked(g) {
    const f = this.frame, r = Math.max(4, Math.min(8, 3 + this.zoom * 0.5));
    if (this.sees.size > 0) {
      g.strokeStyle = this.color("--a");
      g.lineWidth = 1.5;
      g.beginPath();
      for (let i = 0; i < f.n; i++) {
        if (!this.sees.has(f.id[i])) continue;
        g.moveTo(this.sx[i] + r, this.sy[i]);
        g.arc(this.sx[i], this.sy[i], r, 0, 2 * Math.PI);
      }
      g.stroke();
    }
    const a = this.a === null ? -1 : this.indexOf(this.a), b = this.b === null ? -1 : this.indexOf(this.b);
    if (a >= 0 && b >= 0) {
      g.strokeStyle = this.color("--b");
      g.setLineDash([4, 4]);
      g.beginPath();
      g.moveTo(this.sx[a], this.sy[a]);
      g.lineTo(this.sx[b], this.sy[b]);
      g.stroke();
      g.setLineDash([]);
    }
    this.mark(g, b, "--b", "B", r);
    this.mark(g, a, "--a", "A", r);
  }

  mark(g, i, color, letter, r) {
    if (i < 0) return;
    const x = this.sx[i], y = this.sy[i], name = this.names.get(this.frame.id[i]);
    g.strokeStyle = g.fillStyle = this.color(color);
    g.lineWidth = 3;
    g.beginPath();
    g.arc(x, y, r + 3, 0, 2 * Math.PI);
    g.stroke();
    const text = name ? `${letter}  ${cut(name)}` : letter;
    g.font = "bold 12px system-ui, sans-serif";
    g.textAlign = "center";
    g.textBaseline = "middle";
    const half = g.measureText(text).width / 2 + 6, top = y - r - 18;
    g.beginPath();
    g.roundRect(x - half, top - 10, 2 * half, 20, 6);
    g.fill();
    g.fillStyle = this.color("--paper");
    g.fillText(text, x, top + 1);
  }
}

function clamp(zoom) {
  return Math.min(ZOOM_MOST, Math.max(ZOOM_LEAST, zoom));
}

// Long names are cut; what turns the text's direction is left out.
function cut(name) {
  const plain = name.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");
  const letters = [...plain];
  return letters.length > 20 ? letters.slice(0, 19).join("") + "…" : plain;
}

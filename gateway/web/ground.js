/* gateway/web/ground.js: the ground of a scene: its map, and pictures of it in pieces.
 * A scene's map is /maps/<scene>.json as the editor Tiled writes it, where /maps/index.json names it;
 * else the ground is plain. Nothing in a map is trusted: numbers are checked, names are names of files beside
 * it. May touch: fetch, canvases.
 * On trouble: plain ground.
 */
const SIDE_MAX = 4096; // tiles of a map, along each axis
const CHUNK = 16; // tiles of a piece, along each axis
const CHUNKS_MAX = 96; // pieces kept
const ZOOM = 2; // pixels of a piece for each of the tileset's
const PORTALS_MAX = 256;
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9_.-]*$/;
const FLIP_X = 0x80000000;
const FLIP_Y = 0x40000000;
const FLIP_D = 0x20000000;
const GID = 0x0fffffff;

class MapError extends Error {}

function need(holds, text) {
  if (!holds) throw new MapError(text);
}

const whole = (v, least, most) => Number.isInteger(v) && v >= least && v <= most;

async function fetchJson(url) {
  const answer = await fetch(url);
  need(answer.ok, `${url}: ${answer.status}`);
  return answer.json();
}

/* `true` of a list of Tiled's properties. */
function marked(properties) {
  return Array.isArray(properties) && properties.some((p) => p?.name === "blocked" && p.value === true);
}

function property(properties, name) {
  return Array.isArray(properties) ? properties.find((p) => p?.name === name)?.value : undefined;
}

// --- tilesets and layers --------------------------------------------------------------------------

async function readImage(name) {
  need(typeof name === "string" && NAME.test(name), "a picture that is no file beside the map");
  const image = new Image();
  image.src = `/maps/${name}`;
  await image.decode();
  return image;
}

async function readTileset(row) {
  const first = row?.firstgid;
  let set = row;
  if (typeof row?.source === "string") {
    need(NAME.test(row.source), "a tileset that is no file beside the map");
    set = await fetchJson(`/maps/${row.source}`);
  }
  need(whole(first, 1, GID) && whole(set.tilecount, 1, 65536) && whole(set.columns, 1, 4096) &&
    whole(set.tilewidth, 1, 256) && whole(set.tileheight, 1, 256), "a tileset that is none");
  const blocked = new Set();
  for (const tile of Array.isArray(set.tiles) ? set.tiles : []) if (marked(tile?.properties)) blocked.add(tile.id);
  return { first, end: first + set.tilecount, columns: set.columns, width: set.tilewidth, height: set.tileheight,
    margin: set.margin ?? 0, spacing: set.spacing ?? 0, blocked, image: await readImage(set.image) };
}

async function unpack(text, compression) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  if (!compression) return bytes;
  const format = { zlib: "deflate", gzip: "gzip" }[compression];
  need(format, `tiles packed by ${compression}`);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function readTiles(layer, n) {
  if (Array.isArray(layer.data)) {
    need(layer.data.length === n, "a layer of another size");
    return Uint32Array.from(layer.data);
  }
  need(typeof layer.data === "string", "a layer without tiles");
  const bytes = await unpack(layer.data, layer.compression);
  need(bytes.length === 4 * n, "a layer of another size");
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return Uint32Array.from({ length: n }, (_, i) => view.getUint32(4 * i, true));
}

function readPortals(layers, side) {
  const out = [];
  for (const layer of layers) {
    for (const o of layer?.type === "objectgroup" && Array.isArray(layer.objects) ? layer.objects : []) {
      const good = (o?.type === "portal" || o?.class === "portal") && [o.x, o.y, o.width, o.height].every(Number.isFinite);
      if (!good || out.length === PORTALS_MAX) continue;
      const to = property(o.properties, "scene");
      out.push({ x: o.x / side.x, y: o.y / side.y, width: o.width / side.x, height: o.height / side.y,
        to: typeof to === "string" ? to.slice(0, 64) : "" });
    }
  }
  return out;
}

// --- the ground -----------------------------------------------------------------------------------

/** Without a map: everything is free, nothing is drawn. */
export class Ground {
  scene;
  width = 0;
  height = 0;
  portals = [];

  constructor(scene) {
    this.scene = scene;
  }

  get mapped() {
    return false;
  }

  /** May one go straight from here to there? As PROTOCOL.md says under "Ground". */
  clear() {
    return true;
  }
}

/** A map that was read: `blocked` by tile, pieces drawn when they are asked for. */
export class MapGround extends Ground {
  #layers;
  #sets;
  #blocked;
  #tall; // what throws a shadow: blocked, and not of the lowest layer
  #chunks = new Map();
  #pixels;

  constructor(scene, map, sets, layers) {
    super(scene);
    this.width = map.width;
    this.height = map.height;
    this.portals = readPortals(map.layers, { x: map.tilewidth, y: map.tileheight });
    this.#pixels = map.tilewidth * ZOOM;
    this.#sets = sets;
    this.#layers = layers.filter((layer) => layer.seen);
    this.#blocked = new Uint8Array(map.width * map.height);
    this.#tall = new Uint8Array(map.width * map.height);
    layers.forEach((layer, depth) => this.#mark(layer, depth));
  }

  get mapped() {
    return true;
  }

  #mark({ tiles, blocks, opens }, depth) {
    for (let i = 0; i < tiles.length; i++) {
      const gid = tiles[i] & GID;
      if (gid === 0) continue;
      const set = this.#setOf(gid);
      if (!blocks && (opens || !set?.blocked.has(gid - set.first))) continue;
      this.#blocked[i] = 1;
      if (depth > 0) this.#tall[i] = 1;
    }
  }

  #setOf(gid) {
    return this.#sets.find((set) => gid >= set.first && gid < set.end);
  }

  /** Is the tile one on which somebody may stand? Outside the map nobody may. */
  free(tx, ty) {
    return tx >= 0 && ty >= 0 && tx < this.width && ty < this.height && this.#blocked[ty * this.width + tx] === 0;
  }

  /* A place on the far rim belongs to the last tile. */
  #tileOf(v, n) {
    return v === n ? n - 1 : Math.floor(v);
  }

  clear(x0, y0, x1, y1) {
    const steps = Math.ceil(Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0)) * 32) + 1;
    let [px, py] = [this.#tileOf(x0, this.width), this.#tileOf(y0, this.height)];
    for (let i = 0; i <= steps; i++) {
      const part = i / steps;
      const tx = this.#tileOf(x0 + (x1 - x0) * part, this.width);
      const ty = this.#tileOf(y0 + (y1 - y0) * part, this.height);
      if (!this.free(tx, ty)) return false;
      if (tx !== px && ty !== py && !(this.free(tx, py) && this.free(px, ty))) return false;
      [px, py] = [tx, ty];
    }
    return true;
  }

  /** Draw the tiles of this rectangle, where one is `scale` pixels wide and tile 0, 0 is at `left`, `top`. */
  draw(ctx, view, scale, left, top) {
    const [cx0, cy0] = [Math.max(Math.floor(view.x0 / CHUNK), 0), Math.max(Math.floor(view.y0 / CHUNK), 0)];
    const cx1 = Math.min(Math.floor(view.x1 / CHUNK), Math.ceil(this.width / CHUNK) - 1);
    const cy1 = Math.min(Math.floor(view.y1 / CHUNK), Math.ceil(this.height / CHUNK) - 1);
    for (let cy = cy0; cy <= cy1; cy++) {
      for (let cx = cx0; cx <= cx1; cx++) {
        const chunk = this.#chunk(cx, cy);
        // Whole pixels on both sides, so that no seam is seen between two.
        const x = Math.round(left + cx * CHUNK * scale);
        const y = Math.round(top + cy * CHUNK * scale);
        const width = Math.round(left + (cx + 1) * CHUNK * scale) - x;
        const height = Math.round(top + (cy + 1) * CHUNK * scale) - y;
        ctx.drawImage(chunk, x, y, width, height);
      }
    }
  }

  /* The piece at these coordinates; the one that was asked for longest ago makes room. */
  #chunk(cx, cy) {
    const key = cy * SIDE_MAX + cx;
    let canvas = this.#chunks.get(key);
    this.#chunks.delete(key);
    if (!canvas) {
      canvas = this.#paint(cx * CHUNK, cy * CHUNK);
      if (this.#chunks.size >= CHUNKS_MAX) this.#chunks.delete(this.#chunks.keys().next().value);
    }
    this.#chunks.set(key, canvas);
    return canvas;
  }

  #paint(x0, y0) {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = CHUNK * this.#pixels;
    const ctx = canvas.getContext("2d");
    ctx.imageSmoothingEnabled = false;
    for (let y = y0; y < Math.min(y0 + CHUNK, this.height); y++) {
      for (let x = x0; x < Math.min(x0 + CHUNK, this.width); x++) {
        for (const layer of this.#layers) {
          ctx.globalAlpha = layer.opacity;
          this.#tile(ctx, layer.tiles[y * this.width + x], (x - x0) * this.#pixels, (y - y0) * this.#pixels);
        }
      }
    }
    ctx.globalAlpha = 1;
    this.#shade(ctx, x0, y0);
    return canvas;
  }

  #tile(ctx, raw, x, y) {
    const gid = raw & GID;
    const set = gid === 0 ? undefined : this.#setOf(gid);
    if (!set) return;
    const id = gid - set.first;
    const sx = set.margin + (id % set.columns) * (set.width + set.spacing);
    const sy = set.margin + Math.floor(id / set.columns) * (set.height + set.spacing);
    const p = this.#pixels;
    ctx.save();
    ctx.translate(x + p / 2, y + p / 2);
    if (raw & FLIP_X) ctx.scale(-1, 1);
    if (raw & FLIP_Y) ctx.scale(1, -1);
    if (raw & FLIP_D) ctx.transform(0, 1, 1, 0, 0, 0);
    ctx.drawImage(set.image, sx, sy, set.width, set.height, -p / 2, -p / 2, p, p);
    ctx.restore();
  }

  #isTall(x, y) {
    return x >= 0 && y >= 0 && x < this.width && y < this.height && this.#tall[y * this.width + x] === 1;
  }

  /* Something that stands alone, such as a tree. */
  #isAlone(x, y) {
    return !this.#isTall(x - 1, y) && !this.#isTall(x + 1, y) && !this.#isTall(x, y - 1) && !this.#isTall(x, y + 1);
  }

  /* Light comes from the north-west: what stands on the ground darkens what is south and east of it. */
  #shade(ctx, x0, y0) {
    const p = this.#pixels;
    for (let y = y0; y < Math.min(y0 + CHUNK, this.height); y++) {
      for (let x = x0; x < Math.min(x0 + CHUNK, this.width); x++) {
        if (this.#isTall(x, y)) continue;
        const [left, top] = [(x - x0) * p, (y - y0) * p];
        if (this.#isTall(x, y - 1)) {
          if (this.#isAlone(x, y - 1)) this.#pool(ctx, left + p * 0.54, top, p * 0.4, p * 0.22);
          else this.#fade(ctx, left, top, p, p * 0.45, 0, 1);
        }
        if (this.#isTall(x - 1, y) && !this.#isAlone(x - 1, y)) this.#fade(ctx, left, top, p * 0.3, p, 1, 0);
      }
    }
  }

  /* The lower half of a round shadow. */
  #pool(ctx, x, y, rx, ry) {
    ctx.beginPath();
    ctx.ellipse(x, y, rx, ry, 0, 0, Math.PI);
    ctx.fillStyle = "rgba(20, 24, 36, 0.26)";
    ctx.fill();
  }

  #fade(ctx, x, y, width, height, dx, dy) {
    const fade = ctx.createLinearGradient(x, y, x + dx * width, y + dy * height);
    fade.addColorStop(0, "rgba(20, 24, 36, 0.38)");
    fade.addColorStop(1, "rgba(20, 24, 36, 0)");
    ctx.fillStyle = fade;
    ctx.fillRect(x, y, width, height);
  }
}

async function readMap(scene) {
  const map = await fetchJson(`/maps/${scene}.json`);
  need(map?.type === "map" && map.orientation === "orthogonal" && map.infinite !== true, "not a map of ours");
  need(whole(map.width, 1, SIDE_MAX) && whole(map.height, 1, SIDE_MAX) && whole(map.tilewidth, 1, 256) &&
    whole(map.tileheight, 1, 256) && Array.isArray(map.layers) && Array.isArray(map.tilesets), "not a map of ours");
  const sets = await Promise.all(map.tilesets.map(readTileset));
  const layers = [];
  for (const layer of map.layers) {
    if (layer?.type !== "tilelayer") continue;
    const says = property(layer.properties, "blocked");
    layers.push({ tiles: await readTiles(layer, map.width * map.height), seen: layer.visible !== false,
      opacity: Number.isFinite(layer.opacity) ? Math.min(Math.max(layer.opacity, 0), 1) : 1,
      blocks: says === true || (says === undefined && layer.name === "blocked"), opens: says === false });
  }
  return new MapGround(scene, map, sets, layers);
}

/** The ground of a scene; plain where there is no map of it, or none that can be read. */
export async function readGround(scene) {
  try {
    const there = await fetchJson("/maps/index.json");
    return NAME.test(scene) && there.includes(scene) ? await readMap(scene) : new Ground(scene);
  } catch (error) {
    console.warn(`no map of ${scene}:`, error);
    return new Ground(scene);
  }
}

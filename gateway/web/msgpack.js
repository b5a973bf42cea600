/* gateway/web/msgpack.js: MessagePack for the page, with the two functions of npm's @msgpack/msgpack
 * that proto/js/aegis.js asks for, so that the page needs nothing from elsewhere. Held to the golden
 * vectors in Node and in Chromium. May touch: nothing.
 * On trouble: bytes that are no value, or more than one, are a RangeError.
 */
const DEPTH_MAX = 64; // of what comes; the contract's bodies nest at most 8 deep
const TEXT_MAX = 0xffffffff;

const toText = new TextDecoder("utf-8", { ignoreBOM: true });
const fromText = new TextEncoder();

// --- reading --------------------------------------------------------------------------------------

class Reader {
  constructor(bytes, options) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
    this.big = options.useBigInt64 === true;
    this.keyOf = options.mapKeyConverter ?? ((key) => key);
    this.textMax = options.maxStrLength ?? TEXT_MAX;
    this.bytesMax = options.maxBinLength ?? TEXT_MAX;
  }

  /* Where the next n bytes begin. */
  take(n) {
    const at = this.at;
    if (n > this.bytes.length - at) throw new RangeError("the value is cut");
    this.at = at + n;
    return at;
  }

  unsigned(size) {
    const at = this.take(size);
    if (size === 1) return this.view.getUint8(at);
    if (size === 2) return this.view.getUint16(at);
    if (size === 4) return this.view.getUint32(at);
    const v = this.view.getBigUint64(at);
    return this.big ? v : Number(v);
  }

  signed(size) {
    const at = this.take(size);
    if (size === 1) return this.view.getInt8(at);
    if (size === 2) return this.view.getInt16(at);
    if (size === 4) return this.view.getInt32(at);
    const v = this.view.getBigInt64(at);
    return this.big ? v : Number(v);
  }

  text(n) {
    if (n > this.textMax) throw new RangeError("a text is too long");
    const at = this.take(n);
    return toText.decode(this.bytes.subarray(at, at + n));
  }

  binary(n) {
    if (n > this.bytesMax) throw new RangeError("bytes are too many");
    const at = this.take(n);
    return this.bytes.subarray(at, at + n);
  }

  /* A value of a type that the application would have to know. */
  extension(n) {
    const type = this.signed(1);
    return { type, data: this.binary(n) };
  }

  array(n, depth) {
    if (n > this.bytes.length - this.at) throw new RangeError("an array is cut");
    const out = [];
    for (let i = 0; i < n; i++) out.push(this.value(depth + 1));
    return out;
  }

  /* Without a prototype, so that every key is only a key. */
  map(n, depth) {
    if (2 * n > this.bytes.length - this.at) throw new RangeError("a map is cut");
    const out = Object.create(null);
    for (let i = 0; i < n; i++) {
      const key = this.keyOf(this.value(depth + 1));
      if (typeof key === "object") throw new RangeError("a key that is neither text nor number");
      out[key] = this.value(depth + 1);
    }
    return out;
  }

  value(depth) {
    if (depth > DEPTH_MAX) throw new RangeError("values are nested too deep");
    const head = this.unsigned(1);
    if (head < 0x80) return head;
    if (head < 0x90) return this.map(head & 0x0f, depth);
    if (head < 0xa0) return this.array(head & 0x0f, depth);
    if (head < 0xc0) return this.text(head & 0x1f);
    if (head >= 0xe0) return head - 0x100;
    switch (head) {
      case 0xc0: return null;
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xc4: case 0xc5: case 0xc6: return this.binary(this.unsigned(1 << (head - 0xc4)));
      case 0xc7: case 0xc8: case 0xc9: return this.extension(this.unsigned(1 << (head - 0xc7)));
      case 0xca: return this.view.getFloat32(this.take(4));
      case 0xcb: return this.view.getFloat64(this.take(8));
      case 0xcc: case 0xcd: case 0xce: case 0xcf: return this.unsigned(1 << (head - 0xcc));
      case 0xd0: case 0xd1: case 0xd2: case 0xd3: return this.signed(1 << (head - 0xd0));
      case 0xd4: case 0xd5: case 0xd6: case 0xd7: case 0xd8: return this.extension(1 << (head - 0xd4));
      case 0xd9: case 0xda: case 0xdb: return this.text(this.unsigned(1 << (head - 0xd9)));
      case 0xdc: case 0xdd: return this.array(this.unsigned(2 << (head - 0xdc)), depth);
      case 0xde: case 0xdf: return this.map(this.unsigned(2 << (head - 0xde)), depth);
      default: throw new RangeError("a byte that begins nothing");
    }
  }
}

/** The one value that these bytes are. `options`: useBigInt64 (64-bit integers as BigInt),
 *  mapKeyConverter, maxStrLength, maxBinLength. */
export function decode(bytes, options = {}) {
  const reader = new Reader(bytes, options);
  const out = reader.value(1);
  if (reader.at !== bytes.length) throw new RangeError("bytes behind the value");
  return out;
}

// --- writing --------------------------------------------------------------------------------------

class Writer {
  bytes = new Uint8Array(64);
  n = 0;

  constructor(options) {
    this.floats = options.forceIntegerToFloat === true;
  }

  /* Room for n bytes more: a view of them. */
  room(n) {
    if (this.n + n > this.bytes.length) {
      const more = new Uint8Array(2 * (this.n + n));
      more.set(this.bytes);
      this.bytes = more;
    }
    const view = new DataView(this.bytes.buffer, this.n, n);
    this.n += n;
    return view;
  }

  byte(v) {
    this.room(1).setUint8(0, v);
  }

  /* A head of one byte, then an unsigned number of `size` bytes. */
  headed(head, size, v) {
    const view = this.room(1 + size);
    view.setUint8(0, head);
    if (size === 1) view.setUint8(1, v);
    else if (size === 2) view.setUint16(1, v);
    else if (size === 4) view.setUint32(1, v);
    else view.setBigUint64(1, BigInt.asUintN(64, BigInt(v)));
  }

  double(v) {
    const view = this.room(9);
    view.setUint8(0, 0xcb);
    view.setFloat64(1, v);
  }

  integer(v) {
    if (v >= 0) {
      if (v < 0x80) this.byte(v);
      else if (v < 0x100) this.headed(0xcc, 1, v);
      else if (v < 0x10000) this.headed(0xcd, 2, v);
      else this.headed(v < 0x100000000 ? 0xce : 0xcf, v < 0x100000000 ? 4 : 8, v);
    } else if (v >= -0x20) this.byte(v & 0xff);
    else if (v >= -0x80) this.headed(0xd0, 1, v & 0xff);
    else if (v >= -0x8000) this.headed(0xd1, 2, v & 0xffff);
    else this.headed(v >= -0x80000000 ? 0xd2 : 0xd3, v >= -0x80000000 ? 4 : 8, v >= -0x80000000 ? v >>> 0 : v);
  }

  /* The head of what has a length: short, or with a length of 1, 2 or 4 bytes from `head` on. */
  length(n, short, shortMax, head, sizes) {
    if (n <= shortMax) return this.byte(short | n);
    const size = sizes.find((s) => n < 2 ** (8 * s));
    this.headed(head + sizes.indexOf(size), size, n);
  }

  copy(bytes) {
    this.room(bytes.length);
    this.bytes.set(bytes, this.n - bytes.length);
  }

  value(v) {
    if (v === null || v === undefined) this.byte(0xc0);
    else if (typeof v === "boolean") this.byte(v ? 0xc3 : 0xc2);
    else if (typeof v === "bigint") this.headed(v >= 0n ? 0xcf : 0xd3, 8, v);
    else if (typeof v === "number") {
      if (Number.isSafeInteger(v) && !this.floats && !Object.is(v, -0)) this.integer(v);
      else this.double(v);
    } else if (typeof v === "string") {
      const text = fromText.encode(v);
      this.length(text.length, 0xa0, 31, 0xd9, [1, 2, 4]);
      this.copy(text);
    } else if (v instanceof Uint8Array) {
      this.length(v.length, 0, -1, 0xc4, [1, 2, 4]);
      this.copy(v);
    } else if (Array.isArray(v)) {
      this.length(v.length, 0x90, 15, 0xdc, [2, 4]);
      for (const one of v) this.value(one);
    } else {
      const keys = Object.keys(v);
      this.length(keys.length, 0x80, 15, 0xde, [2, 4]);
      for (const key of keys) {
        this.value(key);
        this.value(v[key]);
      }
    }
  }
}

/** The bytes of a value. `options`: forceIntegerToFloat (every number as float64). */
export function encode(v, options = {}) {
  const writer = new Writer(options);
  writer.value(v);
  return writer.bytes.slice(0, writer.n);
}

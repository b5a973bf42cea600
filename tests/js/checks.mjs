/* tests/js/checks.mjs: what the vectors ask of a client; for Node and for a browser page alike.
 * Takes the parsed vectors and the client's functions, returns counts and faults.
 */

export const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (two) => parseInt(two, 16));
export const hexOf = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");

/* A meaning as the client gives it: bytes and large integers have forms of their own in the JSON. */
function meant(v) {
  if (Array.isArray(v)) return v.map(meant);
  if (v === null || typeof v !== "object") return v;
  if (Object.keys(v).length === 1 && "bin" in v) return bytesOf(v.bin);
  if (Object.keys(v).length === 1 && "int" in v) return BigInt(v.int);
  return Object.fromEntries(Object.entries(v).map(([k, inner]) => [k, meant(inner)]));
}

function same(a, b) {
  if (a instanceof Uint8Array) return b instanceof Uint8Array && hexOf(a) === hexOf(b);
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((v, i) => same(v, b[i]));
  if (a !== null && typeof a === "object")
    return b !== null && typeof b === "object" && Object.keys(a).length === Object.keys(b).length &&
      Object.keys(a).every((k) => same(a[k], b[k]));
  if (typeof a === "bigint" || typeof b === "bigint") return BigInt(a) === BigInt(b);
  return Object.is(a, b) || a === b;
}

export function checkMessages(doc, { readBody, writeBody }) {
  const out = { read: 0, written: 0, faults: [] };
  for (const { name, hex, meaning, canonical } of doc.vectors) {
    const body = bytesOf(hex.slice(8));
    const want = { ...meaning, payload: meant(meaning.payload) };
    const any = meaning.cmd === 11 || meaning.cmd === 12; // the payload is the client's own
    try {
      const got = readBody(body);
      if (got.cmd !== want.cmd || got.seq !== want.seq || (!any && !same(want.payload, got.payload)))
        out.faults.push(`${name}: read as ${JSON.stringify(got, (_, v) => (typeof v === "bigint" ? `${v}` : v))}`);
      out.read++;
    } catch (error) {
      out.faults.push(`${name}: ${error}`);
    }
    if (canonical === false || any) continue;
    const written = hexOf(writeBody(want.cmd, want.seq, want.payload));
    if (written !== hex.slice(8)) out.faults.push(`${name}: written as ${written}`);
    out.written++;
  }
  return out;
}

export function checkMoves(doc, { readMoves, nearestPlace, ContractError }) {
  const out = { read: 0, refused: 0, faults: [] };
  for (const { name, hex, meaning } of doc.vectors) {
    const got = readMoves(bytesOf(hex));
    out.read++;
    if (got.length !== meaning.records.length) {
      out.faults.push(`${name}: ${got.length} records`);
      continue;
    }
    meaning.records.forEach((want, i) => {
      const g = got[i];
      const x = nearestPlace(g.x, want.last[0], meaning.quantum);
      const y = nearestPlace(g.y, want.last[1], meaning.quantum);
      if (g.id !== want.id || g.x !== want.x || g.y !== want.y || g.dir !== want.dir || g.speed !== want.speed ||
          x !== want.place[0] || y !== want.place[1])
        out.faults.push(`${name}: record ${i} is ${JSON.stringify(g)} at ${x}, ${y}`);
    });
  }
  for (const { name, hex } of doc.bad) {
    try {
      readMoves(bytesOf(hex));
      out.faults.push(`${name}: was taken`);
    } catch (error) {
      if (!(error instanceof ContractError)) out.faults.push(`${name}: ${error}`);
      out.refused++;
    }
  }
  return out;
}

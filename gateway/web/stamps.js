/* gateway/web/stamps.js: small pictures that are drawn often, made once: names, bubbles, tokens.
 * Text is drawn as text; nothing here makes elements of a page out of it. May touch: canvases.
 * Sizes are in pixels of the page; a stamp has `scale` pixels of the screen for each.
 */
import { nameOf, plain } from "./words.js";

const STAMPS_MAX = 800; // kept
export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const NAME_SIZE = 12;
const NAME_WIDTH = 150;
const SAID_SIZE = 13;
const SAID_WIDTH = 190;
const SAID_LINES = 4;
const PAD = 3;

/** What is made for a key, until too many others were. */
export class Stamps {
  #made = new Map();

  get(key, make) {
    let stamp = this.#made.get(key);
    this.#made.delete(key);
    stamp ??= make();
    if (this.#made.size >= STAMPS_MAX) this.#made.delete(this.#made.keys().next().value);
    this.#made.set(key, stamp);
    return stamp;
  }

  clear() {
    this.#made.clear();
  }
}

/** An empty stamp of this size, and the context to draw on it. */
function blank(width, height, scale) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.ceil(width * scale));
  canvas.height = Math.max(1, Math.ceil(height * scale));
  const ctx = canvas.getContext("2d");
  ctx.scale(scale, scale);
  return [{ canvas, width, height }, ctx];
}

const measuring = document.createElement("canvas").getContext("2d");

/* Shortened with an ellipsis to this width; by letters as people see them. */
function fit(text, width) {
  if (measuring.measureText(text).width <= width) return text;
  const letters = [...text];
  while (letters.length > 0 && measuring.measureText(`${letters.join("")}…`).width > width) letters.pop();
  return `${letters.join("")}…`;
}

/** A name, legible on any ground. */
export function nameStamp(text, { scale, ink, halo, strong, slant }) {
  const font = `${slant ? "italic " : ""}${strong ? 700 : 600} ${NAME_SIZE}px ${FONT}`;
  measuring.font = font;
  const shown = fit(nameOf(text), NAME_WIDTH);
  const width = measuring.measureText(shown).width + 2 * PAD + 2;
  const [stamp, ctx] = blank(width, NAME_SIZE + 2 * PAD + 3, scale);
  Object.assign(ctx, { font, textBaseline: "middle", textAlign: "center", lineJoin: "round", direction: "ltr" });
  ctx.lineWidth = 3.5;
  ctx.strokeStyle = halo;
  ctx.fillStyle = ink;
  ctx.strokeText(shown, width / 2, stamp.height / 2);
  ctx.fillText(shown, width / 2, stamp.height / 2);
  return stamp;
}

/* In lines of the bubble's width; a word that is too long is broken. */
function wrap(text) {
  const lines = [];
  let line = "";
  for (const word of plain(text).split(/\s+/)) {
    const longer = line ? `${line} ${word}` : word;
    if (measuring.measureText(longer).width <= SAID_WIDTH) {
      line = longer;
      continue;
    }
    if (line) lines.push(line);
    line = "";
    for (const letter of word) {
      if (measuring.measureText(line + letter).width > SAID_WIDTH) {
        lines.push(line);
        line = "";
      }
      line += letter;
    }
    if (lines.length > SAID_LINES) break;
  }
  if (line) lines.push(line);
  if (lines.length <= SAID_LINES) return lines;
  return [...lines.slice(0, SAID_LINES - 1), fit(`${lines[SAID_LINES - 1]} …`, SAID_WIDTH)];
}

/** What somebody says, in a bubble whose tip is at the middle of its lower edge. */
export function saidStamp(text, { scale, ink, paper, line }) {
  const font = `500 ${SAID_SIZE}px ${FONT}`;
  measuring.font = font;
  const lines = wrap(text);
  const inner = Math.max(...lines.map((one) => measuring.measureText(one).width), 14);
  const [width, body] = [inner + 20, lines.length * (SAID_SIZE + 4) + 12];
  const [stamp, ctx] = blank(width + 4, body + 12, scale);
  ctx.translate(2, 2);
  ctx.beginPath();
  ctx.roundRect(0, 0, width, body, 10);
  ctx.moveTo(width / 2 - 6, body - 0.5);
  ctx.lineTo(width / 2, body + 7);
  ctx.lineTo(width / 2 + 6, body - 0.5);
  ctx.fillStyle = paper;
  ctx.strokeStyle = line;
  ctx.lineWidth = 2;
  ctx.stroke();
  ctx.fill();
  Object.assign(ctx, { font, fillStyle: ink, textBaseline: "middle", textAlign: "center" });
  lines.forEach((one, i) => ctx.fillText(one, width / 2, 6 + (i + 0.5) * (SAID_SIZE + 4)));
  return stamp;
}

/** Who somebody is, seen from above: a disc for players, a rounded square for others, with the first
 *  letter of the name. `radius` without its rim. */
export function tokenStamp(letter, { scale, radius, fill, rim, ink, npc }) {
  const side = 2 * radius + 8;
  const [stamp, ctx] = blank(side, side, scale);
  const middle = side / 2;
  ctx.beginPath();
  if (npc) ctx.roundRect(middle - radius * 0.88, middle - radius * 0.88, radius * 1.76, radius * 1.76, radius * 0.45);
  else ctx.arc(middle, middle, radius, 0, 2 * Math.PI);
  ctx.shadowColor = "rgba(12, 16, 28, 0.45)";
  ctx.shadowBlur = 3 * scale;
  ctx.shadowOffsetY = 1.2 * scale;
  ctx.fillStyle = fill;
  ctx.fill();
  ctx.shadowColor = "transparent";
  ctx.lineWidth = Math.max(1.4, radius * 0.16);
  ctx.strokeStyle = rim;
  ctx.stroke();
  if (radius >= 7) {
    Object.assign(ctx, { font: `700 ${Math.round(radius * 1.05)}px ${FONT}`, fillStyle: ink });
    Object.assign(ctx, { textAlign: "center", textBaseline: "middle" });
    ctx.fillText(letter, middle, middle + radius * 0.06);
  }
  return stamp;
}

/** A small beak that points along x, from the middle of a token of this radius; to be turned. */
export function beakStamp({ scale, radius, fill, rim }) {
  const side = 4 * radius + 4;
  const [stamp, ctx] = blank(side, side, scale);
  ctx.translate(side / 2, side / 2);
  ctx.beginPath();
  ctx.moveTo(radius * 1.7, 0);
  ctx.lineTo(radius * 0.45, radius * 0.86);
  ctx.lineTo(radius * 0.45, -radius * 0.86);
  ctx.closePath();
  ctx.lineJoin = "round";
  ctx.lineWidth = Math.max(1.4, radius * 0.16) * 2;
  ctx.strokeStyle = rim;
  ctx.stroke();
  ctx.fillStyle = fill;
  ctx.fill();
  return stamp;
}

// world/edge/page/chart.js: times of ticks over the last two minutes, one part of the tick at a time.

const KEEP = 120; // seconds
const COLORS = ["--last", "--p50", "--p99"];

// Microseconds, for people.
export function timeText(us) {
  return us < 1000 ? `${us} µs` : us < 100000 ? `${(us / 1000).toFixed(us < 10000 ? 2 : 1)} ms` : `${Math.round(us / 1000)} ms`;
}

export class Chart {
  constructor(canvas) {
    this.canvas = canvas;
    this.rows = []; // { phase: [last, p50, p99] }
    this.phase = "tick";
  }

  add(phases) {
    this.rows.push(phases);
    if (this.rows.length > KEEP) this.rows.shift();
    this.draw();
  }

  show(phase) {
    this.phase = phase;
    this.draw();
  }

  draw() {
    const c = this.canvas, ratio = devicePixelRatio || 1;
    const w = c.clientWidth, h = c.clientHeight;
    if (w === 0) return;
    if (c.width !== Math.round(w * ratio)) c.width = Math.round(w * ratio);
    if (c.height !== Math.round(h * ratio)) c.height = Math.round(h * ratio);
    const g = c.getContext("2d"), style = getComputedStyle(c);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    const rows = this.rows.map((r) => r[this.phase]).filter(Boolean);
    const most = Math.max(50, ...rows.flat());
    const top = niceAbove(most), left = 52, y = (us) => h - 6 - (us / top) * (h - 16);
    g.font = "11px system-ui, sans-serif";
    g.textAlign = "right";
    g.textBaseline = "middle";
    for (const part of [0, 0.5, 1]) {
      g.fillStyle = style.getPropertyValue("--quiet");
      g.fillText(timeText(Math.round(top * part)), left - 6, y(top * part));
      g.strokeStyle = style.getPropertyValue("--edge");
      g.beginPath();
      g.moveTo(left, y(top * part));
      g.lineTo(w, y(top * part));
      g.stroke();
    }
    const step = (w - left) / (KEEP - 1);
    COLORS.forEach((color, i) => {
      g.strokeStyle = style.getPropertyValue(color);
      g.lineWidth = i === 0 ? 1 : 1.8;
      g.beginPath();
      rows.forEach((r, k) => g.lineTo(w - (rows.length - 1 - k) * step, y(r[i])));
      g.stroke();
    });
  }
}

// The next of 1, 2, 5 times a power of ten.
function niceAbove(v) {
  const power = 10 ** Math.floor(Math.log10(v));
  return [1, 2, 5, 10].map((k) => k * power).find((k) => k >= v);
}

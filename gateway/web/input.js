/* gateway/web/input.js: keys, mouse and fingers over the picture of the scene, as wishes.
 * Keys that are typed into a field are the field's. May touch: the page's events.
 */
const KEYS = {
  ArrowUp: [0, -1], KeyW: [0, -1], ArrowDown: [0, 1], KeyS: [0, 1],
  ArrowLeft: [-1, 0], KeyA: [-1, 0], ArrowRight: [1, 0], KeyD: [1, 0],
};
const DRAG_MS = 250; // a finger that stays down leads on, so often
const TAP = 12; // pixels: a pointer that went further is no tap with two fingers' zoom in it

export class Input {
  onlead = () => {}; // (x, y) in pixels of the picture
  onzoom = () => {}; // factor
  ontalk = () => {};
  #down = new Set();
  #pointers = new Map();
  #pinch = 0;
  #pinched = false;
  #led = 0;

  constructor(canvas) {
    addEventListener("keydown", (e) => this.#key(e));
    addEventListener("keyup", (e) => this.#down.delete(e.code));
    addEventListener("blur", () => this.#down.clear());
    document.addEventListener("visibilitychange", () => this.#down.clear());
    canvas.addEventListener("pointerdown", (e) => this.#press(canvas, e));
    canvas.addEventListener("pointermove", (e) => this.#drag(e));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (e) => this.#release(e));
    canvas.addEventListener("wheel", (e) => {
      e.preventDefault();
      this.onzoom(Math.exp(-Math.max(-120, Math.min(e.deltaY, 120)) / 500));
    }, { passive: false });
    canvas.addEventListener("contextmenu", (e) => e.preventDefault());
  }

  /** Where the keys point: `[dx, dy]`, each -1, 0 or 1. */
  get keys() {
    let [dx, dy] = [0, 0];
    for (const code of this.#down) {
      dx += KEYS[code][0];
      dy += KEYS[code][1];
    }
    return [Math.sign(dx), Math.sign(dy)];
  }

  clear() {
    this.#down.clear();
  }

  #key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.("input, textarea, button, summary, dialog")) return;
    if (KEYS[e.code]) this.#down.add(e.code);
    else if (e.key === "+" || e.key === "=") this.onzoom(1.25);
    else if (e.key === "-") this.onzoom(0.8);
    else if (e.key === "Enter" || e.key === "t") this.ontalk();
    else return;
    e.preventDefault();
  }

  #press(canvas, e) {
    if (e.button !== 0) return;
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(e.pointerId);
    this.#pointers.set(e.pointerId, { x: e.offsetX, y: e.offsetY, x0: e.offsetX, y0: e.offsetY });
    this.#pinched = this.#pointers.size > 1;
    this.#pinch = this.#spread();
    this.#led = performance.now();
  }

  #drag(e) {
    const pointer = this.#pointers.get(e.pointerId);
    if (!pointer) return;
    Object.assign(pointer, { x: e.offsetX, y: e.offsetY });
    if (this.#pointers.size > 1) {
      const spread = this.#spread();
      if (this.#pinch > 0) this.onzoom(spread / this.#pinch);
      this.#pinch = spread;
    } else if (!this.#pinched && Math.hypot(pointer.x - pointer.x0, pointer.y - pointer.y0) > TAP &&
        performance.now() - this.#led > DRAG_MS) {
      this.#led = performance.now();
      this.onlead(pointer.x, pointer.y);
    }
  }

  #release(e) {
    const pointer = this.#pointers.get(e.pointerId);
    this.#pointers.delete(e.pointerId);
    if (pointer && e.type === "pointerup" && !this.#pinched) this.onlead(pointer.x, pointer.y);
    if (this.#pointers.size === 0) this.#pinched = false;
    this.#pinch = 0;
  }

  /* How far two fingers are apart; 0 where there are not two. */
  #spread() {
    if (this.#pointers.size !== 2) return 0;
    const [a, b] = this.#pointers.values();
    return Math.hypot(a.x - b.x, a.y - b.y);
  }
}

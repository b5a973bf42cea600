/* gateway/web/camera.js: which part of the scene is seen, and how large. Units are the scene's; pixels
 * are those of the page, however many of the screen each has. May touch: nothing.
 */
const ZOOM_MIN = 4; // pixels a unit
const ZOOM_MAX = 64;
const FOLLOW_S = 0.12; // time in which most of the way to the one followed is made
const ZOOM_S = 0.1;
const RIM = 6; // units beyond a map's sides that may be shown
const SNAP = 24; // units: further away is another place, and is not flown to

export class Camera {
  x = 0;
  y = 0;
  zoom = 24; // pixels a unit
  width = 1;
  height = 1;
  still = false; // whoever asks for less motion gets no gliding
  #wanted = 24;
  #chosen = false;

  resize(width, height) {
    this.width = width;
    this.height = height;
    if (!this.#chosen) this.zoom = this.#wanted = Math.min(Math.max(Math.sqrt(width * height) / 40, 15), 32);
  }

  /** Larger or smaller by this factor, about the middle. */
  magnify(factor) {
    this.#chosen = true;
    this.#wanted = Math.min(Math.max(this.#wanted * factor, ZOOM_MIN), ZOOM_MAX);
    if (this.still) this.zoom = this.#wanted;
  }

  place(x, y) {
    this.x = x;
    this.y = y;
  }

  /** `ground`: of whose outside not too much is shown, where it has sides. */
  follow(x, y, dt, ground) {
    if (ground.mapped) {
      x = this.#inside(x, this.width / 2 / this.zoom, ground.width);
      y = this.#inside(y, this.height / 2 / this.zoom, ground.height);
    }
    if (this.still || Math.hypot(x - this.x, y - this.y) > SNAP) return this.place(x, y);
    const part = 1 - Math.exp(-dt / FOLLOW_S);
    this.x += (x - this.x) * part;
    this.y += (y - this.y) * part;
    this.zoom += (this.#wanted - this.zoom) * (1 - Math.exp(-dt / ZOOM_S));
  }

  #inside(v, half, side) {
    if (side + 2 * RIM <= 2 * half) return side / 2;
    return Math.min(Math.max(v, half - RIM), side - half + RIM);
  }

  toScreen(x, y) {
    return { x: (x - this.x) * this.zoom + this.width / 2, y: (y - this.y) * this.zoom + this.height / 2 };
  }

  toScene(x, y) {
    return { x: (x - this.width / 2) / this.zoom + this.x, y: (y - this.height / 2) / this.zoom + this.y };
  }

  /** The rectangle of the scene that is seen. */
  get view() {
    const [w, h] = [this.width / 2 / this.zoom, this.height / 2 / this.zoom];
    return { x0: this.x - w, y0: this.y - h, x1: this.x + w, y1: this.y + h };
  }
}

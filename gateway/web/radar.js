/* gateway/web/radar.js: all that is in sight on one small disc, north up. May touch: its canvas.
 */
export function drawRadar(canvas, { people, radius }) {
  const scale = Math.min(devicePixelRatio || 1, 2);
  const side = canvas.clientWidth;
  if (side === 0 || !people.self) return;
  if (canvas.width !== Math.round(side * scale)) canvas.width = canvas.height = Math.round(side * scale);
  const ctx = canvas.getContext("2d");
  const style = getComputedStyle(canvas);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  const [middle, reach] = [side / 2, side / 2 - 3];
  const { self } = people;
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.clearRect(0, 0, side, side);
  const disc = (x, y, r, colour) => {
    ctx.beginPath();
    ctx.arc(x, y, r, 0, 2 * Math.PI);
    ctx.fillStyle = colour;
    ctx.fill();
  };
  disc(middle, middle, reach, of("well"));
  ctx.strokeStyle = of("line");
  for (const part of [0.5, 1]) {
    ctx.beginPath();
    ctx.arc(middle, middle, reach * part, 0, 2 * Math.PI);
    ctx.stroke();
  }
  const [other, player] = [of("npc"), of("ink")];
  for (const person of people.all.values()) {
    if (person.going) continue;
    const [dx, dy] = [(person.x - self.x) / radius, (person.y - self.y) / radius];
    const far = Math.max(Math.hypot(dx, dy), 1);
    disc(middle + (dx / far) * reach, middle + (dy / far) * reach, person.npc ? 1.8 : 2.4, person.npc ? other : player);
  }
  disc(middle, middle, 3.5, of("self"));
}

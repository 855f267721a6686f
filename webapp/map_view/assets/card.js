// The card of the point under the pointer or the keyboard: sentence, article, section and category, sent by the server.
const CARD_MS = 110;
const ARROW_STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

const CARD = {
  hover(row, by = "pointer") {
    if (row === this.over) return;
    this.over = row;
    this.overBy = by;
    this.closed = false;
    this.hint();
    this.redraw(false);
    clearTimeout(this.hoverTimer);
    if (row < 0) return;
    const place = this.scene.place(row);
    this.hoverTimer = setTimeout(() => this.sendNow("hover", { digest: this.data.digest, place }), CARD_MS);
  },

  // Closes the card until the pointer or the keyboard comes to another point, also if it is still on its way.
  closeCard() {
    this.closed = true;
    clearTimeout(this.hoverTimer);
    this.tip.hidden = true;
  },

  hint() {
    const tip = this.data.tip;
    const fits = tip && !this.closed && this.over >= 0 && tip.place === this.scene.place(this.over);
    this.tip.hidden = !fits;
    if (!fits) return;
    const key = `${tip.place} ${tip.text}`;
    if (this.tipKey !== key) {
      this.tipKey = key;
      this.tip.replaceChildren();
      made("span", "sentence", this.tip, tip.text, { dir: "auto" });
      made("b", "", this.tip, tip.head);
      if (tip.group) {
        const line = made("span", "group", this.tip), one = this.data.look.classes[tip.kind];
        if (one) made("span", `swatch shape${one.shape}`, line).style.backgroundColor = one.colour;
        made("span", "", line, tip.group);
      }
    }
    this.placeCard();
    if (this.overBy === "keys") this.said.textContent = [tip.text, tip.head, tip.group].filter(Boolean).join(". ");
  },

  placeCard() {
    const [x, y] = this.pixel(this.over);
    const { offsetWidth: width, offsetHeight: height } = this.tip, gap = 12;
    const left = x + gap + width <= this.width ? x + gap : Math.max(x - gap - width, 4);
    const top = y + gap + height <= this.height ? y + gap : Math.max(y - gap - height, 4);
    this.tip.style.left = `${Math.min(left, Math.max(this.width - width - 4, 0))}px`;
    this.tip.style.top = `${top}px`;
  },

  // Goes from the point with the keyboard to the nearest one in a direction; at first to the one nearest to the centre.
  step([dx, dy]) {
    const { places } = this.scene, from = this.over >= 0 ? [places[2 * this.over], places[2 * this.over + 1]] : [this.camera.x, this.camera.y];
    let best = -1, least = Infinity;
    for (const row of this.drawing.rows) {
      if (row === this.over || this.hidden.includes(this.scene.kinds[row])) continue;
      const x = places[2 * row] - from[0], y = places[2 * row + 1] - from[1], along = x * dx + y * dy;
      const far = this.over < 0 ? Math.hypot(x, y) : along + 2 * Math.abs(x * dy - y * dx);
      if ((this.over < 0 || (along > 0 && Math.abs(x * dy - y * dx) <= along)) && far < least) [best, least] = [row, far];
    }
    if (best < 0) return;
    const [px, py] = this.screen([places[2 * best], places[2 * best + 1]]);
    if (px < 20 || py < 20 || px > this.width - 20 || py > this.height - 20) {
      [this.camera.x, this.camera.y] = [places[2 * best], places[2 * best + 1]];
      this.moved();
    }
    this.hover(best, "keys");
  },

  open(row) {
    if (row >= 0 && !this.data.fixed) this.tell("point", { digest: this.data.digest, place: this.scene.place(row) });
  },
};

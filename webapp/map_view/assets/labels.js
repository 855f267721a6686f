// Names of categories on the map. Each stands at a dense place of its category; one that would cover another, or does not
// fit into the view, is moved a little or left out, and appears when the user zooms in. Categories with more points come
// first.
const LABEL_GAP = 4, LABEL_SHIFTS = [0, -1, 1, -2, 2], MOST_LABELS = 40;

const LABELS = {
  placeLabels() {
    const placed = [], kinds = new Set(), { classes } = this.data.look;
    if (this.named && this.data.anchors) {
      for (const [kind, x, y] of this.data.anchors) {
        if (placed.length === MOST_LABELS) break;
        if (kinds.has(kind) || this.hidden.includes(kind)) continue;
        const box = this.freeBox(this.labelSize(classes[kind].name), this.screen([x, y]), placed);
        if (!box) continue;
        kinds.add(kind);
        placed.push({ ...box, text: classes[kind].name });
      }
    }
    return placed;
  },

  labelSize(text) {
    this.sizes ??= new Map();
    if (!this.sizes.has(text)) {
      const probe = this.labelElement(text);
      this.sizes.set(text, [probe.offsetWidth, probe.offsetHeight]);
      probe.remove();
    }
    return this.sizes.get(text);
  },

  freeBox([width, height], [x, y], placed) {
    for (const shift of LABEL_SHIFTS) {
      const left = x - width / 2, top = y - height / 2 + shift * (height + LABEL_GAP);
      const inside = left >= 0 && top >= 0 && left + width <= this.width && top + height <= this.height;
      if (!inside) continue;
      const covers = placed.some(
        (one) =>
          left < one.left + one.width + LABEL_GAP && one.left < left + width + LABEL_GAP &&
          top < one.top + one.height + LABEL_GAP && one.top < top + height + LABEL_GAP,
      );
      if (!covers) return { left, top, width, height };
    }
    return null;
  },

  labelElement(text) {
    const element = made("span", "label", this.labels);
    element.textContent = text;
    return element;
  },

  paintLabels() {
    const placed = this.placeLabels(), key = JSON.stringify(placed);
    if (key === this.placedLabels) return;
    this.placedLabels = key;
    this.labels.replaceChildren();
    for (const { left, top, text } of placed) {
      const element = this.labelElement(text);
      element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
    }
  },

  // Draws the names into a picture of the map.
  drawLabels(flat, ratio) {
    flat.font = `600 ${12 * ratio}px sans-serif`;
    flat.textBaseline = "middle";
    flat.lineJoin = "round";
    flat.lineWidth = 3 * ratio;
    flat.strokeStyle = this.data.look.paper;
    flat.fillStyle = this.data.look.ink;
    for (const { left, top, width, height, text } of this.placeLabels()) {
      const at = [text, left * ratio, (top + height / 2) * ratio, width * ratio];
      flat.strokeText(...at);
      flat.fillText(...at);
    }
    flat.textBaseline = "alphabetic";
  },
};

// Names on the map at several levels: those of categories, as many as have room, and closer in those of their parts, too.
// Each stands at a dense place of its group; one that would cover another or a panel of the map, or does not fit into the
// view, is moved a little or left out. Where too few have room, they are drawn smaller and shorter, and moved further.
// labels.py orders them, and places names in pictures.
const GROUPS = 0, CATEGORIES = 1, PARTS = 2, CLOSER = 1.6, CLOSEST = 4.5;
const LABEL_GAP = 4, MOST_LABELS = 60, ALL_NAMED = 12, SHARE_NAMED = 0.3, SHORT_NAME = 22;
const NEARBY = shifts([0, -0.4, 0.4], 2), FURTHER = shifts([0, -0.5, 0.5, -0.8, 0.8], 5);
const TYPE_SIZES = [18, 16, 12], CROWDED = 13, FEW = 8, SMALL = 12; // pixels, for each level, and for many categories

/** Widths and lines by which a name may be moved, the least first. @param {number[]} asides @param {number} lines */
function shifts(asides, lines) {
  const steps = Array.from({ length: 2 * lines + 1 }, (_, i) => (i % 2 ? -1 : 1) * Math.ceil(i / 2));
  const found = asides.flatMap((aside) => steps.map((step) => [aside, step]));
  return found.sort(([a, b], [c, d]) => Math.abs(a) * 3 + Math.abs(b) - Math.abs(c) * 3 - Math.abs(d));
}

/** @type {Labels & ThisType<MapView>} */
const LABELS = {
  labelLevels() {
    const magnified = this.fitUnit() / this.camera.unit;
    if (magnified < CLOSER && this.data.names.some(([level]) => level === GROUPS)) return [GROUPS];
    return magnified < CLOSEST ? [CATEGORIES] : [CATEGORIES, PARTS];
  },

  // The names in the view, with their boxes; `taken` boxes stay free. At least SHARE_NAMED of the names of the first
  // level are placed, and all of ALL_NAMED, as far as there is any room for them.
  placeLabels(taken) {
    if (!this.named || !this.data.names) return [];
    const [level] = this.labelLevels(), all = this.nameable(level), enough = all <= ALL_NAMED ? all : Math.ceil(SHARE_NAMED * all);
    let best = this.placed(taken, NEARBY, false);
    for (const moves of [NEARBY, FURTHER]) {
      if (best.filter((one) => one.level === level).length >= enough) break;
      const smaller = this.placed(taken, moves, true);
      if (smaller.length > best.length) best = smaller;
    }
    return best;
  },

  placed(taken, moves, small) {
    const placed = /** @type {Placed[]} */ ([]), seen = new Set();
    const categories = new Set(this.data.names.filter(([level]) => level === CATEGORIES).map((name) => name[5]));
    for (const level of this.labelLevels()) {
      const size = small ? SMALL : level === CATEGORIES && categories.size > FEW ? CROWDED : TYPE_SIZES[level];
      for (const [of, name, kinds, x, y, key] of this.data.names) {
        const id = `${level} ${key}`;
        if (of !== level || seen.has(id) || placed.length === MOST_LABELS || this.unseen(kinds)) continue;
        const [left, top] = this.screen([x, y]);
        if (left < 0 || top < 0 || left > this.width || top > this.height) continue;
        const [phrase] = name.split(" · "), short = phrase.length > SHORT_NAME ? `${phrase.slice(0, SHORT_NAME - 1)}…` : phrase;
        const text = small ? short : name;
        const box = this.freeBox(this.labelSize(text, size), [left, top], [...taken, ...placed], moves);
        if (!box) continue;
        seen.add(id);
        placed.push({ ...box, text, size, level });
      }
    }
    return placed;
  },

  // Number of names of a level that stand in the view and are not hidden, whether they have room or not.
  nameable(level) {
    const found = this.data.names.filter(([of, , kinds, x, y]) => {
      const [left, top] = this.screen([x, y]);
      return of === level && left > 0 && top > 0 && left < this.width && top < this.height && !this.unseen(kinds);
    });
    return new Set(found.map((name) => name[5])).size;
  },

  /** Whether all of some categories are hidden, or filters leave out all of their points. @param {number[]} kinds */
  unseen(kinds) {
    return kinds.length > 0 && kinds.every((kind) => this.hidden.includes(kind) || !this.data.look.classes[kind].count);
  },

  labelSize(text, size) {
    const key = `${size} ${text}`;
    this.sizes ??= new Map();
    if (!this.sizes.has(key)) {
      const probe = this.labelElement(text, size);
      this.sizes.set(key, [probe.offsetWidth, probe.offsetHeight]);
      probe.remove();
    }
    return /** @type {Pair} */ (this.sizes.get(key));
  },

  freeBox([width, height], [x, y], taken, moves) {
    for (const [aside, lines] of moves) {
      const left = x - width / 2 + aside * width, top = y - height / 2 + lines * (height + LABEL_GAP);
      const inside = left >= 0 && top >= 0 && left + width <= this.width && top + height <= this.height;
      if (!inside) continue;
      const covers = taken.some(
        (one) =>
          left < one.left + one.width + LABEL_GAP && one.left < left + width + LABEL_GAP &&
          top < one.top + one.height + LABEL_GAP && one.top < top + height + LABEL_GAP,
      );
      if (!covers) return { left, top, width, height };
    }
    return null;
  },

  labelElement(text, size) {
    const element = made("span", "label", this.labels, text);
    element.style.fontSize = `${size}px`;
    return element;
  },

  // Boxes of the panels that lie over the map.
  panels() {
    const stage = this.stage.getBoundingClientRect();
    return [...this.frame.querySelectorAll("[data-panel]")].map((panel) => {
      const { left, top, width, height } = panel.getBoundingClientRect();
      return { left: left - stage.left, top: top - stage.top, width, height };
    });
  },

  paintLabels() {
    const placed = this.placeLabels(this.panels()), key = JSON.stringify(placed);
    if (key === this.placedLabels) return;
    this.placedLabels = key;
    const [level] = this.labelLevels(), some = placed.filter((one) => one.level === level).length, all = this.nameable(level);
    const text = this.named && some < all ? ` · ${number(some)} of ${number(all)} names; zoom in for more` : "";
    if (text !== this.unnamed.textContent) this.redraw(false); // names stay off this text, too
    this.unnamed.textContent = text;
    this.labels.replaceChildren();
    for (const { left, top, text, size } of placed) {
      const element = this.labelElement(text, size);
      element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
    }
  },
};

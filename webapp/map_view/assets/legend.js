// The legend: a click on a category selects all of its points, with Shift they are added; the eye hides them. Long legends
// can be searched.
const LONG_LEGEND = 12;
const EYE = "M3 12c3-5 6-7 9-7s6 2 9 7c-3 5-6 7-9 7s-6-2-9-7M12 9a3 3 0 100 6 3 3 0 000-6";
const CLOSED_EYE = "M3 12c3-5 6-7 9-7s6 2 9 7c-3 5-6 7-9 7s-6-2-9-7M4 4l16 16";

const LEGEND = {
  legendPanel() {
    // Below the map, where it hides no point. The map is as high as it leaves room for.
    this.legend = made("div", "legend", this.root, "", { role: "group", "aria-label": "Legend" });
    new ResizeObserver(() => this.setHeight()).observe(this.legend);
    const fold = () => this.openLegend(this.fold.getAttribute("aria-expanded") !== "true"), find = "Find a category";
    this.fold = pressed(this.legend, "fold", fold, "Legend");
    this.wanted = made("input", "wanted", this.legend, "", { type: "search", placeholder: find, "aria-label": find });
    this.wanted.oninput = () => this.entries(true);
    this.list = made("ul", "entries", this.legend);
    this.openLegend(!matchMedia("(max-width: 40rem)").matches);
  },

  openLegend(open) {
    this.fold.setAttribute("aria-expanded", String(open));
    this.legend.classList.toggle("closed", !open);
    this.redraw(false);
  },

  entries(anew = false) {
    const classes = this.data.look.classes, key = JSON.stringify([classes, this.hidden]);
    if (key === this.listed && !anew) return;
    this.listed = key;
    const shown = classes.map((one, kind) => [one, kind]).filter(([one]) => one.count);
    this.wanted.hidden = shown.length <= LONG_LEGEND;
    const focused = this.list.querySelector(":focus"), held = focused && [focused.className, focused.dataset.kind];
    const text = this.wanted.value.trim().toLowerCase();
    this.list.replaceChildren();
    for (const [one, kind] of shown) {
      if (!this.wanted.hidden && !one.name.toLowerCase().includes(text)) continue;
      this.entry(one, kind);
    }
    if (held) [...this.list.querySelectorAll("button")].find((one) => one.className === held[0] && one.dataset.kind === held[1])?.focus();
  },

  entry(one, kind) {
    const row = made("li", "row", this.list), off = this.hidden.includes(kind);
    row.classList.toggle("off", off);
    const select = (event) => this.selectCategory(kind, event.shiftKey ? "add" : this.how);
    const title = this.data.fixed ? one.name : `${one.name}: click to select all, Shift and click to add`;
    const entry = pressed(row, "entry", select, "", { title, "data-kind": String(kind) });
    made("span", `swatch shape${one.shape}`, entry).style.backgroundColor = one.colour;
    made("span", "name", entry, one.name);
    made("span", "count", entry, number(one.count));
    entry.disabled = Boolean(this.data.fixed);
    const eye = pressed(row, "eye", (event) => this.toggle(kind, event.detail), "", {
      title: off ? `Show ${one.name}` : `Hide ${one.name}; double-click to show only this`,
      "data-kind": String(kind), "aria-label": `Hide ${one.name}`, "aria-pressed": String(off),
    });
    eye.append(icon(off ? CLOSED_EYE : EYE));
  },

  toggle(kind, presses) {
    const all = this.data.look.classes.map((_, i) => i);
    if (presses > 1) this.hidden = all.filter((other) => other !== kind);
    else if (this.hidden.includes(kind)) this.hidden = this.hidden.filter((other) => other !== kind);
    else this.hidden = [...this.hidden, kind];
    if (this.hidden.length === all.length) this.hidden = [];
    this.entries();
    this.drawing?.look(this.data.look, this.hidden);
    this.redraw();
    clearTimeout(this.hiddenTimer);
    this.hiddenTimer = setTimeout(() => this.setState("hidden", { digest: this.data.digest, kinds: this.hidden }), 350);
  },
};

// The legend: a click on a category selects all of its points, with Shift they are added; the eye hides them. It lies at
// the lower right, where the fitted map leaves it room. Long legends are closed at first, and can be searched.
const LONG_LEGEND = 12, WIDE_LEGEND = 760;

const LEGEND = {
  legendPanel() {
    this.legend = made("div", "legend", this.frame, "", { "data-panel": "legend", role: "group", "aria-label": "Legend" });
    const find = "Find a group";
    // A view that the page makes anew after a selection has the legend as the reader left it.
    const fold = () => this.openLegend((window.themescopeLegend = this.fold.getAttribute("aria-expanded") !== "true"));
    this.fold = pressed(this.legend, "fold", fold, "Legend", { "aria-expanded": "false" });
    this.wanted = made("input", "wanted", this.legend, "", { type: "search", placeholder: find, "aria-label": find });
    this.wanted.oninput = () => this.entries(true);
    this.list = made("ul", "entries", this.legend);
    this.openLegend(false);
  },

  openLegend(open) {
    this.fold.setAttribute("aria-expanded", String(open));
    this.legend.classList.toggle("closed", !open);
    if (this.scene && this.fits()) this.fit();
    this.redraw();
  },

  entries(anew = false) {
    const classes = this.data.look.classes, key = JSON.stringify([classes, this.hidden]);
    if (key === this.listed && !anew) return;
    const shown = classes.map((one, kind) => [one, kind]).filter(([one]) => one.count);
    const first = !this.listed;
    this.listed = key;
    this.wanted.hidden = shown.length <= LONG_LEGEND;
    const focused = this.list.querySelector(":focus"), held = focused && [focused.className, focused.dataset.kind];
    const text = this.wanted.value.trim().toLowerCase();
    this.list.replaceChildren();
    for (const [one, kind] of shown) {
      if (this.wanted.hidden || one.name.toLowerCase().includes(text)) this.entry(one, kind);
    }
    if (held) [...this.list.querySelectorAll("button")].find((one) => one.className === held[0] && one.dataset.kind === held[1])?.focus();
    const roomy = this.wanted.hidden && this.frame.clientWidth >= WIDE_LEGEND;
    if (first && (window.themescopeLegend ?? roomy)) this.openLegend(true);
  },

  entry(one, kind) {
    const row = made("li", "row", this.list, "", { "data-item": "" }), off = this.hidden.includes(kind);
    row.classList.toggle("off", off);
    const select = (event) => this.selectCategory(kind, event.shiftKey ? "add" : this.how);
    const title = this.data.fixed ? one.name : `${one.name}: click to select all, Shift and click to add`;
    const entry = pressed(row, "entry", select, "", { title, "data-kind": String(kind) });
    made("span", `swatch shape${one.shape}`, entry).style.backgroundColor = one.colour;
    made("span", "name", entry, one.name);
    made("span", "count", entry, number(one.count));
    entry.disabled = Boolean(this.data.fixed);
    pressed(row, "eye", (event) => this.toggle(kind, event.detail), off ? "Show" : "Hide", {
      title: off ? `Show ${one.name}` : `Hide ${one.name}; double-click to show only this`,
      "data-kind": String(kind), "aria-label": `${off ? "Show" : "Hide"} ${one.name}`,
    });
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

// The map as a list, for screen readers and keyboards: categories, the nearest other categories, and sentences.
const OUTLINE = {
  outlinePanel() {
    this.outline = made("details", "outline", this.root);
    made("summary", "", this.outline, "Map as a list");
    this.outlineBody = made("div", "body", this.outline);
    this.outline.ontoggle = () => this.askOutline();
  },

  askOutline() {
    const key = this.data.digest + (this.data.filter ?? "");
    if (!this.outline.open || this.outlineOf === key) return;
    if (!this.data.outline) {
      this.outlineBody.textContent = "Loading the list …";
      return this.sendNow("outline", { digest: this.data.digest });
    }
    this.outlineOf = key;
    this.outlineBody.replaceChildren();
    const list = made("ul", "", this.outlineBody);
    for (const group of this.data.outline) this.outlineGroup(group, list);
  },

  outlineGroup({ kind, near, sentences }, list) {
    const one = this.data.look.classes[kind], item = made("li", "", list);
    const details = made("details", "", item, "", { "data-kind": String(kind) });
    made("summary", "", details, `${one.name} (${number(one.count)})`);
    if (!this.data.fixed) pressed(details, "link", () => this.selectCategory(kind, this.how), "Select all");
    if (near.length) {
      const line = made("p", "near", details, "Nearest: ");
      for (const other of near) pressed(line, "link", () => this.goTo(other), this.data.look.classes[other].name);
    }
    const lines = made("ul", "", details);
    for (const [place, text] of sentences) {
      pressed(made("li", "", lines), "link", () => this.openPlace(place), text, { dir: "auto" });
    }
  },

  goTo(kind) {
    const details = this.outlineBody.querySelector(`details[data-kind="${kind}"]`);
    details.open = true;
    details.querySelector("summary").focus();
  },

  openPlace(place) {
    if (!this.data.fixed) this.send("point", { digest: this.data.digest, place });
  },
};

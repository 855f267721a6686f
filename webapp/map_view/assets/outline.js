// The map as a list, for screen readers and keyboards: categories, the nearest other categories, and sentences.
const OUTLINE = {
  outlinePanel() {
    this.outline = made("details", "outline", this.root);
    made("summary", "", this.outline).textContent = "Map as a list";
    this.outlineBody = made("div", "body", this.outline);
    this.outline.ontoggle = () => this.askOutline();
  },

  askOutline() {
    if (!this.outline.open || this.outlineOf === this.data.digest) return;
    if (!this.data.outline) {
      this.outlineBody.textContent = "Loading the list …";
      return this.sendNow("outline", { digest: this.data.digest });
    }
    this.outlineOf = this.data.digest;
    this.outlineBody.replaceChildren();
    const list = made("ul", "", this.outlineBody);
    for (const group of this.data.outline) this.outlineGroup(group, list);
  },

  outlineGroup({ kind, near, sentences }, list) {
    const one = this.data.look.classes[kind], item = made("li", "", list), details = made("details", "", item);
    details.dataset.kind = kind;
    made("summary", "", details).textContent = `${one.name} (${number(one.count)})`;
    if (!this.data.fixed) this.textButton("Select all", details, () => this.selectCategory(kind, this.how));
    if (near.length) {
      const line = made("p", "near", details);
      line.textContent = "Nearest: ";
      for (const other of near) this.textButton(this.data.look.classes[other].name, line, () => this.goTo(other));
    }
    const lines = made("ul", "", details);
    for (const [place, text] of sentences) {
      const line = made("li", "", lines), button = this.textButton(text, line, () => this.openPlace(place));
      button.dir = "auto";
    }
  },

  textButton(text, parent, press) {
    const button = made("button", "link", parent);
    button.type = "button";
    button.textContent = text;
    button.onclick = press;
    return button;
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

// The map as a list, for screen readers and keyboards: categories, the nearest other categories, and sentences.
const OUTLINE = {
  outlinePanel() {
    this.outline = made("section", "outline", this.frame, "", { "data-panel": "outline", "aria-label": "Map as a list" });
    this.outline.hidden = true;
    const head = made("div", "head", this.outline);
    made("b", "", head, "Map as a list");
    pressed(head, "link", () => this.closeOutline(), "Close", { "aria-label": "Close the list" });
    this.outlineBody = made("div", "body", this.outline, "", { tabindex: "-1" });
    this.outline.onkeydown = (event) => {
      if (event.key === "Escape") this.closeOutline();
    };
  },

  openOutline() {
    this.outline.hidden = false;
    this.outlineBody.focus();
    this.setState("outline", this.data.digest);
    this.askOutline();
    this.redraw(false);
  },

  closeOutline() {
    this.outline.hidden = true;
    this.setState("outline", "");
    this.bar.querySelector("[aria-label=More]").focus();
    this.redraw(false);
  },

  askOutline() {
    const key = this.data.digest + (this.data.filter ?? "");
    // A view that Streamlit has made anew shows the list that was open before.
    if (this.data.outline && !this.data.fixed && !this.outlineOf) this.outline.hidden = false;
    if (this.outline.hidden || this.outlineOf === key) return;
    if (!this.data.outline) {
      this.outlineBody.textContent = "Loading the list …";
      return this.setState("outline", this.data.digest);
    }
    this.outlineOf = key;
    this.outlineBody.replaceChildren();
    const list = made("ul", "", this.outlineBody);
    for (const group of this.data.outline) this.outlineGroup(group, list);
    list.querySelector("summary")?.focus();
  },

  outlineGroup({ kind, near, sentences }, list) {
    const one = this.data.look.classes[kind], item = made("li", "", list, "", { "data-item": "" });
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
    if (!this.data.fixed) this.tell("point", { digest: this.data.digest, place });
  },
};

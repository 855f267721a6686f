// One unit at a time, with the codes of the codebook. The browser holds the next units of the queue, so that the following
// one is drawn with the key that codes this one; every action names the unit that is drawn and what is shown of it.
class Unit extends CodingView {
  constructor(root) {
    super(root);
    this.units = new Map(); // id → unit as the server told it last
    this.current = null; // id of the unit that is drawn; null for none
    this.drawn = this.textOf = undefined; // that of the text that stands there, and the text
    this.waiting = 0; // number of the action whose unit is to be drawn next; 0 for none
    this.touched = new Set(); // units that were marked as uncertain, or given a code of several, since they were drawn
    this.main = make("div", "main");
    this.progress = make("div", "progressbar", "", { role: "progressbar", "aria-valuemin": "0" });
    this.progress.append(make("span"));
    this.count = make("p", "count");
    const head = make("div", "progress"), side = make("aside");
    head.append(this.progress, this.count);
    this.conflict = make("p", "conflict", "", { role: "alert" });
    this.article = make("article", "", "", { "aria-live": "polite" });
    this.row = make("div", "actions");
    this.row.append(...["note", "uncertain", "skip"].map((kind) => this.button(kind)));
    this.field = make("div", "field");
    this.main.append(head, this.notice, this.conflict, this.article, this.row, this.field, this.bar);
    this.codes = new CodeList(side, (code) => this.give(code));
    this.side = side;
    root.append(this.main, side);
    // A key that is held down would code the next unit by the button that has the focus.
    root.addEventListener("keydown", (event) => event.repeat && event.key === "Enter" && event.preventDefault());
  }

  // --- what is shown --------------------------------------------------------------------------------------------------

  draw() {
    const { data } = this;
    if (data.queue !== this.queue) {
      this.queue = data.queue;
      this.units.clear();
      this.touched.clear();
      this.current = data.at;
      this.waiting = 0;
      this.closeField();
    }
    // What is not sent again may have changed, except for the unit that is drawn.
    const drawn = this.units.get(this.current);
    this.units = new Map([...(drawn ? [drawn] : []), ...data.units].map((unit) => [unit.id, unit]));
    if (this.waiting && data.acknowledged >= this.waiting) {
      this.waiting = 0;
      this.current = data.at;
    } else if (this.current === null && !this.waiting) {
      const at = this.units.get(data.at);
      this.current = at && this.present(at).settled ? this.following(at.id) : data.at;
    }
    this.drawUnit();
  }

  // The unit as it is once the server has handled the waiting actions.
  present(unit) {
    const found = { ...unit, changed: 0 };
    for (const one of actionQueue.actions) {
      if (one.unit !== unit.id || one.kind === "show") continue;
      found.changed = one.number;
      if (one.kind === "code" && this.data.several) {
        found.codes = found.codes.includes(one.code) ? found.codes.filter((n) => n !== one.code) : [...found.codes, one.code];
        [found.none, found.settled] = [false, true];
      } else if (one.kind === "code" || one.kind === "accept") {
        [found.codes, found.none, found.settled, found.uncertain] = [one.codes, false, true, Boolean(one.uncertain)];
      } else if (one.kind === "none_fits") [found.codes, found.none, found.settled, found.uncertain] = [[], true, true, false];
      else if (one.kind === "unassign") [found.codes, found.none, found.settled] = [[], false, false];
      else if (one.kind === "uncertain") found.uncertain = one.on;
      else if (one.kind === "note") [found.note, found.settled] = [one.text, found.settled || Boolean(one.text)];
      else if (one.kind === "skip") found.passed = true;
      else if (one.kind === "go") found.settled = true;
    }
    return found;
  }

  // The next unit about which something is left to decide; null if the browser holds none.
  following(id) {
    const at = this.units.get(id)?.row ?? -1, { total } = this.data;
    let [best, nearest] = [null, Infinity];
    for (const unit of this.units.values()) {
      const { settled, passed } = this.present(unit), ahead = (unit.row - at + total) % total || total;
      if (unit.id !== id && !settled && !passed && ahead < nearest) [best, nearest] = [unit.id, ahead];
    }
    return best;
  }

  drawUnit() {
    const { data } = this, { words } = data, known = this.units.get(this.current);
    const unit = known && !this.waiting ? this.present(known) : null;
    const kept = [...this.units.values()], done = data.done + kept.filter((one) => !one.settled && this.present(one).settled).length;
    this.count.textContent = `${done.toLocaleString("en")} ${words.of} ${data.total.toLocaleString("en")}`;
    this.count.parentElement.hidden = !data.total;
    this.progress.setAttribute("aria-valuemax", data.total);
    this.progress.setAttribute("aria-valuenow", done);
    this.progress.setAttribute("aria-label", this.count.textContent);
    this.progress.firstChild.style.width = `${data.total ? (100 * done) / data.total : 0}%`;
    this.root.dataset.unit = unit ? unit.id : "";
    this.shown = unit;
    if (unit) this.drawText(unit);
    else {
      const over = !this.waiting && !actionQueue.actions.length && (data.done >= data.total || data.at === null);
      this.article.replaceChildren(make("p", over ? "end" : "loading", over ? data.end : words.loading));
    }
    this.row.hidden = !unit;
    this.buttons.uncertain.setAttribute("aria-pressed", String(Boolean(unit?.uncertain)));
    for (const kind of ["note", "uncertain", "skip"]) this.buttons[kind].setAttribute("aria-disabled", String(data.read_only));
    this.drawCodes();
    this.drawConflict();
  }

  drawText(unit) {
    if (this.drawn !== unit.id) this.touched.delete(this.drawn);
    if (this.drawn !== unit.id || this.textOf !== unit.text) {
      const lines = [["about", unit.about], ["near", unit.before], ["text", unit.text], ["near", unit.after]];
      this.note = make("p", "noted", "", { dir: "auto" });
      this.article.replaceChildren(...lines.filter(([, text]) => text).map(([name, text]) => make("p", name, text, { dir: "auto" })), this.note);
      this.main.scrollTop = 0;
    }
    [this.drawn, this.textOf] = [unit.id, unit.text];
    this.note.textContent = unit.none ? "" : unit.note;
    this.note.hidden = !this.note.textContent;
    if (!this.article.contains(this.note)) this.article.append(this.note);
  }

  // What fits none comes last.
  drawCodes() {
    const { data, shown } = this, { words } = data;
    const none = { number: 0, name: words.none, key: "0", colour: "#999", shape: "circle", about: "", example: "", none: true };
    this.side.setAttribute("aria-label", words.codes);
    this.codes.show([...data.codes, none], words, (code) => {
      const suggested = shown?.suggested?.codes.includes(code.number) && !shown.codes.length && !shown.none;
      const said = shown?.said?.filter(([, names]) => names.includes(code.name)).map(([who]) => who).join(", ");
      const beside = [said, suggested && `${words.suggested} ${shown.suggested.p} ⏎`].filter(Boolean);
      const on = shown && (code.none ? shown.none : shown.codes.includes(code.number));
      return { on, suggested, beside, disabled: data.read_only || !shown };
    });
  }

  drawConflict() {
    const { conflict, words } = this.data;
    this.conflict.hidden = !conflict;
    if (!conflict) return this.conflict.replaceChildren();
    if (this.conflict.dataset.text === conflict.text && this.conflict.firstChild) return;
    const show = make("button", "", words.show);
    show.addEventListener("click", () => this.go({ unit: conflict.unit }));
    this.conflict.dataset.text = conflict.text;
    this.conflict.replaceChildren(conflict.text, " ", show);
  }

  // --- what a person does ---------------------------------------------------------------------------------------------

  // An action on the unit that is drawn: what it showed, or the last own action on it that waits.
  push(kind, more = {}) {
    const { shown } = this;
    if (!shown || this.data.read_only) return;
    const about = shown.changed ? { after: shown.changed } : { seen: shown.seen };
    actionQueue.push({ kind, unit: shown.id, ...about, ...more });
  }

  moveOn() {
    this.current = this.following(this.current);
    this.drawUnit();
  }

  // Gives the unit a code and goes on; where several are allowed, a code is given or taken and the unit stays.
  give(code) {
    const { shown, data } = this;
    if (!shown) return;
    if (code.none) this.push("none_fits");
    else this.push("code", { code: code.number, codes: [code.number], uncertain: this.touched.has(shown.id) && shown.uncertain });
    if (code.none || !data.several) return this.moveOn();
    this.touched.add(shown.id);
    this.drawUnit();
  }

  // Accepts the suggestion, or confirms the codes that are shown.
  accept() {
    const { shown, data } = this;
    const uncertain = shown && this.touched.has(shown.id) && shown.uncertain;
    if (!shown) return;
    if (shown.changed || (data.several && this.touched.has(shown.id))) {
      if (!shown.settled) return this.say(data.words.press);
      this.push("go");
    } else if (shown.codes.length) this.push("accept", { cluster: shown.cluster, codes: shown.codes, uncertain });
    else if (shown.none) this.push("go");
    else if (shown.suggested) this.push("accept", { ...shown.suggested, uncertain });
    else return this.say(data.words.press);
    this.moveOn();
  }

  say(text) {
    this.status.textContent = text;
  }

  act(kind) {
    const { shown } = this;
    if (kind === "note" || kind === "skip") this.openField(kind);
    else if (kind === "find") this.codes.openFind();
    else if (kind === "accept") this.accept();
    else if (kind === "none_fits") this.give({ none: true });
    else if (kind === "keys") super.act(kind);
    else if (kind === "undo" || kind === "redo") {
      super.act(kind);
      this.waiting = actionQueue.number;
      this.closeField();
      this.drawUnit();
    } else if (!shown) return false;
    else if (kind === "unassign") {
      this.push(kind);
      this.drawUnit();
    } else if (kind === "uncertain") {
      this.touched.add(shown.id);
      this.push("uncertain", { on: !shown.uncertain });
      this.drawUnit();
    } else return false;
    return true;
  }

  // Draws a unit of the queue as the server has it; `where` is its id or its row.
  go(where) {
    actionQueue.push({ kind: "show", ...where });
    this.waiting = actionQueue.number;
    this.closeField();
    this.drawUnit();
  }

  step(by) {
    const { total } = this.data, row = this.shown ? this.shown.row + by : total - 1;
    if (row < 0 || row >= total || this.waiting) return;
    const unit = [...this.units.values()].find((one) => one.row === row);
    this.go({ row });
    if (!unit) return;
    [this.waiting, this.current] = [0, unit.id];
    this.drawUnit();
  }

  // A line for a note or a reason. The unit cannot change while it is open.
  openField(kind) {
    const { words, limit } = this.data, { shown } = this;
    if (!shown || this.data.read_only) return;
    this.closeField();
    const field = make("textarea", "", "", { rows: "2", maxlength: String(limit), "aria-label": this.data.actions[kind].label, dir: "auto" });
    field.value = kind === "note" && !shown.none ? shown.note : "";
    for (const type of ["keydown", "keypress", "keyup"]) field.addEventListener(type, (event) => event.stopPropagation());
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.closeField();
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.closeField();
      this.push(kind, { text: field.value.trim() });
      if (kind === "skip") this.moveOn();
      else this.drawUnit();
    });
    this.field.replaceChildren(field, make("small", "", words[`${kind}_help`]));
    field.focus();
  }

  closeField() {
    this.field.replaceChildren();
  }

  press(key) {
    if (this.field.firstChild) return false;
    const code = this.data.codes.find((one) => one.key === key);
    if (code) this.give(code);
    else if (key === "arrowright" || key === "arrowleft") this.step(key === "arrowright" ? 1 : -1);
    else return super.press(key);
    return true;
  }
}

export default function ({ data, parentElement, setStateValue }) {
  const whole = received(data, setStateValue);
  if (whole) viewOf(parentElement, "unit", Unit).show(whole, setStateValue);
}

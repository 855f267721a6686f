// One unit at a time, with the codes of the codebook. The browser holds the next units of the queue, so that the following
// one is drawn with the key that codes this one; every action names the unit that is drawn and what is shown of it.
const CODE_KEYS = 27; // codes that have keys

class Unit extends ActionView {
  constructor(root) {
    super(root);
    this.units = new Map(); // id → unit as the server told it last
    this.current = null; // id of the unit that is drawn; null for none
    this.drawn = this.textOf = undefined; // that of the text that stands there, and the text
    this.waiting = 0; // number of the action whose unit is to be drawn next; 0 for none
    this.touched = new Set(); // units that were marked as uncertain, or given a code of several, since they were drawn
    this.makeLines();
    this.main = make("div", "main");
    this.progress = make("div", "bar", "", { role: "progressbar", "aria-valuemin": "0" });
    this.progress.append(make("span"));
    this.count = make("p", "count");
    const head = make("div", "progress");
    head.append(this.progress, this.count);
    this.conflict = make("p", "conflict", "", { role: "alert" });
    this.article = make("article", "", "", { "aria-live": "polite" });
    this.actions = make("div", "actions");
    this.field = make("div", "field");
    const foot = make("div", "foot");
    this.buttons = {};
    for (const [kind, key] of [["note", "T"], ["uncertain", "X"], ["skip", "J"]]) this.actions.append(this.button(kind, key));
    foot.append(this.status);
    for (const [kind, key] of [["undo", "U"], ["redo", "Y"], ["keys", "?"]]) foot.append(this.button(kind, key));
    this.main.append(head, this.notice, this.conflict, this.article, this.actions, this.field, foot);
    this.side = make("aside");
    this.find = make("input", "find", "", { type: "search" });
    this.find.addEventListener("input", () => this.drawCodes());
    this.find.addEventListener("keydown", (event) => this.found(event));
    this.title = make("h2");
    this.list = make("ul");
    this.about = make("div", "about");
    this.side.append(this.title, this.find, this.list, this.about);
    this.keys = make("dialog", "keys");
    this.keys.addEventListener("click", () => this.keys.close());
    root.append(this.main, this.side, this.keys);
    // A key that is held down would code the next unit by the button that has the focus.
    root.addEventListener("keydown", (event) => event.repeat && event.key === "Enter" && event.preventDefault());
  }

  button(kind, key) {
    const button = make("button", "", "", { "aria-keyshortcuts": key, "data-action": kind });
    button.append(make("span"), make("kbd", "", key));
    button.addEventListener("click", () => this.act(kind));
    this.buttons[kind] = button;
    return button;
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
      } else if (one.kind === "none") [found.codes, found.none, found.settled, found.uncertain] = [[], true, true, false];
      else if (one.kind === "clear") [found.codes, found.none, found.settled] = [[], false, false];
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
    this.actions.hidden = !unit;
    this.buttons.uncertain.setAttribute("aria-pressed", String(Boolean(unit?.uncertain)));
    for (const kind of ["note", "uncertain", "skip", "undo", "redo", "keys"]) this.buttons[kind].firstChild.textContent = words[kind];
    for (const kind of ["note", "uncertain", "skip"]) this.buttons[kind].setAttribute("aria-disabled", String(data.read_only));
    this.drawCodes();
    this.drawConflict();
    this.drawKeys();
  }

  drawText(unit) {
    if (this.drawn !== unit.id) this.touched.delete(this.drawn);
    if (this.drawn !== unit.id || this.textOf !== unit.text) {
      const text = make("p", "text", unit.text, { dir: "auto" });
      this.note = make("p", "noted", "", { dir: "auto" });
      const lines = [["about", unit.about], ["near", unit.before]].map(([name, value]) => value && make("p", name, value, { dir: "auto" }));
      this.article.replaceChildren(...lines.filter(Boolean), text);
      if (unit.after) this.article.append(make("p", "near", unit.after, { dir: "auto" }));
      this.article.append(this.note);
      this.main.scrollTop = 0;
    }
    [this.drawn, this.textOf] = [unit.id, unit.text];
    this.note.textContent = unit.none ? "" : unit.note;
    this.note.hidden = !this.note.textContent;
    if (!this.article.contains(this.note)) this.article.append(this.note);
  }

  // The codes whose names contain what is typed, in the order of the codebook; what fits none comes last.
  listed() {
    const typed = this.find.value.trim().toLowerCase(), { codes, words } = this.data;
    const none = { number: 0, name: words.none, key: "0", colour: "#999", shape: "circle", about: "", example: "", none: true };
    return [...codes, none].filter((code) => code.name.toLowerCase().includes(typed));
  }

  drawCodes() {
    const { data, shown } = this, { words } = data;
    this.side.setAttribute("aria-label", words.codes);
    this.title.textContent = words.codes;
    this.find.hidden = data.codes.length <= CODE_KEYS && !this.finding; // F shows it
    this.find.placeholder = `${words.find} (F)`;
    this.find.setAttribute("aria-label", words.find);
    const focus = this.root.getRootNode().activeElement?.dataset?.code, listed = this.listed();
    this.list.replaceChildren(...listed.map((code) => this.code(code)));
    if (focus) this.list.querySelector(`[data-code="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
    const on = listed.find((code) => this.isOn(code)) ?? listed.find((code) => shown?.suggested?.codes.includes(code.number));
    this.define(listed.find((code) => String(code.number) === focus) ?? on ?? listed[0]);
  }

  isOn(code) {
    return Boolean(this.shown && (code.none ? this.shown.none : this.shown.codes.includes(code.number)));
  }

  code(code) {
    const { shown, data } = this, item = make("li", code.none ? "none" : code.part ? "part" : "", "", { "data-item": "" });
    const button = make("button", "", "", { "data-code": String(code.number), "aria-pressed": String(this.isOn(code)) });
    if (code.key) button.setAttribute("aria-keyshortcuts", code.key.toUpperCase());
    button.setAttribute("aria-disabled", String(data.read_only || !shown));
    const suggested = shown?.suggested?.codes.includes(code.number) && !shown.codes.length && !shown.none;
    const said = shown?.said?.filter(([, names]) => names.includes(code.name)).map(([who]) => who).join(", ");
    button.append(swatch("span", code), make("span", "name", code.name));
    if (said) button.append(make("small", "", said));
    if (suggested) button.append(make("small", "", `${data.words.suggested} ${shown.suggested.p} ⏎`));
    if (code.key) button.append(make("kbd", "", code.key.toUpperCase()));
    button.classList.toggle("suggested", Boolean(suggested));
    // The mouse leaves the focus where it is: Enter would press the same code again, on the next unit.
    button.addEventListener("mousedown", (event) => event.preventDefault());
    button.addEventListener("click", () => this.give(code));
    button.addEventListener("focus", () => this.define(code));
    button.addEventListener("mouseenter", () => this.define(code));
    item.append(button);
    return item;
  }

  define(code) {
    this.about.replaceChildren();
    if (!code || code.none) return;
    const text = make("p", "definition", code.about || this.data.words.no_definition, { dir: "auto" });
    this.about.append(make("h3", "", code.name), text);
    if (code.example) this.about.append(make("p", "example", `“${code.example}”`, { dir: "auto" }));
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

  drawStatus() {
    const pending = actionQueue.actions.length, text = this.statusText(this.data.status);
    this.status.className = `status ${pending ? "pending" : actionQueue.lost ? "failed" : ""}`;
    if (this.status.textContent !== text) this.status.textContent = text;
    this.status.title = text;
    this.root.dataset.waiting = String(pending);
    for (const kind of ["undo", "redo"]) this.buttons[kind].hidden = !this.data[kind] && !(pending && kind === "undo");
    this.drawNotice();
  }

  drawKeys() {
    const { words, keys } = this.data, table = make("table");
    for (const [key, help] of keys) {
      const row = make("tr"), first = make("td");
      first.append(make("kbd", "", key));
      row.append(first, make("td", "", help));
      table.append(row);
    }
    this.keys.setAttribute("aria-label", words.keys);
    this.keys.replaceChildren(make("h2", "", words.keys), table, make("p", "", words.help));
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
    this.find.value = "";
    this.drawUnit();
  }

  // Gives the unit a code and goes on; where several are allowed, a code is given or taken and the unit stays.
  give(code) {
    const { shown, data } = this;
    if (!shown) return;
    if (code.none) this.push("none");
    else this.push("code", { code: code.number, codes: [code.number], uncertain: this.touched.has(shown.id) && shown.uncertain });
    if (code.none || !data.several) return this.moveOn();
    this.touched.add(shown.id);
    this.find.value = "";
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
    if (kind === "keys") return this.keys.open ? this.keys.close() : this.keys.showModal();
    if (kind === "undo" || kind === "redo") {
      actionQueue.push({ kind });
      this.waiting = actionQueue.number;
      this.closeField();
      this.drawUnit();
    } else if (kind === "note" || kind === "skip") this.openField(kind);
    else if (kind === "uncertain" && shown) {
      this.touched.add(shown.id);
      this.push("uncertain", { on: !shown.uncertain });
      this.drawUnit();
    }
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
    const field = make("textarea", "", "", { rows: "2", maxlength: String(limit), "aria-label": words[kind], dir: "auto" });
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

  openFind() {
    this.finding = true;
    this.find.hidden = false;
    this.find.focus();
  }

  // Keys in the field that finds a code by its name: Enter gives the first one.
  found(event) {
    event.stopPropagation();
    if (event.key === "Escape") this.find.value = "";
    if (event.key !== "Escape" && event.key !== "Enter") return;
    event.preventDefault();
    const [first] = this.listed();
    const typed = this.find.value.trim();
    this.find.blur();
    this.finding = false;
    if (event.key === "Enter" && typed && first) this.give(first);
    else this.drawCodes();
  }

  press(key) {
    const { data } = this;
    if (this.keys.open) return key === "?" && (this.keys.close(), true);
    if (this.field.firstChild) return false;
    const kind = { t: "note", x: "uncertain", j: "skip", u: "undo", y: "redo", "?": "keys" }[key];
    const code = this.listed().find((one) => one.key === key);
    const focus = this.root.getRootNode().activeElement;
    if (kind) this.act(kind);
    else if (code) this.give(code);
    else if (key === "f") this.openFind();
    else if (key === "enter" && !focus?.closest?.("button")) this.accept();
    else if (key === "arrowright" || key === "arrowleft") this.step(key === "arrowright" ? 1 : -1);
    else if (key === "backspace" && this.shown && !data.read_only) {
      this.push("clear");
      this.drawUnit();
    } else return false;
    return true;
  }
}

export default function ({ data, parentElement, setStateValue }) {
  viewOf(parentElement, "unit", Unit).show(data, setStateValue);
}

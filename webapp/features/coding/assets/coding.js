// What the surfaces of a coding share: the save status with undo and redo, the actions with their keys, and the codes.
class CodingView extends ActionView {
  constructor(root) {
    super(root);
    this.status = make("p", "status", "", { role: "status" });
    this.notice = make("p", "notice", "", { role: "alert" }); // what has to be known at once
    this.buttons = {};
    this.bar = make("div", "coding_bar");
    this.bar.append(this.status, this.button("undo"), this.button("redo"));
  }

  // A button of an action; name and key are those of the server.
  button(kind) {
    const button = make("button", "", "", { "data-action": kind });
    button.append(make("span"), make("kbd"));
    button.addEventListener("click", () => this.act(kind));
    this.buttons[kind] = button;
    return button;
  }

  show(data, setState) {
    this.kinds = new Map(Object.entries(data.actions).map(([kind, { key }]) => [key.toLowerCase(), kind]));
    for (const [kind, button] of Object.entries(this.buttons)) {
      const { label, key } = data.actions[kind];
      [button.firstChild.textContent, button.lastChild.textContent] = [label, key];
      button.setAttribute("aria-keyshortcuts", key);
    }
    super.show(data, setState);
  }

  drawStatus() {
    const { status } = this.data, pending = actionQueue.changes().length, text = this.statusText(status.text);
    this.status.className = `status ${pending ? "pending" : actionQueue.lost ? "failed" : status.state}`;
    if (this.status.textContent !== text) this.status.textContent = text;
    this.status.title = text;
    this.root.dataset.waiting = String(pending);
    this.buttons.undo.hidden = !this.data.undo && !pending;
    this.buttons.redo.hidden = !this.data.redo;
    this.notice.textContent = this.data.notice;
    this.notice.hidden = !this.data.notice;
  }

  /** Does what a key or button stands for; returns false if it does nothing here. @param {string} kind @returns {boolean | void} */
  act(kind) {
    if (!["undo", "redo", "keys"].includes(kind)) return false; // the others need units, which a surface has
    actionQueue.push({ kind });
    return true;
  }

  press(key) {
    const kind = this.kinds.get(key);
    return Boolean(kind) && this.act(kind) !== false;
  }
}

// The codes in the order of the codebook with their keys, and what belongs to the one that is pointed at.
class CodeList {
  constructor(root, give) {
    this.give = give;
    this.find = make("input", "find", "", { type: "search" });
    this.find.addEventListener("input", () => this.draw());
    this.find.addEventListener("keydown", (event) => this.found(event));
    this.title = make("h2");
    this.list = make("ul");
    this.about = make("div", "about");
    root.classList.add("codes");
    root.append(this.title, this.find, this.list, this.about);
  }

  // `state` tells of a code whether it is on, may be given and is suggested, and what stands beside it.
  show(codes, words, state) {
    this.codes = codes;
    this.words = words;
    this.state = state;
    this.draw();
  }

  // The codes whose names contain what is typed.
  listed() {
    const typed = this.find.value.trim().toLowerCase();
    return this.codes.filter((code) => code.name.toLowerCase().includes(typed));
  }

  draw() {
    const { words } = this, listed = this.listed(), focus = this.list.getRootNode().activeElement?.dataset?.code;
    this.title.textContent = words.codes;
    this.find.hidden = this.codes.every((code) => code.key) && !this.finding; // F shows it
    this.find.placeholder = `${words.find} (F)`;
    this.find.setAttribute("aria-label", words.find);
    // A button that stays the same is kept: one that is replaced between press and release of the mouse is not clicked.
    const before = [...this.list.children], states = listed.map((code) => JSON.stringify([code, this.state(code)]));
    const items = listed.map((code, place) => (before[place]?.drawn === states[place] ? before[place] : this.code(code)));
    items.forEach((item, place) => {
      item.drawn = states[place];
      if (before[place] !== item) before[place] ? before[place].replaceWith(item) : this.list.append(item);
    });
    for (const item of before.slice(items.length)) item.remove();
    if (focus) this.list.querySelector(`[data-code="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
    const is = (what) => listed.find((code) => this.state(code)[what]);
    this.define(listed.find((code) => String(code.number) === focus) ?? is("on") ?? is("suggested") ?? listed[0]);
  }

  code(code) {
    const { on, disabled, suggested, beside = [] } = this.state(code);
    const item = make("li", code.none ? "none" : code.part ? "part" : "", "", { "data-item": "" });
    const button = make("button", "", "", { "data-code": String(code.number), "aria-pressed": String(Boolean(on)), "aria-disabled": String(Boolean(disabled)) });
    button.append(swatch("span", code), make("span", "name", code.name), ...beside.map((text) => make("small", "", text)));
    if (code.key) {
      button.setAttribute("aria-keyshortcuts", code.key.toUpperCase());
      button.append(make("kbd", "", code.key.toUpperCase()));
    }
    button.classList.toggle("suggested", Boolean(suggested));
    // The mouse leaves the focus where it is: Enter would press the same code again, on the next unit.
    button.addEventListener("mousedown", (event) => event.preventDefault());
    button.addEventListener("click", () => this.give(code));
    for (const type of ["focus", "mouseenter"]) button.addEventListener(type, () => this.define(code));
    item.append(button);
    return item;
  }

  define(code) {
    this.about.replaceChildren();
    if (!code || code.none) return;
    this.about.append(make("h3", "", code.name), make("p", "definition", code.about || this.words.no_definition, { dir: "auto" }));
    if (code.example) this.about.append(make("p", "example", `“${code.example}”`, { dir: "auto" }));
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
    const [first] = this.listed(), typed = this.find.value.trim();
    this.find.blur();
    this.finding = false;
    this.find.value = "";
    if (event.key === "Enter" && typed && first) this.give(first);
    else this.draw();
  }
}

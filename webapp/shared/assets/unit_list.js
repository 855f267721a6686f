// One list of units of any length, for Sort, Table, search results and the drawer of the map. The server sends groups of
// rows; a group that comes into view and is not here is requested. Where units can be selected, a bar says what can be
// done with them; what is pushed to the queue names the units that are on the screen and where they are shown.
const ROW_HEIGHT = 26; // pixels, for rows that were not drawn yet
const LEAD = 40; // letters before a word that was searched for, from which a row of one line begins near the word
const WALK = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -1e9, End: 1e9 };

class UnitList {
  constructor(root) {
    this.root = root;
    root.classList.add("unit_list");
    this.box = make("div", "scroll", "", { tabindex: "0", role: "listbox" });
    this.bar = make("div", "bar", "", { role: "toolbar" });
    this.bar.hidden = true;
    root.append(this.box, this.bar);
    this.groups = new Map();
    this.selected = new Set();
    this.moved = new Map(); // units that waiting actions give another code: its number, null if the server decides
    this.at = 0;
    /** Told of the unit that has the focus. @type {(id?: number) => void} */
    this.onFocus = () => {};
    /** Does what a button of the bar stands for. @type {(kind: string) => void} */
    this.onAction = () => {};
    // Groups of the list are requested together, when scrolling has stopped.
    this.seen = new Set();
    this.observer = new IntersectionObserver((entries) => this.inView(entries), { root: this.box, rootMargin: "300px" });
    this.box.addEventListener("click", (event) => this.click(event));
    this.box.addEventListener("keydown", (event) => this.navigate(event) && (event.preventDefault(), event.stopPropagation()));
    this.box.addEventListener("dragstart", (event) => this.drag(event));
  }

  show(data, send) {
    const list = this.list !== data.list, fresh = this.digest !== data.digest, shown = this.ids?.[this.at];
    this.data = data;
    this.send = send;
    this.list = data.list;
    this.digest = data.digest;
    if (fresh || data.ids) this.ids = data.ids ?? new Array(data.total); // else the ids of the rows that are here
    this.root.classList.toggle("compact", Boolean(data.select));
    if (data.height) this.root.style.height = `${data.height}px`;
    this.box.setAttribute("aria-label", data.label);
    if (data.select) this.box.setAttribute("aria-multiselectable", "true");
    if (fresh) this.groups.clear();
    for (const [number, ids] of Object.entries(data.groups)) {
      this.groups.set(Number(number), ids.map((id) => data.rows[id]));
      if (!data.ids) ids.forEach((id, place) => (this.ids[Number(number) * data.per + place] = id));
    }
    this.place = new Map([...this.ids.entries()].map(([place, id]) => [id, place]));
    if (list) {
      this.selected.clear();
      this.from = undefined;
    }
    for (const id of this.selected) if (!this.place.has(id)) this.selected.delete(id);
    this.settle();
    if (fresh || this.blocks === undefined) this.layOut();
    if (list) this.box.scrollTop = 0;
    this.blocks.forEach((block, number) => this.fill(block, number));
    // In place of a unit that left the list, the next one has the focus.
    const wanted = list || this.wanted !== data.focus ? this.place.get(data.focus) : this.place.get(shown);
    this.wanted = data.focus;
    this.goTo(wanted ?? (list ? 0 : this.at), list || fresh);
    this.root.dataset.ready = data.digest;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.request(), 200); // what was asked for while the server was busy may be lost
  }

  layOut() {
    this.observer.disconnect();
    this.seen.clear();
    const count = Math.ceil(this.ids.length / this.data.per), top = this.box.scrollTop;
    this.blocks = Array.from({ length: count }, (_, number) => make("div", "block", "", { "data-number": String(number), role: "presentation" }));
    this.box.replaceChildren(...this.blocks);
    if (!count) this.box.append(make("p", "empty", this.data.empty));
    this.blocks.forEach((block, number) => this.fill(block, number));
    this.box.scrollTop = top;
    for (const block of this.blocks) this.observer.observe(block);
  }

  fill(block, number) {
    const rows = this.groups.get(number), wanted = rows ? `${this.digest} ${this.data.marks}` : "";
    if (block.dataset.filled === wanted) return;
    block.dataset.filled = wanted;
    const size = Math.min(this.data.per, this.ids.length - number * this.data.per);
    block.style.minHeight = rows ? "" : `${size * ROW_HEIGHT}px`;
    block.style.containIntrinsicSize = `auto ${size * ROW_HEIGHT}px`;
    block.replaceChildren(...(rows || []).map((row, place) => this.row(row, number * this.data.per + place)));
  }

  row({ id, text, sub, tag, note, mark }, place) {
    const about = { role: "option", "data-item": "", "data-id": String(id), "aria-setsize": String(this.ids.length) };
    const item = make("div", "unit", "", { ...about, id: `unit-${id}`, "aria-posinset": String(place + 1), dir: "auto" });
    if (this.data.select) {
      item.draggable = true;
      item.append(make("span", "tick", "", { "aria-hidden": "true" }));
    }
    const words = make("span", "text"), line = make("span", "line");
    if (mark) words.append(make("b", "mark", mark));
    highlight(words, text, this.data.marks, this.data.select ? LEAD : Infinity);
    line.append(words);
    if (note) line.append(make("span", "note", note));
    if (tag) {
      [item.own, item.tag] = [tag, this.tag(tag)];
      line.append(item.tag);
    }
    item.append(line);
    if (sub) item.append(make("span", "sub", sub, { title: sub }));
    this.paint(item, id);
    return item;
  }

  tag(code) {
    const tag = make("span", "tag", code.name, { title: code.name });
    if (code.colour) tag.prepend(swatch("span", code));
    return tag;
  }

  // Where the waiting actions put units; what was refused is where it was.
  settle() {
    this.moved.clear();
    for (const { ids, to } of window.themescopeActions?.actions ?? []) if (to !== undefined) for (const id of ids) this.moved.set(id, to);
  }

  // Whether a unit is about to leave the list, or to get a code that only the server knows.
  gone(id) {
    const to = this.moved.get(id);
    return to === null || (to !== undefined && Boolean(this.data.stays) && !this.data.stays.includes(to));
  }

  paint(item, id = Number(item.dataset.id)) {
    const gone = this.gone(id), shown = this.data.targets?.find((code) => code.number === this.moved.get(id)) ?? item.own;
    item.classList.toggle("on", this.selected.has(id));
    item.classList.toggle("left", gone && Boolean(this.data.stays));
    item.classList.toggle("leaving", gone);
    if (item.tag && item.tag.title !== shown.name) {
      const tag = this.tag(shown);
      item.tag.replaceWith(tag);
      item.tag = tag;
    }
    item.setAttribute("aria-selected", String(this.data.select ? this.selected.has(id) : id === this.ids[this.at]));
  }

  repaint() {
    this.settle();
    for (const item of this.box.querySelectorAll(".unit")) this.paint(item);
    this.drawBar();
  }

  // --- focus and selection ---

  // Moves the focus to a place of the list; a row that was not drawn yet scrolls into view by its group.
  goTo(place, silent = false) {
    const last = this.ids.length - 1;
    this.at = Math.max(0, Math.min(last, place));
    const id = this.ids[this.at], group = Math.floor(this.at / this.data.per);
    for (const item of this.box.querySelectorAll(".unit.current")) item.classList.remove("current");
    const item = this.box.querySelector(`[data-id="${id}"]`);
    item?.classList.add("current");
    if (id === undefined) this.box.removeAttribute("aria-activedescendant");
    else this.box.setAttribute("aria-activedescendant", `unit-${id}`);
    if (!silent || this.wanted === id) this.reveal(item ?? this.blocks[group]);
    this.repaint();
    clearTimeout(this.telling);
    this.telling = setTimeout(() => this.onFocus(id), silent ? 0 : 160);
  }

  // Scrolls the list alone, not the page around it.
  reveal(element) {
    if (!element) return;
    const box = this.box.getBoundingClientRect(), at = element.getBoundingClientRect();
    const below = at.bottom + (this.bar.hidden ? 0 : this.bar.offsetHeight + 10) - box.bottom;
    if (at.top < box.top) this.box.scrollTop -= box.top - at.top;
    else if (below > 0) this.box.scrollTop += Math.min(below, at.top - box.top);
  }

  // The text of a unit whose row is here.
  textOf(id) {
    const place = this.place.get(id) ?? -1, { per } = this.data;
    return this.groups.get(Math.floor(place / per))?.[place % per]?.text;
  }

  navigate(event) {
    const { key, shiftKey, altKey } = event, held = event.ctrlKey || event.metaKey;
    if (altKey || !this.ids.length) return false;
    const { select } = this.data, id = this.ids[this.at];
    if (select && held && key.toLowerCase() === "a") this.select(this.ids, true);
    else if (held) return false;
    else if (WALK[key] !== undefined && !(shiftKey && key.length === 1)) {
      const from = this.at;
      this.goTo(from + WALK[key]);
      if (select && shiftKey) this.select(this.ids.slice(Math.min(from, this.at), Math.max(from, this.at) + 1), true);
    } else if (select && key === " ") this.toggle(this.at, shiftKey);
    else if (key === "Enter" && !select) this.send("pick", { digest: this.digest, id });
    else if (select && key === "Escape" && this.selected.size) this.clear();
    else return false;
    return true;
  }

  click(event) {
    const item = event.target.closest(".unit");
    if (!item) return;
    const place = this.place.get(Number(item.dataset.id));
    this.box.focus({ preventScroll: true });
    const ticks = event.target.closest(".tick") || event.shiftKey || event.ctrlKey || event.metaKey;
    if (this.data.select && ticks) this.toggle(place, event.shiftKey);
    this.goTo(place);
    if (!this.data.select && this.send) this.send("pick", { digest: this.digest, id: this.ids[place] });
  }

  toggle(place, range) {
    const id = this.ids[place], from = this.from;
    this.from = place;
    if (range && from !== undefined) this.select(this.ids.slice(Math.min(from, place), Math.max(from, place) + 1), true);
    else this.select([id], !this.selected.has(id));
  }

  select(ids, on) {
    for (const id of ids) {
      if (on && !this.gone(id)) this.selected.add(id);
      else this.selected.delete(id);
    }
    this.repaint();
  }

  clear() {
    this.selected.clear();
    this.from = undefined;
    this.repaint();
  }

  // Selected units in the order of the list; without any, the one that has the focus.
  aimed() {
    const ids = this.selected.size ? this.ids.filter((id) => this.selected.has(id)) : [this.ids[this.at]];
    return ids.filter((id) => id !== undefined && !this.gone(id));
  }

  // The codes in which units are shown: a number for each, or one for all.
  was(ids) {
    const { was } = this.data;
    const found = ids.map((id) => this.moved.get(id) ?? (typeof was === "number" ? was : was[this.place.get(id)]));
    return found.every((number) => number === found[0]) ? found[0] ?? 0 : found;
  }

  // Pushes an action on what is aimed at; units that get another code are drawn with it, and the next one has the focus.
  act(kind, about = {}, moves = false) {
    const ids = this.aimed();
    if (!ids.length) return;
    const to = about.cluster ?? (["unassign", "none_fits"].includes(kind) ? -1 : null);
    actionQueue.push({ kind, ...about, ids, was: this.was(ids), ...(moves && { to }) });
    if (!moves) return;
    const alone = !this.selected.size;
    this.selected.clear();
    if (alone || this.gone(this.ids[this.at])) this.goTo(this.next(alone && !this.gone(this.ids[this.at])));
    else this.repaint();
  }

  // The next place whose unit is not about to leave, or that of the unit itself.
  next(after = false) {
    for (const by of [1, -1]) {
      for (let place = this.at + (after ? by : 0); place >= 0 && place < this.ids.length; place += by) {
        if (!this.gone(this.ids[place])) return place;
      }
    }
    return this.at;
  }

  drag(event) {
    const item = event.target.closest?.(".unit");
    if (!item || !this.data.select) return event.preventDefault();
    const id = Number(item.dataset.id);
    if (!this.selected.has(id)) this.goTo(this.place.get(id), true);
    const ids = this.selected.has(id) ? this.aimed() : [id];
    window.themescopeDragged = { ids, was: this.was(ids) };
    event.dataTransfer.setData("text/plain", "");
    event.dataTransfer.effectAllowed = "move";
  }

  // --- the bar of a selection ---

  drawBar() {
    const { bar } = this.data, size = this.selected.size;
    if (!bar) return;
    this.bar.hidden = !size && !this.picker && !this.naming;
    if (this.bar.hidden || this.picker || this.naming) return;
    this.bar.setAttribute("aria-label", bar.label);
    const label = make("b", "", bar.selected.replace("{}", size.toLocaleString("en")));
    const actions = bar.actions.filter((action) => action.first || this.wide);
    const dots = make("button", "", "⋯", { "aria-label": bar.others, "aria-expanded": String(Boolean(this.wide)), "data-action": "more" });
    dots.addEventListener("click", () => {
      this.wide = !this.wide;
      this.drawBar();
    });
    const end = this.barButton({ kind: "clear", label: bar.clear, key: "Esc" });
    this.bar.replaceChildren(label, ...actions.map((action) => this.barButton(action)), dots, make("span", "space"), end);
  }

  barButton({ kind, label, key }) {
    const button = make("button", "", "", { "data-action": kind, ...(key && { "aria-keyshortcuts": key }) });
    button.append(make("span", "", label));
    if (key) button.append(make("kbd", "", key));
    button.addEventListener("click", () => (kind === "clear" ? this.clear() : this.onAction(kind)));
    return button;
  }

  // Chooses a code by its name; the first one that has the letters is taken with Enter.
  pick(done, label = this.data.bar.move) {
    const field = make("input", "", "", { "aria-label": label, placeholder: label, role: "combobox", "aria-expanded": "true" });
    const list = make("div", "targets", "", { role: "listbox", "aria-label": label });
    const close = () => {
      this.picker = null;
      this.box.focus({ preventScroll: true });
      this.drawBar();
    };
    const take = (number) => {
      close();
      done(number);
    };
    const draw = () => {
      const typed = field.value.trim().toLowerCase();
      const found = this.data.targets.filter((target) => target.name.toLowerCase().includes(typed));
      list.replaceChildren(...found.slice(0, 60).map((target, place) => {
        const option = make("div", place ? "" : "first", "", { role: "option", "aria-selected": String(!place), "data-item": "" });
        option.append(swatch("span", target), make("span", "", target.name));
        if (target.key) option.append(make("kbd", "", target.key));
        option.addEventListener("mousedown", (event) => event.preventDefault()); // or the field would lose the focus
        option.addEventListener("click", () => take(target.number));
        return option;
      }));
      this.first = found[0];
    };
    for (const type of ["keydown", "keypress", "keyup"]) field.addEventListener(type, (event) => event.stopPropagation());
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && this.first) take(this.first.number);
      else if (event.key === "Escape") close();
      else return;
      event.preventDefault();
    });
    field.addEventListener("input", draw);
    field.addEventListener("blur", () => this.picker === field && close());
    draw();
    this.picker = field;
    this.bar.hidden = false;
    this.bar.replaceChildren(field, list);
    field.focus();
  }

  // The field has the focus before the server has made the code: the next letters are its name.
  create() {
    const ids = this.selected.size ? this.aimed() : [];
    actionQueue.push({ kind: "create", ids, was: this.was(ids), to: null });
    this.selected.clear();
    const { bar } = this.data, save = (name) => actionQueue.push({ kind: "name_created", name });
    const field = nameField("", bar.created, save, () => {
      this.naming = null;
      this.goTo(this.next());
    });
    field.placeholder = bar.created;
    this.naming = field;
    this.bar.hidden = false;
    this.bar.replaceChildren(field, make("small", "", bar.naming));
    this.repaint();
    field.focus();
  }

  // --- groups ---

  inView(entries) {
    for (const entry of entries) {
      const number = Number(entry.target.dataset.number);
      if (entry.isIntersecting) this.seen.add(number);
      else this.seen.delete(number);
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.request(), 80);
  }

  request() {
    const wanted = [...this.seen].filter((number) => !this.groups.has(number)).sort((a, b) => a - b);
    if (wanted.length) this.send("groups", { list: this.list, wanted: wanted.slice(0, 8) });
  }
}

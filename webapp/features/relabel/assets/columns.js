// A labelling as columns of sentences, one a cluster. Up go ids only: what is selected, what was dragged where, a
// cluster's new name or colour; all of it through the outbox.
class Board {
  constructor(root) {
    this.root = root;
    this.selected = new Set();
    this.picked = { on: new Set(), off: new Set() };
    this.last = null;
    this.flush = () => this.tellPicked();
    outbox.before.add(this.flush);
  }

  show(data) {
    this.data = data;
    outbox.heard(data.session, data.heard);
    this.selected = new Set(data.selected);
    // What was clicked while the answer was on its way comes on top of the answer.
    for (const deed of [...outbox.deeds.filter((one) => one.kind === "pick"), this.picked]) {
      for (const id of deed.on) this.selected.add(id);
      for (const id of deed.off) this.selected.delete(id);
    }
    this.draw();
  }

  draw() {
    // A name that is being typed is not redrawn away.
    this.stale = Boolean(this.root.querySelector("input.name"));
    if (this.stale) return;
    const at = this.places();
    const columns = this.data.columns.map((column) => this.column(column));
    this.root.replaceChildren(...columns);
    this.root.style.setProperty("--board-height", `${this.data.height}px`);
    this.restore(at);
    this.reveal();
  }

  // A single sentence that was selected elsewhere is brought into view.
  reveal() {
    const only = this.selected.size === 1 ? [...this.selected][0] : null;
    if (only === this.shown) return;
    this.shown = only;
    if (only === null || only === this.last) return;
    this.root.querySelector(`li[data-id="${only}"]`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  places() {
    const focused = this.root.getRootNode().activeElement;
    const lists = [...this.root.querySelectorAll("ol")];
    return {
      left: this.root.scrollLeft,
      tops: new Map(lists.map((list) => [list.dataset.number, list.scrollTop])),
      focus: focused && this.root.contains(focused) ? focused.dataset.id : null,
    };
  }

  restore(at) {
    this.root.scrollLeft = at.left;
    for (const list of this.root.querySelectorAll("ol")) list.scrollTop = at.tops.get(list.dataset.number) || 0;
    if (at.focus && this.selected.has(Number(at.focus))) this.root.querySelector(`li[data-id="${CSS.escape(at.focus)}"]`)?.focus({ preventScroll: true });
  }

  column(column) {
    const box = make("section", "column");
    box.setAttribute("aria-label", column.name);
    box.append(this.head(column));
    const list = make("ol");
    list.dataset.number = column.number;
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-multiselectable", "true");
    list.setAttribute("aria-label", column.name);
    column.sentences.forEach((sentence) => list.append(this.line(sentence, column)));
    if (!column.sentences.length) list.append(make("p", "none", column.empty));
    if (column.more) list.append(make("p", "none", column.more));
    box.append(list);
    box.addEventListener("dragover", (event) => {
      event.preventDefault();
      box.classList.add("target");
    });
    box.addEventListener("dragleave", () => box.classList.remove("target"));
    box.addEventListener("drop", (event) => {
      event.preventDefault();
      box.classList.remove("target");
      if (this.dragged) outbox.push({ kind: "move", ids: this.dragged, cluster: column.number });
      this.dragged = null;
    });
    return box;
  }

  head(column) {
    const head = make("header");
    if (column.number < 0) {
      head.append(make("span", "name", column.name), make("small", "", column.count));
      return head;
    }
    const colour = swatch("button", column);
    colour.setAttribute("aria-label", `${this.data.words.recolour}: ${column.name}`);
    colour.title = this.data.words.recolour;
    const name = make("button", "name", column.name);
    name.title = this.data.words.rename;
    head.append(colour);
    if (column.digit) head.append(make("kbd", "", column.digit));
    head.append(name, make("small", "", column.count));
    colour.addEventListener("click", () => this.colours(head, column));
    name.addEventListener("click", () => this.rename(name, column));
    return head;
  }

  rename(name, column) {
    const input = nameField(column, this.data.words, () => {
      input.replaceWith(name);
      if (this.stale) this.draw();
    });
    name.replaceWith(input);
    input.focus();
    input.select();
  }

  colours(head, column) {
    const known = head.querySelector(".palette");
    if (known) return known.remove();
    head.append(paletteOf(column, this.data.palette, this.data.words));
  }

  line(sentence, column) {
    const item = make("li");
    item.dataset.id = sentence.id;
    item.tabIndex = 0;
    item.setAttribute("role", "option");
    if (sentence.mark) item.append(make("b", "mark", sentence.mark));
    item.append(make("span", "said", sentence.text));
    if (sentence.about) item.append(make("small", "about", sentence.about));
    if (sentence.hint) item.append(make("small", "hint", sentence.hint));
    if (sentence.note) item.append(make("small", "note", sentence.note));
    this.paint(item);
    item.addEventListener("click", (event) => this.pick(sentence.id, column, event.shiftKey));
    item.addEventListener("keydown", (event) => {
      if (event.key !== " " && event.key !== "Enter") return;
      event.preventDefault();
      event.stopPropagation();
      this.pick(sentence.id, column, event.shiftKey);
    });
    this.drag(item, sentence.id);
    return item;
  }

  drag(item, id) {
    item.draggable = true;
    item.addEventListener("dragstart", (event) => {
      this.dragged = this.selected.has(id) ? [...this.selected] : [id];
      event.dataTransfer.setData("text/plain", "");
      event.dataTransfer.effectAllowed = "move";
    });
  }

  paint(item) {
    const on = this.selected.has(Number(item.dataset.id));
    item.classList.toggle("on", on);
    item.setAttribute("aria-selected", String(on));
  }

  pick(id, column, range) {
    const ids = column.sentences.map((sentence) => sentence.id);
    const from = ids.indexOf(this.last);
    if (range && from >= 0) {
      const to = ids.indexOf(id);
      for (const other of ids.slice(Math.min(from, to), Math.max(from, to) + 1)) this.put(other, true);
    } else this.put(id, !this.selected.has(id));
    this.last = id;
    this.shown = this.selected.size === 1 ? [...this.selected][0] : null;
    this.root.querySelectorAll("li").forEach((item) => this.paint(item));
    window.clearTimeout(this.waiting);
    this.waiting = window.setTimeout(this.flush, 120);
  }

  put(id, on) {
    if (on) this.selected.add(id);
    else this.selected.delete(id);
    this.picked.on.delete(id);
    this.picked.off.delete(id);
    this.picked[on ? "on" : "off"].add(id);
  }

  // Several quick clicks are one deed; whatever else is done comes after them.
  tellPicked() {
    const { on, off } = this.picked;
    if (!this.root.isConnected) return outbox.before.delete(this.flush);
    if (!on.size && !off.size) return;
    this.picked = { on: new Set(), off: new Set() };
    outbox.push({ kind: "pick", on: [...on], off: [...off] });
  }
}

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".board");
  root.board ??= new Board(root);
  root.board.show(data);
}

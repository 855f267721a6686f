// A labelling as columns of sentences, one a cluster. Every text goes in through textContent.
// Up go ids only: what is selected, what was dragged where, a cluster's new name or colour.
function make(kind, name, text) {
  const made = document.createElement(kind);
  if (name) made.className = name;
  if (text) made.textContent = text;
  return made;
}

class Board {
  constructor(root) {
    this.root = root;
    this.selected = new Set();
    this.sent = 0;
    this.last = null;
    this.open = null;
  }

  show(data, tell) {
    this.data = data;
    this.tell = tell;
    // What was clicked while the answer was on its way counts more than the answer.
    if (data.heard >= this.sent) this.selected = new Set(data.selected);
    if (data.heard > this.sent) this.sent = data.heard;
    this.draw();
  }

  draw() {
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
      if (this.dragged) this.tell("moved", { ids: this.dragged, to: column.number });
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
    const swatch = make("button", `swatch ${column.shape}`);
    swatch.style.setProperty("--colour", column.colour);
    swatch.setAttribute("aria-label", `${this.data.words.recolour}: ${column.name}`);
    swatch.title = this.data.words.recolour;
    const name = make("button", "name", column.name);
    name.title = this.data.words.rename;
    head.append(swatch);
    if (column.digit) head.append(make("kbd", "", column.digit));
    head.append(name, make("small", "", column.count));
    if (this.data.frozen) {
      swatch.disabled = name.disabled = true;
      return head;
    }
    swatch.addEventListener("click", () => this.colours(head, column));
    name.addEventListener("click", () => this.rename(name, column));
    return head;
  }

  rename(name, column) {
    const input = make("input", "name");
    input.value = column.name;
    input.maxLength = 200;
    input.setAttribute("aria-label", this.data.words.rename);
    let done = false;
    const end = (keep) => {
      if (done) return;
      done = true;
      const wanted = input.value.trim();
      input.replaceWith(name);
      if (keep && wanted && wanted !== column.name) this.tell("renamed", { number: column.number, name: wanted });
    };
    // Single keys are shortcuts of the page; what is typed here is a name.
    for (const kind of ["keydown", "keypress", "keyup"]) input.addEventListener(kind, (event) => event.stopPropagation());
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") end(true);
      if (event.key === "Escape") end(false);
    });
    input.addEventListener("blur", () => end(true));
    name.replaceWith(input);
    input.focus();
    input.select();
  }

  colours(head, column) {
    const known = head.querySelector(".palette");
    if (known) return known.remove();
    const palette = make("div", "palette");
    this.data.palette.forEach(({ colour, shape }, place) => {
      const choice = make("button", `swatch ${shape}`);
      choice.style.setProperty("--colour", colour);
      choice.setAttribute("aria-label", `${this.data.words.recolour} ${place + 1}`);
      choice.addEventListener("click", () => this.tell("recoloured", { number: column.number, colour: place }));
      palette.append(choice);
    });
    head.append(palette);
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
    if (!this.data.frozen) this.drag(item, sentence.id);
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
      for (const other of ids.slice(Math.min(from, to), Math.max(from, to) + 1)) this.selected.add(other);
    } else if (!this.selected.delete(id)) {
      this.selected.add(id);
    }
    this.last = id;
    this.shown = this.selected.size === 1 ? [...this.selected][0] : null;
    this.root.querySelectorAll("li").forEach((item) => this.paint(item));
    window.clearTimeout(this.waiting);
    this.sent += 1;
    this.waiting = window.setTimeout(() => this.tell("picked", { ids: [...this.selected], number: this.sent }), 120);
  }
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".board");
  root.board ??= new Board(root);
  root.board.show(data, setTriggerValue);
}

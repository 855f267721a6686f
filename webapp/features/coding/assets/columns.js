// Columns of sentences, one per cluster. Only ids are sent back: selections, moves, and the new name or colour of a
// cluster, all of them through the action queue.
class Columns {
  constructor(root) {
    this.root = root;
    this.heading = make("p", "heading"); // drawn with the sentences, so that both are of one item
    root.before(this.heading);
    this.selected = new Set();
    this.picked = { on: new Set(), off: new Set() };
    this.last = null;
    this.flush = () => this.pushPicked();
    actionQueue.beforePush.add(this.flush);
    // A card below takes a part of their height; the sentence that it is about stays in view.
    new ResizeObserver(() => this.chosen()?.scrollIntoView({ block: "nearest", inline: "nearest" })).observe(root);
  }

  // The element of the only selected sentence.
  chosen() {
    return this.selected.size === 1 ? this.root.querySelector(`li[data-id="${[...this.selected][0]}"]`) : null;
  }

  show(data) {
    this.data = data;
    actionQueue.acknowledge(data.session, data.acknowledged);
    this.selected = actionQueue.chosen("pick", data.selected, [this.picked]);
    this.draw();
  }

  draw() {
    // While a name is being typed nothing is redrawn.
    this.stale = Boolean(this.root.querySelector("input.name"));
    if (this.stale) return;
    const position = this.position();
    const columns = this.data.columns.map((column) => this.column(column));
    this.root.replaceChildren(...columns);
    this.heading.textContent = this.data.heading;
    this.heading.hidden = !this.data.heading;
    // Of an item, keys count once its sentence is among those that are drawn.
    const unseen = this.data.heading && this.selected.size && !this.root.querySelector("li.on");
    actionQueue.turns.set("columns", { turn: unseen ? -1 : this.data.turn, root: this.root });
    this.restore(position);
    this.reveal();
  }

  // Scrolls to a single sentence that was selected elsewhere.
  reveal() {
    const only = this.selected.size === 1 ? [...this.selected][0] : null;
    if (only === this.shown) return;
    this.shown = only;
    if (only === null || only === this.last) return;
    this.root.querySelector(`li[data-id="${only}"]`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  position() {
    const lists = [...this.root.querySelectorAll("ol")], item = this.root.querySelector("li:focus");
    const list = item?.parentElement;
    return {
      left: this.root.scrollLeft,
      tops: new Map(lists.map((list) => [list.dataset.number, list.scrollTop])),
      focus: item && { id: item.dataset.id, list: list.dataset.number, place: [...list.children].indexOf(item) },
    };
  }

  restore(position) {
    this.root.scrollLeft = position.left;
    for (const list of this.root.querySelectorAll("ol")) list.scrollTop = position.tops.get(list.dataset.number) || 0;
    if (!position.focus) return;
    const { id, list, place } = position.focus;
    const items = [...this.root.querySelectorAll(`ol[data-number="${CSS.escape(list)}"] > li`)];
    // Where sentences have several codes, a selected one keeps the focus when it moves to another column.
    const moved = this.selected.has(Number(id)) && this.root.querySelector(`li[data-id="${id}"]`);
    if (moved) return moved.focus(), moved.scrollIntoView({ block: "nearest", inline: "nearest" });
    // In place of a sentence that left its cluster, the next one has the focus.
    const item = items.find((one) => one.dataset.id === id) ?? items[Math.min(place, items.length - 1)];
    item?.focus({ preventScroll: true });
  }

  column(column) {
    const box = make("section", "column", "", { "aria-label": column.name });
    if (column.theme) box.append(make("p", "theme", column.theme));
    box.append(this.head(column));
    const list = make("ol", "", "", { role: "listbox", "aria-multiselectable": "true", "aria-label": column.name });
    list.dataset.number = column.number;
    column.sentences.forEach((sentence) => list.append(this.item(sentence, column)));
    if (!column.sentences.length) list.append(make("p", "placeholder", column.empty));
    if (column.more) list.append(make("p", "placeholder", column.more));
    box.append(list);
    dropTarget(box, this, (ids) => actionQueue.push({ kind: "move", ids, cluster: column.number }));
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
    colour.addEventListener("click", () => {
      const open = head.querySelector(".palette");
      if (open) open.remove();
      else head.append(paletteOf(column, this.data.palette, this.data.words));
    });
    name.addEventListener("click", () => this.rename(name, column));
    return head;
  }

  rename(name, column) {
    const save = (text) => text !== column.name && actionQueue.push({ kind: "rename", cluster: column.number, name: text });
    const input = nameField(column.name, this.data.words.rename, save, () => {
      input.replaceWith(name);
      if (this.stale) this.draw();
    });
    name.replaceWith(input);
    input.focus();
    input.select();
  }

  item(sentence, column) {
    const item = make("li", "", "", { role: "option", tabindex: "0", dir: "auto" });
    item.dataset.id = sentence.id;
    if (sentence.mark) item.append(make("b", "mark", sentence.mark));
    item.append(make("span", "text", sentence.text));
    for (const kind of ["article", "suggestion", "note"]) if (sentence[kind]) item.append(make("small", kind, sentence[kind]));
    this.paint(item);
    item.addEventListener("click", (event) => this.pick(sentence.id, column, event.shiftKey));
    item.addEventListener("keydown", (event) => {
      // With Ctrl, Enter is "Done, next".
      if ((event.key !== " " && event.key !== "Enter") || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      this.pick(sentence.id, column, event.shiftKey);
    });
    draggable(item, () => (this.selected.has(sentence.id) ? [...this.selected] : [sentence.id]), this);
    return item;
  }

  paint(item) {
    const selected = this.selected.has(Number(item.dataset.id));
    item.classList.toggle("on", selected);
    item.setAttribute("aria-selected", String(selected));
  }

  pick(id, column, range) {
    const ids = column.sentences.map((sentence) => sentence.id);
    const from = ids.indexOf(this.last);
    if (range && from >= 0) {
      const to = ids.indexOf(id);
      for (const other of ids.slice(Math.min(from, to), Math.max(from, to) + 1)) this.set(other, true);
    } else this.set(id, !this.selected.has(id));
    this.last = id;
    this.shown = this.selected.size === 1 ? [...this.selected][0] : null;
    this.root.querySelectorAll("li").forEach((item) => this.paint(item));
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(this.flush, 120);
  }

  set(id, on) {
    if (on) this.selected.add(id);
    else this.selected.delete(id);
    this.picked.on.delete(id);
    this.picked.off.delete(id);
    this.picked[on ? "on" : "off"].add(id);
  }

  // Several quick clicks are one action; it is pushed before any other action.
  pushPicked() {
    const { on, off } = this.picked;
    if (!this.root.isConnected) return actionQueue.beforePush.delete(this.flush);
    if (!on.size && !off.size) return;
    this.picked = { on: new Set(), off: new Set() };
    actionQueue.push({ kind: "pick", on: [...on], off: [...off] });
  }
}

export default function ({ data, parentElement }) {
  viewOf(parentElement, "columns", Columns).show(data);
}

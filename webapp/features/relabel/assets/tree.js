// Themes with their sub-themes. A click or Space chooses a cluster, dragging moves it between the levels. Only numbers
// of clusters are sent back, through the action queue.
class Tree {
  constructor(root) {
    this.root = root;
    this.closed = new Set();
  }

  show(data) {
    this.data = data;
    actionQueue.acknowledge(data.session, data.acknowledged);
    this.chosen = new Set(data.chosen);
    // Clicks that the server has not handled yet are applied on top of its choice.
    for (const { on, off } of actionQueue.actions.filter((one) => one.kind === "choose_clusters")) {
      on.forEach((number) => this.chosen.add(number));
      off.forEach((number) => this.chosen.delete(number));
    }
    this.draw();
  }

  draw() {
    const focused = this.root.getRootNode().activeElement?.dataset?.number;
    const list = make("ul", "rows");
    list.setAttribute("role", "tree");
    list.setAttribute("aria-label", this.data.words.tree);
    list.setAttribute("aria-multiselectable", "true");
    for (const row of this.data.rows) if (!this.closed.has(row.parent)) list.append(this.row(row));
    const out = make("p", "out", this.data.words.out);
    this.accept(out, -1);
    this.root.replaceChildren(this.head(), list, out);
    if (focused) this.rowOf(focused)?.focus({ preventScroll: true });
  }

  head() {
    const head = make("div", "head");
    const themes = this.data.rows.filter((row) => row.parts).map((row) => row.number);
    for (const [word, closed] of [["expand", []], ["collapse", themes]]) {
      const button = make("button", "", this.data.words[word]);
      button.disabled = !themes.length;
      button.addEventListener("click", () => {
        this.closed = new Set(closed);
        this.draw();
      });
      head.append(button);
    }
    return head;
  }

  row(row) {
    const item = make("li", row.parent === null ? "theme" : "part");
    item.dataset.number = row.number;
    item.tabIndex = 0;
    item.draggable = true;
    item.setAttribute("role", "treeitem");
    item.setAttribute("aria-level", row.parent === null ? "1" : "2");
    item.setAttribute("aria-selected", String(this.chosen.has(row.number)));
    if (row.parts) item.setAttribute("aria-expanded", String(!this.closed.has(row.number)));
    item.setAttribute("aria-label", [row.name, row.count, row.stale].filter(Boolean).join(", "));
    item.append(this.fold(row), swatch("span", row), make("span", "name", row.name));
    if (row.stale) item.append(make("small", "stale", row.stale));
    item.append(make("small", "count", row.count));
    item.title = row.name;
    item.addEventListener("click", () => this.choose(row.number));
    item.addEventListener("keydown", (event) => this.key(event, row));
    item.addEventListener("dragstart", (event) => {
      this.dragged = this.chosen.has(row.number) ? [...this.chosen] : [row.number];
      event.dataTransfer.setData("text/plain", "");
      event.dataTransfer.effectAllowed = "move";
    });
    this.accept(item, row.number);
    return item;
  }

  // The triangle is for the mouse; the arrow keys do the same.
  fold(row) {
    const mark = make("span", "fold", row.parts ? (this.closed.has(row.number) ? "▸" : "▾") : "");
    mark.setAttribute("aria-hidden", "true");
    if (!row.parts) return mark;
    mark.addEventListener("click", (event) => {
      event.stopPropagation();
      this.toggle(row.number, !this.closed.has(row.number));
    });
    return mark;
  }

  toggle(number, close) {
    if (close) this.closed.add(number);
    else this.closed.delete(number);
    this.draw();
  }

  accept(element, theme) {
    element.addEventListener("dragover", (event) => {
      event.preventDefault();
      element.classList.add("target");
    });
    element.addEventListener("dragleave", () => element.classList.remove("target"));
    element.addEventListener("drop", (event) => {
      event.preventDefault();
      element.classList.remove("target");
      if (this.dragged) actionQueue.push({ kind: "put_under", clusters: this.dragged, theme });
      this.dragged = null;
    });
  }

  choose(number) {
    const on = !this.chosen.has(number);
    if (on) this.chosen.add(number);
    else this.chosen.delete(number);
    this.rowOf(number).setAttribute("aria-selected", String(on));
    actionQueue.push({ kind: "choose_clusters", on: on ? [number] : [], off: on ? [] : [number] });
  }

  key(event, row) {
    const moves = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" };
    if (event.key === " " || event.key === "Enter") this.choose(row.number);
    else if (moves[event.key]) event.currentTarget[moves[event.key]]?.focus();
    else if (event.key === "ArrowLeft" && row.parts) this.toggle(row.number, true);
    else if (event.key === "ArrowLeft" && row.parent !== null) this.rowOf(row.parent)?.focus();
    else if (event.key === "ArrowRight" && row.parts) this.toggle(row.number, false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  rowOf(number) {
    return this.root.querySelector(`li[data-number="${CSS.escape(number)}"]`);
  }
}

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".tree");
  root.tree ??= new Tree(root);
  root.tree.show(data);
}

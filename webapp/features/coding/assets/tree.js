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
    this.chosen = actionQueue.chosen("choose_clusters", data.chosen);
    this.draw();
  }

  draw() {
    const focused = this.root.getRootNode().activeElement?.dataset?.number;
    const about = { role: "tree", "aria-label": this.data.words.tree, "aria-multiselectable": "true" };
    const list = make("ul", "rows", "", about);
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
    const [kind, level] = row.parent === null ? ["theme", "1"] : ["part", "2"];
    const item = make("li", kind, "", { tabindex: "0", role: "treeitem", "aria-level": level });
    item.dataset.number = row.number;
    item.setAttribute("aria-selected", String(this.chosen.has(row.number)));
    if (row.parts) item.setAttribute("aria-expanded", String(!this.closed.has(row.number)));
    item.setAttribute("aria-label", [row.name, row.count, row.stale].filter(Boolean).join(", "));
    item.append(this.fold(row), swatch("span", row), make("span", "name", row.name));
    if (row.stale) item.append(make("small", "stale", row.stale));
    item.append(make("small", "count", row.count));
    item.title = row.name;
    item.addEventListener("click", () => this.choose(row.number));
    item.addEventListener("keydown", (event) => this.key(event, row));
    draggable(item, () => (this.chosen.has(row.number) ? [...this.chosen] : [row.number]), this);
    this.accept(item, row.number);
    return item;
  }

  // The triangle is for the mouse; the arrow keys do the same.
  fold(row) {
    const sign = this.closed.has(row.number) ? "▸" : "▾";
    const mark = make("span", "fold", row.parts ? sign : "", { "aria-hidden": "true" });
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
    dropTarget(element, this, (clusters) => actionQueue.push({ kind: "put_under", clusters, theme }));
  }

  choose(number) {
    const on = !this.chosen.has(number);
    if (on) this.chosen.add(number);
    else this.chosen.delete(number);
    this.rowOf(number).setAttribute("aria-selected", String(on));
    actionQueue.push({ kind: "choose_clusters", on: on ? [number] : [], off: on ? [] : [number] });
  }

  key(event, row) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
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
  viewOf(parentElement, "tree", Tree).show(data);
}

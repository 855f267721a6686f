// A list of sentences of any length. The server sends groups of sentences; a group that comes into view and is not here
// is requested.
const ROW_HEIGHT = 64; // pixels, for groups that were not drawn yet

class SentenceView {
  constructor(root) {
    this.root = root;
    this.groups = new Map();
    this.root.setAttribute("role", "group");
    // Groups of the list are requested together, when scrolling has stopped.
    this.seen = new Set();
    this.observer = new IntersectionObserver((entries) => this.inView(entries), { root, rootMargin: "300px" });
    root.addEventListener("click", (event) => this.pick(event.target.closest("li")));
    root.addEventListener("keydown", (event) => this.key(event));
  }

  show({ data, setTriggerValue }) {
    this.send = setTriggerValue;
    const fresh = this.digest !== data.digest;
    if (fresh) {
      this.digest = data.digest;
      this.groups.clear();
      this.root.scrollTop = 0;
    }
    this.data = data;
    this.root.style.height = `${data.height}px`;
    this.root.setAttribute("aria-label", data.label);
    for (const [number, rows] of Object.entries(data.groups)) this.groups.set(Number(number), rows);
    if (fresh) this.layOut();
    this.lists.forEach((list, number) => this.fill(list, number));
    this.marked();
    this.root.dataset.ready = data.digest;
  }

  layOut() {
    this.observer.disconnect();
    this.seen.clear();
    const count = Math.ceil(this.data.total / this.data.per);
    this.lists = Array.from({ length: count }, (_, number) => {
      const list = make("ol", "", "", { "data-number": String(number) });
      list.start = number * this.data.per + 1;
      return list;
    });
    this.root.replaceChildren(...this.lists);
    for (const list of this.lists) this.observer.observe(list);
  }

  fill(list, number) {
    const rows = this.groups.get(number);
    const wanted = rows ? `${this.digest} ${this.data.mark}` : "";
    if (list.dataset.filled === wanted) return;
    list.dataset.filled = wanted;
    const size = Math.min(this.data.per, this.data.total - number * this.data.per);
    list.style.minHeight = rows ? "" : `${size * ROW_HEIGHT}px`;
    list.style.containIntrinsicSize = `auto ${size * ROW_HEIGHT}px`;
    list.replaceChildren(...(rows || []).map((row) => this.item(row)));
    list.setAttribute("aria-busy", rows ? "false" : "true");
  }

  item({ id, text, place, theme, note }) {
    const item = make("li", "", "", { "data-id": String(id), tabindex: "-1" });
    const body = make("p", "text", "", { dir: "auto" }), where = make("p", "where");
    highlight(body, text, [this.data.mark]);
    if (place) where.append(make("span", "place", place, { title: place }));
    if (theme) where.append(make("span", "theme", theme, { title: theme }));
    if (note) where.append(make("span", "note", note));
    item.append(body, where);
    return item;
  }

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
    if (wanted.length) this.send("groups", { digest: this.digest, wanted: wanted.slice(0, 8) });
  }

  marked() {
    const items = [...this.root.querySelectorAll("li")];
    for (const item of items) item.removeAttribute("aria-current");
    const current = items.find((item) => Number(item.dataset.id) === this.data.focus);
    current?.setAttribute("aria-current", "true");
    if (!this.root.querySelector('li[tabindex="0"]') && items.length) (current || items[0]).tabIndex = 0;
  }

  pick(item) {
    if (!item) return;
    this.send("pick", { digest: this.digest, id: Number(item.dataset.id) });
  }

  key(event) {
    const item = event.target.closest("li");
    if (!item) return;
    if (event.key === "Enter") return this.pick(item);
    const items = [...this.root.querySelectorAll("li")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const next = step && items[items.indexOf(item) + step];
    if (!next) return;
    event.preventDefault();
    item.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}

export default function (component) {
  viewOf(component.parentElement, "sentence_view", SentenceView).show(component);
}

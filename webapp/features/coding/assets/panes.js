// The colours that a cluster can have.
function paletteOf(cluster, palette, words, done) {
  const box = make("div", "palette", "", { role: "group", "aria-label": words.recolour });
  palette.forEach((appearance, colour) => {
    const button = swatch("button", appearance);
    button.setAttribute("role", "menuitemradio");
    button.setAttribute("aria-checked", String(colour === cluster.place));
    button.setAttribute("aria-label", `${words.recolour} ${colour + 1}`);
    button.addEventListener("click", () => {
      done();
      actionQueue.push({ kind: "recolour", cluster: cluster.number, colour });
    });
    box.append(button);
  });
  return box;
}

// The surfaces Sort and Table: units in the middle, the codes to the left of them in Sort, and to the right the codebook
// and what is known of the unit that has the focus. Keys act on the selected units, or on the one that has the focus.
class Panes extends CodingView {
  constructor(root) {
    super(root);
    this.left = make("nav", "clusters");
    this.middle = make("section", "middle");
    this.right = make("aside", "details");
    this.head = make("div", "head");
    const list = make("div", "unit_list"), foot = make("div", "foot");
    this.middle.append(this.head, list);
    foot.append(this.notice, this.bar);
    this.list = new UnitList(list);
    this.list.onFocus = (id) => this.tell(id);
    this.list.onAction = (kind) => this.act(kind);
    this.rows = make("div", "rows", "", { role: "tree" });
    this.more = make("div", "more");
    this.left.append(this.rows, this.more);
    this.book = make("details", "book");
    this.title = make("summary");
    this.title.append(make("span"), make("kbd"));
    const codes = make("div");
    this.book.append(this.title, codes);
    this.codes = new CodeList(codes, (code) => this.assign(code.number));
    this.codes.title.remove(); // the codebook has its own
    this.whole = make("p", "whole", "", { dir: "auto", tabindex: "0" });
    this.about = make("div", "about");
    this.right.append(this.whole, this.book, this.about);
    this.menu = make("div", "menu", "", { role: "menu", popover: "auto" });
    root.append(this.left, this.middle, this.right, foot, this.menu);
    this.rows.addEventListener("keydown", (event) => this.keyInClusters(event));
  }

  show(data, setState, trigger) {
    this.trigger = (kind, message) => trigger(kind, { ...message, has: sentNumbers() });
    const other = this.data?.sort !== data.sort;
    super.show(data, setState);
    if (other) this.book.open = !data.sort; // Sort has the codes in its left pane
    this.root.classList.toggle("table", !data.sort);
  }

  draw() {
    const { data } = this;
    this.list.show({ ...data.list, targets: data.clusters.filter((one) => one.number >= 0), stays: this.family() }, this.trigger);
    if (data.sort) this.drawClusters();
    if (!this.naming) this.drawHead();
    this.drawBook();
    this.drawDetails();
  }

  // What waits for the server is drawn as if it was done: where units are, and how many each code has.
  drawStatus() {
    super.drawStatus();
    if (this.list.data) this.list.repaint();
    const sizes = this.sizes();
    for (const row of this.rows.children) row.querySelector(".count").textContent = sizes.get(Number(row.dataset.number))?.toLocaleString("en") ?? "";
    const { head, open } = this.data, about = this.head.querySelector(".about");
    if (about) about.textContent = `${(head.of ?? sizes.get(open)).toLocaleString("en")}${head.about}`;
  }

  sizes() {
    const { clusters } = this.data, parents = new Map(clusters.map(({ number, parent }) => [number, parent]));
    const sizes = new Map(clusters.map(({ number, size }) => [number, size])), here = new Map();
    const add = (number, by) => {
      for (let at = number; at !== null && at !== undefined; at = parents.get(at)) sizes.set(at, sizes.get(at) + by);
    };
    for (const { ids, was, to } of actionQueue.actions) {
      if (to === undefined || this.data.several) continue;
      ids.forEach((id, place) => {
        add(here.get(id) ?? (Array.isArray(was) ? was[place] : was), -1);
        if (to !== null) add(to, 1);
        here.set(id, to);
      });
    }
    return sizes;
  }

  // The codes whose units the list shows; null if a unit stays in it with any code.
  family() {
    const { sort, open, clusters } = this.data;
    return sort && open !== null ? clusters.filter(({ number, parent }) => number === open || parent === open).map((one) => one.number) : null;
  }

  assign(cluster) {
    this.list.act("assign", { cluster }, !this.data.several);
  }

  // The server is told of the focus once it has stopped moving; its text is here.
  tell(id) {
    if (id !== this.data.details?.id) this.whole.replaceChildren(this.list.textOf(id) ?? "");
    if (id !== undefined && id !== this.data.focused) this.trigger("focus", { id });
  }

  // --- clusters ---

  drawClusters() {
    const { data } = this, focused = this.rows.getRootNode().activeElement?.dataset?.number;
    this.rows.setAttribute("aria-label", data.words.clusters);
    const at = this.rows.scrollTop;
    this.rows.replaceChildren(...data.clusters.map((cluster) => this.cluster(cluster)));
    this.rows.scrollTop = at;
    const add = this.button("create");
    add.className = "new";
    [add.firstChild.textContent, add.lastChild.textContent, add.disabled] = [data.words.new, data.actions.create.key, data.read_only];
    this.more.replaceChildren(add, ...(data.clusters.length > 1 ? [] : [make("p", "", data.words.first)]));
    if (focused) this.rows.querySelector(`[data-number="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    const open = this.rows.querySelector("[aria-selected=true]"), top = (open?.offsetTop ?? 0) - this.rows.offsetTop;
    if (open && this.opened !== data.open && (top < this.rows.scrollTop || top > this.rows.scrollTop + this.rows.clientHeight - 30)) {
      this.rows.scrollTop = top - 60;
    }
    this.opened = data.open;
  }

  cluster(cluster) {
    const open = cluster.number === this.data.open;
    const row = make("div", `cluster level${cluster.level}`, "", {
      role: "treeitem", tabindex: open ? "0" : "-1", "aria-selected": String(open), "aria-level": String(cluster.level),
      "data-item": "", "data-number": String(cluster.number), title: cluster.name,
      "aria-label": [cluster.name, cluster.size.toLocaleString("en")].join(", "),
    });
    row.append(swatch("span", cluster), make("span", "name", cluster.name));
    row.append(make("span", "count"), make("kbd", cluster.key ? "" : "none", cluster.key));
    if (open && cluster.number >= 0 && !this.data.read_only) {
      const button = make("button", "dots", "⋯", { "aria-label": this.data.words.menu, "aria-haspopup": "menu", "data-action": "menu" });
      button.addEventListener("click", (event) => (event.stopPropagation(), this.openMenu(button, cluster)));
      row.append(button);
    }
    row.addEventListener("click", () => this.open(cluster.number));
    row.addEventListener("contextmenu", (event) => {
      if (cluster.number < 0) return;
      event.preventDefault();
      this.open(cluster.number);
      this.openMenu(row, cluster);
    });
    if (cluster.number >= 0 && !this.data.read_only) {
      row.draggable = true;
      row.addEventListener("dragstart", (event) => {
        window.themescopeDragged = { cluster: cluster.number };
        event.dataTransfer.setData("text/plain", "");
      });
    }
    this.accept(row, cluster);
    return row;
  }

  // Units that are dropped on a cluster are moved there; of a cluster, a menu asks what is meant.
  accept(row, cluster) {
    row.addEventListener("dragover", (event) => {
      event.preventDefault();
      row.classList.add("target");
    });
    row.addEventListener("dragleave", () => row.classList.remove("target"));
    row.addEventListener("drop", (event) => {
      event.preventDefault();
      row.classList.remove("target");
      const dragged = window.themescopeDragged;
      window.themescopeDragged = null;
      if (dragged?.ids) {
        this.list.clear();
        this.list.select(dragged.ids, true);
        this.list.act(cluster.number < 0 ? "unassign" : "assign", { cluster: cluster.number, method: "dragged" }, true);
      } else if (dragged && cluster.number >= 0 && dragged.cluster !== cluster.number) this.dropped(row, dragged.cluster, cluster);
    });
  }

  dropped(row, from, into) {
    const { words } = this.data, name = into.name;
    this.showMenu(row, [
      [words.merge_into.replace("{}", name), "", () => actionQueue.push({ kind: "merge_into", clusters: [from], into: into.number })],
      [words.put_under.replace("{}", name), "", () => actionQueue.push({ kind: "put_under", clusters: [from], theme: into.number })],
    ]);
  }

  open(number) {
    if (number === this.data.open) return;
    for (const row of this.rows.children) row.setAttribute("aria-selected", String(row.dataset.number === String(number)));
    clearTimeout(this.opening);
    this.opening = setTimeout(() => actionQueue.push({ kind: "open", cluster: number, shows: true }), 80);
  }

  keyInClusters(event) {
    const row = event.target.closest(".cluster");
    const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    if (step) {
      row[step]?.focus();
      if (row[step]) this.open(Number(row[step].dataset.number));
    } else if (event.key === "Enter" || event.key === "ArrowRight") this.list.box.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // --- the title of the list, and the menu of a cluster ---

  drawHead() {
    this.head.replaceChildren(make("h2", "", this.data.head.title), make("span", "about"));
  }

  openMenu(anchor, cluster) {
    const { actions } = this.data, parts = this.data.clusters.some((one) => one.parent === cluster.number);
    const left = { move_out: cluster.level < 2, dissolve: !parts };
    const lines = Object.entries(actions).filter(([kind, action]) => action.cluster && !left[kind]).flatMap(([kind, { label, key }]) => {
      if (kind === "rename") return [[label, key, () => this.rename(cluster)], ["palette", "", cluster]];
      return [[label, key, () => actionQueue.push({ kind, cluster: cluster.number })]];
    });
    this.showMenu(anchor, lines);
  }

  showMenu(anchor, lines) {
    const close = () => this.menu.hidePopover();
    this.menu.replaceChildren(...lines.map(([label, key, act]) => {
      if (label === "palette") return paletteOf(act, this.data.palette, this.data.words, close);
      const line = make("button", "", "", { role: "menuitem" });
      line.append(make("span", "", label));
      if (key) line.append(make("kbd", "", key));
      line.addEventListener("click", () => (close(), act()));
      return line;
    }));
    this.menu.onkeydown = (event) => {
      const items = [...this.menu.querySelectorAll("button")], at = items.indexOf(event.target);
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) items[(at + step + items.length) % items.length].focus();
      if (event.key !== "Escape") event.stopPropagation();
      if (step) event.preventDefault();
    };
    this.menu.showPopover();
    const place = anchor.getBoundingClientRect(), size = this.menu.getBoundingClientRect();
    this.menu.style.left = `${Math.max(8, Math.min(place.left, window.innerWidth - size.width - 8))}px`;
    this.menu.style.top = `${Math.max(8, Math.min(place.bottom + 2, window.innerHeight - size.height - 8))}px`;
    this.menu.querySelector("button")?.focus();
  }

  rename(cluster) {
    const save = (name) => name !== cluster.name && actionQueue.push({ kind: "rename", cluster: cluster.number, name });
    const field = nameField(cluster.name, this.data.actions.rename.label, save, () => {
      this.naming = null;
      this.drawHead();
      this.drawStatus();
    });
    this.naming = field;
    this.head.replaceChildren(field, make("small", "", this.data.words.renaming));
    field.focus();
    field.select();
  }

  // --- what is known of one unit ---

  // The codebook; the code of the unit that has the focus is on.
  drawBook() {
    const { data } = this, { label, key } = data.actions.codebook_panel;
    [this.title.firstChild.textContent, this.title.lastChild.textContent] = [label, key];
    this.codes.show(data.clusters.filter((one) => one.number >= 0), data.words, (code) => ({
      on: code.number === data.details?.cluster,
      disabled: data.read_only,
    }));
  }

  drawDetails() {
    const { details } = this.data;
    this.whole.replaceChildren();
    if (!details) return this.about.replaceChildren();
    for (const [name, text] of [["context", details.before], ["", details.text], ["context", details.after]]) {
      if (text) this.whole.append(make("span", name, text), " ");
    }
    const parts = [];
    for (const fact of details.facts) parts.push(make("p", "fact", fact, { dir: "auto" }));
    if (details.map) parts.push(make("h3", "", this.data.words.map), this.map(details.map));
    if (details.nearest.length) {
      parts.push(make("h3", "", this.data.words.nearest));
      for (const one of details.nearest) {
        const line = make("button", "near", "", { "data-item": "", dir: "auto" });
        line.append(make("span", "", one.text), make("span", "in", one.cluster));
        line.addEventListener("click", () => actionQueue.push({ kind: "goto", unit: one.id, shows: true }));
        parts.push(line);
      }
      const all = make("button", "link", this.data.words.similar, { "data-item": "" });
      all.addEventListener("click", () => this.list.act("similar", { shows: true }));
      if (this.data.words.similar) parts.push(all);
    }
    this.about.replaceChildren(...parts);
  }

  // Where the units lie: all of them grey, those of the list coloured, the one that has the focus ringed.
  map({ points, own, colour, at }) {
    const canvas = make("canvas", "map", "", { width: "540", height: "400", role: "img", "aria-label": this.data.words.map });
    const context = canvas.getContext("2d"), decode = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    const draw = (bytes, fill) => {
      context.fillStyle = fill;
      for (let i = 0; i < bytes.length; i += 2) context.fillRect(12 + bytes[i] * 2.02, 12 + bytes[i + 1] * 1.47, 4, 4);
    };
    draw(decode(points), "#b9b2a3");
    draw(decode(own), colour);
    if (at) {
      context.strokeStyle = getComputedStyle(this.root).color;
      context.lineWidth = 3;
      context.beginPath();
      context.arc(14 + at[0] * 2.02, 14 + at[1] * 1.47, 10, 0, 7);
      context.stroke();
    }
    return canvas;
  }

  // --- keys ---

  handleKey(event) {
    if (!this.root.isConnected) return this.remove();
    const free = event.target === document.body || event.composedPath().includes(this.list.box);
    // On a button, Enter presses it; the keys of the list are free where nothing else has the focus.
    if (!free && (event.key === "Enter" || event.key === "Backspace")) return undefined;
    if (free && !event.defaultPrevented && !isTyping(event) && !document.querySelector('[data-testid="stDialog"]') && this.list.navigate(event)) {
      return event.preventDefault();
    }
    super.handleKey(event);
  }

  act(kind) {
    const { data, list } = this, open = data.open ?? -1;
    if (super.act(kind)) return true;
    if (kind === "codebook_panel") this.book.open = !this.book.open;
    else if (data.read_only) return false;
    else if (kind === "create") list.create();
    else if (kind === "find") list.pick((cluster) => this.assign(cluster));
    else if (kind === "counter") list.pick((cluster) => list.act(kind, { cluster }));
    else if (kind === "rename") {
      if (open < 0) return false;
      this.rename(data.clusters.find((one) => one.number === open));
    } else if (data.actions[kind].cluster) { // the selected units go along, for a part that is clustered anew
      const ids = list.selected.size ? list.aimed() : [];
      actionQueue.push({ kind, cluster: open, ids, was: list.was(ids) });
    } else list.act(kind, {}, data.actions[kind].moves);
    return true;
  }

  press(key) {
    const target = this.data.clusters.find((one) => one.number >= 0 && one.key === key);
    if (!target || this.data.read_only) return super.press(key);
    this.assign(target.number);
    return true;
  }
}

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const whole = received(data, setStateValue);
  if (whole) viewOf(parentElement, "panes", Panes).show(whole, setStateValue, setTriggerValue);
}

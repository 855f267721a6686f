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

// The surfaces Sort and Table: units in the middle, the clusters to the left of them in Sort, and to the right what is
// known of the unit that has the focus. Keys act on the selected units, or on the one that has the focus.
class Panes extends ActionView {
  constructor(root) {
    super(root);
    this.left = make("nav", "clusters");
    this.middle = make("section", "middle");
    this.right = make("aside", "details");
    this.head = make("div", "head");
    const list = make("div", "unit_list");
    this.middle.append(this.head, list);
    root.append(this.left, this.middle, this.right);
    this.list = new UnitList(list);
    this.list.onFocus = (id) => this.tell(id);
    this.rows = make("div", "rows", "", { role: "tree" });
    this.more = make("div", "more");
    this.left.append(this.rows, this.more);
    this.menu = make("div", "menu", "", { role: "menu", popover: "auto" });
    root.append(this.menu);
    this.rows.addEventListener("keydown", (event) => this.keyInClusters(event));
  }

  show(data, trigger) {
    this.trigger = trigger;
    super.show(data);
    this.root.classList.toggle("table", !data.clusters);
    this.root.classList.toggle("plain", !data.details);
  }

  draw() {
    const { data } = this;
    this.list.show(data.list, this.trigger);
    if (data.clusters) this.drawClusters();
    if (!this.naming) this.drawHead();
    this.drawDetails();
  }

  // The server is told of the focus once it has stopped moving.
  tell(id) {
    if (id !== undefined && id !== this.data.focused) this.trigger("focus", id);
  }

  // --- clusters ---

  drawClusters() {
    const { data } = this, focused = this.rows.getRootNode().activeElement?.dataset?.number;
    this.rows.setAttribute("aria-label", data.words.clusters);
    const at = this.rows.scrollTop;
    this.rows.replaceChildren(...data.clusters.map((cluster) => this.cluster(cluster)));
    this.rows.scrollTop = at;
    const add = make("button", "new", "", { "data-action": "create", "aria-keyshortcuts": "N" });
    add.append(make("span", "", data.words.new), make("kbd", "", "N"));
    add.addEventListener("click", () => this.list.create());
    this.more.replaceChildren(add, ...(data.clusters.length > 1 ? [] : [make("p", "", data.words.first)]));
    add.disabled = Boolean(data.read_only);
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
      "aria-label": [cluster.name, cluster.count, cluster.stale].filter(Boolean).join(", "),
    });
    row.append(swatch("span", cluster), make("span", "name", cluster.name));
    if (cluster.stale) row.append(make("span", "stale", "*", { title: cluster.stale }));
    row.append(make("span", "count", cluster.count), make("kbd", cluster.key ? "" : "none", cluster.key));
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

  // --- the title of the open cluster, with its menu ---

  drawHead() {
    const { data } = this, { head } = data, parts = [make("h2", "", head.title), make("span", "about", head.about)];
    if (data.clusters && data.open >= 0 && !data.read_only) {
      const button = make("button", "dots", "⋯", { "aria-label": data.words.menu, "aria-haspopup": "menu", "data-action": "menu" });
      button.addEventListener("click", () => this.openMenu(button, data.clusters.find((one) => one.number === data.open)));
      parts.push(make("span", "space"), button);
    }
    this.head.replaceChildren(...parts);
    this.head.hidden = !head.title;
  }

  openMenu(anchor, cluster) {
    const { words } = this.data, push = (kind) => () => actionQueue.push({ kind, cluster: cluster.number });
    const lines = [
      [words.rename, "F2", () => this.rename(cluster)],
      ["palette", "", cluster],
      [words.merge, "Alt+M", push("merge")],
      [words.split, "Alt+G", push("recluster")],
      [words.group, "Alt+S", push("group")],
      ...(cluster.level > 1 ? [[words.move_out, "Alt+P", push("move_out")]] : []),
      ...(cluster.parts ? [[words.dissolve, "", push("dissolve")]] : []),
      [words.codebook, "", push("codebook")],
      [words.delete, "Alt+E", push("delete")],
    ];
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
    const field = nameField(cluster.name, this.data.words.rename, save, () => {
      this.naming = null;
      this.drawHead();
    });
    this.naming = field;
    this.head.replaceChildren(field, make("small", "", this.data.words.renaming));
    field.focus();
    field.select();
  }

  // --- what is known of one unit ---

  drawDetails() {
    const { details } = this.data;
    if (!details) return this.right.replaceChildren();
    const parts = [];
    if (details.before || details.after) {
      const text = make("p", "whole", "", { dir: "auto" });
      if (details.before) text.append(make("span", "context", details.before + " "));
      text.append(make("span", "", details.text));
      if (details.after) text.append(make("span", "context", " " + details.after));
      parts.push(text);
    }
    for (const fact of details.facts) parts.push(make("p", "fact", fact, { dir: "auto" }));
    if (details.entry) {
      const entry = make("details", "entry");
      entry.open = !this.folded;
      entry.addEventListener("toggle", () => (this.folded = !entry.open));
      entry.append(make("summary", "", details.entry, { "data-item": "" }));
      for (const [title, text] of details.code) entry.append(make("h3", "", title), make("p", "", text, { dir: "auto" }));
      parts.push(entry);
    }
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
    this.right.replaceChildren(...parts);
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

  // An action on a cluster; the selected units go along, for a part that is clustered anew.
  onCluster(kind, cluster) {
    const ids = this.list.selected.size ? this.list.aimed() : [];
    actionQueue.push({ kind, cluster, ids, was: this.list.was(ids) });
  }

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

  press(key) {
    if (this.data.read_only) return false;
    const { data, list } = this, target = data.list.targets.find((one) => one.key === key);
    const action = data.keys[key];
    if (target) list.act("assign", { cluster: target.number }, !data.several);
    else if (key === "n") list.create();
    else if (key === "f") list.pick((cluster) => list.act("assign", { cluster }, !data.several));
    else if (key === "f2" && data.open >= 0) this.rename(data.clusters.find((one) => one.number === data.open));
    else if (action?.cluster) this.onCluster(action.kind, data.open);
    else if (action) list.act(action.kind, {}, action.moves);
    else return false;
    return true;
  }
}

export default function ({ data, parentElement, setTriggerValue }) {
  viewOf(parentElement, "panes", Panes).show(data, setTriggerValue);
}

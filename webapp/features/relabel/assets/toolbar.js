// What can be done to the selection: a button and a key for each. Buttons and keys go the same way, through the outbox.
class Bar {
  constructor(root) {
    this.root = root;
    this.status = make("p", "status");
    this.status.setAttribute("role", "status");
    this.notice = make("p", "notice");
    this.notice.setAttribute("role", "alert");
    this.body = make("div", "body");
    this.editor = make("div", "editor");
    this.editor.addEventListener("focusout", (event) => {
      if (!this.editor.contains(event.relatedTarget)) this.input?.finish(true);
    });
    this.editor.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.input?.finish(false);
    });
    this.map = make("dialog", "map");
    this.map.addEventListener("click", () => this.map.close());
    root.append(this.status, this.notice, this.body, this.map);
    this.press = (event) => this.pressed(event);
    this.watch = () => this.said();
    document.addEventListener("keydown", this.press);
    outbox.watchers.add(this.watch);
  }

  end() {
    document.removeEventListener("keydown", this.press);
    outbox.watchers.delete(this.watch);
  }

  show(data, keep) {
    this.data = data;
    outbox.deliver = (value) => keep("deeds", value);
    outbox.heard(data.session, data.heard);
    this.draw();
    this.said();
  }

  said() {
    if (!this.data) return;
    const { words, status } = this.data, waiting = outbox.deeds.length;
    const text = waiting ? (outbox.late ? words.late : words.saving) : outbox.lost ? words.lost : status.words;
    this.status.className = `status ${waiting ? "waiting" : outbox.lost ? "failed" : status.state}`;
    if (this.status.textContent !== text) this.status.textContent = text;
    this.status.title = text;
  }

  draw() {
    this.notice.textContent = this.data.notice;
    this.notice.hidden = !this.data.notice;
    // A name that is being typed is not redrawn away: what is typed next would be taken for shortcuts.
    this.stale = Boolean(this.input);
    if (this.stale) return;
    const focus = this.root.getRootNode().activeElement?.dataset?.deed;
    const { data } = this, rows = data.groups.map((group) => this.group(group));
    const heading = make("p", "heading", data.heading);
    this.body.replaceChildren(rows[0], heading, this.clusters(), ...rows.slice(1));
    if (focus) this.body.querySelector(`[data-deed="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
    this.map.setAttribute("aria-label", data.words.keys);
    this.map.replaceChildren(...this.keys());
  }

  clusters() {
    const list = make("div", "clusters");
    for (const cluster of this.data.clusters) {
      const button = make("button", "cluster");
      button.dataset.deed = `assign ${cluster.number}`;
      button.title = cluster.name;
      button.append(swatch("span", cluster), make("span", "name", cluster.name), make("small", "", cluster.count));
      button.append(make("kbd", "", cluster.digit));
      button.addEventListener("click", () => outbox.push({ kind: "assign", cluster: cluster.number }));
      list.append(button);
    }
    return list;
  }

  group({ title, deeds }) {
    const box = make("div", "group");
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", title);
    for (const deed of deeds) {
      const button = make("button", "deed");
      button.dataset.deed = deed.name;
      button.title = deed.told;
      button.append(make("span", "", deed.label), make("kbd", "", deed.key));
      button.classList.toggle("on", deed.on);
      button.setAttribute("aria-disabled", String(deed.idle));
      if (deed.switch) button.setAttribute("aria-pressed", String(deed.on));
      // Pressed once more it ends the name that is being typed; the press alone must not end it before.
      if (deed.name === "name") button.addEventListener("pointerdown", (event) => event.preventDefault());
      button.addEventListener("click", () => this.act(deed.name));
      box.append(button);
    }
    return box;
  }

  // What only looks happens here; everything else is told to the server.
  act(name) {
    if (name === "keys") return this.map.open ? this.map.close() : this.map.showModal();
    if (name === "name") return this.edit();
    outbox.push({ kind: name });
  }

  edit() {
    const { current, palette, words } = this.data;
    if (this.input) return this.input.finish(true);
    if (!current) return outbox.push({ kind: "name" });
    this.input = nameField(current, words, () => this.close());
    this.editor.append(this.input, paletteOf(current, palette, words), make("small", "", words.editing));
    this.body.querySelector(".heading").after(this.editor);
    this.input.focus();
    this.input.select();
  }

  close() {
    const inside = this.editor.contains(this.root.getRootNode().activeElement);
    this.input = null;
    this.editor.remove();
    this.editor.replaceChildren();
    if (this.stale) this.draw();
    if (inside) this.body.querySelector('[data-deed="name"]')?.focus({ preventScroll: true });
  }

  keys() {
    const title = make("h2", "", this.data.words.keys), table = make("table");
    for (const [key, told] of this.data.keys) {
      const row = make("tr"), first = make("td");
      first.append(make("kbd", "", key));
      row.append(first, make("td", "", told));
      table.append(row);
    }
    return [title, table, make("p", "", this.data.words.hint)];
  }

  pressed(event) {
    if (!this.root.isConnected) return this.end();
    if (event.defaultPrevented || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(event) || document.querySelector('[data-testid="stDialog"]')) return;
    const key = keyOf(event), { data } = this;
    if (this.map.open && key !== "?") return;
    const cluster = data.clusters.find((one) => one.digit === key);
    const deed = data.groups.flatMap((group) => group.deeds).find((one) => one.key.toLowerCase() === key);
    if (cluster) outbox.push({ kind: "assign", cluster: cluster.number });
    else if (deed) this.act(deed.name);
    else return;
    event.preventDefault();
  }
}

function typing(event) {
  const from = event.composedPath()[0];
  if (!(from instanceof Element)) return false;
  const silent = ["checkbox", "radio", "range", "button", "file", "submit"];
  return from.isContentEditable || from.matches("textarea, select") || (from.matches("input") && !silent.includes(from.type));
}

// The digit keys are digits on every keyboard, also where digits need Shift; the letter keys are Latin ones also where
// they write another script. A key that writes nothing (End on the number pad) is itself.
function keyOf(event) {
  const { code, key } = event, place = /^(?:Digit|Numpad|Key)([0-9A-Z])$/.exec(code);
  if (/^[0-9?]$/.test(key)) return key;
  if (event.shiftKey) return "";
  return place && key.length === 1 && !/[a-z]/i.test(key) ? place[1].toLowerCase() : key.toLowerCase();
}

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".bar");
  root.bar ??= new Bar(root);
  root.bar.show(data, setStateValue);
}

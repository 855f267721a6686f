// Toolbar: a button and a key for every action. Buttons and keys push the same actions to the queue.
class Toolbar extends ActionView {
  constructor(root) {
    super(root);
    this.makeLines();
    this.body = make("div", "body");
    this.editor = make("div", "editor");
    this.editor.addEventListener("focusout", (event) => {
      if (!this.editor.contains(event.relatedTarget)) this.input?.close(true);
    });
    this.editor.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.input?.close(false);
    });
    this.shortcuts = make("dialog", "shortcuts");
    this.shortcuts.addEventListener("click", () => this.shortcuts.close());
    root.append(this.status, this.notice, this.body, this.shortcuts);
  }

  drawStatus() {
    const { status } = this.data, pending = actionQueue.actions.length, text = this.statusText(status.text);
    this.status.className = `status ${pending ? "pending" : actionQueue.lost ? "failed" : status.state}`;
    if (this.status.textContent !== text) this.status.textContent = text;
    this.status.title = text;
  }

  draw() {
    this.drawNotice();
    // While a name is being typed nothing is redrawn: the next keys would act as shortcuts.
    this.stale = Boolean(this.input);
    if (this.stale) return;
    const focus = this.root.getRootNode().activeElement?.dataset?.action;
    const { data } = this, groups = data.groups.map((group) => this.group(group));
    const heading = make("p", "heading", data.heading), finish = data.finish ? [this.finish()] : [];
    this.body.replaceChildren(...finish, ...groups.slice(0, data.above), heading, this.clusters(), ...groups.slice(data.above));
    if (focus) this.body.querySelector(`[data-action="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
    this.shortcuts.setAttribute("aria-label", data.words.shortcuts);
    this.shortcuts.replaceChildren(...this.shortcutList());
  }

  // Ends the item of a task that is shown.
  finish() {
    const button = make("button", "finish", "", { "data-action": "finish" });
    button.append(make("span", "", this.data.words.finish), make("kbd", "", "Ctrl+Enter"));
    button.addEventListener("click", () => actionQueue.push({ kind: "finish" }));
    return button;
  }

  clusters() {
    const list = make("div", "clusters");
    for (const cluster of this.data.clusters) {
      const button = make("button", "cluster", "", { title: cluster.name, "data-action": `assign ${cluster.number}` });
      button.append(swatch("span", cluster), make("span", "name", cluster.name), make("small", "", cluster.count));
      button.append(make("kbd", "", cluster.digit));
      if (this.data.several) button.setAttribute("aria-pressed", String(cluster.on));
      button.classList.toggle("on", cluster.on);
      button.addEventListener("click", () => actionQueue.push({ kind: "assign", cluster: cluster.number }));
      list.append(button);
    }
    return list;
  }

  group({ title, actions }) {
    const box = make("div", "group", "", { role: "group", "aria-label": title });
    for (const action of actions) {
      const button = make("button", "action", "", { title: action.help, "data-action": action.name });
      button.append(make("span", "", action.label), make("kbd", "", action.key));
      button.classList.toggle("on", action.on);
      button.classList.toggle("switch", action.switch);
      button.setAttribute("aria-disabled", String(action.disabled));
      if (action.switch) button.setAttribute("aria-pressed", String(action.on));
      // A second press of Rename closes the name field; the focus must not close it first.
      if (action.name === "name") button.addEventListener("pointerdown", (event) => event.preventDefault());
      button.addEventListener("click", () => this.act(action));
      box.append(button);
    }
    return box;
  }

  act({ name, about }) {
    if (name === "shortcuts") return this.shortcuts.open ? this.shortcuts.close() : this.shortcuts.showModal();
    if (name === "name") return this.edit();
    actionQueue.push({ kind: name, ...about });
    if (name === "create") this.nameCreated();
  }

  edit() {
    const { current, palette, words } = this.data;
    if (this.input) return this.input.close(true);
    if (!current) return actionQueue.push({ kind: "name" });
    const save = (name) => name !== current.name && actionQueue.push({ kind: "rename", cluster: current.number, name });
    this.open(nameField(current.name, words.rename, save, () => this.closeEditor()));
    this.editor.append(paletteOf(current, palette, words), make("small", "", words.editing));
    this.input.select();
  }

  // The field has the focus before the server has created the cluster: the next letters are its name.
  nameCreated() {
    const { words } = this.data, save = (name) => actionQueue.push({ kind: "name_created", name });
    this.input?.close(true);
    this.open(nameField("", words.created, save, () => this.closeEditor()));
    this.editor.append(make("small", "", words.naming));
  }

  open(input) {
    this.input = input;
    this.editor.append(input);
    this.body.querySelector(".heading").after(this.editor);
    input.focus();
  }

  closeEditor() {
    const hadFocus = this.editor.contains(this.root.getRootNode().activeElement);
    this.input = null;
    this.editor.remove();
    this.editor.replaceChildren();
    if (this.stale) this.draw();
    if (hadFocus) this.body.querySelector('[data-action="name"]')?.focus({ preventScroll: true });
  }

  shortcutList() {
    const title = make("h2", "", this.data.words.shortcuts), table = make("table");
    for (const [key, help] of this.data.keys) {
      const row = make("tr"), first = make("td");
      first.append(make("kbd", "", key));
      row.append(first, make("td", "", help));
      table.append(row);
    }
    return [title, table, make("p", "", this.data.words.hint)];
  }

  press(key) {
    const { data } = this;
    if (this.shortcuts.open && key !== "?") return false;
    const cluster = data.clusters.find((one) => one.digit === key);
    const action = data.groups.flatMap((group) => group.actions).find((one) => one.key.toLowerCase() === key);
    if (key === data.finish) actionQueue.push({ kind: "finish" });
    else if (cluster) actionQueue.push({ kind: "assign", cluster: cluster.number });
    else if (action) this.act(action);
    return Boolean(key === data.finish || cluster || action);
  }
}

export default function ({ data, parentElement, setStateValue }) {
  viewOf(parentElement, "toolbar", Toolbar).show(data, setStateValue);
}

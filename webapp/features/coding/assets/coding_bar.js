// Save status, undo and redo of a coding, on all of its surfaces, and the list of their keys. It sends what all of them
// push to the queue.
class CodingBar extends ActionView {
  constructor(root) {
    super(root);
    this.makeLines();
    this.keys = make("dialog", "keys");
    this.keys.addEventListener("click", () => this.keys.close());
    this.buttons = new Map(Object.entries({ undo: "U", redo: "Y", keys: "?" }).map(([kind, key]) => [kind, this.button(kind, key)]));
    root.append(this.status, ...this.buttons.values(), this.notice, this.keys);
  }

  button(kind, key) {
    const button = make("button", "", "", { "aria-keyshortcuts": key, "data-action": kind });
    button.append(make("span"), make("kbd", "", key));
    button.addEventListener("click", () => this.act(kind));
    return button;
  }

  draw() {
    const { words, undo, redo } = this.data;
    for (const [kind, button] of this.buttons) {
      button.firstChild.textContent = words[kind];
      button.title = { undo, redo }[kind] || words[`${kind}_help`];
      button.setAttribute("aria-disabled", String({ undo, redo }[kind] === ""));
    }
    this.drawNotice();
    this.keys.setAttribute("aria-label", words.keys_help);
    const table = make("table");
    for (const [key, help] of this.data.keys) {
      const row = make("tr"), first = make("td");
      first.append(make("kbd", "", key));
      row.append(first, make("td", "", help));
      table.append(row);
    }
    this.keys.replaceChildren(make("h2", "", words.keys_help), table, make("p", "", words.hint));
  }

  drawStatus() {
    const { status } = this.data, pending = actionQueue.changes().length, text = this.statusText(status.text);
    this.status.className = `status ${pending ? "pending" : actionQueue.lost ? "failed" : status.state}`;
    if (this.status.textContent !== text) this.status.textContent = text;
    this.status.title = text;
    this.root.dataset.waiting = pending;
  }

  act(kind) {
    if (kind !== "keys") actionQueue.push({ kind });
    else if (this.keys.open) this.keys.close();
    else this.keys.showModal();
  }

  press(key) {
    const kind = { u: "undo", y: "redo", "?": "keys" }[key];
    if (!kind || (this.keys.open && kind !== "keys")) return this.keys.open;
    this.act(kind);
    return true;
  }
}

export default function ({ data, parentElement, setStateValue }) {
  viewOf(parentElement, "coding_bar", CodingBar).show(data, setStateValue);
}

// Keys of a page. Every press is an action of the queue, so that fast presses all count, in their order.
class ActionKeys {
  constructor(root) {
    this.root = root;
    this.onKey = (event) => this.handleKey(event);
    document.addEventListener("keydown", this.onKey);
    actionQueue.listeners.add(() => this.draw());
  }

  show(data, setState) {
    this.data = data;
    actionQueue.deliver = (message) => setState("actions", message);
    actionQueue.acknowledge(data.session, data.acknowledged);
    this.draw();
  }

  draw() {
    const waiting = actionQueue.actions.length;
    this.root.textContent = waiting ? this.data.words[actionQueue.late ? "late" : "saving"] : "";
    this.root.dataset.waiting = waiting;
  }

  handleKey(event) {
    if (!this.root.isConnected) return document.removeEventListener("keydown", this.onKey);
    if (event.defaultPrevented || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event) || document.querySelector('[data-testid="stDialog"]')) return;
    const key = keyOf(event), kind = this.data.keys[key], label = this.data.fields[key];
    const field = label && document.querySelector(`textarea[aria-label="${CSS.escape(label)}"]`);
    if (field) field.focus();
    else if (kind) actionQueue.push({ kind });
    else return;
    event.preventDefault();
  }
}

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".action_keys");
  root.setAttribute("role", "status");
  root.keys ??= new ActionKeys(root);
  root.keys.show(data, setStateValue);
}

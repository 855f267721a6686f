// Keys of a page. Every press is an action of the queue, so that fast presses all count, in their order.
class ActionKeys extends ActionView {
  drawStatus() {
    this.root.textContent = this.statusText("");
    this.root.dataset.waiting = actionQueue.actions.length;
  }

  press(key) {
    const kind = this.data.keys[key], label = this.data.fields[key];
    const field = label && document.querySelector(`textarea[aria-label="${CSS.escape(label)}"]`);
    if (field) field.focus();
    else if (kind) actionQueue.push({ kind });
    return Boolean(field || kind);
  }
}

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".action_keys");
  root.setAttribute("role", "status");
  root.keys ??= new ActionKeys(root);
  root.keys.show(data, setStateValue);
}

// Keys of a page. Every press is an action of the queue, so that fast presses all count, in their order.
class ActionKeys extends ActionView {
  drawStatus() {
    this.root.textContent = this.statusText("");
    this.root.dataset.waiting = actionQueue.actions.length;
  }

  press(key) {
    const kind = this.data.keys[key];
    if (kind) actionQueue.push({ kind });
    return Boolean(kind);
  }
}

export default function ({ data, parentElement, setStateValue }) {
  const view = viewOf(parentElement, "action_keys", ActionKeys);
  view.root.setAttribute("role", "status");
  view.show(data, setStateValue);
}

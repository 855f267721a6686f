// A component whose keys push actions to the queue. Subclasses have drawStatus(), press(key), which handles a key and
// returns whether it did, and draw() if they draw more.
class ActionView {
  constructor(root) {
    this.root = root;
    this.onKey = (event) => this.handleKey(event);
    this.onQueue = () => this.drawStatus();
    document.addEventListener("keydown", this.onKey);
    actionQueue.listeners.add(this.onQueue);
  }

  remove() {
    document.removeEventListener("keydown", this.onKey);
    actionQueue.listeners.delete(this.onQueue);
  }

  show(data, setState) {
    this.data = data;
    actionQueue.deliver = (message) => setState("actions", message);
    actionQueue.acknowledge(data.session, data.acknowledged);
    this.draw();
    this.drawStatus();
  }

  draw() {}

  // What to know about the actions of the queue; without any, `saved`.
  statusText(saved) {
    const { words } = this.data;
    if (actionQueue.actions.length) return words[actionQueue.late ? "late" : "saving"];
    return actionQueue.lost ? words.lost : saved;
  }

  handleKey(event) {
    if (!this.root.isConnected) return this.remove();
    if (event.defaultPrevented || event.repeat || event.ctrlKey || event.metaKey) return;
    if (isTyping(event) || document.querySelector('[data-testid="stDialog"]')) return;
    if (this.press(event.altKey ? `alt+${keyOf(event)}` : keyOf(event))) event.preventDefault();
  }
}

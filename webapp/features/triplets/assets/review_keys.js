// Keys of the review of triplets. Every press is an action of the queue, so that fast presses all count, in their order.
class ReviewKeys {
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
    const kind = this.data.keys[keyOf(event)];
    if (!kind) return;
    actionQueue.push({ kind });
    event.preventDefault();
  }
}

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".review_keys");
  root.setAttribute("role", "status");
  root.keys ??= new ReviewKeys(root);
  root.keys.show(data, setStateValue);
}

// A question with its answers. Buttons and keys push the same actions to the queue; an answer names its question, so that
// a key pressed before the next question is drawn does not answer it. Texts are set through textContent.
function made(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}

class Questions {
  constructor(root) {
    this.root = root;
    this.body = made("div", "body");
    this.body.style.display = "contents";
    this.notice = made("p", "notice");
    this.notice.setAttribute("role", "alert");
    this.status = made("p", "status");
    this.status.setAttribute("role", "status");
    root.append(this.notice, this.body, this.status);
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

  drawStatus() {
    const waiting = actionQueue.actions.length, { words, status } = this.data;
    const text = waiting ? words[actionQueue.late ? "late" : "saving"] : actionQueue.lost ? words.lost : status;
    if (this.status.textContent !== text) this.status.textContent = text;
    this.root.dataset.waiting = waiting;
    this.root.dataset.answers = this.data.answers;
  }

  draw() {
    const { data } = this, focus = this.root.getRootNode().activeElement?.dataset?.kind;
    this.notice.textContent = data.notice;
    this.notice.hidden = !data.notice;
    const heading = made("h3", "", data.title);
    heading.setAttribute("aria-live", "polite");
    this.body.replaceChildren(heading);
    for (const sentence of data.sentences) this.body.append(this.sentence(sentence));
    if (data.options.length) this.body.append(this.group(data.options, data.title, data.short ? "short" : ""));
    if (data.hint) this.body.append(made("p", "hint", data.hint));
    this.body.append(this.group(data.actions, data.words.more, "short"));
    if (focus) this.body.querySelector(`[data-kind="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
  }

  sentence({ letter, text, place }) {
    const box = made("div", "sentence"), line = made("p", "text");
    if (letter) line.append(made("span", "letter", letter));
    line.append(text);
    box.append(line);
    if (place) box.append(made("p", "place", place));
    return box;
  }

  group(options, name, className) {
    const box = made("div", `options ${className}`);
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", name);
    for (const option of options) {
      const button = made("button"), text = made("span");
      text.append(made("strong", "", option.label));
      if (option.example) text.append(made("span", "example", option.example));
      if (option.place) text.append(made("span", "place", option.place));
      button.append(made("kbd", "", option.key.toUpperCase()), text);
      button.dataset.kind = option.kind === "answer" ? option.value : option.kind;
      button.setAttribute("aria-keyshortcuts", option.key.toUpperCase());
      button.setAttribute("aria-disabled", String(Boolean(option.disabled)));
      button.addEventListener("click", () => this.act(option));
      box.append(button);
    }
    return box;
  }

  // One answer to a question: the queue may hold it until the server has drawn the next one.
  act({ kind, value }) {
    const { question } = this.data;
    if (kind !== "answer") return actionQueue.push({ kind });
    if (actionQueue.actions.some((action) => action.question === question)) return;
    actionQueue.push({ kind, value, question });
  }

  handleKey(event) {
    if (!this.root.isConnected) return this.remove();
    if (event.defaultPrevented || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event) || document.querySelector('[data-testid="stDialog"]')) return;
    const key = keyOf(event);
    const option = [...this.data.options, ...this.data.actions].find((one) => one.key === key);
    if (!option) return;
    this.act(option);
    event.preventDefault();
  }
}

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".questions");
  root.questions ??= new Questions(root);
  root.questions.show(data, setStateValue);
}

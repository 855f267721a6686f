// A question with its answers. Buttons and keys push the same actions to the queue; an answer names its question, so that
// a key pressed before the next question is drawn does not answer it.
class Questions extends ActionView {
  constructor(root) {
    super(root);
    this.body = make("div", "body");
    this.body.style.display = "contents";
    root.append(this.body);
  }

  drawStatus() {
    this.root.dataset.waiting = actionQueue.actions.length;
    this.root.dataset.answers = this.data.answers;
  }

  draw() {
    const { data } = this, focus = this.root.getRootNode().activeElement?.dataset?.kind;
    this.body.replaceChildren(make("h3", "", data.title, { "aria-live": "polite" }));
    for (const sentence of data.sentences) this.body.append(this.sentence(sentence));
    if (data.options.length) this.body.append(this.group(data.options, data.title, data.short ? "short" : ""));
    if (data.hint) this.body.append(make("p", "hint", data.hint));
    if (data.actions.length) this.body.append(this.group(data.actions, data.words.more, "short"));
    if (focus) this.body.querySelector(`[data-kind="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
  }

  sentence({ letter, text, place }) {
    const box = make("div", "sentence"), line = make("p", "text");
    if (letter) line.append(make("span", "letter", letter));
    line.append(text);
    box.append(line);
    if (place) box.append(make("p", "place", place));
    return box;
  }

  group(options, name, className) {
    const box = make("div", `options ${className}`, "", { role: "group", "aria-label": name });
    for (const option of options) {
      const key = option.key.toUpperCase(), button = make("button", "", "", { "aria-keyshortcuts": key }), text = make("span");
      text.append(make("strong", "", option.label));
      if (option.example) text.append(make("span", "example", option.example));
      if (option.place) text.append(make("span", "place", option.place));
      button.append(make("kbd", "", key), text);
      button.dataset.kind = option.kind === "answer" ? option.value : option.kind;
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

  press(key) {
    const option = [...this.data.options, ...this.data.actions].find((one) => one.key === key);
    if (option) this.act(option);
    return Boolean(option);
  }
}

export default function ({ data, parentElement }) {
  viewOf(parentElement, "questions", Questions).show(data);
}

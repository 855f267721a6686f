// The search button of the header, which "/" clicks, and Ctrl+K from fields, too; and its dialog: a box with results (combobox and listbox of ARIA).
// While shortcuts of a single key are switched off, letters, digits and signs reach only what has the focus: fields, tables and maps.
const FIELDS = "input, textarea, select", FOCUSED = `${FIELDS}, canvas, .map-view`, WAIT_MS = 150, FAR = 80;

function isIn(event, places) {
  return event.composedPath().some((node) => node instanceof HTMLElement && (node.isContentEditable || node.matches(places)));
}

function withoutShortcuts(event) {
  if (!/^[\p{L}\p{N}/?]$/u.test(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (kept(OFF) === "1" && !isIn(event, FOCUSED)) event.stopImmediatePropagation();
}

class Search {
  constructor(root) {
    this.number = 0;
    this.options = [];
    const hidden = { "aria-hidden": "true" };
    this.button = make("button", "opens", "", { "aria-keyshortcuts": "/ Control+K" });
    this.button.onclick = () => this.show();
    this.name = make("span");
    this.button.append(make("span", "icon", "search", hidden), this.name, make("kbd", "", "/", hidden));
    this.dialog = make("dialog", "", "", { "aria-label": "Search" });
    this.input = make("input", "", "", {
      type: "text", placeholder: "Find a project, text, unit, theme or code, or do something", autocomplete: "off", spellcheck: "false", role: "combobox",
      "aria-label": "Search", "aria-controls": "search-results", "aria-autocomplete": "list", "aria-expanded": "false",
    });
    this.meaning = make("input", "", "", { type: "checkbox" });
    this.way = make("label", "", "", { hidden: "" });
    this.says = make("span");
    this.way.append(this.meaning, this.says);
    const close = make("button", "close", "close", { "aria-label": "Close" });
    close.onclick = () => this.dialog.close();
    this.status = make("p", "", "", { role: "status" });
    this.list = make("div", "", "", { id: "search-results", role: "listbox", "aria-label": "Results", hidden: "" });
    const top = make("div", "top"), below = make("div", "below");
    top.append(this.input, close);
    below.append(this.status, this.way);
    this.dialog.append(top, below, this.list);
    this.input.oninput = () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.ask(), WAIT_MS);
    };
    this.meaning.onchange = () => this.ask();
    this.dialog.onkeydown = (event) => this.key(event);
    this.dialog.onclick = (event) => {
      if (event.target === this.dialog) this.dialog.close(); // a click beside it
    };
    root.append(this.button, this.dialog);
  }

  show(text = "") {
    if (this.dialog.open) return this.input.select();
    this.input.value = text;
    this.dialog.showModal();
    this.input.focus();
    this.ask();
  }

  /** Asks for what the text finds. What was asked is known by a number: an answer to an earlier text is not shown. */
  ask() {
    clearTimeout(this.timer);
    this.entered = false;
    this.asked = this.input.value;
    this.send("query", { number: ++this.number, text: this.asked, meaning: this.meaning.checked });
    this.status.textContent = this.meaning.checked ? "Searching by meaning. The first search loads the model …" : "";
  }

  update(data, send) {
    this.send = send;
    this.name.textContent = data.label;
    this.says.textContent = data.way;
    const sought = data.find ?? null;
    if (this.sought !== sought && sought !== null) this.show(sought);
    this.sought = sought;
    if (data.number === this.number && data.groups && this.answered !== this.number) this.draw(data);
  }

  draw({ number, groups, marks, by_meaning: byMeaning, problem }) {
    this.answered = number;
    this.options = [];
    this.way.hidden = !byMeaning;
    this.list.replaceChildren(...groups.map((group) => this.group(group, marks)));
    this.list.hidden = !this.options.length;
    this.input.setAttribute("aria-expanded", String(this.options.length > 0));
    this.activate(this.options.length ? 0 : -1);
    const total = groups.map((group) => `${group.title}: ${group.count}`).join(" · ");
    this.status.textContent = problem || (this.asked.trim() ? total || "No results. Try fewer or shorter words." : "");
    if (this.entered) this.open(0);
  }

  group({ title, count, icon, items }, words) {
    const box = make("div", "group", "", { role: "group", "aria-label": title }), heading = make("div", "heading", title, { role: "presentation" });
    heading.append(make("small", "", count));
    box.append(heading, ...items.map((item) => this.option(item, icon, words)));
    return box;
  }

  option({ title, detail, address }, icon, words) {
    const place = this.options.length;
    const option = make("div", "", "", { id: `search-result-${place}`, role: "option", "aria-selected": "false", "data-item": "" });
    const text = make("span", "text", "", { dir: "auto" });
    highlight(text, title, words, FAR);
    option.append(make("span", "icon", icon, { "aria-hidden": "true" }), text, make("small", "", detail));
    option.onclick = () => this.open(place);
    option.onpointermove = () => this.activate(place);
    this.options.push({ option, address });
    return option;
  }

  activate(place) {
    this.active = place;
    this.options.forEach(({ option }, number) => option.setAttribute("aria-selected", String(number === place)));
    if (place < 0) this.input.removeAttribute("aria-activedescendant");
    else this.input.setAttribute("aria-activedescendant", this.options[place].option.id);
  }

  key(event) {
    if (!this.dialog.open) return; // its box keeps the focus until the page is drawn again
    if (event.key !== "Escape") event.stopPropagation(); // the keys of the page are not those of the dialog
    if (event.target !== this.input) return;
    if (event.key === "Enter") {
      if (this.input.value !== this.asked) this.ask();
      this.entered = this.answered !== this.number; // then the first result is opened when it comes
      if (!this.entered) this.open(Math.max(this.active, 0));
    } else if (this.options.length && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const count = this.options.length, step = event.key === "ArrowDown" ? 1 : -1;
      this.activate((this.active + step + count) % count);
      this.options[this.active].option.scrollIntoView({ block: "nearest" });
    }
  }

  open(place) {
    this.entered = false;
    const found = this.options[place];
    if (!found) return;
    this.dialog.close();
    if (found.address) window.open(found.address, "_blank", "noopener");
    else this.send("open", { number: this.answered, place });
  }
}

/** The page, which knows the search that is drawn. @type {any} */
const page = document;

/** Opens the dialog that is drawn; while it is drawn anew, as soon as it is there. */
function show(tries = 40) {
  if (page.search.dialog.isConnected) page.search.show();
  else if (tries) setTimeout(show, 50, tries - 1);
}

function pressed(event) {
  const held = event.ctrlKey || event.metaKey, everywhere = held && event.key.toLowerCase() === "k";
  if (event.altKey || !(everywhere || (event.key === "/" && !held && !isIn(event, FIELDS)))) return;
  event.preventDefault();
  show();
}

export default function ({ data, parentElement, setTriggerValue }) {
  const view = viewOf(parentElement, "search", Search);
  view.update(data, setTriggerValue);
  // Once for the page, so that no key is lost while the header is drawn anew.
  if (!page.search) {
    document.addEventListener("keydown", pressed);
    // Before every other listener of the page, of Streamlit too.
    window.addEventListener("keydown", withoutShortcuts, true);
  }
  page.search = view;
}

// A search box with its results (combobox and listbox of ARIA).
const WAIT_MS = 180;

class SearchBox {
  constructor(root) {
    this.root = root;
    this.active = -1;
    this.input = make("input", "", "", {
      type: "search", placeholder: "Search, or do: import, colour, correct, undo …", autocomplete: "off", spellcheck: "false", role: "combobox",
      "aria-label": "Search", "aria-controls": "search-results", "aria-autocomplete": "list", "aria-expanded": "false",
    });
    this.status = make("p", "", "", { role: "status" });
    this.list = make("div", "", "", { id: "search-results", role: "listbox", "aria-label": "Results" });
    this.input.oninput = () => {
      this.entered = false;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.send(), WAIT_MS);
    };
    this.input.onkeydown = (event) => this.key(event);
    root.append(this.input, this.status, this.list);
  }

  show(data, setStateValue, setTriggerValue) {
    this.setStateValue = setStateValue;
    this.setTriggerValue = setTriggerValue;
    const first = this.sent === undefined;
    if (first) {
      this.input.value = this.sent = data.query;
      this.input.focus({ preventScroll: true });
    }
    if (data.query !== this.sent) return; // an answer to an earlier query
    this.draw(data);
  }

  send() {
    if (this.input.value === this.sent) return;
    this.sent = this.input.value;
    this.setStateValue("query", this.sent);
  }

  draw({ query, groups, marked }) {
    const kept = query === this.drawn ? this.active : -1; // drawn again: what a key has chosen stays chosen
    this.drawn = query;
    this.options = [];
    const words = marked ? query.split(/\s+/) : [];
    this.list.replaceChildren(...groups.map((group) => this.group(group, words)));
    this.input.setAttribute("aria-expanded", String(this.options.length > 0));
    this.activate(Math.min(kept, this.options.length - 1));
    const total = groups.map((group) => `${group.title}: ${group.count}`).join(" · ");
    this.status.textContent = query.trim() ? total || "No results. Try fewer or shorter words." : "";
    if (this.entered && query === this.input.value) this.openChosen();
  }

  group({ title, count, icon, items }, words) {
    const box = make("div", "group", "", { role: "group", "aria-label": title }), heading = make("div", "heading", title, { role: "presentation" });
    heading.append(make("small", "", count));
    box.append(heading, ...items.map((item) => this.option(item, icon, words)));
    return box;
  }

  option({ title, detail, address }, icon, words) {
    const place = this.options.length;
    const option = make("div", "", "", { id: `search-result-${place}`, role: "option", "aria-selected": "false" });
    const text = make("span", "text", "", { dir: "auto" });
    highlight(text, title, words);
    option.append(make("span", "icon", icon, { "aria-hidden": "true" }), text, make("small", "", detail));
    option.onclick = () => this.open(place, address);
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
    const count = this.options?.length ?? 0;
    if (event.key === "Enter") {
      clearTimeout(this.timer);
      this.entered = this.input.value !== this.drawn; // then the results of what was typed are opened when they come
      if (this.entered) return this.send();
      this.openChosen();
    } else if (count && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      this.activate((Math.max(this.active + step, -1) + count) % count);
      this.options[this.active].option.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Escape" && this.input.value) {
      this.input.value = "";
      this.send();
    }
  }

  openChosen() {
    this.entered = false;
    const place = Math.max(this.active, 0);
    if (this.options.length) this.open(place, this.options[place].address);
  }

  open(place, address) {
    if (address) window.open(address, "_blank", "noopener");
    else this.setTriggerValue("open", place);
  }
}

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const box = viewOf(parentElement, "search_box", SearchBox);
  box.show(data, setStateValue, setTriggerValue);
  const focus = () => box.input.focus(); // from the button of the header and its key
  document.addEventListener("themescope-search", focus);
  return () => document.removeEventListener("themescope-search", focus);
}

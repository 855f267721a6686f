// A search box with its results (combobox and listbox of ARIA). Texts are set through textContent, never as HTML.
const WAIT_MS = 180;

class SearchBox {
  constructor(root) {
    this.root = root;
    this.active = -1;
    this.input = document.createElement("input");
    Object.assign(this.input, { type: "search", placeholder: "Search everything", autocomplete: "off", spellcheck: false });
    for (const [name, value] of Object.entries({
      role: "combobox",
      "aria-label": "Search",
      "aria-controls": "search-results",
      "aria-autocomplete": "list",
      "aria-expanded": "false",
    }))
      this.input.setAttribute(name, value);
    this.status = document.createElement("p");
    this.status.setAttribute("role", "status");
    this.list = document.createElement("div");
    this.list.id = "search-results";
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", "Results");
    this.input.oninput = () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.send(), WAIT_MS);
    };
    this.input.onkeydown = (event) => this.key(event);
    root.append(this.input, this.status, this.list);
  }

  show(data, setStateValue, setTriggerValue) {
    Object.assign(this, { setStateValue, setTriggerValue });
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
    this.options = [];
    const words = marked ? query.toLowerCase().split(/\s+/).filter(Boolean) : [];
    this.list.replaceChildren(...groups.map((group) => this.group(group, words)));
    this.input.setAttribute("aria-expanded", String(this.options.length > 0));
    this.activate(-1);
    const total = groups.map((group) => `${group.title}: ${group.count}`).join(" · ");
    this.status.textContent = query.trim() ? total || "No results. Try fewer or shorter words." : "";
  }

  group({ title, count, icon, items }, words) {
    const box = document.createElement("div");
    box.className = "group";
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", title);
    const heading = document.createElement("h2");
    heading.textContent = title;
    const number = document.createElement("small");
    number.textContent = count;
    heading.append(number);
    box.append(heading, ...items.map((item) => this.option(item, icon, words)));
    return box;
  }

  option({ title, detail, address }, icon, words) {
    const place = this.options.length;
    const option = document.createElement("div");
    option.id = `search-result-${place}`;
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", "false");
    const sign = document.createElement("span");
    sign.className = "icon";
    sign.setAttribute("aria-hidden", "true");
    sign.textContent = icon;
    const text = document.createElement("span");
    text.className = "text";
    text.dir = "auto";
    highlight(text, title, words);
    const more = document.createElement("small");
    more.textContent = detail;
    option.append(sign, text, more);
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
      if (this.input.value !== this.sent) return this.send();
      const place = Math.max(this.active, 0);
      if (count) this.open(place, this.options[place].address);
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

  open(place, address) {
    if (address) window.open(address, "_blank", "noopener");
    else this.setTriggerValue("open", place);
  }
}

function highlight(parent, text, words) {
  const lower = text.toLowerCase();
  let from = 0;
  while (from < text.length) {
    let [at, length] = [-1, 0];
    for (const word of words) {
      const found = lower.indexOf(word, from);
      if (found >= 0 && (at < 0 || found < at)) [at, length] = [found, word.length];
    }
    if (at < 0) break;
    parent.append(text.slice(from, at));
    const hit = document.createElement("mark");
    hit.textContent = text.slice(at, at + length);
    parent.append(hit);
    from = at + length;
  }
  parent.append(text.slice(from));
}

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".search_box");
  root.box ??= new SearchBox(root);
  root.box.show(data, setStateValue, setTriggerValue);
  const focus = () => root.box.input.focus(); // from the button of the header and its key
  document.addEventListener("themescope-search", focus);
  return () => document.removeEventListener("themescope-search", focus);
}

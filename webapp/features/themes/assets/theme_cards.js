// Cards of themes; more are drawn as one scrolls. A card opens the units of its theme; its menu renames the theme in
// place, shows it on the map, and searches for it.
const FIRST = 18, MORE = 18;
const ENTRIES = [["open", "Open the units"], ["rename", "Rename (F2)"], ["map", "Show on the map"], ["search", "Search for it"]];

class ThemeCards {
  constructor(root) {
    this.root = root;
    this.list = make("ol");
    const end = make("div");
    root.append(this.list, end);
    new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && this.more(), { rootMargin: "200px" }).observe(end);
    root.addEventListener("keydown", (event) => this.key(event));
    root.addEventListener("focusout", (event) => !event.relatedTarget?.closest?.("[role=menu]") && this.close());
  }

  show(data, send) {
    const shown = this.data?.digest === data.digest ? this.list.children.length : FIRST, at = this.root.querySelector(":focus");
    const back = at && [at.closest("li")?.dataset.place, at.className];
    this.data = data;
    this.send = (kind, place, value = "") => send("act", { kind, place, value, digest: data.digest });
    this.list.replaceChildren(...data.themes.slice(0, shown).map((theme, place) => this.card(theme, place)));
    if (back) this.list.children[Number(back[0])]?.querySelector(back[1] === "field" ? ".name" : `.${back[1]}`)?.focus();
  }

  more() {
    const shown = this.list.children.length, next = this.data?.themes.slice(shown, shown + MORE) ?? [];
    if (shown) this.list.append(...next.map((theme, place) => this.card(theme, shown + place)));
  }

  card(theme, place) {
    const item = make("li", "", "", { "data-item": "", "data-place": String(place) }), head = make("h3");
    const name = make("button", "name", theme.name, { dir: "auto" }), more = make("button", "more", "⋯", { "aria-label": `More about ${theme.name}`, "aria-haspopup": "menu" });
    name.onclick = () => this.send("open", place);
    more.onclick = () => this.menu(item, place);
    head.append(make("span", "mark", theme.mark, { "aria-hidden": "true", style: `color: ${theme.colour}` }), name);
    const size = make("p", "size", theme.size), texts = make("ul");
    if (theme.badge) size.append(make("span", "badge", theme.badge));
    texts.append(...theme.texts.map((text) => make("li", "", text, { dir: "auto" })));
    size.append(make("span", "bar", "", { "aria-hidden": "true", style: `--share: ${theme.share}; --colour: ${theme.colour}` }));
    item.append(head, more, size, texts, ...theme.notes.map((note) => make("p", "note", note, { dir: "auto" })));
    item.onclick = (event) => !event.target.closest("button, input, [role=menu]") && !String(getSelection()) && this.send("open", place);
    return item;
  }

  menu(item, place) {
    const open = item.querySelector("[role=menu]");
    this.close();
    if (open) return;
    const menu = make("div", "menu", "", { role: "menu" });
    for (const [kind, label] of ENTRIES) {
      if (kind === "rename" && !this.data.editable) continue;
      const entry = make("button", "", label, { role: "menuitem" });
      entry.onclick = () => {
        this.close();
        if (kind === "rename") this.rename(item, place);
        else this.send(kind, place);
      };
      menu.append(entry);
    }
    item.append(menu);
    menu.firstChild.focus();
  }

  close() {
    if (this.closing) return; // the focus leaves a menu while it is removed
    this.closing = true;
    for (const menu of this.root.querySelectorAll("[role=menu]")) menu.remove();
    this.closing = false;
  }

  rename(item, place) {
    const name = item.querySelector(".name"), old = this.data.themes[place].name;
    if (!name || !this.data.editable) return;
    const save = (value) => {
      if (value === old) return;
      name.textContent = value; // as it will be, unless the server says why not
      this.send("rename", place, value);
    };
    const field = nameField(old, `Name of ${old}`, save, () => {
      const focused = field.matches(":focus"); // a key has ended it
      field.replaceWith(name);
      if (focused) name.focus();
    });
    [field.className, field.maxLength, field.dir] = ["field", this.data.longest, "auto"];
    name.replaceWith(field);
    field.focus();
    field.select();
  }

  key(event) {
    const item = event.target.closest("[data-place]"), entries = [...this.root.querySelectorAll("[role=menuitem]")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (entries.length && (step || event.key === "Escape")) {
      event.preventDefault();
      if (step) return entries[(entries.indexOf(event.target) + step + entries.length) % entries.length].focus();
      this.close();
      item?.querySelector(".more").focus();
    } else if (event.key === "F2" && item) {
      this.rename(item, Number(item.dataset.place));
    }
  }
}

export default function ({ data, parentElement, setTriggerValue }) {
  viewOf(parentElement, "theme_cards", ThemeCards).show(data, setTriggerValue);
}

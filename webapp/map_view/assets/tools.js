const UNITS = 65535, NEAR = 10, MOST_CORNERS = 240;
// Mode, key, name, hint while the tool is in use. The first ones stand in the toolbar, the others in its last menu.
const TOOLS = [
  ["lasso", "l", "Lasso", ""],
  ["box", "b", "Box", "Drag, or click two opposite corners."],
  ["move", "m", "Move", ""],
  ["polygon", "g", "Polygon", "Click corners; Enter or double-click closes, Backspace removes the last."],
  ["category", "t", "All of a group", "Click a point."],
];
const IN_BAR = 3;
const COMBINE = [["replace", "e", "Replaces the selection"], ["add", "a", "Adds to it"], ["subtract", "s", "Takes from it"]];
const ACTIONS = [
  ["in", "+", "Zoom in", "+"],
  ["out", "-", "Zoom out", "−"],
  ["fit", "0", "Show the whole map", "Fit"],
  ["names", "n", "Names"],
];

function made(tag, name, parent, text = "", attributes = {}) {
  const element = make(tag, name, text, attributes);
  parent.append(element);
  return element;
}

function pressed(parent, name, press, text = "", attributes = {}) {
  const button = made("button", name, parent, text, { type: "button", ...attributes });
  button.onclick = press;
  return button;
}

// The toolbar: one row of words above the points. Everything rarer is in its menus.
const FRAME = {
  bars() {
    this.bar = made("div", "bar", this.frame, "", { "data-panel": "bar", role: "toolbar", "aria-label": "Tools of the map" });
    this.frame.prepend(this.bar);
    for (const [mode, key, title] of TOOLS.slice(0, IN_BAR)) this.tool(title, key, title, () => this.use(mode)).dataset.mode = mode;
    made("span", "gap", this.bar).dataset.mode = "";
    for (const [action, key, title, text] of ACTIONS.slice(0, IN_BAR)) this.tool(text, key, title, () => this.act(action));
    made("span", "gap", this.bar);
    this.colourMenu = this.menu("Colour", "Colours of the points", () => {
      const { options, chosen } = this.data.page.colour;
      return options.map((name) => [name, () => this.ask("colour", name), name === chosen]);
    });
    this.menu("Names", "Names on the map", () => [["As many as have room", () => this.showNames(true), this.named], ["None", () => this.showNames(false), !this.named]]);
    this.filter = pressed(this.bar, "tool menu", () => this.ask("filter"), "Filter");
    this.menu("⋯", "More", () => this.moreEntries());
    this.options = made("p", "options", this.frame, "", { "data-panel": "options", role: "status" });
    this.how = "replace";
    this.named = true;
    this.use(matchMedia("(pointer: coarse)").matches ? "move" : "lasso");
  },

  tool(text, key, title, press) {
    return pressed(this.bar, "tool", press, text, {
      title: `${title} (${key.toUpperCase()})`, "aria-keyshortcuts": key, ...(text === title ? {} : { "aria-label": title }),
    });
  },

  use(mode) {
    this.mode = mode;
    this.stop();
    for (const button of this.bar.querySelectorAll("button[data-mode]")) {
      button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
    }
    this.stage.dataset.mode = mode;
    const [, , title, hint] = TOOLS.find((tool) => tool[0] === mode);
    this.options.textContent = hint && `${title}: ${hint}`;
    this.options.hidden = !hint;
    this.redraw(false);
  },

  act(action) {
    if (action === "names") return this.showNames(!this.named);
    if (action === "fit") this.fit();
    else this.zoom(action === "in" ? 1 / 1.5 : 1.5, this.width / 2, this.height / 2);
    this.moved();
  },

  showNames(named) {
    this.named = named;
    this.redraw(false);
  },

  // --- menus ----------------------------------------------------------------------------------------------------------

  // A button that opens a menu; `entries` returns it as [label, press, checked or undefined], or a heading.
  menu(text, title, entries) {
    const holder = made("div", "holder", this.bar), list = make("div", "list", "", { role: "menu", "aria-label": title });
    const button = pressed(holder, "tool menu", () => (list.isConnected ? this.closeMenu() : open()), text, {
      title, "aria-haspopup": "menu", "aria-expanded": "false", ...(text === "⋯" ? { "aria-label": title } : {}),
    });
    const open = () => {
      this.closeMenu?.();
      button.setAttribute("aria-expanded", "true");
      list.replaceChildren();
      for (const entry of entries()) this.menuEntry(list, entry, button);
      holder.append(list);
      const over = list.getBoundingClientRect().right - this.frame.getBoundingClientRect().right + 8;
      list.style.marginLeft = over > 0 ? `${-over}px` : "";
      list.style.maxHeight = `${Math.max(this.stage.offsetHeight - 60, 160)}px`;
      const chosen = list.querySelector(".heading") ? null : list.querySelector("[aria-checked=true]");
      (chosen ?? list.querySelector("button"))?.focus();
      const outside = (event) => event.composedPath().includes(holder) || this.closeMenu?.();
      document.addEventListener("pointerdown", outside, true);
      this.closeMenu = () => {
        document.removeEventListener("pointerdown", outside, true);
        this.closeMenu = null;
        button.setAttribute("aria-expanded", "false");
        list.style.marginLeft = "";
        list.remove();
      };
    };
    holder.onkeydown = (event) => this.menuKey(event, button, list, open);
    return button;
  },

  menuEntry(list, entry, button) {
    if (typeof entry === "string") return made("span", "heading", list, entry, { "aria-hidden": "true" });
    const [text, press, checked] = entry;
    const state = checked === undefined ? { role: "menuitem" } : { role: "menuitemradio", "aria-checked": String(checked) };
    return pressed(list, "entry", () => {
      this.closeMenu();
      button.focus();
      press();
    }, text, { tabindex: "-1", dir: "auto", ...state });
  },

  // Arrows go from entry to entry, a letter to the next one that begins with it; Escape closes.
  menuKey(event, button, list, open) {
    const entries = [...list.querySelectorAll("button")], at = entries.indexOf(event.composedPath()[0]), last = entries.length - 1;
    const to = { ArrowDown: at < last ? at + 1 : 0, ArrowUp: at > 0 ? at - 1 : last, Home: 0, End: last }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!list.isConnected) {
      if (event.key !== "ArrowDown") return;
      open();
    } else if (event.key === "Escape") {
      this.closeMenu();
      button.focus();
    } else if (event.key === "Tab") return this.closeMenu();
    else if (to !== undefined) entries[to]?.focus();
    else if (event.key.length === 1 && event.key !== " ") {
      const begins = (one) => one.textContent.toLowerCase().startsWith(event.key.toLowerCase());
      [...entries.slice(at + 1), ...entries].find(begins)?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  },

  moreEntries() {
    const more = [];
    if (!this.data.fixed) {
      more.push("Select");
      for (const [mode, , title] of TOOLS.slice(IN_BAR)) more.push([title, () => this.use(mode), mode === this.mode]);
      more.push("The next one");
      for (const [how, , title] of COMBINE) more.push([title, () => (this.how = how), how === this.how]);
      more.push("Map");
    }
    more.push(["As a list", () => this.openOutline()]);
    for (const [id, label] of this.data.page?.more ?? []) more.push([label, () => this.ask(id)]);
    return more;
  },

  // Asks the page for something that it draws.
  ask(what, value = "") {
    this.tell("ask", { what, value });
  },

  showPage() {
    const { page, fixed } = this.data;
    for (const one of this.bar.querySelectorAll("[data-mode]")) one.hidden = Boolean(fixed);
    this.colourMenu.parentElement.hidden = this.filter.hidden = !page;
    if (!page) return;
    const { chosen } = page.colour, brief = chosen.length > 20 ? `${chosen.slice(0, 19)}…` : chosen;
    this.colourMenu.textContent = `Colour: ${brief}`;
    this.colourMenu.title = `Colours of the points: ${chosen}`;
    this.filter.textContent = page.filters ? `Filter (${page.filters})` : "Filter";
    this.filter.setAttribute("aria-expanded", String(page.filtering));
  },

  // A browser without WebGL2 shows a picture from the server.
  withoutDrawing() {
    this.wait.setAttribute("role", "status");
    this.wait.textContent = "This browser has no WebGL2. Loading a picture of the map …";
    this.options.style.display = "none";
    for (const one of this.bar.querySelectorAll(":scope > :is(.tool:not(.menu), .gap)")) one.style.display = "none";
  },

  showPicture() {
    const { picture, digest } = this.data;
    this.entries();
    if (!picture) {
      if (this.data.fixed) this.wait.textContent = "This browser cannot draw the map because it has no WebGL2.";
      else if (this.askedPicture !== digest) this.sendNow("picture", { digest });
      this.askedPicture = digest;
      return;
    }
    this.pictureImage ??= this.stage.insertBefore(document.createElement("img"), this.wait);
    [this.pictureImage.src, this.pictureImage.alt, this.pictureImage.className] = [picture.source, picture.alt, "picture"];
    this.wait.classList.add("below");
    this.wait.textContent =
      "This is a picture, because this browser has no WebGL2. The list has all units; the legend hides groups.";
    this.root.dataset.ready = digest;
  },
};

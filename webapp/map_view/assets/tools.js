const UNITS = 65535, NEAR = 10, MOST_CORNERS = 240, ROUND_CORNERS = 64;
// Mode, key, title, hint while the tool is in use, icon.
const TOOLS = [
  ["lasso", "l", "Lasso (L)", "", "M4 9c0-3 4-5 8-5s8 2 8 5-4 5-8 5c-2 0-4-.5-5.5-1.3M7 13c-2 1-2 4 0 4s2 2 0 4"],
  ["box", "b", "Box selection (B)", "Drag, or click two opposite corners.", "M4 4h4M12 4h4M20 4v4M20 12v4M20 20h-4M12 20H8M4 20v-4M4 12V8"],
  ["polygon", "g", "Polygon (G)", "Click corners; Enter or double-click closes, Backspace removes the last.", "M5 8l8-4 6 7-4 9-9-3zM5 8v.1M13 4v.1M19 11v.1M15 20v.1M6 17v.1"],
  ["circle", "o", "Within a radius (O)", "Click a centre, or drag from it.", "M12 4a8 8 0 100 16 8 8 0 000-16M12 12h6M12 12v.1"],
  ["nearest", "k", "Nearest points (K)", "Click a place.", "M12 12v.1M7 9v.1M16 7v.1M17 15v.1M8 16v.1M12 3a9 9 0 100 18 9 9 0 000-18"],
  ["category", "t", "All of a category (T)", "Click a point.", "M4 12V5h7l9 9-7 7zM8 9v.1"],
  ["move", "m", "Pan (M), also Shift and drag", "", "M12 3v18M3 12h18M12 3l-3 3M12 3l3 3M12 21l-3-3M12 21l3-3M3 12l3-3M3 12l3 3M21 12l-3-3M21 12l-3 3"],
];
const COMBINE = [
  ["replace", "e", "New selection (E)", "M5 5h14v14H5z"],
  ["add", "a", "Add to the selection (A)", "M5 5h14v14H5zM12 9v6M9 12h6"],
  ["subtract", "s", "Subtract from the selection (S)", "M5 5h14v14H5zM9 12h6"],
];
const ACTIONS = [
  ["in", "+", "Zoom in (+)", "M12 5v14M5 12h14"],
  ["out", "-", "Zoom out (-)", "M5 12h14"],
  ["fit", "0", "Show the whole map (0)", "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5"],
  ["names", "n", "Names on the map (N)", "M4 6h16M12 6v12M9 18h6"],
  ["density", "d", "Density (D)", "M12 5c5 0 8 3 8 7s-3 7-8 7-8-3-8-7 3-7 8-7M12 9c3 0 4 1.5 4 3s-1 3-4 3-4-1.5-4-3 1-3 4-3"],
  ["png", "p", "Save as PNG (P)", "M12 4v11M7 11l5 5 5-5M5 20h14"],
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

function icon(path) {
  const image = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  image.setAttribute("viewBox", "0 0 24 24");
  image.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", path);
  image.append(line);
  return image;
}

// Panels of tools over the map.
const FRAME = {
  bars() {
    this.tools = this.panel("tools", "Selection tools");
    for (const [mode, , title, , path] of TOOLS) this.button(this.tools, title, path, () => this.use(mode)).dataset.mode = mode;
    made("span", "gap", this.tools);
    for (const [how, , title, path] of COMBINE) this.button(this.tools, title, path, () => this.combine(how)).dataset.how = how;
    this.options = this.panel("options", "Options of the tool");
    this.count = this.number("Points", 15, 1, 10_000, () => this.again());
    this.radius = this.number("Radius, % of the map", 5, 0.1, 100, () => this.again());
    this.advice = made("span", "advice", this.options);
    this.actions = this.panel("actions", "View of the map");
    for (const [action, , title, path] of ACTIONS) this.button(this.actions, title, path, () => this.act(action)).dataset.act = action;
    this.use(matchMedia("(pointer: coarse)").matches ? "move" : "lasso");
    this.combine("replace");
    this.showNames(true);
  },

  panel(name, label) {
    return made("div", name, this.frame, "", { "data-panel": name, role: "group", "aria-label": label });
  },

  button(parent, title, path, press) {
    const button = pressed(parent, "tool", press, "", { title, "aria-label": title });
    button.append(icon(path));
    return button;
  },

  number(label, value, least, most, change) {
    const field = made("label", "field", this.options), input = document.createElement("input");
    field.append(label, input);
    Object.assign(input, { type: "number", value, min: least, max: most, step: "any" });
    input.onchange = () => {
      input.value = String(Math.min(Math.max(Number(input.value) || value, least), most));
      change();
    };
    return input;
  },

  // On a page with shortcuts of its own, the tools have none.
  withoutKeys() {
    for (const button of this.frame.querySelectorAll("button.tool")) {
      button.title = button.title.replace(/ \([^)]\)/, "");
      button.setAttribute("aria-label", button.title);
    }
  },

  use(mode) {
    this.mode = mode;
    this.stop();
    this.centre = null;
    for (const button of this.tools.querySelectorAll("[data-mode]")) {
      button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
    }
    this.stage.dataset.mode = mode;
    this.count.parentElement.hidden = mode !== "nearest";
    this.radius.parentElement.hidden = mode !== "circle";
    this.advice.textContent = TOOLS.find((tool) => tool[0] === mode)[3];
    this.options.hidden = !this.advice.textContent;
    this.redraw(false);
  },

  combine(how) {
    this.how = how;
    for (const button of this.tools.querySelectorAll("[data-how]")) {
      button.setAttribute("aria-pressed", String(button.dataset.how === how));
    }
  },

  act(action) {
    if (action === "png") return this.save();
    if (action === "names") return this.showNames(!this.named);
    if (action === "density") return this.showDensity(!this.dense());
    if (action === "fit") this.fit();
    else this.zoom(action === "in" ? 1 / 1.5 : 1.5, this.width / 2, this.height / 2);
    this.moved();
  },

  showNames(named) {
    this.named = named;
    this.pressed("names", named);
    this.redraw(false);
  },

  pressed(action, on) {
    this.actions.querySelector(`[data-act=${action}]`).setAttribute("aria-pressed", String(on));
  },

  // A browser without WebGL2 shows a picture from the server.
  withoutDrawing() {
    this.wait.setAttribute("role", "status");
    this.wait.textContent = "This browser has no WebGL2. Loading a picture of the map …";
    for (const panel of [this.tools, this.options, this.actions]) panel.style.display = "none";
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
      "This is a picture, because this browser has no WebGL2. The list has all sentences; the legend hides groups.";
    this.root.dataset.ready = digest;
  },
};

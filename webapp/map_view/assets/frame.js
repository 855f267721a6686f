const UNITS = 65535, NEAR = 10, MOST_CORNERS = 240;
const TOOLS = [
  ["lasso", "Lasso", "l", "Lasso (L)", "M4 9c0-3 4-5 8-5s8 2 8 5-4 5-8 5c-2 0-4-.5-5.5-1.3M7 13c-2 1-2 4 0 4s2 2 0 4"],
  ["box", "Box", "b", "Box selection (B)", "M4 4h4M12 4h4M20 4v4M20 12v4M20 20h-4M12 20H8M4 20v-4M4 12V8"],
  ["move", "Move", "m", "Pan (M), also Shift and drag", "M12 3v18M3 12h18M12 3l-3 3M12 3l3 3M12 21l-3-3M12 21l3-3M3 12l3-3M3 12l3 3M21 12l-3-3M21 12l-3 3"],
];
const ACTIONS = [
  ["in", "+", "Zoom in (+)", "M12 5v14M5 12h14"],
  ["out", "-", "Zoom out (-)", "M5 12h14"],
  ["fit", "0", "Show the whole map (0)", "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5"],
  ["names", "n", "Names on the map (N)", "M4 6h16M12 6v12M9 18h6"],
  ["png", "p", "Save as PNG (P)", "M12 4v11M7 11l5 5 5-5M5 20h14"],
];

function made(tag, name, parent) {
  const element = document.createElement(tag);
  element.className = name;
  parent.append(element);
  return element;
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

// Toolbar, legend, tooltip and PNG export of a map.
const FRAME = {
  bar() {
    for (const [mode, , , title, path] of TOOLS) {
      const button = this.button(title, path, () => this.use(mode));
      button.dataset.mode = mode;
    }
    made("span", "gap", this.tools);
    for (const [action, , title, path] of ACTIONS) this.button(title, path, () => this.act(action)).dataset.act = action;
    this.use(this.mode);
    this.showNames(this.named);
  },

  button(title, path, press) {
    const button = made("button", "tool", this.tools);
    button.type = "button";
    button.title = title;
    button.setAttribute("aria-label", title);
    button.append(icon(path));
    button.onclick = press;
    return button;
  },

  // On a page with shortcuts of its own, the tools have none.
  withoutKeys() {
    for (const button of this.tools.querySelectorAll("button")) {
      button.title = button.title.replace(/ \([^)]\)/, "");
      button.setAttribute("aria-label", button.title);
    }
  },

  use(mode) {
    this.mode = mode;
    for (const button of this.tools.querySelectorAll("[data-mode]")) {
      button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
    }
    this.stage.dataset.mode = mode;
  },

  act(action) {
    if (action === "png") return this.save();
    if (action === "names") return this.showNames(!this.named);
    if (action === "fit") this.fit();
    else this.zoom(action === "in" ? 1 / 1.5 : 1.5, this.width / 2, this.height / 2);
    this.moved();
  },

  showNames(named) {
    this.named = named;
    this.tools.querySelector("[data-act=names]").setAttribute("aria-pressed", String(named));
    this.redraw(false);
  },

  entries() {
    const classes = this.data.look.classes, key = JSON.stringify([classes, this.hidden]);
    if (key === this.listed) return;
    this.listed = key;
    const held = [...this.legend.children].indexOf(this.legend.querySelector(":focus"));
    this.legend.replaceChildren();
    classes.forEach((one, kind) => {
      if (!one.count) return;
      const entry = made("button", "entry", this.legend);
      entry.type = "button";
      entry.title = `${one.name}: click to hide or show, double-click to show only this category`;
      entry.setAttribute("aria-pressed", String(!this.hidden.includes(kind)));
      const swatch = made("span", `swatch shape${one.shape}`, entry);
      swatch.style.backgroundColor = one.colour;
      made("span", "name", entry).textContent = one.name;
      made("span", "count", entry).textContent = one.count.toLocaleString("en");
      entry.onclick = (event) => this.toggle(kind, event.detail);
    });
    this.legend.children[held]?.focus();
  },

  toggle(kind, presses) {
    const all = this.data.look.classes.map((_, i) => i);
    if (presses > 1) this.hidden = all.filter((other) => other !== kind);
    else if (this.hidden.includes(kind)) this.hidden = this.hidden.filter((other) => other !== kind);
    else this.hidden = [...this.hidden, kind];
    if (this.hidden.length === all.length) this.hidden = [];
    this.entries();
    this.redraw();
    clearTimeout(this.hiddenTimer);
    this.hiddenTimer = setTimeout(() => this.setState("hidden", { digest: this.data.digest, kinds: this.hidden }), 350);
  },

  hint() {
    const tip = this.data.tip;
    const fits = tip && this.over >= 0 && tip.place === this.scene.place(this.over);
    this.tip.hidden = !fits;
    if (!fits) return;
    this.tip.replaceChildren();
    made("b", "", this.tip).textContent = tip.head;
    made("span", "", this.tip).textContent = tip.text;
    const [x, y] = this.pixel(this.over);
    this.tip.classList.toggle("left", x > this.width / 2);
    this.tip.classList.toggle("up", y > this.height / 2);
    this.tip.style.left = `${x}px`;
    this.tip.style.top = `${y}px`;
  },

  // A browser without WebGL2 shows a picture from the server.
  withoutDrawing() {
    this.wait.setAttribute("role", "status");
    this.wait.textContent = "This browser has no WebGL2. Loading a picture of the map …";
    this.tools.style.display = "none";
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

  save() {
    const image = document.createElement("canvas"), flat = image.getContext("2d"), ratio = this.canvas.width / this.width;
    const shown = this.data.look.classes.filter((one, kind) => one.count && !this.hidden.includes(kind));
    image.width = this.canvas.width + 240 * ratio;
    image.height = this.canvas.height;
    flat.fillStyle = this.data.look.paper;
    flat.fillRect(0, 0, image.width, image.height);
    this.stale = true;
    this.moving = false;
    this.paint();
    flat.drawImage(this.ground, 0, 0);
    flat.drawImage(this.canvas, 0, 0);
    flat.drawImage(this.overlay, 0, 0);
    this.drawLabels(flat, ratio);
    flat.font = `${13 * ratio}px sans-serif`;
    shown.forEach((one, place) => {
      const y = (24 + 22 * place) * ratio, x = this.canvas.width + 12 * ratio;
      flat.fillStyle = one.colour;
      flat.fillRect(x, y - 10 * ratio, 11 * ratio, 11 * ratio);
      flat.fillStyle = this.data.look.ink;
      flat.fillText(one.name, x + 18 * ratio, y, 204 * ratio);
    });
    image.toBlob((blob) => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = "themescope-map.png";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  },
};

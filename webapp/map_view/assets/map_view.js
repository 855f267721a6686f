// The view of a map: pan, zoom, selection, tooltip and legend. It sends shapes and row numbers to the server. Texts are
// set through textContent, so they cannot become elements.
class View {
  constructor(root) {
    this.root = root;
    this.tools = made("div", "tools", root);
    this.stage = made("div", "stage", root);
    this.ground = made("canvas", "ground", this.stage);
    this.canvas = made("canvas", "points", this.stage);
    this.overlay = made("canvas", "over", this.stage);
    this.labels = made("div", "labels", this.stage);
    this.labels.setAttribute("aria-hidden", "true"); // the legend has the same names
    this.tip = made("div", "tip", this.stage);
    this.wait = made("p", "wait", this.stage);
    this.wait.textContent = "Loading the points …";
    this.status = made("p", "drawn", this.stage);
    this.status.setAttribute("role", "status");
    this.status.hidden = true;
    this.legend = made("div", "legend", root);
    this.drawing = Drawing.on(this.canvas);
    this.camera = { x: UNITS / 2, y: UNITS / 2, unit: 0 };
    this.mode = "lasso";
    this.named = true;
    this.path = [];
    this.hidden = [];
    this.over = -1;
    this.share = 1;
    this.stage.tabIndex = 0;
    this.bar();
    this.listen();
    new ResizeObserver(() => this.resized()).observe(this.stage);
    if (!this.drawing) this.withoutDrawing();
  }

  show(component) {
    const { data, setTriggerValue, setStateValue } = component;
    this.component = component;
    this.data = data;
    this.send = data.action_queue ? (name, value) => this.post(name, value, setTriggerValue) : setTriggerValue;
    if (data.action_queue) this.withoutKeys();
    this.sendNow = setTriggerValue;
    this.setState = setStateValue;
    this.stage.setAttribute("aria-label", data.label);
    this.stage.setAttribute("role", "group");
    // On a high screen the map takes the height that controls, legend and sentence details leave. Two linked maps leave
    // room for the list below.
    const rest = data.action_queue ? "38rem" : "29rem";
    this.stage.style.height = data.link ? `${data.height}px` : `max(${data.height}px, 100vh - ${rest})`;
    this.root.style.setProperty("--ink", data.look.ink);
    this.root.style.setProperty("--paper", data.look.paper);
    for (const button of this.tools.querySelectorAll("[data-mode]")) button.hidden = Boolean(data.fixed);
    if (data.fixed) this.use("move");
    const hidden = JSON.stringify([data.digest, data.hidden]);
    if (hidden !== this.sentHidden) this.hidden = data.hidden;
    this.sentHidden = hidden;
    if (!this.drawing) return this.showPicture();
    this.scene = window.themescopeMaps?.scenes.get(data.digest);
    if (!this.scene) return this.waitForPoints();
    this.wait.hidden = true;
    if (this.drawn !== data.digest) {
      this.drawn = data.digest;
      this.over = -1;
      clearTimeout(this.asked);
      this.asked = null;
      this.upload();
    }
    this.drawing.look(data.look);
    if (!this.camera.unit) this.resized(true);
    if (!this.loadedFor && data.camera) [this.camera.x, this.camera.y, this.camera.unit] = data.camera;
    this.takeTiles(data.loaded);
    this.state();
    if (this.loadedFor !== data.digest) this.load();
    this.loadedFor = data.digest;
    this.entries();
    this.hint();
    this.root.dataset.ready = data.digest;
    const seen = JSON.stringify([data.digest, data.look, data.size, this.marks, this.hidden]);
    this.redraw(seen !== this.seen);
    this.seen = seen;
  }

  // On a page with an action queue, selections go through it, so that they keep their order with its shortcuts.
  post(name, value, send) {
    if (name === "hover") send(name, value);
    else window.themescopeActions?.push({ kind: name, ...value });
  }

  waitForPoints() {
    const shared = (window.themescopeMaps ??= { scenes: new Map(), waiting: new Set() });
    const onPoints = () => {
      if (!shared.scenes.has(this.data.digest)) return;
      shared.waiting.delete(onPoints);
      this.show(this.component);
    };
    this.wait.hidden = false;
    shared.waiting.add(onPoints);
  }

  state() {
    const { selected, held, found } = this.data, marks = JSON.stringify([selected, held, found]);
    if (marks === this.marks) return;
    this.marks = marks;
    const none = !selected;
    this.drawing.states(none ? new Uint8Array(this.scene.kinds.length) : this.scene.flags(selected, held, SELECTED), !none);
    this.drawing.found(unpacked(found.places, Uint16Array), unpacked(found.kinds, Uint8Array));
  }

  pixel(row) {
    const { x, y, unit } = this.camera, places = this.scene.places;
    return [(places[2 * row] - x) / unit + this.width / 2, this.height / 2 - (places[2 * row + 1] - y) / unit];
  }

  unit([x, y]) {
    const camera = this.camera;
    return [(x - this.width / 2) * camera.unit + camera.x, (this.height / 2 - y) * camera.unit + camera.y];
  }

  nearest([px, py]) {
    const { places, kinds } = this.scene, [x, y] = this.unit([px, py]), hidden = this.mask();
    let best = -1, least = (NEAR * this.camera.unit) ** 2;
    for (const row of this.drawing.rows) {
      const dx = places[2 * row] - x, dy = places[2 * row + 1] - y, far = dx * dx + dy * dy;
      if (far < least && !((hidden >>> kinds[row]) & 1)) [best, least] = [row, far];
    }
    return best;
  }

  mask() {
    return this.hidden.reduce((all, kind) => all | (1 << kind), 0) >>> 0;
  }

  fit() {
    const [left, low, right, high] = this.data.fit;
    const unit = 1.06 * Math.max((right - left) / this.width, (high - low) / this.height, 0.01);
    this.camera = { x: (left + right) / 2, y: (low + high) / 2, unit };
  }

  zoom(factor, px, py) {
    const [x, y] = this.unit([px, py]);
    this.camera.unit = Math.min(Math.max(this.camera.unit * factor, 0.5), 4 * UNITS / this.height);
    const [nx, ny] = this.unit([px, py]);
    this.camera.x += x - nx;
    this.camera.y += y - ny;
  }

  moved() {
    this.tip.hidden = true;
    this.movedNow();
    this.redraw();
    for (const other of VIEWS) {
      if (other !== this && this.data.link && other.data.link === this.data.link) other.follow(this.camera);
    }
    clearTimeout(this.cameraTimer);
    const { x, y, unit } = this.camera;
    this.cameraTimer = setTimeout(() => this.setState("camera", [Math.round(x), Math.round(y), Number(unit.toPrecision(4))]), 900);
  }

  follow(camera) {
    this.camera = { ...camera };
    this.movedNow();
    this.redraw();
  }

  resized(first = false) {
    const width = this.stage.clientWidth, height = this.stage.clientHeight;
    if (!width || !height || (!first && width === this.width && height === this.height)) return;
    [this.width, this.height] = [width, height];
    for (const canvas of [this.ground, this.canvas, this.overlay]) {
      canvas.width = Math.round(width * devicePixelRatio);
      canvas.height = Math.round(height * devicePixelRatio);
    }
    if (!this.camera.unit && this.data) this.fit();
    if (!first) this.load();
    this.redraw();
  }

  // A million points take long to draw; changes of the overlay alone do not redraw them.
  redraw(points = true) {
    this.stale ||= points;
    this.frameRequest ??= requestAnimationFrame(() => {
      this.frameRequest = null;
      this.paint();
    });
  }

  paint() {
    if (!this.scene || !this.width) return;
    if (this.stale) this.paintPoints();
    this.stale = false;
    const flat = this.overlay.getContext("2d");
    flat.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    flat.clearRect(0, 0, this.width, this.height);
    flat.strokeStyle = flat.fillStyle = this.data.look.accent;
    flat.lineWidth = 1.5;
    this.outline(flat, this.path.length ? this.path : this.data.shape.map((corner) => this.screen(corner)));
    if (this.data.focus.length) this.ring(flat, this.screen(this.data.focus), 9);
    if (this.over >= 0) this.ring(flat, this.pixel(this.over), 6);
    this.paintLabels();
  }

  paintPoints() {
    const [left, , right] = this.data.fit, zoomed = (right - left) / (this.camera.unit * this.width);
    const size = this.data.size * Math.min(Math.max(zoomed, 1) ** 0.35, 3);
    this.paintGround();
    this.paintShare((share) => this.drawing.draw(this.camera, size, this.mask(), share));
  }

  screen([x, y]) {
    const camera = this.camera;
    return [(x - camera.x) / camera.unit + this.width / 2, this.height / 2 - (y - camera.y) / camera.unit];
  }

  outline(flat, corners) {
    if (corners.length < 2) return;
    flat.beginPath();
    for (const [x, y] of corners) flat.lineTo(x, y);
    flat.closePath();
    flat.stroke();
    flat.globalAlpha = 0.08;
    flat.fill("evenodd");
    flat.globalAlpha = 1;
  }

  ring(flat, [x, y], radius) {
    flat.beginPath();
    flat.arc(x, y, radius, 0, 2 * Math.PI);
    flat.lineWidth = 2.5;
    flat.stroke();
    flat.lineWidth = 1.5;
  }
}

Object.assign(View.prototype, FRAME, LABELS, INPUT, LEVELS);

const VIEWS = (window.themescopeViews ??= new Set());

// Views are removed when the next one is shown: Streamlit may detach a view before or after it calls the cleanup.
function removeDetached() {
  for (const view of VIEWS) {
    if (view.root.isConnected) continue;
    view.drawing?.end();
    VIEWS.delete(view);
  }
}

export default function (component) {
  const root = component.parentElement.querySelector(".map-view");
  removeDetached();
  let view = [...VIEWS].find((one) => one.root === root);
  if (!view) VIEWS.add((view = new View(root)));
  view.show(component);
  return () => setTimeout(removeDetached);
}

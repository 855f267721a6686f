// The view of a map: pan, zoom, selection, tooltip and legend. It sends shapes and row numbers to the server. Texts are
// set through textContent, so they cannot become elements.
const ABOVE = 52, BELOW = 30, ASIDE = 16; // pixels that the fitted points leave to toolbar, status and edges
const NARROW = 480; // a narrower map has its toolbar and legend above and below the points
const RESEND_EVENTS_MS = 5000;

class View {
  constructor(root) {
    this.root = root;
    this.frame = made("div", "frame", root);
    this.stage = made("div", "stage", this.frame);
    this.ground = made("canvas", "ground", this.stage);
    this.canvas = made("canvas", "points", this.stage);
    this.overlay = made("canvas", "over", this.stage);
    // The legend and the list have the same names.
    this.labels = made("div", "labels", this.stage, "", { "aria-hidden": "true" });
    this.tip = made("div", "tip", this.stage);
    this.tip.hidden = true;
    this.wait = made("p", "wait", this.stage, "Loading the points …");
    this.pins = made("div", "pins", this.stage);
    this.pins.onkeydown = (event) => event.stopPropagation();
    const notes = made("p", "drawn", this.frame, "", { "data-panel": "drawn" });
    this.status = made("span", "", notes, "", { role: "status" });
    this.unnamed = made("span", "", notes, "", { "aria-hidden": "true" });
    this.said = made("p", "said", this.frame, "", { "aria-live": "polite" });
    this.drawing = Drawing.on(this.canvas);
    this.camera = { x: UNITS / 2, y: UNITS / 2, unit: 0 };
    this.fitted = null;
    this.ratio = devicePixelRatio;
    this.path = [];
    this.corners = [];
    this.hidden = [];
    this.over = -1;
    this.share = 1;
    this.events = [];
    this.eventNumber = 0;
    this.stage.tabIndex = 0;
    this.bars();
    this.legendPanel();
    this.outlinePanel();
    this.listen();
    new ResizeObserver(() => this.resized()).observe(this.stage);
    this.resizeStage = () => this.root.isConnected && this.setHeight();
    window.addEventListener("resize", this.resizeStage);
    if (!this.drawing) this.withoutDrawing();
  }

  show(component) {
    const { data, setTriggerValue, setStateValue } = component;
    this.component = component;
    this.data = data;
    this.sendNow = setTriggerValue;
    this.setState = setStateValue;
    this.acknowledge(data.handled ?? 0);
    this.showPage();
    this.stage.setAttribute("aria-label", data.label);
    this.stage.setAttribute("role", "group");
    this.setHeight();
    const fit = String(data.fit);
    if (this.fitFor !== fit && this.camera.unit && this.fits()) this.fit();
    this.fitFor = fit;
    for (const name of ["ink", "paper", "accent"]) this.root.style.setProperty(`--${name}`, data.look[name]);
    if (data.fixed && this.mode !== "move") this.use("move");
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
    this.drawing.look(data.look, this.hidden);
    this.entries();
    if (!this.camera.unit) this.resized(true);
    if (!this.loadedFor && data.camera) [this.camera.x, this.camera.y, this.camera.unit] = data.camera;
    this.takeTiles(data.loaded);
    this.state();
    if (this.loadedFor !== data.digest) this.load();
    else if (this.scene.index.length === 1) this.sayWhatIsDrawn(0);
    this.loadedFor = data.digest;
    this.askOutline();
    this.hint();
    this.root.dataset.ready = data.digest;
    const seen = JSON.stringify([data.digest, data.look, data.size, this.marks, this.hidden]);
    this.redraw(seen !== this.seen);
    this.seen = seen;
  }

  // Streamlit keeps one trigger of a component while the server is busy: a later one replaces it. Selections therefore go
  // as a list of all that the server has not acknowledged, which it handles once each.
  tell(kind, value) {
    this.eventNumber += 1;
    this.events.push({ number: this.eventNumber, kind, value });
    this.deliver();
  }

  deliver(attempt = 0) {
    clearTimeout(this.deliveryTimer);
    if (!this.events.length || !this.root.isConnected) return;
    this.setState("events", { attempt, list: this.events });
    this.deliveryTimer = setTimeout(() => this.deliver(attempt + 1), RESEND_EVENTS_MS);
  }

  acknowledge(handled) {
    this.events = this.events.filter((event) => event.number > handled);
    this.eventNumber = Math.max(this.eventNumber, handled);
    if (!this.events.length) clearTimeout(this.deliveryTimer);
  }

  // A map that is the page fills the window below its upper edge; linked maps leave room for the list below. A narrow one
  // is only as high as its points need.
  setHeight() {
    const { height, fill } = this.data ?? {};
    if (!height) return;
    const scroller = this.root.getRootNode().host?.closest("[data-testid=stMain]"), top = this.stage.getBoundingClientRect().top + (scroller?.scrollTop ?? 0);
    const tall = fill === null ? height : Math.max(Math.min(height, 0.62 * innerHeight), Math.floor(innerHeight - top - fill));
    const [left, low, right, high] = this.data.fit, narrow = this.frame.clientWidth < NARROW;
    const needed = (1.06 * this.frame.clientWidth * (high - low)) / Math.max(right - left, 1) + BELOW;
    this.root.classList.toggle("narrow", narrow);
    this.root.classList.toggle("whole", fill !== null);
    this.stage.style.height = `${narrow ? Math.min(Math.max(needed, 0.4 * innerHeight), tall) : tall}px`;
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

  // Points that are not selected, or, without a selection, not found, are drawn in grey.
  state() {
    const { marked, held, found } = this.data, marks = JSON.stringify([marked, held, found]);
    if (marks === this.marks) return;
    this.marks = marks;
    this.marked = marked ? this.scene.flags(marked, held, SELECTED) : null;
    this.drawing.context(this.scene.context);
    this.drawing.found(unpacked(found.places, Uint16Array), unpacked(found.kinds, Uint8Array));
    this.drawing.states(this.marked ?? new Uint8Array(this.scene.kinds.length), Boolean(this.marked));
    this.redraw();
  }

  pixel(row) {
    const { places } = this.scene;
    return this.screen([places[2 * row], places[2 * row + 1]]);
  }

  unit([x, y]) {
    const { camera } = this;
    return [(x - this.width / 2) * camera.unit + camera.x, (this.height / 2 - y) * camera.unit + camera.y];
  }

  nearest([px, py]) {
    const { places, kinds } = this.scene, [x, y] = this.unit([px, py]), hidden = new Set(this.hidden);
    let best = -1, least = (NEAR * this.camera.unit) ** 2;
    for (const row of this.drawing.rows) {
      const dx = places[2 * row] - x, dy = places[2 * row + 1] - y, far = dx * dx + dy * dy;
      if (far < least && !hidden.has(kinds[row])) [best, least] = [row, far];
    }
    return best;
  }

  // Pixels at the borders that the fitted points leave to the panels: above, at the right, below.
  margins() {
    const narrow = this.root.classList.contains("narrow"), closed = this.legend.classList.contains("closed");
    return [narrow ? 8 : ABOVE, narrow || closed ? 0 : this.legend.offsetWidth + 8, BELOW];
  }

  // Grid units per pixel at which the points fit between the panels.
  fitUnit() {
    const [left, low, right, high] = this.data.fit, [above, beside, below] = this.margins();
    const width = Math.max(this.width - beside - 2 * ASIDE, this.width / 3);
    const height = Math.max(this.height - above - below, this.height / 3);
    return 1.04 * Math.max((right - left) / width, (high - low) / height, 0.5);
  }

  fit() {
    const [left, low, right, high] = this.data.fit, unit = this.fitUnit(), [above, beside, below] = this.margins();
    this.camera = { x: (left + right + unit * beside) / 2, y: (low + high + unit * (above - below)) / 2, unit };
    this.fitted = { ...this.camera };
  }

  // Whether the user has not moved the map since it was fitted to its frame.
  fits() {
    const { camera, fitted } = this;
    return !camera.unit || (camera.x === fitted?.x && camera.y === fitted.y && camera.unit === fitted.unit);
  }

  zoom(factor, px, py) {
    const [x, y] = this.unit([px, py]);
    this.camera.unit = Math.min(Math.max(this.camera.unit * factor, 0.5), 4 * UNITS / this.height);
    const [nx, ny] = this.unit([px, py]);
    this.camera.x += x - nx;
    this.camera.y += y - ny;
  }

  moved() {
    if (!this.tip.hidden) this.placeCard();
    this.movedNow();
    this.redraw();
    clearTimeout(this.cameraTimer);
    const { x, y, unit } = this.camera;
    this.cameraTimer = setTimeout(() => this.setState("camera", [Math.round(x), Math.round(y), Number(unit.toPrecision(4))]), 900);
  }

  resized(first = false) {
    const width = this.stage.clientWidth, height = this.stage.clientHeight;
    if (!width || !height || (!first && width === this.width && height === this.height)) return;
    [this.width, this.height] = [width, height];
    this.setHeight();
    this.ratio = devicePixelRatio;
    for (const canvas of [this.ground, this.canvas, this.overlay]) {
      canvas.width = Math.round(this.width * this.ratio);
      canvas.height = Math.round(this.height * this.ratio);
    }
    if (this.data && this.fits()) this.fit();
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
    if (this.stale) {
      const [left, , right] = this.data.fit, zoomed = (right - left) / (this.camera.unit * this.width);
      const size = this.data.size * Math.min(Math.max(zoomed, 1) ** 0.35, 3);
      this.paintGround();
      this.paintShare((share) => this.drawing.draw(this.camera, size, share));
    }
    this.stale = false;
    const flat = this.overlay.getContext("2d");
    flat.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    flat.clearRect(0, 0, this.width, this.height);
    flat.strokeStyle = flat.fillStyle = this.data.look.accent;
    flat.lineWidth = 1.5;
    for (const shape of this.data.shapes) this.stroke(flat, shape.map((corner) => this.screen(corner)));
    this.stroke(flat, this.path);
    for (const corner of this.corners) this.ring(flat, this.screen(corner), 3);
    if (this.data.focus.length) this.ring(flat, this.screen(this.data.focus), 9);
    if (this.over >= 0) this.ring(flat, this.pixel(this.over), 6);
    this.paintLabels();
    this.paintPins();
  }

  screen([x, y]) {
    const camera = this.camera;
    return [(x - camera.x) / camera.unit + this.width / 2, this.height / 2 - (y - camera.y) / camera.unit];
  }

  stroke(flat, corners) {
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

Object.assign(View.prototype, FRAME, LEGEND, CARD, LABELS, PINS, INPUT, LEVELS, OUTLINE);

const VIEWS = (window.themescopeViews ??= new Set());

// Views are removed when the next one is shown: Streamlit may detach a view before or after it calls the cleanup.
function removeDetached() {
  for (const view of VIEWS) {
    if (view.root.isConnected) continue;
    view.drawing?.end();
    window.removeEventListener("resize", view.resizeStage);
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

// Pointer, touch and keyboard input of a map, and the selections that come from it.
const INPUT = {
  listen() {
    const stage = this.stage;
    this.pointers = new Map();
    stage.onpointerdown = (event) => this.down(event);
    stage.onpointermove = (event) => this.move(event);
    stage.onpointerup = (event) => this.up(event);
    stage.onpointercancel = (event) => this.lost(event);
    stage.onpointerleave = (event) => event.pointerType === "mouse" && this.hover(-1);
    stage.onblur = () => (this.tip.hidden = true);
    stage.onfocus = () => this.scene && this.hint();
    stage.onkeydown = (event) => this.key(event);
    stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  },

  at(event) {
    const box = this.stage.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  },

  down(event) {
    if (!this.scene || event.button !== 0) return;
    this.stage.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.at(event));
    if (this.pointers.size > 1) {
      this.stop();
      this.hover(-1);
      this.pinch = this.fingers();
      return;
    }
    this.from = this.last = this.at(event);
    this.drag = event.shiftKey ? "move" : this.mode;
    if (!this.corners.length) this.path = [];
    if (event.pointerType === "mouse") this.hover(-1);
  },

  move(event) {
    if (!this.scene) return;
    const place = this.at(event);
    if (this.pointers.has(event.pointerId)) this.pointers.set(event.pointerId, place);
    if (this.pinch) return this.pinched();
    if (!this.from) {
      if (this.corners.length) this.rubber(place);
      return this.hover(this.nearest(place));
    }
    if (this.drag === "move") {
      this.camera.x -= (place[0] - this.last[0]) * this.camera.unit;
      this.camera.y += (place[1] - this.last[1]) * this.camera.unit;
      this.last = place;
      return this.moved();
    }
    if (this.drag === "box") this.path = box(this.from, place);
    else if (this.drag === "lasso" && Math.hypot(place[0] - this.last[0], place[1] - this.last[1]) >= 3) this.path.push((this.last = place));
    this.redraw(false);
  },

  up(event) {
    this.pointers.delete(event.pointerId);
    if (this.pinch) {
      if (!this.pointers.size) this.pinch = null;
      return;
    }
    if (!this.from) return;
    const place = this.at(event), from = this.from, far = Math.hypot(place[0] - from[0], place[1] - from[1]);
    const { drag } = this, path = drag === "lasso" && this.path.length ? [from, ...this.path] : this.path;
    this.from = null;
    if (far <= 4 && !(drag === "lasso" && path.length > 2)) return this.press(place, event);
    if (drag === "polygon" || drag === "category") return this.press(place, event);
    this.stop();
    if (path.length > 2) this.area(path);
  },

  lost(event) {
    this.pointers.delete(event.pointerId);
    this.pinch = null;
    this.stop();
  },

  // A click, a tap or the space bar at a place.
  press(place, { pointerType = "", detail = 1, shiftKey = false } = {}) {
    const row = this.nearest(place);
    if (this.data.fixed || this.drag === "move" || shiftKey) return this.pick(row, pointerType);
    if (this.mode === "polygon") return this.corner(place);
    if (this.mode === "category") return row >= 0 && this.selectCategory(this.scene.kinds[row], this.how);
    if (this.mode === "box" && (this.corners.length || row < 0 || pointerType === "key")) return this.corner(place);
    return this.pick(row, pointerType);
  },

  // A tap shows the card of a point, a second tap and a click open it.
  pick(row, pointerType) {
    if (pointerType === "touch" && row !== this.over) return this.hover(row, "touch");
    if (row >= 0) this.open(row);
  },

  corner(place) {
    const last = this.corners.at(-1), again = last && Math.hypot(place[0] - this.screen(last)[0], place[1] - this.screen(last)[1]) < 4;
    if (again && this.mode === "polygon") return this.close();
    this.corners.push(this.unit(place));
    if (this.mode === "box" && this.corners.length === 2) {
      const path = box(this.screen(this.corners[0]), this.screen(this.corners[1]));
      this.stop();
      return this.area(path);
    }
    this.rubber(place);
  },

  close() {
    const path = this.corners.map((corner) => this.screen(corner));
    if (path.length < 3) return;
    this.stop();
    this.area(path);
  },

  // The outline from the corners that were clicked to the pointer.
  rubber(place) {
    const corners = this.corners.map((corner) => this.screen(corner));
    this.path = this.mode === "box" ? box(corners[0], place) : [...corners, place];
    this.redraw(false);
  },

  stop() {
    this.from = null;
    this.path = [];
    this.corners = [];
    this.redraw(false);
  },

  // --- selections -----------------------------------------------------------------------------------------------------

  area(path) {
    const step = Math.max(1, Math.ceil(path.length / MOST_CORNERS));
    const corners = path.filter((_, i) => i % step === 0).map((corner) => this.unit(corner).map(Math.round));
    this.data = { ...this.data, shapes: this.how === "replace" ? [corners] : [...this.data.shapes, corners] };
    this.redraw(false);
    this.select({ corners });
  },

  // The card makes room for what is selected: Escape then clears it, whenever the card would have come.
  select(what, mode = this.how) {
    this.closeCard();
    this.tell("area", { digest: this.data.digest, hidden: this.hidden, mode, ...what });
  },

  selectCategory(kind, mode) {
    this.select({ category: kind }, mode);
  },

  // --- zoom -----------------------------------------------------------------------------------------------------------

  fingers() {
    const [[ax, ay], [bx, by]] = this.pointers.values();
    return { x: (ax + bx) / 2, y: (ay + by) / 2, far: Math.max(Math.hypot(ax - bx, ay - by), 1) };
  },

  pinched() {
    if (this.pointers.size < 2) return;
    const now = this.fingers();
    this.camera.x -= (now.x - this.pinch.x) * this.camera.unit;
    this.camera.y += (now.y - this.pinch.y) * this.camera.unit;
    this.zoom(this.pinch.far / now.far, now.x, now.y);
    this.pinch = now;
    this.moved();
  },

  wheel(event) {
    if (!this.scene) return;
    event.preventDefault();
    this.zoom(Math.exp(event.deltaY * 0.0016), ...this.at(event));
    this.moved();
  },

  // --- keys -----------------------------------------------------------------------------------------------------------

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.scene) return;
    if (!this.keyOnMap(event) && !this.keyOfTool(event)) return;
    event.preventDefault();
    event.stopPropagation();
  },

  keyOnMap({ key, shiftKey }) {
    const step = ARROW_STEPS[key], far = 60 * this.camera.unit;
    if (step && shiftKey) {
      this.camera.x += step[0] * far;
      this.camera.y += step[1] * far;
      this.moved();
    } else if (step) this.step(step);
    else if (key === " " && this.over >= 0) this.press(this.pixel(this.over), { pointerType: "key" });
    else if (key === "Enter" && this.corners.length > 2) this.close();
    else if (key === "Enter" && this.over >= 0) this.open(this.over);
    else if (key === "Backspace" && this.corners.length > 1) {
      this.corners.pop();
      this.rubber(this.screen(this.corners.at(-1)));
    } else if (key === "Backspace" && this.corners.length) this.stop();
    else if (key === "Escape") return this.escape();
    else return false;
    return true;
  },

  // Closes the card, else drops an unfinished shape, else clears the selection.
  escape() {
    if (!this.tip.hidden) this.closeCard();
    else if (this.path.length || this.corners.length) this.stop();
    else if (!this.data.fixed) this.tell("clear", { digest: this.data.digest });
    else return false;
    return true;
  },

  keyOfTool({ key }) {
    const name = key.toLowerCase(), tool = TOOLS.find((one) => one[1] === name);
    const how = COMBINE.find((one) => one[1] === name), action = ACTIONS.find((one) => one[1] === name);
    if (tool && !this.data.fixed) this.use(tool[0]);
    else if (how && !this.data.fixed) this.how = how[0];
    else if (action) this.act(action[0]);
    else return false;
    return true;
  },
};

/** @param {number[]} from @param {number[]} to */
function box([x, y], [u, v]) {
  return [[x, y], [u, y], [u, v], [x, v]];
}

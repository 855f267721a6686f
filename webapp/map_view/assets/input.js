// Pointer, wheel and keyboard input of a map.
const INPUT = {
  listen() {
    const stage = this.stage;
    stage.onpointerdown = (event) => this.down(event);
    stage.onpointermove = (event) => this.move(event);
    stage.onpointerup = (event) => this.up(event);
    stage.onpointercancel = () => this.stop();
    stage.onpointerleave = () => this.hover(-1);
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
    this.from = this.last = this.at(event);
    this.drag = event.shiftKey ? "move" : this.mode;
    this.path = [];
    this.hover(-1);
  },

  move(event) {
    if (!this.scene) return;
    const place = this.at(event);
    if (!this.from) return this.hover(this.nearest(place));
    if (this.drag === "move") {
      this.camera.x -= (place[0] - this.last[0]) * this.camera.unit;
      this.camera.y += (place[1] - this.last[1]) * this.camera.unit;
      this.last = place;
      return this.moved();
    }
    const [x, y] = place, [fx, fy] = this.from;
    if (this.drag === "box") this.path = [[fx, fy], [x, fy], [x, y], [fx, y]];
    else if (Math.hypot(x - this.last[0], y - this.last[1]) >= 3) this.path.push((this.last = place));
    this.redraw(false);
  },

  up(event) {
    if (!this.from) return;
    const place = this.at(event), far = Math.hypot(place[0] - this.from[0], place[1] - this.from[1]);
    const path = this.drag === "lasso" && this.path.length ? [this.from, ...this.path] : this.path;
    const drag = this.drag;
    this.stop();
    if (path.length > 2 && (far > 4 || drag === "lasso")) return this.area(path);
    if (far > 4 || this.data.fixed) return;
    const row = this.nearest(place);
    if (row >= 0) this.send("point", { digest: this.data.digest, place: this.scene.place(row) });
  },

  stop() {
    this.from = null;
    this.path = [];
    this.redraw(false);
  },

  area(path) {
    const step = Math.max(1, Math.ceil(path.length / MOST_CORNERS));
    const corners = path.filter((_, i) => i % step === 0).map((corner) => this.unit(corner).map(Math.round));
    this.data = { ...this.data, shape: corners };
    this.redraw(false);
    this.send("area", { digest: this.data.digest, corners, hidden: this.hidden });
  },

  hover(row) {
    if (row === this.over) return;
    this.over = row;
    this.hint();
    this.redraw(false);
    clearTimeout(this.hoverTimer);
    if (row < 0) return;
    const place = this.scene.place(row);
    this.hoverTimer = setTimeout(() => this.send("hover", { digest: this.data.digest, place }), 90);
  },

  wheel(event) {
    if (!this.scene) return;
    event.preventDefault();
    this.zoom(Math.exp(event.deltaY * 0.0016), ...this.at(event));
    this.moved();
  },

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.scene) return;
    const step = 60 * this.camera.unit, steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const name = event.key.toLowerCase(), tool = TOOLS.find((one) => one[2] === name), action = ACTIONS.find((one) => one[1] === name);
    if (steps[event.key]) {
      this.camera.x += steps[event.key][0] * step;
      this.camera.y += steps[event.key][1] * step;
      this.moved();
    } else if (this.data.action_queue && /^[\p{L}\p{N}]$/u.test(event.key)) return;
    else if (tool && !this.data.fixed) this.use(tool[0]);
    else if (action) this.act(action[0]);
    else if (event.key === "Escape" && !this.data.fixed) this.send("clear", { digest: this.data.digest });
    else return;
    event.preventDefault();
    event.stopPropagation();
  },
};

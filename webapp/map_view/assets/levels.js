// Levels of detail: loads the tiles in view, draws the density below them until all points are there, and draws a share
// of the points while the map moves if all take too long.
const REST_MS = 180, RETRY_MS = 4000, FRAME_MS = 33, LEAST_SHARE = 0.05, SIDE = 256;

/** @type {Levels & ThisType<MapView>} */
const LEVELS = {
  // Chooses the points to draw, and asks for those that are missing.
  load() {
    if (!this.scene || !this.width) return;
    const view = this.scene.inView([...this.unit([0, this.height]), ...this.unit([this.width, 0])]);
    const last = this.data.look.classes.length - 1, missing = this.scene.missing(view.chosen);
    this.complete = view.complete && !missing.length;
    this.drawing.order(this.scene.order(view.chosen, last));
    this.sayWhatIsDrawn(missing.length);
    this.redraw();
    if (!missing.length || this.asked) return;
    if (this.scene.forget(new Set(view.chosen))) this.upload();
    this.sendNow("tiles", { digest: this.data.digest, held: this.scene.held, wanted: missing });
    this.asked = setTimeout(() => {
      this.asked = undefined;
      this.load();
    }, RETRY_MS);
  },

  takeTiles(loaded) {
    if (!loaded || loaded === this.taken) return;
    this.taken = loaded;
    clearTimeout(this.asked);
    this.asked = undefined;
    this.scene.add(loaded);
    this.upload();
    this.load();
  },

  upload() {
    this.drawing.points(this.scene);
    this.marks = "";
    this.state();
  },

  sayWhatIsDrawn(loading) {
    const { total, index } = this.scene, drawn = this.drawing.count, some = `${number(drawn)} of ${number(total)} units`;
    const text = index.length === 1 ? (this.data.status ?? `${number(total)} units`)
      : this.complete ? `${some}: all in this part` : `${some}; ${loading ? "loading more …" : "zoom in for all"}`;
    if (this.status.textContent !== text) this.status.textContent = text;
  },

  // The density lies below the points while points of the part in view are missing.
  paintGround() {
    const flat = plane(this.ground), { x, y, unit } = this.camera;
    flat.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    flat.clearRect(0, 0, this.width, this.height);
    if (!this.scene.density || this.complete) return;
    const size = GRID / unit, left = this.width / 2 - x / unit, top = this.height / 2 - (GRID - y) / unit;
    flat.drawImage(this.image(), left, top, size, size);
  },

  image() {
    const key = this.data.digest + this.data.look.ink;
    if (this.imageKey === key) return this.densityImage;
    const image = document.createElement("canvas"), flat = plane(image);
    const density = /** @type {Uint8Array} */ (this.scene.density);
    image.width = image.height = SIDE;
    const pixels = flat.createImageData(SIDE, SIDE), colour = rgba(this.data.look.ink, 1).map((part) => 255 * part);
    for (let cell = 0; cell < density.length; cell++) {
      const row = SIDE - 1 - Math.floor(cell / SIDE);
      pixels.data.set([...colour.slice(0, 3), 0.45 * density[cell]], 4 * (row * SIDE + (cell % SIDE)));
    }
    flat.putImageData(pixels, 0, 0);
    [this.imageKey, this.densityImage] = [key, image];
    return image;
  },

  // While the map moves, the share of the points follows the time that a frame takes.
  movedNow() {
    this.moving = true;
    clearTimeout(this.restTimer);
    this.restTimer = setTimeout(() => {
      this.moving = false;
      this.load();
    }, REST_MS);
  },

  paintShare(draw) {
    if (!this.moving || this.scene.index.length === 1) return draw(1);
    const start = performance.now();
    draw(this.share);
    this.drawing.finish();
    const factor = FRAME_MS / Math.max(performance.now() - start, 1);
    this.share = Math.min(Math.max(this.share * Math.min(Math.max(factor, 0.4), 1.3), LEAST_SHARE), 1);
  },
};

/** @param {HTMLCanvasElement} canvas */
function plane(canvas) {
  return /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
}

/** @param {number} value */
function number(value) {
  return value.toLocaleString("en");
}

// Contour lines of the density of the points, below them. The lines belong to the map, so that they are computed once.
const MANY_POINTS = 5_000, CONTOURS = [0.2, 0.34, 0.48, 0.64, 0.82], SMOOTH = 20_000, BLURS = 4, MORE_BLURS = 9;
// Pairs of edges (0 bottom, 1 right, 2 top, 3 left) that a line joins, for each set of corners above the level.
/** @type {number[][]} */
const CROSSINGS = [[], [3, 0], [0, 1], [3, 1], [1, 2], [3, 2, 0, 1], [0, 2], [3, 2], [2, 3], [2, 0], [0, 3, 1, 2], [2, 1], [1, 3], [1, 0], [0, 3], []];

/** @type {Density & ThisType<MapView>} */
const DENSITY = {
  // By default, density is shown on maps of many points.
  dense() {
    return this.denseChosen ?? (this.scene?.total ?? 0) >= MANY_POINTS;
  },

  showDensity(on) {
    this.denseChosen = on;
    this.redraw();
  },

  paintContours(flat) {
    if (!this.dense()) return;
    const { x, y, unit } = this.camera, step = GRID / SIDE;
    flat.save();
    flat.setTransform(this.ratio / unit, 0, 0, -this.ratio / unit, this.ratio * (this.width / 2 - x / unit), this.ratio * (this.height / 2 + y / unit));
    flat.strokeStyle = this.data.look.ink;
    flat.scale(step, step);
    this.contours().forEach((path, level) => {
      flat.globalAlpha = 0.16 + 0.05 * level;
      flat.lineWidth = unit / step;
      flat.stroke(path);
    });
    flat.restore();
  },

  contours() {
    if (this.contoursOf === this.data.digest) return this.contourPaths;
    const values = blurred(this.scene.density ? Float32Array.from(this.scene.density, (value) => Math.expm1(value / 40)) : counted(this.scene, this.states), this.scene.total < SMOOTH ? MORE_BLURS : BLURS);
    const most = values.reduce((high, value) => Math.max(high, value), 0) || 1;
    this.contourPaths = CONTOURS.map((level) => contour(values, most * level * level));
    this.contoursOf = this.data.digest;
    return this.contourPaths;
  },
};

/** Points in each cell that no filter leaves out. @param {Scene} scene @param {Uint8Array} [states] */
function counted({ places }, states) {
  const values = new Float32Array(SIDE * SIDE);
  for (let i = 0; i < places.length; i += 2) {
    if (!states || !(states[i >> 1] & LEFT_OUT)) values[(places[i + 1] >> 8) * SIDE + (places[i] >> 8)]++;
  }
  return values;
}

/** Means over 5 × 5 cells, several times. @param {Float32Array<ArrayBuffer>} values @param {number} times */
function blurred(values, times) {
  for (let turn = 0; turn < 2 * times; turn++) {
    const along = turn % 2 ? SIDE : 1, across = turn % 2 ? 1 : SIDE, next = new Float32Array(values.length);
    for (let line = 0; line < SIDE; line++) {
      for (let i = 2; i < SIDE - 2; i++) {
        const at = line * across + i * along;
        next[at] = (values[at - 2 * along] + values[at - along] + values[at] + values[at + along] + values[at + 2 * along]) / 5;
      }
    }
    values = next;
  }
  return values;
}

/**
 * The line at a level, by marching squares, in cells; a value belongs to the centre of its cell.
 * @param {Float32Array} values @param {number} level
 */
function contour(values, level) {
  const path = new Path2D();
  for (let row = 0; row < SIDE - 1; row++) {
    for (let column = 0; column < SIDE - 1; column++) {
      const at = row * SIDE + column, corners = [values[at], values[at + 1], values[at + SIDE + 1], values[at + SIDE]];
      const set = corners.reduce((all, value, i) => all | (Number(value > level) << i), 0);
      if (!set || set === 15) continue;
      CROSSINGS[set].forEach((edge, i) => {
        const [x, y] = crossing(edge, corners, level);
        path[i % 2 ? "lineTo" : "moveTo"](column + 0.5 + x, row + 0.5 + y);
      });
    }
  }
  return path;
}

/** @param {number} edge @param {number[]} corners @param {number} level */
function crossing(edge, corners, level) {
  const from = corners[edge], to = corners[(edge + 1) % 4], part = (level - from) / (to - from || 1);
  return [[part, 0], [1, part], [1 - part, 1], [0, 1 - part]][edge];
}

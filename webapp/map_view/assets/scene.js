// The points that the browser has of a map. A large map is a quadtree of tiles, and the points of all tiles that were
// loaded lie one tile after the other in `places` and `kinds`. A row is a position in these arrays, a place one among
// all points of the map on the server.
const MOST_DRAWN = 400_000, MOST_KEPT = 2_000_000, MOST_ASKED = 150_000, GRID = 65536, SLICES = 16;

/** @template T @param {string} text @param {new (bytes: ArrayBuffer) => T} Kind @returns {T} */
function unpacked(text, Kind) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return new Kind(bytes.buffer);
}

/** @template {Uint8Array | Uint16Array} T @param {T} first @param {T} second @returns {T} */
function joined(first, second) {
  if (!first.length) return second;
  const Kind = /** @type {new (length: number) => T} */ (first.constructor), both = new Kind(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

class Scene {
  /** @param {PointsData} data */
  constructor(data) {
    this.total = data.total;
    /** @type {Tile[]} */
    this.index = data.index.map(([level, x, y, start, count]) => ({ level, x, y, start, count, at: -1 }));
    this.density = data.density ? unpacked(data.density, Uint8Array) : null;
    this.context = unpacked(data.context, Uint16Array);
    this.places = new Uint16Array(0);
    this.kinds = new Uint8Array(0);
    /** @type {number[]} */
    this.held = [];
    this.add(data);
  }

  /** @param {TileData} loaded */
  add({ tiles, places, kinds }) {
    if (tiles.some((number) => this.index[number].at >= 0)) return;
    let at = this.kinds.length;
    for (const number of tiles) {
      this.index[number].at = at;
      at += this.index[number].count;
      this.held.push(number);
    }
    this.places = joined(this.places, unpacked(places, Uint16Array));
    this.kinds = joined(this.kinds, unpacked(kinds, Uint8Array));
  }

  /** Forgets all tiles but some if too many points are loaded. @param {Set<number>} kept */
  forget(kept) {
    if (this.kinds.length <= MOST_KEPT) return false;
    const { places, kinds } = this, old = this.held.filter((number) => kept.has(number)).map((number) => ({ number, from: this.index[number].at }));
    const count = old.reduce((sum, { number }) => sum + this.index[number].count, 0);
    for (const tile of this.index) tile.at = -1;
    this.held = [];
    this.places = new Uint16Array(2 * count);
    this.kinds = new Uint8Array(count);
    let at = 0;
    for (const { number, from } of old) {
      const tile = this.index[number];
      this.places.set(places.subarray(2 * from, 2 * (from + tile.count)), 2 * at);
      this.kinds.set(kinds.subarray(from, from + tile.count), at);
      tile.at = at;
      at += tile.count;
      this.held.push(number);
    }
    return true;
  }

  /** @param {number} row */
  place(row) {
    const tile = this.index[this.held.findLast((number) => this.index[number].at <= row) ?? 0];
    return tile.start + row - tile.at;
  }

  /** @param {number} place */
  row(place) {
    const tile = this.index.find(({ at, start, count }) => at >= 0 && start <= place && place < start + count);
    return tile ? tile.at + place - tile.start : -1;
  }

  // The tiles to draw in a part of the grid: those of the coarsest levels that hold at most MOST_DRAWN points there.
  // `complete` tells whether these are all points of that part.
  /** @param {[number, number, number, number]} part */
  inView([left, low, right, high]) {
    const levels = /** @type {number[][]} */ ([]), chosen = /** @type {number[]} */ ([]);
    this.index.forEach((tile, number) => {
      const side = GRID / 2 ** tile.level, x = tile.x * side, y = tile.y * side;
      if (x <= right && x + side >= left && y <= high && y + side >= low) (levels[tile.level] ??= []).push(number);
    });
    let points = 0;
    for (const level of levels) {
      points += level.reduce((sum, number) => sum + this.index[number].count, 0);
      if (points > MOST_DRAWN && chosen.length) return { chosen, complete: false };
      chosen.push(...level);
    }
    return { chosen, complete: true };
  }

  /** The first of the missing tiles that are asked for together. @param {number[]} chosen */
  missing(chosen) {
    const asked = /** @type {number[]} */ ([]);
    let points = 0;
    for (const number of chosen) {
      if (this.index[number].at >= 0) continue;
      points += this.index[number].count;
      if (points > MOST_ASKED && asked.length) break;
      asked.push(number);
    }
    return asked;
  }

  // Rows of the loaded ones among some tiles: those of the category `last` ("other") first, below all others. Each part
  // takes a slice of every tile in turn, so that a share from its start is a sample of the whole.
  /** @param {number[]} chosen @param {number} last @returns {Order} */
  order(chosen, last) {
    const tiles = chosen.map((number) => this.index[number]).filter((tile) => tile.at >= 0), { kinds } = this;
    const rows = new Uint32Array(tiles.reduce((sum, tile) => sum + tile.count, 0)), slices = tiles.length > 1 ? SLICES : 1;
    let at = 0, others = 0;
    for (const other of [true, false]) {
      for (let slice = 0; slice < slices; slice++) {
        for (const tile of tiles) {
          const end = tile.at + Math.floor((tile.count * (slice + 1)) / slices);
          let row = tile.at + Math.floor((tile.count * slice) / slices);
          for (; row < end; row++) if ((kinds[row] === last) === other) rows[at++] = row;
        }
      }
      if (other) others = at;
    }
    return { rows, others };
  }

  /** A bit per point of the tiles `held`, as a flag of the loaded points. @param {string} text @param {number[]} held @param {number} flag */
  flags(text, held, flag) {
    const values = new Uint8Array(this.kinds.length), letters = atob(text);
    let bit = 0;
    for (const tile of held.map((number) => this.index[number])) {
      for (let row = tile.at; row < tile.at + tile.count; row++, bit++) {
        if (tile.at >= 0 && (letters.charCodeAt(bit >> 3) >> (7 - (bit & 7))) & 1) values[row] = flag;
      }
    }
    return values;
  }
}

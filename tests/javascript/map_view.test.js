// Arithmetic of the map: tiles, order of points, names, colours and filters. Run by `make check`.
const assert = require("node:assert/strict");
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const test = require("node:test");
const vm = require("node:vm");

const FILES = ["scene.js", "webgl.js", "levels.js", "labels.js"];
const NAMES = "Scene, LEVELS, LABELS, NEARBY, SIDE, GRID, MOST_DRAWN, MOST_KEPT, rgba, joined";

const sources = FILES.map((name) => readFileSync(join(__dirname, "../../webapp/map_view/assets", name), "utf8"));
const context = vm.createContext({ atob, performance, setTimeout, clearTimeout });
const map = vm.runInContext(`${sources.join("\n")}\n({ ${NAMES} })`, context);
// Values from the context have other prototypes than those here.
const plain = (value) => JSON.parse(JSON.stringify(value));
const packed = (values) => Buffer.from(values.buffer).toString("base64");

// A map of two levels: a tile for the whole with two points, and its four quarters with three points each.
function scene(tiles = [0, 1, 2, 3, 4], count = 3) {
  const index = [[0, 0, 0, 0, 2], ...[[0, 0], [1, 0], [0, 1], [1, 1]].map(([x, y], i) => [1, x, y, 2 + count * i, count])];
  const points = tiles.reduce((sum, number) => sum + index[number][4], 0);
  const places = Uint16Array.from({ length: 2 * points }, (_, i) => i), kinds = Uint8Array.from({ length: points }, (_, i) => i % 3);
  const loaded = { tiles, places: packed(places), kinds: packed(kinds) };
  return new map.Scene({ digest: "a", total: 2 + 4 * count, index, density: "", context: "", ...loaded });
}

test("rows and places lead to each other, whatever the order in which tiles were loaded", () => {
  const found = scene([3, 0, 2]);
  assert.deepEqual([0, 1, 2, 3, 4, 5, 6, 7].map((row) => found.place(row)), [8, 9, 10, 0, 1, 5, 6, 7]);
  for (let row = 0; row < 8; row++) assert.equal(found.row(found.place(row)), row);
  assert.equal(found.row(2), -1, "a point of a tile that is not loaded");
});

test("tiles that are loaded already are not added again", () => {
  const found = scene([0, 1]), before = found.kinds.length;
  found.add({ tiles: [1], places: packed(new Uint16Array(6)), kinds: packed(new Uint8Array(3)) });
  assert.equal(found.kinds.length, before);
});

test("the tiles in view are those that meet the part, coarsest first, at most so many points", () => {
  const half = map.GRID / 2;
  assert.deepEqual(plain(scene().inView([0, 0, map.GRID, map.GRID])), { chosen: [0, 1, 2, 3, 4], complete: true });
  assert.deepEqual(plain(scene().inView([half + 1, half + 1, map.GRID, map.GRID])), { chosen: [0, 4], complete: true });
  const large = scene([0], map.MOST_DRAWN);
  assert.deepEqual(plain(large.inView([0, 0, map.GRID, map.GRID])), { chosen: [0], complete: false });
  assert.deepEqual(plain(large.missing([0, 1, 2])), [1], "a tile at a time where each has many points");
});

test("the order has every loaded row once, those of the last category first", () => {
  const found = scene(), { rows, others } = found.order([0, 1, 2, 3, 4], 2);
  assert.deepEqual(plain([...rows]).sort((a, b) => a - b), [...found.kinds.keys()]);
  assert.ok([...rows].every((row, i) => (found.kinds[row] === 2) === i < others));
});

test("forgetting keeps the points of the tiles that are kept", () => {
  const found = scene([0, 1, 2], map.MOST_KEPT), kept = found.row(2 + map.MOST_KEPT + 5), before = [...found.places.subarray(2 * kept, 2 * kept + 2)];
  assert.equal(found.forget(new Set([0, 2])), true);
  assert.deepEqual(plain(found.held), [0, 2]);
  const row = found.row(2 + map.MOST_KEPT + 5);
  assert.deepEqual([...found.places.subarray(2 * row, 2 * row + 2)], before);
  assert.equal(found.row(2), -1);
  assert.equal(scene().forget(new Set()), false, "few points are all kept");
});

test("flags are bits of the points of the tiles that the server knew", () => {
  const found = scene([0, 1]), bits = Buffer.from([0b01000000]).toString("base64");
  assert.deepEqual(plain([...found.flags(bits, [1], 7)]), [0, 0, 0, 7, 0]);
  assert.deepEqual(plain([...found.flags(bits, [0], 7)]), [0, 7, 0, 0, 0]);
});

test("names stay in the view and off each other", () => {
  const view = { ...map.LABELS, width: 200, height: 100 };
  const first = view.freeBox([80, 20], [100, 50], [], map.NEARBY);
  assert.deepEqual(plain(first), { left: 60, top: 40, width: 80, height: 20 });
  const second = view.freeBox([80, 20], [100, 50], [first], map.NEARBY);
  assert.ok(second.top + 20 + 4 <= first.top || second.top >= first.top + 24 || second.left >= first.left + 84);
  assert.equal(view.freeBox([300, 20], [100, 50], [], map.NEARBY), null, "wider than the view");
  assert.equal(view.freeBox([80, 20], [100, 50], [{ left: 0, top: 0, width: 200, height: 100 }], map.NEARBY), null);
});

// A view of 900 × 600 pixels in which categories stand where they are told; letters are half as wide as high.
function named(places, names = (i) => `${i + 1}. theme of number ${i} · another phrase`) {
  const data = { names: places.map(([x, y], i) => [1, names(i), [i], x, y, i]), look: { classes: places.map(() => ({ count: 1 })) } };
  const size = (text, type) => [0.5 * type * text.length, 1.25 * type];
  return { ...map.LABELS, data, width: 900, height: 600, named: true, hidden: [], camera: { unit: 1 }, fitUnit: () => 1, screen: (place) => place, labelSize: size };
}

test("all of twelve names have a place, and a quarter of many, also where they stand close together", () => {
  let seed = 3;
  const random = (most) => (seed = (seed * 48271) % 2147483647) % most;
  for (const [count, least] of [[12, 12], [46, 12], [120, 30]]) {
    for (let turn = 0; turn < 20; turn++) {
      const view = named(Array.from({ length: count }, () => [250 + random(400), 150 + random(300)])), placed = view.placeLabels([]);
      assert.ok(placed.length >= least, `${placed.length} of ${count}`);
      placed.forEach((one, i) => {
        assert.ok(one.left >= 0 && one.top >= 0 && one.left + one.width <= 900 && one.top + one.height <= 600);
        for (const other of placed.slice(i + 1)) {
          assert.ok(one.left + one.width < other.left || other.left + other.width < one.left || one.top + one.height < other.top || other.top + other.height < one.top);
        }
      });
    }
  }
  assert.match(named([[450, 300]]).placeLabels([])[0].text, /another phrase/, "whole where there is room");
});

test("the levels of names follow the magnification", () => {
  const names = [[0, "group", [], 0, 0, "g"], [1, "category", [], 0, 0, "c"]];
  const levels = (magnified, data = { names }) => plain({ ...map.LABELS, data, camera: { unit: 1 }, fitUnit: () => magnified }.labelLevels());
  assert.deepEqual([1, 2, 5].map((magnified) => levels(magnified)), [[0], [1], [1, 2]]);
  assert.deepEqual(levels(1, { names: names.slice(1) }), [1], "without groups, categories from afar");
});

test("the share of the points that is drawn follows the time of a frame, within bounds", () => {
  let now = 0;
  context.performance = { now: () => now };
  const view = { ...map.LEVELS, moving: true, share: 1, scene: { index: [1, 2] }, drawing: { finish: () => {} } };
  const paint = (ms) => (view.paintShare(() => (now += ms)), view.share);
  assert.equal(paint(66), 0.5);
  assert.equal(paint(1e6), 0.2);
  assert.equal(paint(1e6), 0.2 * 0.4);
  assert.equal(paint(1e6), 0.05, "the least share");
  for (let turn = 0; turn < 20; turn++) paint(1);
  assert.equal(view.share, 1);
});

test("colours are parts of one", () => {
  assert.deepEqual(plain(map.rgba("#ff8000", 0.5)), [1, 128 / 255, 0, 0.5]);
});

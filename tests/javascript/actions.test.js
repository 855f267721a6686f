// The queue of actions: which of the views that stand on the page sends them. Run by `make check`.
const assert = require("node:assert/strict");
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const test = require("node:test");

const SCRIPT = readFileSync(join(__dirname, "../../webapp/shared/assets/actions.js"), "utf8");

test("a surface that is drawn once more while it goes does not take the actions along", () => {
  const window = { addEventListener() {}, clearTimeout() {}, setTimeout: (act) => (window.later = act) };
  const document = { addEventListener() {}, removeEventListener() {} };
  const { ActionView, actionQueue } = new Function("window", "document", `${SCRIPT}; return { ActionView, actionQueue };`)(window, document);
  const data = { session: "s", acknowledged: 0 }, sent = { left: [], opened: [] };
  const [left, opened] = [new ActionView({ isConnected: true }), new ActionView({ isConnected: true })];
  left.show(data, (_, message) => sent.left.push(message));
  opened.show(data, (_, message) => sent.opened.push(message));
  left.show(data, (_, message) => sent.left.push(message));
  left.root.isConnected = false;
  actionQueue.push({ kind: "create" });
  window.later(); // no answer has come
  assert.deepEqual(sent.left, []);
  assert.deepEqual(sent.opened.map(({ attempt, actions }) => [attempt, actions.length]), [[0, 1], [1, 1]]);
  opened.root.isConnected = false; // the action has opened another page
  window.later();
  assert.equal(actionQueue.actions.length, 0);
});

test("changes are made to what the browser has, and without that everything is asked for", () => {
  const { received } = new Function("window", "document", `${SCRIPT}; return { received };`)({ addEventListener() {} }, {});
  const asked = [], ask = (kind, { has }) => asked.push([kind, has]);
  const first = { view: "v", number: 1, base: 0, ids: [1, 2, 3, 4], rows: { 1: { text: "a", note: "n" }, 2: { text: "b" } }, focused: 1 };
  assert.equal(received(first, ask), first);
  const changes = { parts: { ids: { at: 1, count: 2, items: [9] }, rows: { parts: { 1: { parts: { text: ["c"] }, gone: ["note"] }, 5: [{ text: "e" }] }, gone: ["2"] }, focused: [null] }, gone: [] };
  const second = received({ view: "v", number: 2, base: 1, changes }, ask);
  assert.deepEqual([second.ids, second.rows, second.focused], [[1, 9, 4], { 1: { text: "c" }, 5: { text: "e" } }, null]);
  assert.deepEqual(first.ids, [1, 2, 3, 4]); // what later changes build on stays as it was
  assert.deepEqual(received({ view: "v", number: 3, base: 1, changes: { parts: { ids: { parts: { 3: [7] } } } } }, ask).ids, [1, 2, 3, 7]);
  assert.deepEqual(asked, []);
  assert.equal(received({ view: "v", number: 9, base: 8, changes: { parts: {} } }, ask), undefined);
  assert.equal(received({ view: "w", number: 9, base: 8, changes: { parts: {} } }, ask), undefined);
  assert.deepEqual(asked, [["actions", { v: 0 }], ["actions", { v: 0, w: 0 }]]);
});

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

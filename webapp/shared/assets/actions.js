// Actions of a page by keys and buttons: a queue that loses and repeats none, and the components that push to it.
//
// Every action has a number and is kept until the server acknowledges it: timers in the browser send pending state along
// with their own messages, and the server merges messages that wait.
const RESEND_MS = 6000;

class ActionQueue {
  constructor() {
    this.actions = [];
    this.number = 0;
    this.views = new Set();
    window.addEventListener("beforeunload", (event) => {
      if (this.changes().length && this.sender()) event.preventDefault();
    });
  }

  // The newest of the views that stand on the page sends the actions of all: a surface that has just been left, drawn once
  // more while it goes, does not take them along.
  sender() {
    return [...this.views].filter(({ root, setState }) => setState && root.isConnected).pop();
  }

  // The page was drawn by this session, which has handled every action up to this number.
  acknowledge(session, number) {
    if (session !== this.session) {
      // A new session after a time without answers: actions that waited in the old one may not have been handled.
      this.lost = Boolean(this.late && this.actions.length);
      this.session = session;
      this.actions = [];
      this.number = 0;
    }
    this.seen = number;
    this.number = Math.max(this.number, number);
    this.actions = this.actions.filter((action) => action.number > number);
    if (!this.actions.length) this.stopRetrying();
    this.notify();
  }

  stopRetrying() {
    window.clearTimeout(this.timer);
    this.late = false;
  }

  push(action) {
    this.lost = false;
    this.number += 1;
    this.actions.push({ ...action, number: this.number });
    this.send();
    this.notify();
  }

  // `attempt` makes every message different; the connection may have been lost. `seen` tells which state of the page and
  // of its address the browser had.
  send(attempt = 0) {
    const sender = this.sender();
    if (attempt && !sender) this.actions = []; // the last one opened another page
    const late = this.late || attempt > 0;
    this.stopRetrying();
    if (!this.actions.length) return;
    sender?.setState("actions", { session: this.session, actions: this.actions, attempt, seen: this.seen, has: sentNumbers() });
    this.timer = window.setTimeout(() => this.send(attempt + 1), RESEND_MS);
    this.late = late;
    this.notify();
  }

  // The waiting actions that change something; others only show it.
  changes() {
    return this.actions.filter((action) => !action.shows);
  }

  notify() {
    for (const view of this.views) view.drawStatus();
  }
}

// What this browser has of the data of components, by view and number: the server sends what differs from that.
const sentData = (window.themescopeSent ??= {});

function sentNumbers() {
  return Object.fromEntries(Object.entries(sentData).map(([view, had]) => [view, Math.max(...had.keys())]));
}

// The whole data of a view; without what the message builds on, nothing, and the server is asked for everything.
function received(data, setState) {
  const { view, base } = data, had = [...(sentData[view] ?? [])].filter(([number]) => base && number >= base);
  const old = base && sentData[view]?.get(base), whole = base ? old && merged(old, data.changes) : data;
  sentData[view] = new Map(whole ? [...had, [data.number, whole]] : [[0, null]]);
  const { session, actions, seen } = actionQueue;
  if (!whole) setState("actions", { session, actions, seen, attempt: data.number, has: sentNumbers() });
  return whole;
}

function merged(old, change) {
  if (Array.isArray(change)) return change[0];
  const { parts = {}, gone = [], items, at, count } = change;
  if (items) return [...old.slice(0, at), ...items, ...old.slice(at + count)];
  const made = Array.isArray(old) ? [...old] : { ...old };
  for (const key of gone) delete made[key];
  for (const [key, part] of Object.entries(parts)) made[key] = merged(made[key], part);
  return made;
}

const actionQueue = (window.themescopeActions ??= new ActionQueue());

function isTyping(event) {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  const withoutText = ["checkbox", "radio", "range", "button", "file", "submit"];
  const isInput = target instanceof HTMLInputElement && !withoutText.includes(target.type);
  return target.isContentEditable || target.matches("textarea, select") || isInput;
}

// Digits count on keyboards that type them with Shift, and letters on keyboards of other scripts. A key of the number
// pad that types nothing, such as End, is itself.
function keyOf(event) {
  const { code, key } = event, physical = /^(?:Digit|Numpad|Key)([0-9A-Z])$/.exec(code);
  if (/^[0-9?]$/.test(key)) return key;
  if (event.shiftKey) return "";
  return physical && key.length === 1 && !/[a-z]/i.test(key) ? physical[1].toLowerCase() : key.toLowerCase();
}

// A component whose keys push actions to the queue.
class ActionView {
  constructor(root) {
    this.root = root;
    this.onKey = (event) => this.handleKey(event);
    document.addEventListener("keydown", this.onKey);
    actionQueue.views.add(this);
  }

  remove() {
    document.removeEventListener("keydown", this.onKey);
    actionQueue.views.delete(this);
  }

  // With `setState`, the view can send the actions of all views of the page.
  show(data, setState = null) {
    this.data = data;
    this.setState = setState;
    actionQueue.acknowledge(data.session, data.acknowledged);
    this.draw();
    this.drawStatus();
  }

  draw() {}

  drawStatus() {}

  /** Handles a key; returns whether it did. @param {string} key */
  press(key) {
    return false;
  }

  // What to know about the actions of the queue; without any, `saved`.
  statusText(saved) {
    const { words } = this.data;
    if (actionQueue.changes().length) return words[actionQueue.late ? "late" : "saving"];
    return actionQueue.lost ? words.lost : saved;
  }

  handleKey(event) {
    if (!this.root.isConnected) return this.remove();
    if (event.defaultPrevented || event.repeat) return;
    if (isTyping(event) || document.querySelector('[data-testid="stDialog"]')) return;
    const [target] = event.composedPath(); // on a button or a link, Enter presses it
    if (event.key === "Enter" && target instanceof Element && target.closest("a, button, summary")) return;
    // Keys in a dialog, such as the search, are not about what lies behind it.
    if (event.composedPath().some((node) => node instanceof HTMLDialogElement && !this.root.contains(node))) return;
    const held = `${event.ctrlKey || event.metaKey ? "ctrl+" : ""}${event.altKey ? "alt+" : ""}`;
    if (this.press(held + keyOf(event))) event.preventDefault();
  }
}

// Queue of the actions of a page, in order. Every action has a number and is kept until the server acknowledges it, so
// that none is lost while the page is redrawn and none is repeated when it is sent again: timers in the browser send
// pending state along with their own messages, and the server merges messages that wait.
const RETRY_MS = 6000;

class ActionQueue {
  constructor() {
    this.actions = [];
    this.number = 0;
    this.listeners = new Set();
    this.beforePush = new Set();
    window.addEventListener("beforeunload", (event) => {
      if (this.actions.length) event.preventDefault();
    });
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
    for (const flush of this.beforePush) flush();
    this.number += 1;
    this.actions.push({ ...action, number: this.number });
    this.send();
    this.notify();
  }

  // `attempt` makes every message different; the connection may have been lost. `seen` tells which state of the page and
  // of its address the browser had.
  send(attempt = 0) {
    const late = this.late || attempt > 0;
    this.stopRetrying();
    this.deliver?.({ session: this.session, actions: this.actions, attempt, seen: this.seen });
    this.timer = window.setTimeout(() => this.send(attempt + 1), RETRY_MS);
    this.late = late;
    this.notify();
  }

  notify() {
    for (const listener of this.listeners) listener();
  }
}

const actionQueue = (window.themescopeActions ??= new ActionQueue());

// What a person does on a page, in its order. Every deed has a number and stays here until the server says that it has
// heard it, so that none is lost while the page is being redrawn and none counts twice when it is sent again: the
// browser's timers send what is pending along with their own messages, and the server folds messages that wait.
class Outbox {
  constructor() {
    this.deeds = [];
    this.number = 0;
    this.watchers = new Set();
    this.before = new Set();
    window.addEventListener("beforeunload", (event) => {
      if (this.deeds.length) event.preventDefault();
    });
  }

  // The page has been drawn: this session, and everything up to this number, is known to the server.
  heard(session, number) {
    if (session !== this.session) {
      // A new session after a while without answers: what waited in the old one has gone with it, perhaps unheard.
      this.lost = Boolean(this.late && this.deeds.length);
      this.session = session;
      this.deeds = [];
      this.number = 0;
    }
    this.number = Math.max(this.number, number);
    this.deeds = this.deeds.filter((deed) => deed.number > number);
    if (!this.deeds.length) this.rest();
    this.changed();
  }

  rest() {
    window.clearTimeout(this.patience);
    this.late = false;
  }

  push(deed) {
    this.lost = false;
    for (const flush of this.before) flush();
    this.number += 1;
    this.deeds.push({ ...deed, number: this.number });
    this.send();
    this.changed();
  }

  // Sent again with another try where no answer comes: the connection may have been away.
  send(again = 0) {
    const late = this.late || again > 0;
    this.rest();
    this.deliver?.({ session: this.session, deeds: this.deeds, again });
    this.patience = window.setTimeout(() => this.send(again + 1), PATIENCE_MS);
    this.late = late;
    this.changed();
  }

  changed() {
    for (const watcher of this.watchers) watcher();
  }
}

const PATIENCE_MS = 6000;
const outbox = (window.themescopeOutbox ??= new Outbox());

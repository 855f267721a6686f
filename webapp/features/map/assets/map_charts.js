// Charts of the columns of the points. A bar or a part of a histogram filters the other charts and the map at once; the
// server learns the filters when they rest, for the list of sentences and the address. Escape clears the filter of a chart.
const LISTED = 20, REST = 300, HEIGHT = 40, GREY = "Grey", HIDDEN = "Hidden";

function added(parent, tag, name = "", text = "", attributes = {}) {
  const element = make(tag, name, text, attributes);
  parent.append(element);
  return element;
}

function button(parent, name, text, press, attributes = {}) {
  const element = added(parent, "button", name, text, { type: "button", ...attributes });
  element.onclick = press;
  return element;
}

function written(count) {
  return count.toLocaleString("en");
}

// An end of a range: a date as it is, a number with at most four digits after a long integer part.
function ended(value) {
  if (typeof value === "string") return value;
  return value.toLocaleString("en", { useGrouping: Math.abs(value) >= 10_000, maximumSignificantDigits: Number.isInteger(value) ? 15 : 4 });
}

function bars(counts, most) {
  return Array.from(counts, (count, i) => (count ? `M${i + 0.06} ${HEIGHT}V${HEIGHT * (1 - count / most)}h.88V${HEIGHT}z` : "")).join("");
}

// The values of a column as bars; the most frequent ones, and those that are chosen or searched for.
class ValuesChart {
  constructor(charts, column, place, body, totals) {
    this.charts = charts;
    this.column = column;
    this.place = place;
    this.totals = totals;
    this.names = [...column.categories, "no value"];
    const lacking = column.categories.length, most = (code) => (code === lacking ? -1 : totals[code]);
    this.order = [...totals.keys()].filter((code) => totals[code]).sort((a, b) => most(b) - most(a));
    this.most = Math.max(...this.order.map(most), 1);
    if (this.order.length > LISTED) {
      const find = `Find a value of ${column.name}`;
      this.wanted = added(body, "input", "", "", { type: "search", placeholder: "Find a value", "aria-label": find });
      this.wanted.oninput = () => this.list();
    }
    this.listed = added(body, "ul", "values");
    this.rest = added(body, "p", "rest");
    this.list();
  }

  list() {
    const text = this.wanted?.value.trim().toLowerCase() ?? "", allowed = this.charts.filters.allowed[this.place];
    const fitting = text ? this.order.filter((code) => this.names[code].toLowerCase().includes(text)) : this.order;
    const codes = fitting.filter((code, i) => i < LISTED || code === this.column.categories.length || allowed?.[code]);
    const key = codes.join();
    if (key === this.key) return;
    this.key = key;
    this.listed.replaceChildren();
    this.rows = codes.map((code) => {
      const press = () => this.toggle(code), row = button(added(this.listed, "li"), "value", "", press, { title: this.names[code] });
      added(row, "span", "name", this.names[code], { dir: "auto" });
      return { code, row, count: added(row, "span", "count") };
    });
    if (this.counts) this.paint(this.counts);
  }

  toggle(code) {
    const allowed = this.charts.filters.allowed[this.place], chosen = allowed ? [...allowed.keys()].filter((one) => allowed[one]) : [];
    const codes = chosen.includes(code) ? chosen.filter((one) => one !== code) : [...chosen, code];
    this.charts.choose(this.place, codes.length ? codes : null);
  }

  paint(counts) {
    this.counts = counts;
    const allowed = this.charts.filters.allowed[this.place];
    for (const { code, row, count } of this.rows) {
      row.style.setProperty("--all", `${Math.min((100 * this.totals[code]) / this.most, 100)}%`);
      row.style.setProperty("--passing", `${Math.min((100 * counts[code]) / this.most, 100)}%`);
      row.setAttribute("aria-pressed", String(Boolean(allowed?.[code])));
      count.textContent = counts[code] === this.totals[code] ? written(counts[code]) : `${written(counts[code])} of ${written(this.totals[code])}`;
    }
    const shown = new Set(this.rows.map(({ code }) => code)), others = this.order.filter((code) => !shown.has(code));
    const sum = others.reduce((all, code) => all + counts[code], 0);
    this.rest.textContent = others.length ? `${written(others.length)} other values: ${written(sum)}` : "";
  }

  // The values that pass, as the address has them.
  sent(allowed) {
    return [...allowed.keys()].filter((code) => allowed[code]).map((code) => (code === this.column.categories.length ? null : this.names[code]));
  }
}

// A histogram of numbers or dates. Dragging chooses a range of bins, as do two sliders below it by keyboard.
class RangeChart {
  constructor(charts, column, place, body, totals) {
    this.charts = charts;
    this.column = column;
    this.place = place;
    this.totals = totals;
    const last = column.bins.length - 1;
    this.most = Math.max(...totals.subarray(0, last + 1), 1);
    if (last) {
      this.plot = added(body, "div", "plot");
      this.plot.innerHTML = `<svg viewBox="0 0 ${last + 1} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true"><path class="all"/><path class="passing"/></svg>`;
      this.plot.querySelector(".all").setAttribute("d", bars(totals.subarray(0, last + 1), this.most));
      this.shade = added(this.plot, "div", "shade");
      this.drag();
      const ends = added(body, "div", "ends");
      this.inputs = ["from", "to"].map((end) => added(ends, "input", end, "", { type: "range", min: "0", max: String(last), "aria-label": `${column.name}, ${end}` }));
      this.inputs.forEach((input, end) => (input.oninput = () => this.slide(end)));
    }
    this.text = added(body, "p", "rest");
  }

  drag() {
    let from = -1;
    const at = (event) => {
      const box = this.plot.getBoundingClientRect(), bin = Math.floor(((event.clientX - box.left) / box.width) * this.column.bins.length);
      return Math.min(Math.max(bin, 0), this.column.bins.length - 1);
    };
    this.plot.onpointerdown = (event) => {
      if (event.button !== 0) return;
      this.plot.setPointerCapture(event.pointerId);
      from = at(event);
      this.range(from, from);
    };
    this.plot.onpointermove = (event) => from >= 0 && this.range(Math.min(from, at(event)), Math.max(from, at(event)));
    this.plot.onpointerup = this.plot.onpointercancel = () => (from = -1);
  }

  slide(end) {
    const [low, high] = this.inputs.map((input) => Number(input.value));
    if (low <= high) return this.range(low, high);
    this.range(end ? high : low, end ? high : low);
  }

  range(low, high) {
    const whole = low === 0 && high === this.column.bins.length - 1;
    this.charts.choose(this.place, whole ? null : Array.from({ length: high - low + 1 }, (_, i) => low + i));
  }

  paint(counts) {
    const { bins } = this.column, last = bins.length - 1, allowed = this.charts.filters.allowed[this.place];
    const low = allowed ? allowed.indexOf(1) : 0, high = allowed ? allowed.lastIndexOf(1) : last, lacking = counts[bins.length];
    if (last) {
      this.plot.querySelector(".passing").setAttribute("d", bars(counts.subarray(0, last + 1), this.most));
      this.shade.hidden = !allowed;
      this.shade.style.left = `${(100 * low) / bins.length}%`;
      this.shade.style.width = `${(100 * (high - low + 1)) / bins.length}%`;
      this.inputs.forEach((input, end) => {
        input.value = String(end ? high : low);
        input.setAttribute("aria-valuetext", ended(bins[end ? high : low][end]));
      });
    }
    const [first, final] = [ended(bins[low][0]), ended(bins[high][1])];
    this.text.textContent = (first === final ? first : `${first} to ${final}`) + (lacking && !allowed ? ` · ${written(lacking)} without a value` : "");
  }

  // The ends of the values in the range; of bins without values there is nothing to send.
  sent(allowed) {
    const filled = [...allowed.keys()].filter((bin) => allowed[bin] && this.totals[bin]);
    return filled.length ? [this.column.bins[filled[0]][0], this.column.bins[/** @type {number} */ (filled.at(-1))][1]] : [];
  }
}

class Charts {
  constructor(root) {
    const head = added(root, "div", "head");
    this.count = added(head, "p", "total");
    this.refused = false;
    this.said = added(head, "p", "said", "", { role: "status" });
    this.clear = button(head, "", "Clear filters", () => this.chooseAll({}));
    const others = added(head, "div", "others", "", { role: "group", "aria-label": "Other units" });
    added(others, "span", "", "Others");
    this.rests = [GREY, HIDDEN].map((rest) => button(others, "", rest, () => this.setRest(rest)));
    this.body = added(root, "div", "charts");
  }

  show({ data, setStateValue }) {
    this.data = data;
    this.setState = setStateValue;
    const shared = (window.themescopeColumns ??= { found: new Map(), waiting: new Set() }), found = shared.found.get(data.digest);
    if (!found) {
      this.count.textContent = "Loading the columns …";
      const onColumns = () => shared.found.has(this.data.digest) && shared.waiting.delete(onColumns) && this.show({ data: this.data, setStateValue });
      return shared.waiting.add(onColumns);
    }
    if (this.digest !== data.digest) this.build(found);
    this.digest = data.digest;
    // What comes from the server is what it was last sent, unless a link, a saved view or a button changed it.
    const key = JSON.stringify([data.chosen, data.rest]);
    if (this.timer || key === this.seen) return;
    this.seen = key;
    this.rest = data.rest;
    this.chooseAll(data.chosen, false);
  }

  build({ total, columns }) {
    this.filters = new Crossfilter(columns.map(({ codes, bins, categories }) => ({ codes, size: bins.length || categories.length })), total);
    this.body.replaceChildren();
    this.seen = "";
    this.charts = columns.map((column, place) => {
      const id = `map_chart_${place}`, box = added(this.body, "section", "chart", "", { "aria-labelledby": id });
      const line = added(box, "div", "title");
      added(line, "h3", "", column.name, { id, dir: "auto" });
      const all = button(line, "clear", "×", () => this.choose(place, null), { "aria-label": `Clear the filter of ${column.name}`, title: "Clear (Escape)" });
      box.onkeydown = (event) => {
        if (event.key !== "Escape" || !this.filters.allowed[place]) return;
        event.preventDefault();
        event.stopPropagation();
        this.choose(place, null);
      };
      const chart = new (column.bins.length ? RangeChart : ValuesChart)(this, column, place, box, this.filters.counts(place));
      return Object.assign(chart, { all, box });
    });
  }

  choose(place, codes) {
    this.refused = !this.filters.filter(place, codes);
    this.changed();
  }

  chooseAll(chosen, sending = true) {
    const wanted = this.charts.map(({ column }) => chosen[column.name] ?? null);
    wanted.forEach((codes, place) => codes || !this.filters.allowed[place] || this.filters.filter(place, null));
    const taken = wanted.map((codes, place) => !codes || this.filters.filter(place, codes));
    this.refused = !taken.every(Boolean);
    this.changed(sending);
  }

  setRest(rest) {
    this.rest = rest;
    this.changed();
  }

  // The map is drawn in the next frame, whatever happens until then; the server follows at rest.
  changed(sending = true) {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.paint();
    });
    if (!sending) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(), REST);
  }

  paint() {
    const start = performance.now(), { filters } = this, { active, failing } = filters, passing = filters.passing();
    const maps = (window.themescopeMaps ??= { scenes: new Map(), waiting: new Set() });
    maps.filter = { columns: this.digest, failing: active ? failing : null, hidden: this.rest === HIDDEN };
    for (const view of window.themescopeViews ?? []) view.filtered();
    this.charts.forEach((chart, place) => {
      chart.list?.();
      chart.paint(filters.counts(place));
      chart.all.hidden = !filters.allowed[place];
      chart.box.classList.toggle("filtered", !chart.all.hidden);
    });
    const counted = `${written(passing)} of ${written(failing.length)} units`;
    this.count.textContent = this.refused ? `${counted}. At most 32 columns are filtered at a time: clear one first.` : counted;
    this.clear.disabled = !active;
    for (const one of this.rests) one.setAttribute("aria-pressed", String(one.textContent === this.rest));
    performance.measure("filter", { start, end: performance.now() });
  }

  send() {
    this.timer = null;
    this.said.textContent = this.count.textContent;
    const filters = {}, chosen = {};
    this.charts.forEach((chart, place) => {
      const allowed = this.filters.allowed[place], values = allowed ? chart.sent(allowed) : [];
      if (values.length) [filters[chart.column.name], chosen[chart.column.name]] = [values, [...allowed.keys()].filter((code) => allowed[code])];
    });
    this.seen = JSON.stringify([chosen, this.rest]);
    this.setState("chosen", { filters, rest: this.rest });
  }
}

export default function (component) {
  viewOf(component.parentElement, "map_charts", Charts).show(component);
}

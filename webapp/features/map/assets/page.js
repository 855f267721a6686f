// The map as a page of its own: cards, search, and light or dark as the browser is.
const PINNED = 20;
const all = JSON.parse(document.getElementById("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
let shown = { ...all.view };

function card(row) {
  const head = [all.articles[all.owners[row]], all.titles[all.sections[row]]].filter(Boolean).join(" · "), kind = all.kinds[row];
  return { place: row, head, text: all.sentences[row], kind, group: shown.look.classes[kind].name };
}

function show(changes) {
  shown = { ...shown, ...changes, look: all.looks[dark.matches ? "dark" : "light"] };
  drawView({ data: shown, parentElement: document.body, setTriggerValue: onEvent, setStateValue() {} });
}

const onEvent = (name, event) => name === "hover" && show({ tip: card(event.place) });

// A bit per point, as the server sends it.
function bits(rows) {
  const bytes = new Uint8Array(Math.ceil(all.sentences.length / 8));
  for (const row of rows) bytes[row >> 3] |= 128 >> (row & 7);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

function search(text) {
  const wanted = text.trim().toLowerCase(), [view] = window.themescopeViews, { places } = view.scene;
  const rows = wanted ? all.sentences.flatMap((sentence, row) => (sentence.toLowerCase().includes(wanted) ? [row] : [])) : [];
  document.getElementById("found").textContent = wanted ? `${rows.length.toLocaleString("en")} found` : "";
  const pins = rows.slice(0, PINNED).map((row) => [places[2 * row], places[2 * row + 1], row, all.sentences[row]]);
  show({ marked: rows.length ? bits(rows) : "", held: [0], pins });
}

takePoints({ data: all.points });
show({});
dark.addEventListener("change", () => show({}));
document.getElementById("search").addEventListener("input", (event) => search(event.target.value));

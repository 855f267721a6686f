// The search button, which "/" clicks, and Ctrl+K from fields, too. While shortcuts of a single key are switched off, letters, digits and signs reach
// only what has the focus: fields, tables and maps.
const FIELDS = "input, textarea, select", FOCUSED = `${FIELDS}, canvas, .map-view`;

function isIn(event, places) {
  return event.composedPath().some((node) => node instanceof HTMLElement && (node.isContentEditable || node.matches(places)));
}

function withoutShortcuts(event) {
  if (!/^[\p{L}\p{N}/?]$/u.test(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (kept(OFF) === "1" && !isIn(event, FOCUSED)) event.stopImmediatePropagation();
}

export default function ({ data, parentElement, setTriggerValue }) {
  const button = make("button", "", "", { "aria-keyshortcuts": "/ Control+K" });
  const hidden = { "aria-hidden": "true" };
  button.append(make("span", "icon", "search", hidden), make("span", "", data.label), make("kbd", "", "/", hidden));
  button.onclick = () => {
    if (data.here) document.dispatchEvent(new Event("themescope-search"));
    else setTriggerValue("open", true);
  };
  parentElement.querySelector(".search_key").replaceChildren(button);
  const pressed = (event) => {
    const held = event.ctrlKey || event.metaKey, everywhere = held && event.key.toLowerCase() === "k";
    if (event.altKey || !(everywhere || (event.key === "/" && !held && !isIn(event, FIELDS)))) return;
    event.preventDefault();
    button.click();
  };
  document.addEventListener("keydown", pressed);
  // Before every other listener of the page, of Streamlit too.
  window.addEventListener("keydown", withoutShortcuts, true);
  return () => {
    document.removeEventListener("keydown", pressed);
    window.removeEventListener("keydown", withoutShortcuts, true);
  };
}

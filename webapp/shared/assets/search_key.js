// The search button, which "/" clicks. While shortcuts of a single key are switched off, letters, digits and signs reach
// only what has the focus: fields, tables and maps.
const OFF = "themescope-single-keys-off";
const FIELDS = "input, textarea, select", FOCUSED = `${FIELDS}, canvas, .map-view`;

function isIn(event, places) {
  return event.composedPath().some((node) => node instanceof Element && (node.isContentEditable || node.matches(places)));
}

function isOff() {
  try {
    return localStorage.getItem(OFF) === "1";
  } catch {
    return false; // the browser keeps nothing
  }
}

function withoutShortcuts(event) {
  if (!/^[\p{L}\p{N}/?]$/u.test(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isOff() && !isIn(event, FOCUSED)) event.stopImmediatePropagation();
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".search_key");
  const button = document.createElement("button");
  const sign = document.createElement("span");
  sign.className = "icon";
  sign.setAttribute("aria-hidden", "true");
  sign.textContent = "search";
  const label = document.createElement("span");
  label.textContent = data.label;
  const key = document.createElement("kbd");
  key.textContent = "/";
  key.setAttribute("aria-hidden", "true");
  button.append(sign, label, key);
  button.setAttribute("aria-keyshortcuts", "/");
  button.onclick = () => {
    if (data.here) document.dispatchEvent(new Event("themescope-search"));
    else setTriggerValue("open", true);
  };
  root.replaceChildren(button);
  const pressed = (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isIn(event, FIELDS)) return;
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

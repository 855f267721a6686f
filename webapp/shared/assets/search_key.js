// The search button; "/" clicks it unless somebody is typing or has switched the key off.
const OFF = "themescope-search-key-off";

function typing(target) {
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

function isOff() {
  try {
    return localStorage.getItem(OFF) === "1";
  } catch {
    return false; // the browser keeps nothing
  }
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
    const target = event.composedPath()[0];
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing(target) || isOff()) return;
    event.preventDefault();
    button.click();
  };
  document.addEventListener("keydown", pressed);
  return () => document.removeEventListener("keydown", pressed);
}

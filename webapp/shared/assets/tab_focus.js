// Keeps the keyboard on a tab. Streamlit draws tabs anew with each run; if the answer of the server arrives in parts, the
// tab with the focus cannot have it for a moment, or is out of the page, and the next arrow key would move nothing.
// The name of a new code has the keyboard as soon as its form is there.
let held = null, begun = null;

function hold(event) {
  const tab = event.target.closest?.('[role="tab"]'), tabs = tab?.closest('[data-testid="stTabs"]');
  const key = [...(tabs?.classList ?? [])].find((name) => name.startsWith("st-key-"));
  held = key ? { key, name: tab.textContent } : null;
}

function restore() {
  const name = /** @type {HTMLElement | null} */ (document.querySelector(".st-key-item-code-0 input"));
  if (name && name !== begun && document.activeElement?.matches("body, button")) name.focus({ preventScroll: true });
  begun = name;
  if (!held || document.activeElement !== document.body) return;
  const drawn = document.querySelectorAll(`.${CSS.escape(held.key)} [role="tab"][tabindex]`);
  const tab = /** @type {HTMLElement | undefined} */ ([...drawn].find((one) => one.textContent === held.name));
  tab?.focus({ preventScroll: true });
}

document.addEventListener("focusin", hold);
document.addEventListener("pointerdown", () => (held = null));
new MutationObserver(restore).observe(document.body, { childList: true, subtree: true, attributeFilter: ["tabindex"] });

export default function () {}

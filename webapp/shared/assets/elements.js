// Elements of components, and what this browser keeps. Texts are set through textContent, so that they never become
// elements.
const OFF = "themescope-single-keys-off"; // kept while shortcuts of a single key are switched off

/**
 * A new element with classes, text and attributes.
 * @param {string} tag @param {string} [name] @param {string | number} [text] @param {Record<string, string>} [attributes]
 * @returns {any}
 */
function make(tag, name = "", text = "", attributes = {}) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text) element.textContent = String(text);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/**
 * Appends a text with marks on every occurrence of some words, in any case. Where the first one comes after ``far``
 * letters, the text begins shortly before it.
 * @param {Element} parent @param {string} text @param {string[]} words @param {number} [far]
 */
function highlight(parent, text, words, far = Infinity) {
  const wanted = words.map((word) => word.toLowerCase()).filter(Boolean);
  const first = Math.min(...wanted.map((word) => text.toLowerCase().indexOf(word)).filter((place) => place >= 0));
  if (first > far && first < Infinity) {
    const word = text.lastIndexOf(" ", first - far / 2);
    text = `…${text.slice(word < 0 ? first : word)}`;
  }
  const lower = text.toLowerCase();
  let from = 0;
  while (from < text.length) {
    let [at, length] = [-1, 0];
    for (const word of wanted) {
      const found = lower.indexOf(word, from);
      if (found >= 0 && (at < 0 || found < at)) [at, length] = [found, word.length];
    }
    if (at < 0) break;
    parent.append(text.slice(from, at), make("mark", "", text.slice(at, at + length)));
    from = at + length;
  }
  parent.append(text.slice(from));
}

/** The view of a component, made once for its element. @param {any} parent @param {string} name @param {new (root: any) => any} View */
function viewOf(parent, name, View) {
  const root = parent.querySelector(`.${name}`);
  root.view ??= new View(root);
  return root.view;
}

/** What this browser keeps under a name; "" if it keeps nothing. @param {string} name */
function kept(name) {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}

/** Lets this browser keep a value, "" to forget it; returns whether it does. @param {string} name @param {string} value */
function keep(name, value) {
  try {
    if (value) localStorage.setItem(name, value);
    else localStorage.removeItem(name);
    return true;
  } catch {
    return false;
  }
}

/** The colour and shape of a code. @param {string} tag @param {{ colour: string, shape: string }} appearance */
function swatch(tag, { colour, shape }) {
  const element = make(tag, `swatch ${shape}`);
  element.style.setProperty("--colour", colour);
  return element;
}

// Enter and leaving the field save a name that is not empty, Escape cancels.
function nameField(value, label, onSave, onClose) {
  const input = make("input", "name", "", { maxlength: "200", "aria-label": label });
  input.value = value;
  let closed = false;
  const close = (save) => {
    if (closed) return;
    closed = true;
    const name = input.value.trim();
    onClose();
    if (save && name) onSave(name);
  };
  // Single keys are shortcuts of the page; keys typed here are text.
  for (const type of ["keydown", "keypress", "keyup"]) input.addEventListener(type, (event) => event.stopPropagation());
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault(); // or it would press the element that has the focus next
      close(true);
    }
    if (event.key === "Escape") close(false);
  });
  input.addEventListener("blur", () => close(true));
  return input;
}

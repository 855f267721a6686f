// Name field and colour palette that edit a cluster in place. Texts are set through textContent only.
function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}

function swatch(tag, { colour, shape }) {
  const element = make(tag, `swatch ${shape}`);
  element.style.setProperty("--colour", colour);
  return element;
}

// Enter and leaving the field save a name that is not empty, Escape cancels.
function nameField(value, label, onSave, onClose) {
  const input = make("input", "name");
  input.value = value;
  input.maxLength = 200;
  input.setAttribute("aria-label", label);
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
  input.addEventListener("blur", (event) => {
    // Moving to the palette beside the field does not leave the editor.
    if (!(event.relatedTarget instanceof Element && event.relatedTarget.closest(".editor")?.contains(input))) close(true);
  });
  input.close = close;
  return input;
}

function paletteOf(cluster, palette, words) {
  const box = make("div", "palette");
  palette.forEach((appearance, colour) => {
    const button = swatch("button", appearance);
    button.setAttribute("aria-label", `${words.recolour} ${colour + 1}`);
    // Without this, taking a colour would first close the name field.
    button.addEventListener("pointerdown", (event) => event.preventDefault());
    button.addEventListener("click", () => actionQueue.push({ kind: "recolour", cluster: cluster.number, colour }));
    box.append(button);
  });
  return box;
}

// Name field and colour palette that edit a cluster in place, and dragging to clusters.
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

// What is dragged, until it is dropped; `ids` returns it.
function draggable(element, ids, view) {
  element.draggable = true;
  element.addEventListener("dragstart", (event) => {
    view.dragged = ids();
    event.dataTransfer.setData("text/plain", "");
    event.dataTransfer.effectAllowed = "move";
  });
}

function dropTarget(element, view, drop) {
  element.addEventListener("dragover", (event) => {
    event.preventDefault();
    element.classList.add("target");
  });
  element.addEventListener("dragleave", () => element.classList.remove("target"));
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    element.classList.remove("target");
    if (view.dragged) drop(view.dragged);
    view.dragged = null;
  });
}

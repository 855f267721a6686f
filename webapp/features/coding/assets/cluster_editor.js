// Colour palette that edits a cluster in place, and dragging to clusters.
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

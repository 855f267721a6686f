// Elements, and the name and colour of a cluster changed where they stand. Every text goes in through textContent.
function make(kind, name, text) {
  const made = document.createElement(kind);
  if (name) made.className = name;
  if (text) made.textContent = text;
  return made;
}

function swatch(kind, { colour, shape }) {
  const made = make(kind, `swatch ${shape}`);
  made.style.setProperty("--colour", colour);
  return made;
}

// A field with the name of a cluster; Enter and leaving it keep what was typed, Escape does not.
function nameField(cluster, words, ended) {
  const input = make("input", "name");
  input.value = cluster.name;
  input.maxLength = 200;
  input.setAttribute("aria-label", words.rename);
  let done = false;
  const end = (keep) => {
    if (done) return;
    done = true;
    const wanted = input.value.trim();
    ended();
    if (keep && wanted && wanted !== cluster.name) outbox.push({ kind: "rename", cluster: cluster.number, name: wanted });
  };
  // Single keys are shortcuts of the page; what is typed here is a name.
  for (const kind of ["keydown", "keypress", "keyup"]) input.addEventListener(kind, (event) => event.stopPropagation());
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault(); // or it would press what has the focus next
      end(true);
    }
    if (event.key === "Escape") end(false);
  });
  input.addEventListener("blur", (event) => {
    // From the field to the colours beside it is not away from it.
    if (!(event.relatedTarget instanceof Element && event.relatedTarget.closest(".editor")?.contains(input))) end(true);
  });
  input.finish = end;
  return input;
}

function paletteOf(cluster, palette, words) {
  const box = make("div", "palette");
  palette.forEach((look, place) => {
    const choice = swatch("button", look);
    choice.setAttribute("aria-label", `${words.recolour} ${place + 1}`);
    // Taking the colour must not first end the name that is being typed.
    choice.addEventListener("pointerdown", (event) => event.preventDefault());
    choice.addEventListener("click", () => outbox.push({ kind: "recolour", cluster: cluster.number, colour: place }));
    box.append(choice);
  });
  return box;
}

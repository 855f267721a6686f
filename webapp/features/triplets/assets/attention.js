// Words of a triplet shaded by attention. Texts are set through textContent, so that they never become elements.
function word(part, colours) {
  const span = document.createElement("span");
  span.textContent = part.word;
  span.title = part.help;
  span.style.backgroundColor = `color-mix(in srgb, ${colours.attention} ${Math.round(part.shade * 50)}%, transparent)`;
  const side = part.change < 0 ? colours.supports : colours.opposes;
  span.style.borderBottomColor = `color-mix(in srgb, ${side} ${Math.round(Math.abs(part.change) * 100)}%, transparent)`;
  return span;
}

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".attention");
  root.replaceChildren();
  for (const network of data.networks) {
    if (network.name) {
      const name = document.createElement("h5");
      name.textContent = network.name;
      root.append(name);
    }
    const row = document.createElement("div");
    row.className = "row";
    for (const sentence of network.sentences) {
      const box = document.createElement("section");
      const role = document.createElement("span");
      role.className = "role";
      role.textContent = sentence.role;
      const text = document.createElement("p");
      for (const part of sentence.words) text.append(word(part, data.colours), " ");
      box.append(role, text);
      row.append(box);
    }
    root.append(row);
  }
}

// Words of a triplet shaded by attention.
function word(part, colours) {
  const span = make("span", "", part.word, { title: part.help });
  span.style.backgroundColor = `color-mix(in srgb, ${colours.attention} ${Math.round(part.shade * 50)}%, transparent)`;
  const side = part.change < 0 ? colours.supports : colours.opposes;
  span.style.borderBottomColor = `color-mix(in srgb, ${side} ${Math.round(Math.abs(part.change) * 100)}%, transparent)`;
  return span;
}

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".attention");
  root.replaceChildren();
  for (const network of data.networks) {
    if (network.name) root.append(make("h5", "", network.name));
    const row = make("div", "row");
    for (const sentence of network.sentences) {
      const box = make("section"), text = make("p");
      for (const part of sentence.words) text.append(word(part, data.colours), " ");
      box.append(make("span", "role", sentence.role), text);
      row.append(box);
    }
    root.append(row);
  }
}

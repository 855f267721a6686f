// Two partitions of the sentences of an article, side by side.
function line(sentence) {
  const item = make("li", sentence.moved ? "moved" : "", "", { dir: "auto" });
  const dot = make("i"), section = make("span", "section", sentence.section);
  if (sentence.moved) item.append(make("span", "where", sentence.moved));
  dot.style.backgroundColor = sentence.colour;
  section.prepend(dot);
  item.append(make("span", "text", sentence.text), section);
  return item;
}

function side(cluster, empty) {
  const box = make("div", "side"), head = make("h5", "", cluster?.name), list = make("ul");
  if (cluster) {
    head.append(make("small", "", cluster.about));
    list.append(...cluster.sentences.map(line));
    box.append(head, list);
  }
  if (!cluster?.sentences.length) box.append(make("p", "none", cluster ? cluster.quiet : empty));
  return box;
}

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".partitions");
  root.replaceChildren();
  root.tabIndex = 0; // it scrolls
  root.setAttribute("role", "region");
  root.setAttribute("aria-label", `${data.left}, ${data.right}`);
  const names = make("div", "pair names");
  for (const name of [data.left, data.right]) names.append(make("strong", "", name));
  root.append(names);
  for (const group of data.groups) {
    const row = make("section", "pair", "", { "aria-label": group.name });
    row.append(side(group.left, data.empty), side(group.right, data.empty));
    root.append(row);
  }
}

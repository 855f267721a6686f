// Two partitions of the sentences of an article, side by side.
function line(sentence) {
  const item = make("li", sentence.moved ? "moved" : "");
  if (sentence.moved) item.append(make("span", "where", sentence.moved));
  item.dir = "auto";
  item.append(make("span", "text", sentence.text));
  const section = make("span", "section", sentence.section);
  const dot = make("i");
  dot.style.backgroundColor = sentence.colour;
  section.prepend(dot);
  item.append(section);
  return item;
}

function side(cluster, empty) {
  const box = make("div", "side");
  if (!cluster) {
    box.append(make("p", "none", empty));
    return box;
  }
  const head = make("h5", "", cluster.name);
  head.append(make("small", "", cluster.about));
  box.append(head);
  const list = make("ul");
  for (const sentence of cluster.sentences) list.append(line(sentence));
  box.append(list);
  if (!cluster.sentences.length) box.append(make("p", "none", cluster.quiet));
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

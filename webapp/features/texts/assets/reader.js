// Text of an article with its section tree.

// scrollIntoView() would scroll the page as well.
function reveal(article, part) {
  if (!part) return;
  const distance = part.getBoundingClientRect().top - article.getBoundingClientRect().top;
  article.scrollTop += distance - article.clientHeight / 3;
}

// The number of a cluster stands before the first of its sentences in a row, so that colour is not the only mark.
function mark(span, number, before, legend) {
  const cluster = legend[number];
  if (!cluster) return;
  span.classList.add("clustered");
  span.dataset.cluster = number;
  span.style.setProperty("--cluster", cluster.colour);
  span.title = `${number + 1}. ${cluster.name}`;
  if (number !== before) span.append(make("b", "", number + 1, { "aria-label": `Cluster ${number + 1}, ${cluster.name}:` }));
}

function legendOf(article, entries) {
  const list = make("div", "legend", "", { role: "group", "aria-label": "Clusters" });
  entries.forEach((entry, number) => {
    const button = make("button", "", "", { "aria-pressed": "false" });
    button.style.setProperty("--cluster", entry.colour);
    button.title = `Highlight the sentences of “${entry.name}”`;
    button.append(make("b", "", number + 1), ` ${entry.name} (${entry.size})`);
    button.onclick = () => {
      const chosen = button.getAttribute("aria-pressed") !== "true";
      for (const other of list.children) other.setAttribute("aria-pressed", String(chosen && other === button));
      for (const span of article.querySelectorAll(".clustered"))
        span.classList.toggle("faded", chosen && span.dataset.cluster !== String(number));
      if (chosen) reveal(article, article.querySelector(`[data-cluster="${number}"]`));
    };
    list.append(button);
  });
  return list;
}

function section(article, nav, part, query, legend) {
  if (nav) {
    const title = part.title || "Introduction", heading = make("h4", part.level > 2 ? "deep" : "", title, { dir: "auto" });
    article.append(heading);
    const link = make("button", "", title, { dir: "auto" });
    link.style.paddingLeft = `${0.4 + 0.8 * Math.max(0, part.level - 2)}rem`;
    link.onclick = () => article.scrollTo({ top: heading.offsetTop - article.offsetTop, behavior: "smooth" });
    link.dataset.item = "";
    nav.append(link);
  }
  for (const paragraph of part.paragraphs) {
    const block = make("p", "", "", { dir: "auto" });
    let before = -1;
    for (const sentence of paragraph) {
      const span = make("span", sentence.focus ? "focus" : "");
      if (legend.length) mark(span, sentence.cluster, before, legend);
      before = sentence.cluster;
      highlight(span, sentence.text, [query]);
      block.append(span, " ");
    }
    article.append(block);
  }
}

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".reader");
  const headed = data.sections.length > 1 || data.sections.some((part) => part.title);
  const nav = headed ? make("nav") : null, article = make("article", "", "", { tabindex: "0" });
  for (const part of data.sections) section(article, nav, part, data.query, data.legend);
  root.replaceChildren(...(data.legend.length ? [legendOf(article, data.legend)] : []), ...(nav ? [nav] : []), article);
  reveal(article, article.querySelector(".focus") ?? article.querySelector("mark"));
}

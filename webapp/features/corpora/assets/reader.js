// Text of an article with its section tree. Texts are set through textContent, so that they never become elements.
function words(parent, text, query) {
  if (!query) {
    parent.append(text);
    return;
  }
  const lower = text.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(query); at >= 0; at = lower.indexOf(query, from)) {
    parent.append(text.slice(from, at));
    const hit = document.createElement("mark");
    hit.textContent = text.slice(at, at + query.length);
    parent.append(hit);
    from = at + query.length;
  }
  parent.append(text.slice(from));
}

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
  if (number === before) return;
  const label = document.createElement("b");
  label.textContent = number + 1;
  label.setAttribute("aria-label", `Cluster ${number + 1}, ${cluster.name}:`);
  span.append(label);
}

function legendOf(article, entries) {
  const list = document.createElement("div");
  list.className = "legend";
  list.setAttribute("role", "group");
  list.setAttribute("aria-label", "Clusters");
  entries.forEach((entry, number) => {
    const button = document.createElement("button");
    button.style.setProperty("--cluster", entry.colour);
    button.title = `Highlight the sentences of “${entry.name}”`;
    button.setAttribute("aria-pressed", "false");
    const label = document.createElement("b");
    label.textContent = number + 1;
    button.append(label, ` ${entry.name} (${entry.size})`);
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
  const heading = document.createElement("h4");
  heading.dir = "auto";
  heading.textContent = part.title || "Introduction";
  heading.classList.toggle("deep", part.level > 2);
  article.append(heading);
  const link = document.createElement("button");
  link.dir = "auto";
  link.textContent = heading.textContent;
  link.style.paddingLeft = `${0.4 + 0.8 * Math.max(0, part.level - 2)}rem`;
  link.onclick = () => article.scrollTo({ top: heading.offsetTop - article.offsetTop, behavior: "smooth" });
  nav.append(link);
  for (const paragraph of part.paragraphs) {
    const block = document.createElement("p");
    block.dir = "auto";
    let before = -1;
    for (const sentence of paragraph) {
      const span = document.createElement("span");
      span.classList.toggle("opens", Boolean(sentence.opens));
      span.classList.toggle("eligible", Boolean(sentence.eligible));
      span.classList.toggle("focus", Boolean(sentence.focus));
      if (sentence.why) span.title = sentence.why;
      if (legend.length) mark(span, sentence.cluster, before, legend);
      before = sentence.cluster;
      words(span, sentence.text, query);
      block.append(span, " ");
    }
    article.append(block);
  }
}

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".reader");
  const nav = document.createElement("nav");
  const article = document.createElement("article");
  article.tabIndex = 0;
  const query = data.query.toLowerCase();
  for (const part of data.sections) section(article, nav, part, query, data.legend);
  root.replaceChildren(...(data.legend.length ? [legendOf(article, data.legend)] : []), nav, article);
  reveal(article, article.querySelector(".focus") ?? article.querySelector("mark"));
}

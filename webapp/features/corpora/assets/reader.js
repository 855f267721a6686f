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

function section(article, nav, part, query) {
  const heading = document.createElement("h4");
  heading.textContent = part.title || "Introduction";
  heading.classList.toggle("deep", part.level > 2);
  article.append(heading);
  const link = document.createElement("button");
  link.textContent = heading.textContent;
  link.style.paddingLeft = `${0.4 + 0.8 * Math.max(0, part.level - 2)}rem`;
  link.onclick = () => article.scrollTo({ top: heading.offsetTop - article.offsetTop, behavior: "smooth" });
  nav.append(link);
  for (const paragraph of part.paragraphs) {
    const block = document.createElement("p");
    for (const sentence of paragraph) {
      const span = document.createElement("span");
      span.classList.toggle("opens", sentence.opens);
      span.classList.toggle("eligible", sentence.eligible);
      if (sentence.why) span.title = sentence.why;
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
  for (const part of data.sections) section(article, nav, part, query);
  root.replaceChildren(nav, article);
  article.querySelector("mark")?.scrollIntoView({ block: "center" });
}

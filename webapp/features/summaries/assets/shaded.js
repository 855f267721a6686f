// Text whose sentences are shaded by score. Texts are set through textContent, so that they never become elements.
export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".shaded");
  const blocks = data.paragraphs.map((paragraph) => {
    const block = document.createElement("p");
    for (const sentence of paragraph) {
      const span = document.createElement("span");
      span.textContent = sentence.text;
      span.title = sentence.why;
      span.style.setProperty("--strength", `${sentence.strength}%`);
      span.classList.toggle("chosen", sentence.chosen);
      block.append(span, " ");
    }
    return block;
  });
  root.tabIndex = 0;
  root.replaceChildren(...blocks);
}

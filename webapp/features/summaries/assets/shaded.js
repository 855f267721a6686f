// Text whose sentences are shaded by score.
export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".shaded");
  const blocks = data.paragraphs.map((paragraph) => {
    const block = make("p");
    for (const sentence of paragraph) {
      const span = make("span", sentence.chosen ? "chosen" : "", sentence.text, { title: sentence.why });
      span.style.setProperty("--strength", `${sentence.strength}%`);
      block.append(span, " ");
    }
    return block;
  });
  root.tabIndex = 0;
  root.replaceChildren(...blocks);
}

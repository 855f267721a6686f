// Tells the server that the page has turned light or dark.
export default function ({ setTriggerValue }) {
  const app = document.querySelector(".stApp"), scheme = () => getComputedStyle(app).colorScheme;
  let known = scheme();
  const watched = new MutationObserver(() => {
    if (scheme() === known) return;
    known = scheme();
    setTriggerValue("theme", known);
  });
  watched.observe(app, { attributes: true, attributeFilter: ["class", "style"] });
  return () => watched.disconnect();
}

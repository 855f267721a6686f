// Tells the server that the page has turned light or dark, and what lies outside of the app: menus and dialogs.
export default function ({ setTriggerValue }) {
  const app = document.querySelector(".stApp"), scheme = () => getComputedStyle(app).colorScheme;
  let known = scheme();
  document.documentElement.style.colorScheme = known;
  const watched = new MutationObserver(() => {
    if (scheme() === known) return;
    document.documentElement.style.colorScheme = known = scheme();
    setTriggerValue("theme", known);
  });
  watched.observe(app, { attributes: true, attributeFilter: ["class", "style"] });
  return () => watched.disconnect();
}

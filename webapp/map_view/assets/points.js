// Stores the first points of a map for the views of this page. They are sent apart from the view data because they are
// large and change rarely: hovering, searching and selecting do not send them again.
export default function ({ data }) {
  const shared = (window.themescopeMaps ??= { scenes: new Map(), waiting: new Set() });
  if (shared.scenes.has(data.digest)) return;
  shared.scenes.set(data.digest, new Scene(data));
  while (shared.scenes.size > 4) shared.scenes.delete(shared.scenes.keys().next().value);
  for (const onPoints of [...shared.waiting]) onPoints();
}

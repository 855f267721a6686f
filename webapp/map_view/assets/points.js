// Stores the points of a map for the views of this page. They are sent apart from the view data because they are large
// and change rarely: hovering, searching and selecting do not send them again.
function unpacked(text, Kind) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return new Kind(bytes.buffer);
}

export default function ({ data }) {
  const shared = (window.themescopeMaps ??= { scenes: new Map(), waiting: new Set() });
  if (shared.scenes.has(data.digest)) return;
  shared.scenes.set(data.digest, { places: unpacked(data.places, Uint16Array), kinds: unpacked(data.kinds, Uint8Array) });
  while (shared.scenes.size > 4) shared.scenes.delete(shared.scenes.keys().next().value);
  for (const onPoints of [...shared.waiting]) onPoints();
}

// Keeps the columns of the points for the charts of this page. They are sent apart from the filters because they are
// large and do not change.
async function unpacked(text, width) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const plain = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
  return new { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[width](plain);
}

export default async function ({ data }) {
  const shared = (window.themescopeColumns ??= { found: new Map(), waiting: new Set() });
  if (shared.found.has(data.digest)) return;
  const columns = await Promise.all(data.columns.map(async (one) => ({ ...one, codes: await unpacked(one.codes, one.width) })));
  shared.found.set(data.digest, { total: data.total, columns });
  while (shared.found.size > 2) shared.found.delete(shared.found.keys().next().value);
  for (const onColumns of [...shared.waiting]) onColumns();
}

// Preview of a figure, and its files: the SVG as it is, and a PNG or PDF that is painted from it by the browser, which
// has fonts for every script. A PDF holds the picture, so that no font has to be embedded.
const INCH = 25.4, POINTS = 72;
const text = new TextEncoder();

async function painted(image, { width, height }, dpi) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height].map((size) => Math.round((size / INCH) * dpi));
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas;
}

// Checksum of PNG chunks (ISO 3309).
function crc(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return ~sum >>> 0;
}

// The PNG with its resolution in a chunk pHYs, behind the signature and the header (33 bytes).
async function png(canvas, dpi) {
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  const chunk = new DataView(new ArrayBuffer(21)), perMetre = Math.round((dpi / INCH) * 1000);
  chunk.setUint32(0, 9);
  [...text.encode("pHYs")].forEach((byte, at) => chunk.setUint8(4 + at, byte));
  chunk.setUint32(8, perMetre);
  chunk.setUint32(12, perMetre);
  chunk.setUint8(16, 1);
  chunk.setUint32(17, crc(new Uint8Array(chunk.buffer, 4, 13)));
  return new Blob([blob.slice(0, 33), chunk.buffer, blob.slice(33)], { type: "image/png" });
}

// One page of the size of the figure with the picture (ISO 32000-1).
async function pdf(canvas, { width, height }) {
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const rgb = new Uint8Array((pixels.length / 4) * 3);
  for (let from = 0, to = 0; from < pixels.length; from += 4, to += 3) rgb.set(pixels.subarray(from, from + 3), to);
  const packed = await new Response(new Blob([rgb]).stream().pipeThrough(new CompressionStream("deflate"))).arrayBuffer();
  const [w, h] = [width, height].map((size) => ((size / INCH) * POINTS).toFixed(3));
  const drawn = text.encode(`q ${w} 0 0 ${h} 0 0 cm /Figure Do Q`);
  const kind = `/Type /XObject /Subtype /Image /Width ${canvas.width} /Height ${canvas.height} /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /FlateDecode`;
  /** @type {[string, Uint8Array<ArrayBuffer>?][]} */
  const objects = [
    ["<< /Type /Catalog /Pages 2 0 R >>"],
    ["<< /Type /Pages /Kids [3 0 R] /Count 1 >>"],
    [`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${w} ${h}] /Contents 4 0 R /Resources << /XObject << /Figure 5 0 R >> >> >>`],
    ["<<", drawn],
    [`<< ${kind}`, new Uint8Array(packed)],
  ];
  const parts = [text.encode("%PDF-1.4\n")], starts = [];
  const length = () => parts.reduce((sum, part) => sum + part.length, 0);
  for (const [place, [head, stream]] of objects.entries()) {
    starts.push(length());
    parts.push(text.encode(`${place + 1} 0 obj\n${head}`));
    if (stream) parts.push(text.encode(` /Length ${stream.length} >>\nstream\n`), stream, text.encode("\nendstream"));
    parts.push(text.encode("\nendobj\n"));
  }
  const table = length(), lines = starts.map((start) => `${String(start).padStart(10, "0")} 00000 n \n`).join("");
  const end = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${lines}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${table}\n%%EOF\n`;
  return new Blob([...parts, text.encode(end)], { type: "application/pdf" });
}

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".figure_files"), image = make("img", "", "", { alt: data.label });
  const vector = new Blob([data.svg], { type: "image/svg+xml" }), files = make("div", "files");
  const made = {
    svg: async () => vector,
    png: async () => png(await painted(image, data, data.dpi.png), data.dpi.png),
    pdf: async () => pdf(await painted(image, data, data.dpi.pdf), data),
  };
  image.src = URL.createObjectURL(vector);
  for (const [kind, label] of Object.entries(data.words)) {
    const button = make("button", "", label, { type: "button" });
    button.onclick = async () => {
      await image.decode();
      const link = make("a", "", "", { href: URL.createObjectURL(await made[kind]()), download: `${data.file}.${kind}` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    };
    files.append(button);
  }
  URL.revokeObjectURL(root.querySelector("img")?.src ?? "");
  root.replaceChildren(image, files);
}

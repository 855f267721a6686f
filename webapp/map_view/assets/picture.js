// The map as a PNG image of a fixed width, whatever the screen: points, density, names, pins and the legend.
const PICTURE_WIDTH = 2400, PICTURE_LEGEND = 480, PICTURE_LINE = 34;

const PICTURE = {
  save() {
    const shown = this.data.look.classes.filter((one, kind) => one.count && !this.hidden.includes(kind));
    const image = document.createElement("canvas"), flat = image.getContext("2d"), ratio = (PICTURE_WIDTH - PICTURE_LEGEND) / this.width;
    [image.width, image.height] = [PICTURE_WIDTH, Math.round(this.height * ratio)];
    flat.fillStyle = this.data.look.paper;
    flat.fillRect(0, 0, image.width, image.height);
    this.paintAt(ratio, () => {
      for (const canvas of [this.ground, this.canvas, this.overlay]) flat.drawImage(canvas, 0, 0);
    });
    this.drawLabels(flat, ratio);
    this.drawPins(flat, ratio);
    this.drawLegend(flat, shown, image.height);
    image.toBlob((blob) => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = "themescope-map.png";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  },

  // Paints the canvases `ratio` times as large as the view, and then as before.
  paintAt(ratio, use) {
    this.size(ratio);
    this.moving = false;
    this.stale = true;
    this.paint();
    use();
    this.size(devicePixelRatio);
    this.stale = true;
    this.paint();
  },

  drawLegend(flat, shown, height) {
    const x = PICTURE_WIDTH - PICTURE_LEGEND + 24, room = Math.floor((height - 60) / PICTURE_LINE);
    const listed = shown.length > room ? shown.slice(0, room - 1) : shown;
    flat.font = `22px ${getComputedStyle(this.labels).fontFamily}`;
    listed.forEach((one, place) => {
      const y = 46 + PICTURE_LINE * place;
      flat.fillStyle = one.colour;
      marker(flat, one.shape, x + 10, y - 8);
      flat.fillStyle = this.data.look.ink;
      flat.fillText(fitting(flat, `${one.name} (${number(one.count)})`, PICTURE_LEGEND - 76), x + 32, y);
    });
    if (listed.length < shown.length) flat.fillText(`and ${shown.length - listed.length} more`, x + 32, 46 + PICTURE_LINE * listed.length);
  },
};

function marker(flat, shape, x, y) {
  flat.beginPath();
  if (shape === 0) flat.arc(x, y, 9, 0, 2 * Math.PI);
  else if (shape === 1) flat.rect(x - 8, y - 8, 16, 16);
  else for (const [dx, dy] of shape === 2 ? [[0, -10], [10, 0], [0, 10], [-10, 0]] : [[0, -10], [9, 8], [-9, 8]]) flat.lineTo(x + dx, y + dy);
  flat.fill();
}

function fitting(flat, text, width) {
  if (flat.measureText(text).width <= width) return text;
  let end = text.length;
  while (end && flat.measureText(`${text.slice(0, end)}…`).width > width) end--;
  return `${text.slice(0, end)}…`;
}
